/** relay-node accept: take a handoff on. */
import { randomUUID } from 'node:crypto'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { printCommon } from './thread-print.ts'

interface Options {
  expect?: string
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  const result = await withNode(context, (node) =>
    node.call('tasks/update', {
      thread_id: args[0] ?? '',
      status: 'accepted',
      expected_revision_id: options.expect,
      metadata: { client_idempotency_key: randomUUID() },
    }),
  )
  printer.result(result, () => {
    printer.done('Accepted: it is yours now.')
    printCommon(printer, result)
    printer.line(`Read all of it before you run or apply anything: relay-node show ${result.thread_id}`)
  })
}
