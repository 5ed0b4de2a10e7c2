/** relay-node share: lets a third member read a handoff. A person's to decide: no tool of an agent does it. */
import { randomUUID } from 'node:crypto'
import type { Command, CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { withNode } from './node-connection.ts'
import { printCommon } from './thread-print.ts'

export const run: Command<object> = async (context, args) => {
  const { printer } = context
  const [id = '', name = ''] = args
  await confirm(context, name)
  const result = await withNode(context, (node) =>
    node.call('relay/share', { thread_id: id, reader: name, metadata: { client_idempotency_key: randomUUID() } }),
  )
  printer.result(result, () => {
    printer.done(`${result.reader} can read all of it, on ${result.devices.join(', ')}.`)
    printCommon(printer, result)
    for (const warning of result.warnings) printer.warn(warning)
  })
}

async function confirm({ interactive, yes, printer }: CommandContext, name: string): Promise<void> {
  const reach = `${name} can read all of it, also what was written before. What was read cannot be taken back.`
  if (yes) return
  if (!interactive) {
    throw new UsageError(
      `${reach} Nobody is here to say yes to that.`,
      'Add --yes if that is wanted, or run it at a terminal.',
    )
  }
  printer.line(reach)
  const { askYes } = await import('./prompts.ts')
  if (await askYes(`Share it with ${name}?`)) return
  throw new CommandError('not_shared', 'Nothing was shared.', 'Run the command again when you are ready.')
}
