/** relay-node quarantine list, admit: handoffs that a laptop began which had been removed by then. */
import type { QuarantinedThread } from '../node/api.ts'
import { requireYes } from './confirm.ts'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { oneLine, openContent, partyName, printContent } from './peer-text.ts'
import type { Printer } from './print.ts'
import { clockTime } from './time-text.ts'

const PREVIEW_LENGTH_CHARS = 100

/** relay-node quarantine list */
export const runList: Command<object> = async (context) => {
  const { printer } = context
  const { items } = await withNode(context, (node) => node.call('relay/quarantine', {}))
  printer.result({ items }, () => {
    if (items.length === 0) printer.line('Nothing is kept apart.')
    for (const item of items) printKept(printer, item)
    if (items.length > 0) {
      printer.line('Whoever has a laptop that was removed can still sign such a handoff and say that it is old.')
      printer.line('Ask the person. If it is theirs: relay-node quarantine admit ID')
    }
  })
}

/** relay-node quarantine admit */
export const runAdmit: Command<object> = async (context, args) => {
  const { printer } = context
  const [id = ''] = args
  await requireYes(context, {
    reach: 'It came from a laptop that was removed; whoever has that laptop can sign such a handoff.',
    question: 'Take it for a handoff like any other?',
    refused: { code: 'not_admitted', message: 'It stays apart.' },
  })
  const item = await withNode(context, (node) => node.call('relay/quarantine-admit', { thread_id: id }))
  printer.result(item, () => {
    printer.done(`${item.thread_id} is a handoff like any other now.`)
    printer.line(`Next: relay-node show ${item.thread_id}`)
  })
}

function printKept(printer: Printer, item: QuarantinedThread): void {
  const { thread_id: id, from, to, intent, status, received_at: at, preview } = item
  printer.line(`${id}  ${from.device} as ${partyName(from)} to ${to}, ${intent}, ${status}, came ${clockTime(at)}`)
  if (preview === undefined) return
  const { value, foreign } = openContent(preview)
  printContent(printer, oneLine(value, PREVIEW_LENGTH_CHARS), foreign)
}
