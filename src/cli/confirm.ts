/** What is done only after a person said yes to it. */
import type { CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'

export interface Consent {
  /** What it amounts to, in sentences. */
  readonly reach: string
  readonly question: string
  /** What is said where the answer is no. */
  readonly refused: { readonly code: string; readonly message: string }
}

/** Goes on after --yes or a yes at the terminal. Throws UsageError where nobody can be asked, CommandError after a no. */
export async function requireYes(context: CommandContext, { reach, question, refused }: Consent): Promise<void> {
  const { interactive, yes, printer } = context
  if (yes) return
  if (!interactive) {
    throw new UsageError(
      `${reach} Nobody is here to say yes to that.`,
      'Add --yes if that is wanted, or run it at a terminal.',
    )
  }
  printer.line(reach)
  const { askYes } = await import('./prompts.ts')
  if (await askYes(question)) return
  throw new CommandError(refused.code, refused.message, 'Run the command again when you are ready.')
}
