/** relay-node inbox: what came, what is open, what is unread. */
import type { InboxItem } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import { readAlways } from './after-removal.ts'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { oneLine, openContent, partyName } from './peer-text.ts'
import type { Printer } from './print.ts'
import { statusText } from './thread-print.ts'
import { duration } from './time-text.ts'

const PREVIEW_LENGTH_CHARS = 100

interface Options {
  all?: boolean
  in?: boolean
  out?: boolean
  shared?: boolean
}

export const run: Command<Options> = async (context, _args, options) => {
  const { printer } = context
  const items = await withNode(context, (node) =>
    readAlways(printer, (afterRemoval) => readInbox(node, options, afterRemoval)),
  )
  printer.result({ items }, () => printInbox(printer, items, options.all === true))
}

async function readInbox(node: RpcClient, options: Options, afterRemoval: boolean): Promise<InboxItem[]> {
  const found: InboxItem[] = []
  let cursor: string | undefined
  do {
    const page = await node.call('tasks/list', {
      status: options.all === true ? ['pending', 'accepted', 'completed', 'cancelled'] : ['pending', 'accepted'],
      cursor,
      after_removal: afterRemoval,
    })
    found.push(...page.items.filter(({ side }) => isWanted(side, options)))
    cursor = page.next_cursor
  } while (cursor !== undefined)
  return found
}

/** None named is the same as all. */
function isWanted(side: InboxItem['side'], options: Options): boolean {
  const wanted = { in: options.in === true, out: options.out === true, reader: options.shared === true }
  return wanted[side] || !Object.values(wanted).includes(true)
}

function printInbox(printer: Printer, items: readonly InboxItem[], all: boolean): void {
  if (items.length === 0) {
    printer.line(all ? 'No handoffs yet.' : 'No open handoffs.')
    printer.line('Hand something off: relay-node send NAME --summary TEXT')
    return
  }
  const unread = items.reduce((sum, item) => sum + item.unread_count, 0)
  printer.line(`${items.length} ${items.length === 1 ? 'handoff' : 'handoffs'}, ${unread} unread`)
  for (const item of items) {
    printer.line()
    printItem(printer, item)
  }
  printer.line()
  printer.line('Read one: relay-node show ID (the first characters are enough)')
}

/** What lists say of a handoff, on one line. */
export function itemLine(printer: Printer, item: InboxItem): string {
  const who = {
    in: `from ${partyName(item.sender)}`,
    out: `to ${item.recipient}`,
    reader: `from ${partyName(item.sender)} to ${item.recipient}, shared with you to read,`,
  }[item.side]
  const unread = item.unread_count > 0 ? printer.styled('bold', `  ${item.unread_count} unread`) : ''
  return `${item.thread_id}  ${item.intent} ${who}  ${statusText(printer, item)}${unread}  ${duration(item.age_s)} old`
}

function printItem(printer: Printer, item: InboxItem): void {
  printer.line(itemLine(printer, item))
  if (item.preview === undefined) return
  const { value, foreign } = openContent(item.preview)
  printer.line(`  ${foreign ? printer.styled('cyan', '│ ') : ''}${oneLine(value, PREVIEW_LENGTH_CHARS)}`)
}
