/** relay-node init: a key for this laptop, a new workspace, a running node. Without a team: ready to join one. */
import { join } from 'node:path'
import { type Home, homeError, HomeError, placeFile, prepareHome } from '../home.ts'
import type { Scope } from '../node/api.ts'
import { checkLength } from '../rpc/socket.ts'
import { realSystem, type System } from '../system.ts'
import { requireBootstrapAddresses } from './bootstrap-use.ts'
import type { Command, CommandContext } from './context.ts'
import { START_TIMEOUT_MS, startNode } from './detached-node.ts'
import { ensureKey } from './device-key.ts'
import { CommandError, UsageError } from './failure.ts'
import { takeLock } from './instance-lock.ts'
import { parseListen, withFixedPort } from './listen-address.ts'
import { withRunningNode } from './node-connection.ts'
import type { Printer } from './print.ts'
import { addSettings, hostDeviceName, isName, NAME_RULE, readSettings } from './settings.ts'
import { withStore } from './start.ts'
import { stopNode } from './stop.ts'

interface Options {
  name?: string
  team?: string
  device?: string
  listen?: string
  /** --no-lan */
  lan: boolean
  bootstrap?: string[]
  /** --no-start */
  start: boolean
  service?: boolean
  scope?: string
  codeStdin?: boolean
}

interface Answers {
  /** Absent: this laptop will join a team. */
  founder?: { member: string; team: string }
  device: string
}

export interface LaptopChoices {
  device: string
  listen?: string | undefined
  lan: boolean
  /** Addresses of bootstrap servers. */
  bootstrap?: string[] | undefined
  /** What the node may do for whoever is on this machine; left out, anything. */
  scope?: Scope | undefined
}

