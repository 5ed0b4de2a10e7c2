/** relay-node doctor: looks at everything that can be wrong, and says for each what it saw and what to do. */
import { existsSync, statSync } from 'node:fs'
import { PROTOCOL_VERSION } from '../../protocol/index.ts'
import type { NodeStatus } from '../node/api.ts'
import { NodeNotRunning } from '../rpc/client.ts'
import { checkLength } from '../rpc/socket.ts'
import type { Command, CommandContext } from './context.ts'
import { loosePermissions, requireKey } from './device-key.ts'
import { bootstrapFindings, clocksFinding, twinFinding } from './doctor-network.ts'
import { removalFinding } from './doctor-removal.ts'
import { EXIT, explain } from './failure.ts'
import { lockHolder, takeLock } from './instance-lock.ts'
import { addressText } from './listen-address.ts'
import { readStatus } from './node-connection.ts'
import type { Printer } from './print.ts'
import { readSettings } from './settings.ts'
import { withStore } from './start.ts'
import { recoveringText, teammateText } from './status.ts'

/** Only `failed` makes the exit code 1. */
export interface Finding {
  check: string
  state: 'ok' | 'note' | 'failed'
  /** What was seen. */
  evidence: string
  /** Why it is so, where it is not as it should be. */
  cause?: string
  /** What to run or do next. */
  next?: string
  /** What was seen, one by one; with --json only. */
  details?: readonly object[]
}

const NODE_VERSION_MIN = [22, 18] as const
/** Time stamps of files may be this far ahead of a clock that is right. */
const CLOCK_SLACK_MS = 60_000

export const run: Command<object> = async (context) => {
  const { printer } = context
  const home = await check(context, 'home', () => homeFinding(context))
  const findings = home.some(({ state }) => state === 'failed') ? home : [...home, ...(await lookAround(context))]
  const failed = findings.filter(({ state }) => state === 'failed').length
  printer.result({ ok: failed === 0, findings }, () => {
    for (const finding of findings) printFinding(printer, finding)
    printer.line(failed === 0 ? 'Nothing is wrong.' : `${failed} of ${findings.length} checks failed.`)
  })
  return failed === 0 ? EXIT.done : EXIT.refused
}

/** Every check of a home that was set up. */
async function lookAround(context: CommandContext): Promise<Finding[]> {
  const running = await askNode(context)
  const status = running.status
  return [
    ...(await check(context, 'settings', () => settingsFinding(context))),
    ...(await check(context, 'permissions', () => permissionsFinding(context))),
    ...(await check(context, 'socket', () => socketFinding(context, running))),
    ...(await check(context, 'node', () => nodeFinding(context, running))),
    ...(await check(context, 'store', () => storeFinding(context, status))),
    ...(await check(context, 'clock', () => clockFinding(context, status))),
    ...(await check(context, 'versions', () => versionsFinding(context, status))),
    ...(status === undefined ? [] : nodeFindings(status)),
  ]
}

interface Running {
  status?: NodeStatus
  /** Why there is no status. */
  failure?: unknown
}

async function askNode(context: CommandContext): Promise<Running> {
  try {
    return { status: await readStatus(context) }
  } catch (failure) {
    return { failure }
  }
}

/** A check that cannot even be made has failed, for the reason that its error gives. */
async function check(
  context: CommandContext,
  name: string,
  look: () => Omit<Finding, 'check'> | Promise<Omit<Finding, 'check'>>,
): Promise<Finding[]> {
  try {
    return [{ check: name, ...(await look()) }]
  } catch (error) {
    const { message, hint } = explain(error, context.home)
    return [{ check: name, state: 'failed', evidence: message, ...(hint === '' ? {} : { next: hint }) }]
  }
}

function settingsFinding({ home }: CommandContext): Omit<Finding, 'check'> {
  const { source } = readSettings(home)
  const written = Object.values(source).filter((from) => from === 'settings file').length
  return { state: 'ok', evidence: `${home.config}: ${written} settings, the rest are defaults` }
}

function homeFinding({ home }: CommandContext): Omit<Finding, 'check'> {
  requireKey(home)
  return { state: 'ok', evidence: `${home.home}, with a device key` }
}

function permissionsFinding({ home }: CommandContext): Omit<Finding, 'check'> {
  const loose = loosePermissions(home)
  if (loose.length === 0) return { state: 'ok', evidence: 'key and folder are for this user alone' }
  return {
    state: 'failed',
    evidence: loose.join(', '),
    cause: 'Other users of this laptop could read the device key.',
    next: `chmod 700 "${home.home}"; chmod 600 "${home.key}"`,
  }
}

