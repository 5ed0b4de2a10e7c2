/** A person types the beginning of a thread's id; the node is asked with the whole. */
import type { RpcClient } from '../rpc/client.ts'
import { CommandError, UsageError } from './failure.ts'

const WHOLE = /^ho_[a-z2-7]{26}$/
const BEGINNING = /^(?:ho_)?[a-z2-7]{1,26}$/

/** The whole id of the one thread that begins with `given`. Throws UsageError or CommandError. */
export async function wholeThreadId(node: RpcClient, given: string): Promise<string> {
  if (WHOLE.test(given)) return given
  if (!BEGINNING.test(given)) {
    throw new UsageError(`"${given}" is not the id of a handoff.`, 'Ids begin with ho_; relay-node inbox --all lists them.')
  }
  const beginning = given.startsWith('ho_') ? given : `ho_${given}`
  const found = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await node.call('tasks/list', { status: ['pending', 'accepted', 'completed', 'cancelled'], cursor })
    for (const item of page.items) if (item.thread_id.startsWith(beginning)) found.add(item.thread_id)
    cursor = page.next_cursor
  } while (cursor !== undefined)
  const [first, ...others] = found
  if (first === undefined) {
    throw new CommandError('thread_not_found', `No handoff here begins with ${beginning}.`, 'See relay-node inbox --all for the ids.')
  }
  if (others.length > 0) {
    throw new CommandError('ambiguous', `${found.size} handoffs begin with ${beginning}: ${[...found].join(', ')}.`, 'Type more characters.')
  }
  return first
}
