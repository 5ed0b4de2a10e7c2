/** relay-node message: say something in a handoff. */
import { randomUUID } from 'node:crypto'
import type { Command } from './context.ts'
import { textOrStdin } from './input.ts'
import { withNode } from './node-connection.ts'
import { artifactsOf, type SayingOptions } from './send.ts'
import { printSaid } from './thread-print.ts'

export const run: Command<SayingOptions> = async (context, args, options) => {
  const { printer } = context
  const artifacts = await artifactsOf(context.printer, options)
  const text = await textOrStdin(args[1] ?? '-')
  const result = await withNode(context, (node) =>
    node.call('message/send', {
      thread_id: args[0] ?? '',
      message: { parts: [{ type: 'text', text }] },
      artifacts,
      allow_secrets: options.allowSecrets,
      metadata: { client_idempotency_key: randomUUID() },
    }),
  )
  printer.result(result, () => {
    printer.done(`Written as #${result.sequence_no}.`)
    printSaid(printer, result)
  })
}