function socketFinding({ home }: CommandContext, { status, failure }: Running): Omit<Finding, 'check'> {
  checkLength(home.socket)
  if (status !== undefined) return { state: 'ok', evidence: `${home.socket} answers` }
  if (!existsSync(home.socket)) return { state: 'ok', evidence: 'free: no node listens' }
  if (failure instanceof NodeNotRunning) {
    return {
      state: 'note',
      evidence: `${home.socket} is left over from a node that was killed`,
      next: 'Nothing to do: the next start replaces it.',
    }
  }
  throw failure
}

function nodeFinding({ home }: CommandContext, { status, failure }: Running): Omit<Finding, 'check'> {
  if (status !== undefined) return { state: 'ok', evidence: `running, pid ${status.pid}` }
  if (!(failure instanceof NodeNotRunning)) throw failure
  const holder = lockHolder(home)
  if (holder !== undefined) {
    return {
      state: 'failed',
      evidence: `pid ${holder} has the lock and does not answer`,
      cause: 'It is starting, stopping, or hangs.',
      next: 'Look again in a moment; then relay-node logs, relay-node stop.',
    }
  }
  return {
    state: 'failed',
    evidence: 'not running',
    cause: 'It was stopped or never started.',
    next: 'relay-node start --detach',
  }
}

async function storeFinding({ home }: CommandContext, status: NodeStatus | undefined): Promise<Omit<Finding, 'check'>> {
  if (status?.store_failure !== undefined) {
    return {
      state: 'failed',
      evidence: status.store_failure.message,
      cause: 'A write failed. Nothing is written until the node is started anew; what was acknowledged before is safe.',
      next: 'When that is done: relay-node stop, then relay-node start --detach',
    }
  }
  if (status !== undefined) return { state: 'ok', evidence: `open in the node, format ${status.store_format}` }
  if (!existsSync(home.store)) return { state: 'ok', evidence: 'nothing was stored yet' }
  const lock = takeLock(home)
  if (!lock.held) return { state: 'note', evidence: `in use by pid ${lock.pid}`, next: 'Look again when it answers.' }
  try {
    await withStore(home, () => Promise.resolve())
    return { state: 'ok', evidence: `${home.store} opens` }
  } finally {
    lock.release()
  }
}

/** Without a server there is no true time; a clock that is behind what it wrote itself has gone wrong. */
function clockFinding({ home }: CommandContext, status: NodeStatus | undefined): Omit<Finding, 'check'> {
  const now = Date.now()
  const written = [home.log, home.store, home.config].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  )
  const seen = (status?.teammates ?? []).map(({ last_seen: time }) => (time === undefined ? 0 : Date.parse(time)))
  const newest = Math.max(...written, ...seen)
  const evidence = `this laptop says ${new Date(now).toISOString()}`
  const apart = clocksFinding(status, evidence)
  if (apart) return apart
  if (newest <= now + CLOCK_SLACK_MS) return { state: 'ok', evidence }
  return {
    state: 'failed',
    evidence: `${evidence}, yet something here is from ${new Date(newest).toISOString()}`,
    cause: 'The clock was set back, or was ahead before.',
    next: 'Set the clock to network time, then relay-node stop and start.',
  }
}

function versionsFinding({ version }: CommandContext, status: NodeStatus | undefined): Omit<Finding, 'check'> {
  const evidence = `relay-node ${version}, protocol ${PROTOCOL_VERSION}, Node.js ${process.versions.node}`
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [majorMin, minorMin] = NODE_VERSION_MIN
  if (major < majorMin || (major === majorMin && minor < minorMin)) {
    return {
      state: 'failed',
      evidence,
      cause: `Node.js ${NODE_VERSION_MIN.join('.')} or newer is needed.`,
      next: 'Install a newer Node.js.',
    }
  }
  if (status === undefined || status.version === version) return { state: 'ok', evidence }
  return {
    state: 'failed',
    evidence: `${evidence}; the running node is ${status.version}`,
    cause: 'It was started before an update.',
    next: 'relay-node stop, then relay-node start --detach',
  }
}

