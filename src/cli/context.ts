/** What every command is given. */
import type { Home } from '../home.ts'
import type { ExitCode } from './failure.ts'
import type { Printer } from './print.ts'

export interface CommandContext {
  home: Home
  printer: Printer
  /** Version of this program. */
  version: string
  /** No questions: what was not given has its default, and a yes is a yes. */
  yes: boolean
  /** There is a person to ask: a terminal on both sides, and neither --json nor --yes. */
  interactive: boolean
}

/** What a command's file exports as `run`. `args` are the words after its name, `options` its options by their long names. */
export type Command<Options> = (
  context: CommandContext,
  args: readonly string[],
  options: Options,
) => Promise<ExitCode | void>
