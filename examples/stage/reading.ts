/** How an agent reads: a view that fits, what a teammate said, an artifact from its first byte to its last. */
import { type Agent, type Answer, unwrap } from './agent.ts'

/** Asks again when the thread changes, until `fits`; the last view where it never does. */
export async function viewUntil(
  agent: Agent,
  thread: unknown,
  fits: (view: Answer) => boolean,
  options: Record<string, unknown> = {},
): Promise<Answer> {
  for (let patience = 200; ; patience--) {
    const view = await agent.call('view_thread', { thread_id: thread, ...options })
    if (fits(view) || patience === 0) return view
    await agent.call('check_inbox', { wait_s: 0.1 })
  }
}

/** Content as its author gave it: one's own as it stands, a teammate's out of its block. */
export function said(content: unknown): unknown {
  const { own, untrusted } = content as { own?: unknown; untrusted?: unknown }
  return untrusted === undefined ? own : unwrap(untrusted)
}

export interface WholeArtifact {
  bytes: Buffer
  pages: number
  sha256: unknown
}

/** Reads all pages of an artifact and joins them. */
export async function readWhole(agent: Agent, thread: unknown, artifact: unknown): Promise<WholeArtifact> {
  const parts: Buffer[] = []
  let sha256: unknown
  for (let offset: unknown = 0; offset !== undefined;) {
    const slice = await agent.call('read_artifact', {
      thread_id: thread,
      artifact_id: artifact,
      offset,
      max_bytes: 32 * 1024,
    })
    if (slice.isError) throw new Error(`read_artifact: ${JSON.stringify(slice)}`)
    parts.push(Buffer.from(String(said(slice['content'])), slice['encoding'] === 'base64' ? 'base64' : 'utf8'))
    sha256 = slice['sha256']
    offset = slice['next_offset']
  }
  return { bytes: Buffer.concat(parts), pages: parts.length, sha256 }
}
