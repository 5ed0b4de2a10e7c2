/** relay-node show: one handoff, whole, or one of its attachments. Reading never accepts. */
import { writeFileSync } from 'node:fs'
import type { ThreadView } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import { readAlways } from './after-removal.ts'
import { readAttachment } from './artifact.ts'
import type { Command, CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { fileTrouble, utf8 } from './input.ts'
import { withNode } from './node-connection.ts'
import { printContent } from './peer-text.ts'
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
  const thread = await withNode(context, (node) =>
    readAlways(context.printer, (afterRemoval) => readThread(node, id, { markRead: true, afterRemoval })),
  )
  context.printer.result(thread, () => printThread(context.printer, thread))
}

interface Reading {
  markRead?: boolean
  afterRemoval?: boolean
}

/** Every page of a thread as one. */
export async function readThread(node: RpcClient, threadId: string, how: Reading = {}): Promise<ThreadView> {
  const params = { thread_id: threadId, mark_read: how.markRead, after_removal: how.afterRemoval }
  const { next_cursor: more, ...first } = await node.call('tasks/get', params)
  const thread: ThreadView = first
  for (let cursor = more; cursor !== undefined;) {
    const page = await node.call('tasks/get', { ...params, cursor })
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
  const { facts, bytes, foreign } = await withNode(context, (node) =>
    readAlways(printer, (afterRemoval) => readAttachment(node, printer, { ...wanted, afterRemoval })),
  )
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