/** What only a running node knows. */
function nodeFindings(status: NodeStatus): Finding[] {
  const others = status.teammates.filter((teammate) => !teammate.me)
  const unreachable = others.filter((teammate) => !teammate.reachable)
  return [
    status.addresses.length > 0
      ? {
          check: 'network',
          state: 'ok',
          evidence: `reachable at ${[...new Set(status.addresses.map(addressText))].join(', ')}`,
        }
      : {
          check: 'network',
          state: 'failed',
          evidence: 'the node has no address',
          cause: 'There is no network, or another program has its port.',
          next: 'relay-node config shows the port under "listen"; relay-node logs says why.',
        },
    unreachable.length === 0
      ? {
          check: 'teammates',
          state: 'ok',
          evidence: others.length === 0 ? 'none yet' : `all ${others.length} reachable`,
        }
      : {
          check: 'teammates',
          state: 'note',
          evidence: unreachable.map(teammateText).join('; '),
          cause: 'Their laptop is off, or there is no way to it from here.',
          next: 'Nothing is lost: what you send goes out when they are there. relay-node ping NAME tries now.',
        },
    status.roster.forked
      ? {
          check: 'roster',
          state: 'failed',
          evidence: `forked at position ${status.roster.position}`,
          cause: "The owner's key signed two different lists of members.",
          next: 'Ask the owner. Until it is settled no change of members counts.',
        }
      : { check: 'roster', state: 'ok', evidence: `at position ${status.roster.position}` },
    { check: 'recovery', ...recoveryFinding(status) },
    { check: 'removals', ...removalFinding(status) },
    ...bootstrapFindings(status.bootstrap),
    { check: 'device key', ...twinFinding(status) },
    { check: 'forks', ...forksFinding(status) },
    { check: 'refused entries', ...refusedFinding(status) },
  ]
}

function recoveryFinding(status: NodeStatus): Omit<Finding, 'check'> {
  const waits = recoveringText(status)
  if (waits === undefined) return { state: 'ok', evidence: 'nothing waits for what the store may have lost' }
  return {
    state: 'note',
    evidence: waits,
    cause: 'Whoever wrote on from an old copy would contradict what this laptop signed before.',
    next: 'Meet a laptop that has it: of the other side, or of any teammate for the members. relay-node status shows who is reachable.',
  }
}

function forksFinding({ forks, member, device }: NodeStatus): Omit<Finding, 'check'> {
  if (forks.length === 0) return { state: 'ok', evidence: 'no device signed two entries with one number' }
  const isOwn = forks.some((fork) => fork.device === `${member}/${device}`)
  return {
    state: isOwn ? 'failed' : 'note',
    evidence: forks.map((fork) => `${fork.device} in ${fork.thread_id}`).join('; '),
    cause: isOwn
      ? 'Two histories are signed with the key of this laptop: its home was copied or restored from an old copy.'
      : 'That device signed two entries with one number: its home was copied, or it tells different people different things.',
    next: isOwn
      ? 'Use only one of the copies. Those threads cannot be written any more from here; the other side can hand off anew.'
      : 'Both entries are kept as proof. relay-node show THREAD shows what counts; ask the human of that device in person.',
    details: forks,
  }
}

function refusedFinding({ refused, refused_entries: entries }: NodeStatus): Omit<Finding, 'check'> {
  const counts = Object.entries(refused).map(([name, count]) => `${name}: ${count}`)
  if (counts.length === 0 && entries.length === 0) return { state: 'ok', evidence: 'none' }
  const bySender = Map.groupBy(entries, ({ from }) => from)
  const kept = [...bySender].map(
    ([from, sent]) => `${sent.length} from ${from} (${[...new Set(sent.map(({ refusal }) => refusal))].join(', ')})`,
  )
  return {
    state: 'note',
    evidence: [
      counts.length === 0 ? 'none since the node started' : counts.join(', '),
      ...(kept.length === 0 ? [] : [`kept as proof: ${kept.join('; ')}`]),
    ].join('; '),
    cause: 'Peers sent what breaks a rule; it was not taken in.',
    next: 'If it goes on, ask the humans of those devices: their program is broken or not theirs.',
    details: entries,
  }
}

function printFinding(printer: Printer, { check: name, state, evidence, cause, next }: Finding): void {
  const text = `${name}: ${evidence}`
  const mark = {
    ok: printer.styled('green', '✓'),
    note: printer.styled('yellow', '!'),
    failed: printer.styled('red', '✗'),
  }[state]
  printer.line(`${mark} ${text}`)
  if (cause !== undefined) printer.line(`    ${cause}`)
  if (next !== undefined) printer.line(`    Next: ${next}`)
}
