/** relay-node search: what was handed over, said or decided before. */
import { SEARCH_PAGE_COUNT_DEFAULT, SEARCH_PAGE_COUNT_MAX } from '../../protocol/index.ts'
import type { InboxItem, ListThreadsParams, MatchView, Side, Status } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { itemLine } from './inbox.ts'
import { parseDuration } from './input.ts'
import { withNode } from './node-connection.ts'
import { oneLine, openContent } from './peer-text.ts'
import type { Printer } from './print.ts'

const EXCERPT_LENGTH_CHARS = 160

interface Options {
  status?: string[]
  side?: string
  with?: string
  since?: string
  until?: string
  limit?: string
}

interface Found {
  items: InboxItem[]
  /** There are more than were asked for. */
  more: boolean
  /** Handoffs that could not be searched yet. */
  missing: number
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  const limit = parseLimit(options.limit)
  const question = {
    query: args.join(' '),
    status: options.status?.map((text) => oneOf('--status', text, STATUSES)),
    side: options.side === undefined ? undefined : oneOf('--side', options.side, SIDES),
    with: options.with,
    since: timeOf(options.since),
    until: timeOf(options.until),
  }
  const found = await withNode(context, (node) => search(node, question, limit))
  printer.result(
    { items: found.items, more: found.more, ...(found.missing > 0 ? { indexing: { missing: found.missing } } : {}) },
    () => printFound(printer, found),
  )
}

async function search(node: RpcClient, question: ListThreadsParams, limit: number): Promise<Found> {
  const items: InboxItem[] = []
  for (let cursor: string | undefined; ;) {
    const wanted = Math.min(limit - items.length, SEARCH_PAGE_COUNT_MAX)
    const page = await node.call('tasks/list', { ...question, limit: wanted, cursor })
    items.push(...page.items)
    cursor = page.next_cursor
    if (cursor === undefined || items.length >= limit)
      return { items, more: cursor !== undefined, missing: page.indexing?.missing ?? 0 }
  }
}

const STATUSES = ['pending', 'accepted', 'completed', 'cancelled'] as const satisfies Status[]
const SIDES = ['in', 'out', 'reader'] as const satisfies Side[]

function oneOf<T extends string>(option: string, given: string, known: readonly T[]): T {
  const found = known.find((one) => one === given)
  if (found === undefined) throw new UsageError(`${option} ${given} is unknown.`, `There are: ${known.join(', ')}.`)
  return found
}

function parseLimit(text = String(SEARCH_PAGE_COUNT_DEFAULT)): number {
  if (!/^[1-9]\d{0,4}$/.test(text))
    throw new UsageError(`--limit ${text} is no number of results.`, 'Write it like 50.')
  return Number(text)
}

/** A time as the node takes it; a length of time is so long ago. */
function timeOf(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d+[a-z]$/.test(text)) return text
  return new Date(Date.now() - parseDuration(text) * 1000).toISOString()
}

function printFound(printer: Printer, { items, more, missing }: Found): void {
  if (items.length === 0) printer.line('Nothing was found.')
  else
    printer.line(`${items.length} ${items.length === 1 ? 'handoff' : 'handoffs'}${more ? ', and there are more' : ''}`)
  for (const item of items) {
    printer.line()
    printItem(printer, item)
  }
  if (items.length > 0) {
    printer.line()
    printer.line('Read one: relay-node show ID (the first characters are enough)')
  }
  if (more) printer.line(`See more: the same with --limit ${items.length * 5}`)
  if (missing > 0)
    printer.warn(
      `${missing} ${missing === 1 ? 'handoff is' : 'handoffs are'} still being indexed and could not be searched; search again in a while.`,
    )
}

function printItem(printer: Printer, item: InboxItem): void {
  printer.line(itemLine(printer, item))
  const matches = item.found?.matches ?? []
  for (const match of matches) printMatch(printer, match)
  if (matches.length > 0 || item.preview === undefined) return
  const { value, foreign } = openContent(item.preview)
  printer.line(`  ${foreign ? printer.styled('cyan', '│ ') : ''}${oneLine(value, EXCERPT_LENGTH_CHARS)}`)
}

function printMatch(printer: Printer, { field, replaced, revision_id, excerpt }: MatchView): void {
  const { value, foreign } = openContent(excerpt)
  const where = `${field.replace('_', ' ')}${replaced ? `, replaced since ${revision_id ?? ''}` : ''}`
  printer.line(
    `  ${printer.styled('dim', `${where}:`)} ${foreign ? printer.styled('cyan', '│ ') : ''}${oneLine(value, EXCERPT_LENGTH_CHARS)}`,
  )
}
