/** relay-node bootstrap: a server that laptops behind routers meet at; stays in front until it is ended. */
import { networkInterfaces } from 'node:os'
import { BOOTSTRAP_LIMITS, type BootstrapLimits } from '../net/bootstrap-net.ts'
import { assertNoNode, bootstrapPlaces, prepareHome } from '../home.ts'
import { NetError } from '../net/net.ts'
import { realSystem } from '../system.ts'
import type { Command, CommandContext } from './context.ts'
import { ALREADY_RUNNING } from './detached-node.ts'
import { ensureKey } from './device-key.ts'
import { endOfProcess } from './ending.ts'
import { CommandError, type ExitCode, UsageError } from './failure.ts'
import { takeLock } from './instance-lock.ts'
import { parseListen } from './listen-address.ts'
import { openLog } from './log-file.ts'
import { LOG_LEVELS } from './settings.ts'

/** What libraries leave running must not keep the process. */
const LINGER_MS = 1_000
const PORT_MAX = 65_535
const DEFAULT_PORT = 4_001
const DEFAULT_WEB_SOCKET_PORT = 4_002
const DEFAULT_STUN_PORT = 3_478

interface Options {
  listen?: string[]
  announce?: string[]
  stunPort?: string
  metrics?: string
  maxConnections?: string
  perSource?: string
  logLevel?: string
}

/** What was typed, checked. */
interface Choices {
  listen: string[]
  announce: string[]
  stunPort: number
  metrics: { host: string; port: number } | undefined
  limits: BootstrapLimits
  logLevel: (typeof LOG_LEVELS)[number]
}

export const run: Command<Options> = async (context, _args, options) => {
  const choices = parseOptions(options)
  assertNoNode(context.home)
  const home = bootstrapPlaces(context.home)
  prepareHome(home)
  const { seed } = ensureKey(home, realSystem())
  const lock = takeLock(home)
  if (!lock.held) {
    throw new CommandError(
      ALREADY_RUNNING,
      `The bootstrap server of this home is already running (pid ${lock.pid}).`,
      'Use it as it is, end it first, or set RELAY_NODE_HOME to another folder.',
    )
  }
  try {
    return await serve({ ...context, home }, choices, seed)
  } finally {
    lock.release()
    setTimeout(() => process.exit(), LINGER_MS).unref()
  }
}

/** Returns when the server has been stopped. */
async function serve(
  { home, printer, version }: CommandContext,
  choices: Choices,
  seed: Uint8Array,
): Promise<ExitCode> {
  const { listen, announce, limits, stunPort, metrics } = choices
  const log = openLog(home, choices.logLevel)
  const system = realSystem(log)
  const ending = endOfProcess(log)
  const [{ createLibp2pBootstrapNet }, { startBootstrapServer }] = await Promise.all([
    import('../net/libp2p-bootstrap-net.ts'),
    import('../bootstrap/server.ts'),
  ])
  const net = await createLibp2pBootstrapNet({ seed, listen, announce, limits, system })
  const server = await startBootstrapServer({
    net,
    system,
    stunPort,
    ...(metrics === undefined ? {} : { metrics }),
  }).catch((error: unknown) => {
    throw startError(error)
  })
  const addresses = server.addresses()
  const { stunPort: stun, metricsAddress } = server
  log.info('bootstrap server running', { version, addresses, stun })
  printer.result({ pid: process.pid, ready: true, addresses, stun, metrics: metricsAddress ?? null }, () => {
    printer.done(`Bootstrap server running (pid ${process.pid}). Ctrl-C stops it.`)
    for (const address of addresses) printer.line(address)
    printer.line(
      `STUN on UDP port ${stun}.${metricsAddress === undefined ? '' : ` Metrics at http://${metricsAddress}/metrics`}`,
    )
  })
  await ending.begun
  await server.stop()
  log.info('bootstrap server stopped')
  return ending.code()
}

function startError(error: unknown): unknown {
  if (!(error instanceof NetError)) return error
  return new CommandError(
    error.code.toLowerCase(),
    `The bootstrap server cannot start: ${error.message}.`,
    'Choose others with --listen, --stun-port or --metrics.',
  )
}

function parseOptions(options: Options): Choices {
  return {
    listen: options.listen?.map(parseServerListen) ?? defaultListen(),
    announce: options.announce?.map(parseAnnounce) ?? [],
    stunPort: parseCount('--stun-port', options.stunPort, { preset: DEFAULT_STUN_PORT, max: PORT_MAX, min: 0 }),
    metrics: options.metrics === undefined ? undefined : parseMetrics(options.metrics),
    limits: {
      ...BOOTSTRAP_LIMITS,
      connections: parseCount('--max-connections', options.maxConnections, { preset: BOOTSTRAP_LIMITS.connections }),
      ...sourceLimits(options.perSource),
    },
    logLevel: parseLevel(options.logLevel ?? 'info'),
  }
}

/** One number for both, since whoever may connect from a place may be reached there. */
function sourceLimits(text: string | undefined): Partial<BootstrapLimits> {
  if (text === undefined) return {}
  const count = parseCount('--per-source', text, { preset: 0 })
  return { connectionsPerSource: count, reservationsPerSource: count }
}

/** TCP and WebSocket, on IPv6 too where the machine has it. */
function defaultListen(): string[] {
  const tails = [`tcp/${DEFAULT_PORT}`, `tcp/${DEFAULT_WEB_SOCKET_PORT}/ws`]
  const hasSix = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, internal }) => family === 'IPv6' && !internal),
  )
  return tails.flatMap((tail) => [`/ip4/0.0.0.0/${tail}`, ...(hasSix ? [`/ip6/::/${tail}`] : [])])
}

/** Like a laptop's, or the same with /ws at its end. */
function parseServerListen(text: string): string {
  return text.endsWith('/ws') ? `${parseListen(text.slice(0, -'/ws'.length))}/ws` : parseListen(text)
}

const ANNOUNCED = /^\/(dns[46]?|ip[46])\/[^/\s]+\/tcp\/\d{1,5}(\/ws|\/wss|\/tls\/ws)?$/

function parseAnnounce(text: string): string {
  if (ANNOUNCED.test(text)) return text
  throw new UsageError(
    `"${text}" is not an address that laptops could be told.`,
    'Write a multiaddr such as /dns4/relay.example/tcp/4001 or /dns4/relay.example/tcp/443/wss.',
  )
}

function parseMetrics(text: string): { host: string; port: number } {
  const [, six, four, port = ''] = /^(?:\[(::1)\]|(127\.\d{1,3}\.\d{1,3}\.\d{1,3})):(\d{1,5})$/.exec(text) ?? []
  const host = six ?? four
  if (host === undefined || Number(port) > PORT_MAX)
    throw new UsageError(`"${text}" is not a loopback address and port.`, 'Write --metrics 127.0.0.1:9464.')
  return { host, port: Number(port) }
}

function parseCount(
  name: string,
  text: string | undefined,
  bounds: { preset: number; min?: number; max?: number },
): number {
  const { preset, min = 1, max = 1_000_000 } = bounds
  if (text === undefined) return preset
  if (/^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw new UsageError(`${name} takes a number from ${min} to ${max}, not "${text}".`)
}

function parseLevel(text: string): Choices['logLevel'] {
  const level = LOG_LEVELS.find((one) => one === text)
  if (level !== undefined) return level
  throw new UsageError(`--log-level takes one of ${LOG_LEVELS.join(', ')}, not "${text}".`)
}
