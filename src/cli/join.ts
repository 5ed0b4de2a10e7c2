/** relay-node join: this laptop becomes a member's, by an invite. Works on an empty home. */
import { parseCode } from '../../protocol/index.ts'
import { prepareHome } from '../home.ts'
import { checkLength } from '../rpc/socket.ts'
import { realSystem } from '../system.ts'
import { requireBootstrapAddresses } from './bootstrap-use.ts'
import type { Command, CommandContext } from './context.ts'
import { readKey } from './device-key.ts'
import { CommandError, UsageError } from './failure.ts'
import { setUpLaptop } from './init.ts'
import { readStdin } from './input.ts'
import { parseListen } from './listen-address.ts'
import { withNode } from './node-connection.ts'
import { hostDeviceName, isName, NAME_RULE, readSettings } from './settings.ts'

interface Options {
  codeStdin?: boolean
  device?: string
  listen?: string
  /** --no-lan */
  lan: boolean
  bootstrap?: string[]
}

export const run: Command<Options> = async (context, _args, options) => {
  const { home, printer } = context
  checkLength(home.socket)
  if (options.device !== undefined && !isName(options.device)) {
    throw new UsageError(`--device "${options.device}" is not a name.`, `A name has ${NAME_RULE}.`)
  }
  const listen = parseListen(options.listen ?? '0')
  const { bootstrap } = options
  requireBootstrapAddresses(bootstrap ?? [])
  const code = await askCode(context, options)
  prepareHome(home)
  const known = readKey(home) !== undefined && readSettings(home).source.device === 'settings file'
  const device = options.device ?? (known ? readSettings(home).settings.device : await askDevice(context))
  await setUpLaptop(home, { device, listen, lan: options.lan, bootstrap }, realSystem())
  const joined = await withNode(context, async (node) => {
    printer.progress('Looking for the inviter … Ctrl-C is safe: the invite stays good.')
    return node.call('relay/join', { code, ...(bootstrap === undefined ? {} : { bootstrap }) })
  })
  const { settings } = readSettings(home)
  printer.result({ ...joined, device: settings.device }, () => {
    printer.done(`Reached ${joined.inviter} (${joined.trust}).`)
    printer.done(`You are ${joined.handle} on this laptop (device "${settings.device}").`)
    printer.line(`Next: relay-node send ${joined.inviter.split('@')[0]} --summary TEXT, or relay-node inbox`)
  })
}

/** From standard input or from the person, never from the command line, where other users would see it. */
async function askCode(context: CommandContext, options: Options): Promise<string> {
  if (options.codeStdin === true) {
    const code = unwrapped(await readStdin())
    if (code === '') {
      throw new UsageError(
        'Standard input holds no invite code.',
        'Write for instance: relay-node join --code-stdin < code.txt',
      )
    }
    const mistake = codeMistake(code)
    if (mistake === undefined) return code
    throw new CommandError(
      'invite_code',
      mistake,
      'Copy it once more, whole, and run relay-node join again. Nothing was sent.',
    )
  }
  if (!process.stdin.isTTY || !process.stdout.isTTY || context.printer.json) {
    throw new UsageError(
      'There is no terminal to ask for the invite code.',
      'Give it on standard input: relay-node join --code-stdin < code.txt',
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

async function askDevice(context: CommandContext): Promise<string> {
  if (!context.interactive) return hostDeviceName()
  const { askName } = await import('./prompts.ts')
  return askName('Name of this laptop:', { initial: hostDeviceName() })
}
