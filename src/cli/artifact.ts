/** One attachment, read to its end: what is not on this laptop is fetched on the way. */
import type { ArtifactSlice } from '../node/api.ts'
import { ARTIFACT_READ_BYTES_MAX } from '../../protocol/index.ts'
import type { RpcClient } from '../rpc/client.ts'
import { CommandError } from './failure.ts'
import { openContent } from './peer-text.ts'
import type { Printer } from './print.ts'

export interface Attachment {
  readonly facts: Pick<ArtifactSlice, 'thread_id' | 'artifact_id' | 'type' | 'size' | 'sha256' | 'from'>
  readonly bytes: Buffer
  /** Another person's. */
  readonly foreign: boolean
}

/** Throws ApiError, and CommandError where some of it is on another laptop that does not give it now. */
export async function readAttachment(
  node: RpcClient,
  printer: Printer,
  wanted: { thread: string; artifact: string; afterRemoval?: boolean },
): Promise<Attachment> {
  const parts: Buffer[] = []
  for (let offset: number | undefined = 0; ;) {
    const place = {
      thread_id: wanted.thread,
      artifact_id: wanted.artifact,
      offset,
      max_bytes: ARTIFACT_READ_BYTES_MAX,
      after_removal: wanted.afterRemoval,
    }
    const slice: ArtifactSlice = await node.call('relay/artifact', place)
    const { content, elsewhere, encoding, thread_id, artifact_id, type, size, sha256, from } = slice
    if (content === undefined)
      throw new CommandError('artifact_not_here', elsewhere?.why ?? 'It is not on this laptop yet.', '')
    if (offset === 0 && !slice.here) printer.progress(`Fetching ${size} bytes from ${from.device} … Ctrl-C is safe.`)
    const { value, foreign } = openContent(content)
    parts.push(Buffer.from(value, encoding))
    offset = slice.next_offset
    const facts = { thread_id, artifact_id, type, size, sha256, from }
    if (offset === undefined) return { facts, bytes: Buffer.concat(parts), foreign }
  }
}
