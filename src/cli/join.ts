/** relay-node join: this laptop becomes a member's, by an invite. Works on an empty home. */
import { prepareHome } from '../home.ts'
import { checkLength } from '../rpc/socket.ts'
import { realSystem } from '../system.ts'
import { requireBootstrapAddresses } from './bootstrap-use.ts'
import type { Command, CommandContext } from './context.ts'
import { readKey } from './device-key.ts'
import { UsageError } from './failure.ts'
import { setUpLaptop } from './init.ts'
import { askCode } from './invite-code.ts'
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
  const code = await askCode(context, {
    stdin: options.codeStdin === true,
    command: 'relay-node join --code-stdin',
  })
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
    printer.line(
      joined.role === 'reader'
        ? 'You are a reader: you read what is shared with you. Next: relay-node inbox'
        : `Next: relay-node send ${joined.inviter.split('@')[0]} --summary TEXT, or relay-node inbox`,
    )
  })
}

async function askDevice(context: CommandContext): Promise<string> {
  if (!context.interactive) return hostDeviceName()
  const { askName } = await import('./prompts.ts')
  return askName('Name of this laptop:', { initial: hostDeviceName() })
}
