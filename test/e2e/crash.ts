/**
 * Two nodes at work, and kill -9 at random moments. After each: what was acknowledged is in the
 * store, chains are linear, the node starts, and both sides come to the same state.
 */
import type { ThreadView } from '../../src/node/api.ts'
import { ApiError } from '../../src/rpc/client.ts'
import { dice } from '../cast.ts'
import { audit } from './crash-audit.ts'
import { askAgain, emptyLedger, type Ledger, type Pick, work } from './crash-load.ts'
import { happens, type NodeProcess, stoppedPair } from './crash-node.ts'

export interface CrashOptions {
  readonly rounds: number
  readonly seed: number
  /** No further round begins once it says so. */
  readonly isLate?: () => boolean
  readonly note?: (line: string) => void
  /** Both sides agree within this time, or never will. Left out: waits for ever. */
  readonly patienceMs?: number
}

export interface CrashReport {
  rounds: number
  kills: number
  acknowledged: number
  /** Writes that were under way when a node was killed and were asked for again. */
  askedAgain: number
  failures: string[]
}

const SESSIONS_COUNT = 4
/** Answers after which a kill comes, at most. */
const KILL_AFTER_COUNT_MAX = 40
const JITTER_MS_MAX = 20
/** Longer than a node takes to start: some kills come before it answers. */
const START_JITTER_MS_MAX = 900
const KILLED_WHILE_STARTING_IN = 8

export async function crash({ rounds, seed, isLate, note, patienceMs }: CrashOptions): Promise<CrashReport> {
  const pick = picker(seed)
  const report: CrashReport = { rounds: 0, kills: 0, acknowledged: 0, askedAgain: 0, failures: [] }
  const pair = await stoppedPair()
  const [bob, frank] = pair
  await using disposal = new AsyncDisposableStack()
  for (const node of pair) disposal.use(node)
  const ledger = emptyLedger()
  for (const node of pair) await node.start()
  while (report.rounds < rounds && report.failures.length === 0 && isLate?.() !== true) {
    const killed = [[bob], [frank], pair][pick(3)] ?? pair
    await killUnderLoad(ledger, pair, killed, pick)
    report.kills += killed.length
    for (const node of killed) report.failures.push(...(await audit(node, ownOf(ledger, node))))
    for (const node of killed) report.kills += await startAnew(node, pick)
    const asked = await askAgain(ledger)
    report.askedAgain += asked.length
    report.failures.push(...(await settled(ledger, pair, { asked, patienceMs })))
    report.rounds++
    report.acknowledged = ledger.all.length
    note?.(`round ${report.rounds}: ${report.kills} kills, ${report.acknowledged} acknowledged`)
  }
  for (const node of pair) await node.stop()
  for (const node of pair) report.failures.push(...(await audit(node, ledger.all)))
  return report
}

/** Throws that fall the same way for the same seed. */
function picker(seed: number): Pick {
  const throwDice = dice(`crash ${seed}`)
  return (count) => Buffer.from(throwDice(4)).readUInt32LE() % count
}

function ownOf(ledger: Ledger, node: NodeProcess) {
  return ledger.all.filter(({ by }) => by === node)
}

/** All work on both nodes until some of them are killed, which happens in the middle of it. */
async function killUnderLoad(
  ledger: Ledger,
  [bob, frank]: readonly [NodeProcess, NodeProcess],
  killed: readonly NodeProcess[],
  pick: Pick,
): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  let left = 1 + pick(KILL_AFTER_COUNT_MAX)
  ledger.onYes = () => {
    if (--left === 0) setTimeout(resolve, pick(JITTER_MS_MAX))
  }
  let isOver = false
  const places = [
    { at: bob, other: frank },
    { at: frank, other: bob },
  ]
  const working = Promise.all(
    places.flatMap((place) => Array.from({ length: SESSIONS_COUNT }, () => work(ledger, place, pick, () => isOver))),
  )
  await Promise.race([enough, working])
  await Promise.all(killed.map((node) => node.kill()))
  isOver = true
  await working
  ledger.onYes = () => undefined
}

/** Starts a killed node; now and then it is killed once more while it starts. Gives how often it was. */
async function startAnew(node: NodeProcess, pick: Pick): Promise<number> {
  let kills = 0
  while (pick(KILLED_WHILE_STARTING_IN) === 0) {
    node.begin()
    await new Promise((resolve) => setTimeout(resolve, pick(START_JITTER_MS_MAX)))
    await node.kill()
    kills++
  }
  await node.start()
  return kills
}

/** Waits until both show the same for every thread that was touched, and says what is wrong with what they show. */
async function settled(
  ledger: Ledger,
  pair: readonly [NodeProcess, NodeProcess],
  { asked, patienceMs }: { asked: readonly { thread: string; text: string }[]; patienceMs: number | undefined },
): Promise<string[]> {
  const open = new Set(ledger.touched)
  const views = new Map<string, [ThreadView, ThreadView]>()
  const patience = Promise.withResolvers<false>()
  const timer = patienceMs === undefined ? undefined : setTimeout(() => patience.resolve(false), patienceMs)
  const agreed = happens(pair, async () => {
    for (const thread of open) {
      const [ofBob, ofFrank] = await Promise.all(pair.map(async (node) => viewOf(node, thread)))
      if (!ofBob || !ofFrank || ofBob.state_digest !== ofFrank.state_digest) return false
      open.delete(thread)
      views.set(thread, [ofBob, ofFrank])
    }
    return true
  })
  const inTime = await Promise.race([agreed, patience.promise])
  clearTimeout(timer)
  if (!inTime) return [...open].map((thread) => `${thread}: the two sides do not come to agree`)
  ledger.touched.clear()
  const faults: string[] = []
  for (const [thread, both] of views) {
    const said = new Set(ledger.all.filter((one) => one.thread === thread).map(({ kind }) => kind))
    for (const { status, forks } of both) {
      if (forks.length > 0) faults.push(`${thread}: ${forks.join(', ')} forked`)
      if (said.has('complete') && status !== 'completed') faults.push(`${thread}: completed, now ${status}`)
      else if (said.has('accept') && status !== 'accepted' && status !== 'completed')
        faults.push(`${thread}: accepted, now ${status}`)
      else if (said.has('cancel') && status === 'pending') faults.push(`${thread}: cancelled, now pending`)
    }
  }
  for (const { thread, text } of asked) {
    const entries = await allEntries(pair[0], thread)
    const count = entries.filter(({ content }) => JSON.stringify(content ?? '').includes(text)).length
    if (count !== 1) faults.push(`${thread}: a message that was asked for twice is there ${count} times`)
  }
  return faults
}

async function viewOf(node: NodeProcess, thread: string, cursor?: string): Promise<ThreadView | undefined> {
  const client = node.session()
  try {
    return await client.call('tasks/get', { thread_id: thread, ...(cursor === undefined ? {} : { cursor }) })
  } catch (error) {
    if (error instanceof ApiError && error.symbol === 'thread_not_found') return undefined
    throw error
  } finally {
    client.close()
  }
}

async function allEntries(node: NodeProcess, thread: string): Promise<ThreadView['entries']> {
  const entries: ThreadView['entries'] = []
  for (let cursor: string | undefined; ;) {
    const view = await viewOf(node, thread, cursor)
    entries.push(...(view?.entries ?? []))
    cursor = view?.next_cursor
    if (cursor === undefined) return entries
  }
}