export const run: Command<Options> = async (context, _args, options) => {
  const { home, printer } = context
  checkLength(home.socket)
  const listen = parseListen(options.listen ?? '0')
  checkNames(options)
  requireBootstrapAddresses(options.bootstrap ?? [])
  if (options.service === true) return runService(context, { ...options, listen })
  refuseServiceOptions(options)
  prepareHome(home)
  await refuseMembership(context)
  const answers = await ask(context, options)
  const system = realSystem()
  await setUpLaptop(home, { device: answers.device, listen, lan: options.lan, bootstrap: options.bootstrap }, system)
  const { founder } = answers
  const founded = founder === undefined ? undefined : await found(context, { ...founder, system })
  const running = options.start ? await startNode(home) : undefined
  const { device } = readSettings(home).settings
  printer.result(
    {
      ...(founded === undefined ? {} : { handle: founded.handle, successor_words_file: founded.wordsFile }),
      device,
      home: home.home,
      ...(running === undefined ? {} : { pid: running.pid }),
    },
    () => {
      printer.done(
        `Created your key. ${founded === undefined ? 'This laptop is' : `You are ${founded.handle} on this laptop (device`} "${device}"${founded === undefined ? '.' : ').'}`,
      )
      if (founded?.wordsFile !== undefined)
        printer.line(
          `The successor words are in ${founded.wordsFile}: move them to a safe place that is not this laptop.`,
        )
      if (running !== undefined) printer.done(`Node running (pid ${running.pid}).`)
      printer.line(founded === undefined ? 'Next: relay-node join' : 'Next: relay-node invite NAME')
    },
  )
}

async function runService(context: CommandContext, options: Options & { listen: string }): Promise<void> {
  const { name, team, device = hostDeviceName(), listen, lan, bootstrap, scope, codeStdin = false, start } = options
  if (name !== undefined || team !== undefined) {
    throw new UsageError(
      'A service has no team of its own, and its name stands in its invite.',
      'Leave --name and --team out.',
    )
  }
  const { initService } = await import('./init-service.ts')
  await initService(context, { scope, codeStdin, start, choices: { device, listen, lan, bootstrap } })
}

function refuseServiceOptions({ scope, codeStdin }: Options): void {
  if (scope === undefined && codeStdin !== true) return
  throw new UsageError(
    `--${scope === undefined ? 'code-stdin' : 'scope'} goes with --service.`,
    'For a service: relay-node init --service --scope read --code-stdin. A person joins with relay-node join.',
  )
}

/** Key and settings, where there are none yet; a port is picked once and kept. */
export async function setUpLaptop(home: Home, choices: LaptopChoices, system: System): Promise<void> {
  const { source } = readSettings(home)
  ensureKey(home, system)
  const { device, listen = parseListen('0'), lan, bootstrap, scope } = choices
  addSettings(home, {
    device,
    ...(source.listen === 'default' ? { listen: [await withFixedPort(listen)] } : {}),
    ...(lan ? {} : { lan }),
    ...(bootstrap === undefined ? {} : { bootstrap }),
    ...(scope === undefined ? {} : { scope }),
  })
}

function checkNames({ name, team, device }: Pick<Options, 'name' | 'team' | 'device'>): void {
  for (const [option, value] of Object.entries({ name, team, device })) {
    if (value !== undefined && !isName(value))
      throw new UsageError(`--${option} "${value}" is not a name.`, `A name has ${NAME_RULE}.`)
  }
}

/** One home belongs to one workspace; a node that waits for an invite makes way. */
export async function refuseMembership(context: CommandContext): Promise<void> {
  const ask = (signal: AbortSignal) =>
    withRunningNode(context, async (node) => {
      const { handle } = await node.call('relay/whoami', {}, { signal })
      if (handle !== undefined) {
        throw new HomeError('HOME_TAKEN', `This laptop belongs to a workspace already: you are ${handle}.`, {
          hint: 'Invite teammates with relay-node invite NAME. For another workspace use another home: RELAY_NODE_HOME=FOLDER relay-node init.',
        })
      }
      return node.call('relay/stop', {}, { signal })
    })
  // One that is just starting may be a member's: it has to say so before it is ended.
  const asked = await stopNode(context.home, ask, START_TIMEOUT_MS)
  if (asked !== undefined) context.printer.progress('The node that waited for an invite was stopped.')
}

async function ask(context: CommandContext, options: Options): Promise<Answers> {
  const host = options.device ?? hostDeviceName()
  if (!context.interactive) {
    const { name: member, team } = options
    if (member !== undefined && team !== undefined) return { founder: { member, team }, device: host }
    if (member === undefined && team === undefined && context.yes) return { device: host }
    throw new UsageError(
      `--${member === undefined ? 'name' : 'team'} is missing.`,
      'For a new team: relay-node init --yes --name bob --team acme. To join one: relay-node init --yes, or relay-node join at once.',
    )
  }
  const { askName } = await import('./prompts.ts')
  const member = options.name ?? (await askName('Your name on the team (a-z 0-9 -):'))
  const team = options.team ?? (await askName('Team (Enter if you will join one that exists):', { optional: true }))
  const device = options.device ?? (await askName('Name of this laptop:', { initial: host }))
  return { ...(team === '' ? {} : { founder: { member, team } }), device }
}

async function found(context: CommandContext, options: { member: string; team: string; system: System }) {
  const { home } = context
  const { foundWorkspace } = await import('../node/found.ts')
  const lock = takeLock(home)
  if (!lock.held)
    throw new CommandError(
      'already_running',
      `The node is running (pid ${lock.pid}).`,
      'Stop it with relay-node stop, then run init again.',
    )
  try {
    const { seed } = ensureKey(home, options.system)
    const { device: deviceName } = readSettings(home).settings
    const { handle, successorWords } = await withStore(home, (store) =>
      foundWorkspace({ store, seed, deviceName, ...options }),
    )
    if (!context.interactive) return { handle, wordsFile: keepWords(home, successorWords) }
    await showWords(context.printer, successorWords)
    return { handle }
  } finally {
    lock.release()
  }
}

function keepWords(home: Home, words: readonly string[]): string {
  const path = join(home.home, 'successor-words.txt')
  try {
    placeFile(path, `${words.join(' ')}\n`)
  } catch (error) {
    throw homeError(error, path)
  }
  return path
}

const WORDS_IN_A_ROW = 6

async function showWords(printer: Printer, words: readonly string[]): Promise<void> {
  printer.line('These 24 words can take over the workspace if this laptop is lost. They are shown once:')
  for (let at = 0; at < words.length; at += WORDS_IN_A_ROW) {
    printer.line(
      `  ${words
        .slice(at, at + WORDS_IN_A_ROW)
        .map((word, index) => `${String(at + index + 1).padStart(2)} ${word.padEnd(9)}`)
        .join('')}`,
    )
  }
  const { askLine } = await import('./prompts.ts')
  await askLine('Write them on paper, then press Enter.')
}
