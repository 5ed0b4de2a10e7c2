/** relay-node share: lets a third member read a handoff. A person's to decide: no tool of an agent does it. */
import { randomUUID } from 'node:crypto'
import { requireYes } from './confirm.ts'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { printCommon } from './thread-print.ts'

export const run: Command<object> = async (context, args) => {
  const { printer } = context
  const [id = '', name = ''] = args
  await requireYes(context, {
    reach: `${name} can read all of it, also what was written before. What was read cannot be taken back.`,
    question: `Share it with ${name}?`,
    refused: { code: 'not_shared', message: 'Nothing was shared.' },
  })
  const result = await withNode(context, (node) =>
    node.call('relay/share', { thread_id: id, reader: name, metadata: { client_idempotency_key: randomUUID() } }),
  )
  printer.result(result, () => {
    printer.done(`${result.reader} can read all of it, on ${result.devices.join(', ')}.`)
    printCommon(printer, result)
    for (const warning of result.warnings) printer.warn(warning)
  })
}
