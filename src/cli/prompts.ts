/** Questions to the person at the terminal. */
import { confirm, isCancel, password, text } from '@clack/prompts'
import { CommandError } from './failure.ts'
import { NAME_RULE, isName } from './settings.ts'

/** Ctrl-C at a question. */
function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer))
    throw new CommandError('cancelled', 'Stopped; nothing was changed.', 'Run the command again when you are ready.')
  return answer as Exclude<T, symbol>
}

/** Asks until the answer is a name. With `initial`, Enter takes it; with `optional`, Enter gives ''. */
export async function askName(question: string, rules: { initial?: string; optional?: boolean } = {}): Promise<string> {
  const { initial, optional = false } = rules
  const answer = await text({
    message: question,
    ...(initial === undefined ? {} : { placeholder: initial, defaultValue: initial }),
    validate(given = '') {
      if (given === '' && (optional || initial !== undefined)) return undefined
      return isName(given) ? undefined : `A name has ${NAME_RULE}.`
    },
  })
  return answered(answer) ?? ''
}

/** Asks for a secret until `mistake` finds none in it; what is typed is not shown. */
export async function askSecret(question: string, mistake: (given: string) => string | undefined): Promise<string> {
  return answered(await password({ message: question, validate: (given = '') => mistake(given) }))
}

/** Asks for a yes; Enter alone is a no. */
export async function askYes(question: string): Promise<boolean> {
  return answered(await confirm({ message: question, initialValue: false }))
}

/** Asks for a line of text; '' if only Enter was pressed. */
export async function askLine(question: string, output: NodeJS.WriteStream = process.stdout): Promise<string> {
  return answered(await text({ message: question, defaultValue: '', output })) ?? ''
}
