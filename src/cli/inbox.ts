/** relay-node inbox: what came, what is open, what is unread. */
import type { InboxItem } from '../node/api.ts'
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
}

export const run: Command<Options> = async (context, _args, options) => {
  const { printer } = context
  const items = await withNode(context, async (node) => {
    const found: InboxItem[] = []
    let cursor: string | undefined
    do {
      const page = await node.call('tasks/list', {
        status: options.all === true ? ['pending', 'accepted', 'completed', 'cancelled'] : ['pending', 'accepted'],
        // Both named is the same as none.
        side: options.in === options.out ? undefined : options.in === true ? 'in' : 'out',
        cursor,
      })
      found.push(...page.items)
      cursor = page.next_cursor
    } while (cursor !== undefined)
    return found
  })
  printer.result({ items }, () => printInbox(printer, items, options.all === true))
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
  const who = item.side === 'in' ? `from ${partyName(item.sender)}` : `to ${item.recipient}`
  const unread = item.unread_count > 0 ? printer.styled('bold', `  ${item.unread_count} unread`) : ''
  return `${item.thread_id}  ${item.intent} ${who}  ${statusText(printer, item)}${unread}  ${duration(item.age_s)} old`
}

function printItem(printer: Printer, item: InboxItem): void {
  printer.line(itemLine(printer, item))
  if (item.preview === undefined) return
  const { value, foreign } = openContent(item.preview)
  printer.line(`  ${foreign ? printer.styled('cyan', '│ ') : ''}${oneLine(value, PREVIEW_LENGTH_CHARS)}`)
}
