/** relay-node complete: say that a handoff is dealt with, and how. */
import { randomUUID } from 'node:crypto'
import { OUTCOMES } from '../../protocol/index.ts'
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { textOrStdin } from './input.ts'
import { withNode } from './node-connection.ts'
import { artifactsOf, type SayingOptions } from './send.ts'
import { printSaid } from './thread-print.ts'

interface Options extends SayingOptions {
  result?: string
  outcome?: string
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  if (options.result === undefined)
    throw new UsageError(
      'What came out of it? --result is missing.',
      'Write --result TEXT, or --result - to read it from standard input.',
    )
  const outcome = OUTCOMES.find((name) => name === options.outcome)
  if (options.outcome !== undefined && outcome === undefined) {
    throw new UsageError(`"${options.outcome}" is not an outcome.`, `Choose one of ${OUTCOMES.join(', ')}.`)
  }
  const artifacts = await artifactsOf(context.printer, options)
  const resultSummary = await textOrStdin(options.result)
  const result = await withNode(context, (node) =>
    node.call('tasks/update', {
      thread_id: args[0] ?? '',
      status: 'completed',
      result_summary: resultSummary,
      outcome,
      artifacts,
      allow_secrets: options.allowSecrets,
      metadata: { client_idempotency_key: randomUUID() },
    }),
  )
  printer.result(result, () => {
    printer.done('Completed.')
    printSaid(printer, result)
  })
}
