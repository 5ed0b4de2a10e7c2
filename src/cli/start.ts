/** relay-node start: runs the node in this process, or, with --detach, in one of its own. */
import { type Home, prepareHome } from '../home.ts'
import { DEFAULT_QUOTAS, type Quotas } from '../node/quotas.ts'
import { checkLength } from '../rpc/socket.ts'
import type { Store } from '../store/store.ts'
import { realSystem } from '../system.ts'
import type { Command, CommandContext } from './context.ts'
import { ALREADY_RUNNING, type StartReport, startNode } from './detached-node.ts'
import { requireKey } from './device-key.ts'
import { endOfProcess } from './ending.ts'
import { CommandError, type ExitCode, explain } from './failure.ts'
import { takeLock } from './instance-lock.ts'
import { addressText } from './listen-address.ts'
import { openLog } from './log-file.ts'
import type { Printer } from './print.ts'
import { readSettings, type Settings } from './settings.ts'
import { startMark } from './start-mark.ts'

/** What libraries leave running must not keep the process. */
const LINGER_MS = 1_000

interface Options {
  detach?: boolean
  repair?: boolean
}

export const run: Command<Options> = async (context, _args, options) => {
  checkLength(context.home.socket)
  prepareHome(context.home)
  requireKey(context.home)
  if (options.detach === true) return detach(context, options)
  try {
    return await runInFront(context, options.repair === true)
  } catch (error) {
    const { symbol, message, hint } = explain(error, context.home)
    await report({ ready: false, symbol, message, hint })
    throw error
  }
}

async function detach({ home, printer }: CommandContext, options: Options): Promise<void> {
  printer.progress('Starting the node …')
  const { pid, started, copy } = await startNode(home, { repair: options.repair === true })
  if (options.repair === true && !started) {
    throw new CommandError(
      ALREADY_RUNNING,
      `The node is running (pid ${pid}): its store was not repaired.`,
      'Stop it with relay-node stop, then run relay-node start --repair.',
    )
  }
  printer.result({ pid, started, ...(copy === undefined ? {} : { copy }) }, () => {
    if (copy !== undefined) printRepair(printer, copy)
    if (started) printer.done(`Node running (pid ${pid}).`)
    else printer.line(`Already running (pid ${pid}).`)
  })
}

function printRepair(printer: Printer, copy: string): void {
  printer.done(`Repaired the store; it was copied to ${copy} before.`)
  printer.line('What could not be read here comes back from teammates who hold it.')
}

/** Returns when the node has been stopped. */
async function runInFront(context: CommandContext, repair: boolean): Promise<ExitCode> {
  const { home } = context
  const lock = takeLock(home)
  if (!lock.held) {
    throw new CommandError(
      ALREADY_RUNNING,
      `The node is already running (pid ${lock.pid}).`,
      'Use it as it is, or end it first with relay-node stop.',
    )
  }
  try {
    const copy = repair ? await repairStore(home) : undefined
    return await runNode(context, copy)
  } finally {
    lock.release()
    setTimeout(() => process.exit(), LINGER_MS).unref()
  }
}

async function runNode({ home, printer, version }: CommandContext, copy: string | undefined): Promise<ExitCode> {
  const { settings } = readSettings(home)
  const log = openLog(home, settings.log_level)
  const system = realSystem(log)
  const seed = requireKey(home)
  const ending = endOfProcess(log)
  const [{ createLibp2pNet }, { openNode }, { createRpcServer }] = await Promise.all([
    import('../net/libp2p-net.ts'),
    import('../node/node.ts'),
    import('../rpc/server.ts'),
  ])
  const { device: deviceName, listen, lan, bootstrap, upnp, mailbox, scope } = settings
  const net = await createLibp2pNet({ seed, listen, lan, upnp, system })
  const store = await openStore(home)
  const rebuild = copy !== undefined
  const node = await openNode({
    store,
    net,
    system,
    seed,
    deviceName,
    version,
    rebuild,
    startMark: startMark(home),
    bootstrap,
    quotas: quotasOf(settings),
    mailbox,
  })
  const server = createRpcServer({
    api: node,
    socketPath: home.socket,
    version,
    system,
    scope,
    onStop: () => ending.begin('asked to stop'),
  })
  try {
    await server.start()
    const addresses = net.addresses()
    log.info('node running', { version, addresses })
    printer.result({ pid: process.pid, ready: true, addresses, ...(copy === undefined ? {} : { copy }) }, () => {
      if (copy !== undefined) printRepair(printer, copy)
      printer.done(`Node running (pid ${process.pid}). Ctrl-C stops it.`)
      printer.line(
        addresses.length === 0
          ? 'No network right now; it will be used when there is one.'
          : `Reachable at ${addresses.map(addressText).join(', ')}`,
      )
    })
    await report({ ready: true, copy })
    await ending.begun
    await server.stop()
  } finally {
    await node.stop()
  }
  log.info('node stopped')
  return ending.code()
}

/** What the settings leave of the bounds; one author has at most a quarter of what is carried. */
function quotasOf({ carry, carry_bytes: bytes }: Settings): Quotas {
  const carried = carry ? bytes : 0
  return { ...DEFAULT_QUOTAS, carried, carriedOfAuthor: Math.ceil(carried / 4) }
}

/** Tells the process that started this one apart, if there is one and it still listens. */
async function report(message: StartReport): Promise<void> {
  if (process.send === undefined || !process.connected) return
  await new Promise<void>((resolve) => process.send?.(message, () => resolve()))
  if (process.connected) process.disconnect()
}

async function openStore(home: Home): Promise<Store> {
  const { openLevelStore } = await import('../store/level-store.ts')
  return openLevelStore(home.store)
}

async function repairStore(home: Home): Promise<string> {
  const { repairLevelStore } = await import('../store/level-store.ts')
  return repairLevelStore(home.store)
}

/** Opens the store for `use` alone. The caller holds the lock of the home. */
export async function withStore<T>(home: Home, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(home)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
