/** How a command is given an invite code: from standard input or from the person, never in its arguments, where other users would see it. */
import { parseCode } from '../../protocol/index.ts'
import type { CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { readStdin } from './input.ts'

export interface CodeSource {
  /** --code-stdin */
  stdin: boolean
  /** What to type to give it on standard input. */
  command: string
}

export async function askCode(context: CommandContext, { stdin, command }: CodeSource): Promise<string> {
  if (stdin) {
    const code = unwrapped(await readStdin())
    if (code === '')
      throw new UsageError('Standard input holds no invite code.', `Write for instance: ${command} < code.txt`)
    const mistake = codeMistake(code)
    if (mistake === undefined) return code
    throw new CommandError(
      'invite_code',
      mistake,
      `Copy it once more, whole, and run it again: ${command}. Nothing was sent.`,
    )
  }
  if (!process.stdin.isTTY || !process.stdout.isTTY || context.printer.json) {
    throw new UsageError(
      'There is no terminal to ask for the invite code.',
      `Give it on standard input: ${command} < code.txt`,
    )
  }
  const { askSecret } = await import('./prompts.ts')
  return unwrapped(await askSecret('Invite code or 12 words:', (given) => codeMistake(unwrapped(given))))
}

/** A code without the line breaks that a mail or a chat put into it; words as they are. */
function unwrapped(text: string): string {
  const trimmed = text.trim()
  return /^relay1/i.test(trimmed) ? trimmed.replaceAll(/\s+/g, '') : trimmed
}

/** What is wrong with a code, seen from the code alone. */
function codeMistake(code: string): string | undefined {
  const parsed = parseCode(code)
  return parsed.ok ? undefined : `That is not an invite code: ${parsed.detail ?? 'a character is wrong or missing'}.`
}
