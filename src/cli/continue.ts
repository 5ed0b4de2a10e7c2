/** relay-node continue: the next revision of a handoff's record. */
import { randomUUID } from 'node:crypto'
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { withNode } from './node-connection.ts'
import { artifactsOf, type SayingOptions } from './send.ts'
import { readRecordChanges } from './shaped-file.ts'
import { printSaid } from './thread-print.ts'

interface Options extends SayingOptions {
  record?: string
  expect?: string[]
  note?: string
  resolves?: string[]
}

export const run: Command<Options> = async (context, args, options) => {
  const { printer } = context
  const id = args[0] ?? ''
  const { record, expect = [] } = options
  if (record === undefined) {
    throw new UsageError(
      'What is so now? --record is missing.',
      `Write relay-node show ${id} --record --markdown into a file, change it, and give it with --record FILE.`,
    )
  }
  if (expect.length === 0) {
    throw new UsageError(
      'Which revision have you read? --expect is missing.',
      `See relay-node show ${id} --record, and give its revision: --expect rev_…; of a forked record, all of them.`,
    )
  }
  const changes = readRecordChanges(record)
  const artifacts = await artifactsOf(printer, options)
  const result = await withNode(context, (node) =>
    node.call('relay/continue', {
      thread_id: id,
      expected_revision_id: expect,
      record: changes,
      artifacts,
      note: options.note,
      resolves: options.resolves,
      allow_secrets: options.allowSecrets,
      metadata: { client_idempotency_key: randomUUID() },
    }),
  )
  printer.result(result, () => {
    printer.done(`Revision ${result.revision_id} is current.`)
    printSaid(printer, result)
  })
}
