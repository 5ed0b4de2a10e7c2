/** relay-node cancel: take back a handoff that nobody has accepted. */
import { randomUUID } from 'node:crypto'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { printSaid } from './thread-print.ts'

interface Options {
  reason?: string
  allowSecrets?: boolean
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  const result = await withNode(context, (node) =>
    node.call('tasks/cancel', {
      thread_id: args[0] ?? '',
      reason: options.reason,
      allow_secrets: options.allowSecrets,
      metadata: { client_idempotency_key: randomUUID() },
    }),
  )
  printer.result(result, () => {
    printer.done(result.final ? 'Cancelled.' : 'Cancelled, unless it was accepted at the same moment: an accept wins.')
    printSaid(printer, result)
  })
}
