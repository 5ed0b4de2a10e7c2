/** relay-node show: one handoff, whole. Reading never accepts. */
import type { ThreadView } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { printThread } from './thread-print.ts'

export const run: Command<object> = async (context, args) => {
  const thread = await withNode(context, (node) => readThread(node, args[0] ?? '', true))
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
