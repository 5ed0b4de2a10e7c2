/** relay-node show: one handoff, whole, or one of its attachments. Reading never accepts. */
import { writeFileSync } from 'node:fs'
import type { ArtifactSlice, ThreadView } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import type { Command, CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { fileTrouble, utf8 } from './input.ts'
import { withNode } from './node-connection.ts'
import { openContent, printContent } from './peer-text.ts'
import { showRecord } from './show-record.ts'
import { printThread } from './thread-print.ts'

interface Options {
  artifact?: string
  out?: string
  record?: boolean
  markdown?: boolean
  revision?: string
}

export const run: Command<Options> = async (context, args, options) => {
  const id = args[0] ?? ''
  if (options.artifact !== undefined)
    return showArtifact(context, { thread: id, artifact: options.artifact, out: options.out })
  if (options.out !== undefined)
    throw new UsageError('--out goes with --artifact.', 'Write relay-node show ID --artifact ID --out FILE.')
  if (options.record === true) {
    const { revision, markdown = false } = options
    return showRecord(context, { thread: id, revision, markdown })
  }
  if (options.markdown === true || options.revision !== undefined)
    throw new UsageError('--markdown and --revision go with --record.', `Write relay-node show ${id} --record.`)
  const thread = await withNode(context, (node) => readThread(node, id, true))
  context.printer.result(thread, () => printThread(context.printer, thread))
}

/** Every page of a thread as one. */
export async function readThread(node: RpcClient, threadId: string, markRead: boolean): Promise<ThreadView> {
  const { next_cursor: more, ...first } = await node.call('tasks/get', { thread_id: threadId, mark_read: markRead })
  const thread: ThreadView = first
  for (let cursor = more; cursor !== undefined;) {
    const page = await node.call('tasks/get', { thread_id: threadId, mark_read: markRead, cursor })
    thread.entries.push(...page.entries)
    cursor = page.next_cursor
  }
  return thread
}

interface Wanted {
  thread: string
  artifact: string
  out: string | undefined
}

async function showArtifact(context: CommandContext, wanted: Wanted): Promise<void> {
  const { printer } = context
  const { facts, bytes, foreign } = await withNode(context, (node) => readArtifact(node, wanted))
  if (wanted.out !== undefined) {
    writeNew(wanted.out, bytes)
    printer.result({ ...facts, file: wanted.out }, () => printer.done(`Wrote ${bytes.length} bytes to ${wanted.out}.`))
    return
  }
  const text = utf8(bytes)
  printer.result({ ...facts, ...(text === undefined ? { base64: bytes.toString('base64') } : { text }) }, () => {
    if (text !== undefined) return printContent(printer, text, foreign, '')
    printer.line(`${bytes.length} bytes that are no text. Write them to a file with --out FILE.`)
  })
}

/** All of an attachment, page by page. */
export async function readArtifact(node: RpcClient, { thread, artifact }: Omit<Wanted, 'out'>) {
  const parts: Buffer[] = []
  for (let offset: number | undefined = 0; ;) {
    const slice: ArtifactSlice = await node.call('relay/artifact', { thread_id: thread, artifact_id: artifact, offset })
    const { content, encoding, thread_id, artifact_id, type, size, sha256, from } = slice
    const { value, foreign } = openContent(content)
    parts.push(Buffer.from(value, encoding))
    offset = slice.next_offset
    const facts = { thread_id, artifact_id, type, size, sha256, from }
    if (offset === undefined) return { facts, bytes: Buffer.concat(parts), foreign }
  }
}

/** A file that is there already is somebody's. */
function writeNew(path: string, bytes: Uint8Array): void {
  try {
    writeFileSync(path, bytes, { flag: 'wx' })
  } catch (error) {
    throw new CommandError(
      'file_not_written',
      `${path} cannot be written: ${fileTrouble(error)}.`,
      'Name a file that does not exist yet.',
    )
  }
}
