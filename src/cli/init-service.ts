/**
 * relay-node init --service: a key for an agent that works unattended, taken in by an invite. Nobody
 * is asked anything, and an invite that does not fit leaves nothing behind.
 */
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Home, prepareHome } from '../home.ts'
import type { Scope } from '../node/api.ts'
import { ApiError } from '../rpc/client.ts'
import { realSystem } from '../system.ts'
import type { CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import type { LaptopChoices } from './init.ts'
import { refuseMembership, setUpLaptop } from './init.ts'
import { askCode } from './invite-code.ts'
import { withNode, withRunningNode } from './node-connection.ts'
import { isScope, readSettings, SCOPES } from './settings.ts'
import { stopNode } from './stop.ts'

export interface ServiceOptions {
  scope: string | undefined
  codeStdin: boolean
  /** Keep the node running afterwards. */
  start: boolean
  choices: LaptopChoices
}

export async function initService(context: CommandContext, options: ServiceOptions): Promise<void> {
  const { home, printer } = context
  const scope = requireScope(options.scope)
  const code = await askCode(context, {
    stdin: options.codeStdin,
    command: `relay-node init --service --scope ${scope} --code-stdin`,
  })
  requireNoOtherScope(home, scope)
  const before = new Set(traces(home))
  prepareHome(home)
  await refuseMembership(context)
  await setUpLaptop(home, { ...options.choices, scope }, realSystem())
  const { bootstrap } = options.choices
  try {
    const joined = await withNode(context, async (node) => {
      printer.progress('Looking for the inviter … Ctrl-C is safe: the invite stays good.')
      return node.call('relay/join', { code, service: scope, ...(bootstrap === undefined ? {} : { bootstrap }) })
    })
    if (!options.start) await stop(context)
    const { device } = readSettings(home).settings
    printer.result({ ...joined, scope, device, home: home.home }, () => {
      printer.done(`Reached ${joined.inviter} (${joined.trust}).`)
      printer.done(`This is the service ${joined.handle} (device "${device}"), scope ${scope}.`)
      printer.line('Its agent works through: relay-node mcp')
    })
  } catch (error) {
    if (isTurnedAway(error)) {
      await stop(context)
      leaveNothing(home, before)
    }
    throw error
  }
}

function requireScope(given: string | undefined): Scope {
  if (given !== undefined && isScope(given)) return given
  throw new UsageError(
    given === undefined ? 'What may the service do? --scope is missing.' : `"${given}" is not a scope.`,
    `Write --scope ${SCOPES.join(' or --scope ')}: the one that it was invited with.`,
  )
}

/** A line that a person wrote into the settings is not changed, so it must not say something else. */
function requireNoOtherScope(home: Home, wanted: Scope): void {
  const { settings, source } = readSettings(home)
  if (source.scope === 'default' || settings.scope === wanted) return
  throw new CommandError(
    'other_scope',
    `The settings of this home say scope = "${settings.scope}", not "${wanted}".`,
    `Change that line in ${home.config}, or use another home (RELAY_NODE_HOME).`,
  )
}

/** Reasons why the inviter has taken nobody in and will not: nothing of this home is known to it. */
const TURNED_AWAY = new Set<unknown>(['kind', 'scope', 'code', 'unknown', 'expired', 'used', 'withdrawn'])

function isTurnedAway(error: unknown): boolean {
  return error instanceof ApiError && TURNED_AWAY.has(error.details['reason'])
}

async function stop(context: CommandContext): Promise<void> {
  await stopNode(context.home, (signal) => withRunningNode(context, (node) => node.call('relay/stop', {}, { signal })))
}

/** Names of what a node makes in its folders. */
const MADE = /^(?:peer\.key|settings\.toml|store|node\.sock|starts|lock\.\d+|relay-node\.log(?:\.\d+)?)$/

function foldersOf(home: Home): string[] {
  return [...new Set([home.home, dirname(home.config), dirname(home.log)])]
}

/** The folders of a home that exist, and what of a node is in them; folders first. */
function traces(home: Home): string[] {
  const folders = foldersOf(home).filter((folder) => existsSync(folder))
  const files = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (MADE.test(name) ? [join(folder, name)] : [])),
  )
  return [...folders, ...files]
}

/** Takes away what was made since `before`; a folder only if nothing else is in it. */
function leaveNothing(home: Home, before: ReadonlySet<string>): void {
  const made = traces(home).filter((path) => !before.has(path))
  const folders = new Set(foldersOf(home))
  for (const path of made) if (!folders.has(path)) rmSync(path, { recursive: true, force: true })
  for (const path of made) if (folders.has(path) && readdirSync(path).length === 0) rmdirSync(path)
}
