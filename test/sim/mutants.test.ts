/** Nodes that are broken in one respect each: what the checkers are worth. */
import { expect, test, vi } from 'vitest'
import type * as Acknowledge from '../../src/node/acknowledge.ts'
import type * as Carry from '../../src/node/carry.ts'
import type * as Checks from '../../src/node/checks.ts'
import type * as Contents from '../../src/node/contents.ts'
import type * as Fencing from '../../src/node/fencing.ts'
import type * as ReaderKeys from '../../src/node/reader-keys.ts'
import type * as Rows from '../../src/node/rows.ts'

import { emptyRosterLog } from '../../protocol/index.ts'
import { missingBodies, sideOf } from '../../src/node/threads.ts'
import type * as Tracker from '../../src/node/tracker.ts'
import type * as WriteQueue from '../../src/node/write-queue.ts'
import type { Defects } from './laptop.ts'
import { tell } from './story.ts'

type Break =
  | 'outbox'
  | 'bodies'
  | 'queue'
  | 'keys'
  | 'tracker'
  | 'carried'
  | 'quota'
  | 'boast'
  | 'fence'
  | 'late fence'
  | 'old key'
  | 'new key'
  | 'reader'
const broken = vi.hoisted(() => ({ by: undefined as string | undefined }))

vi.mock('../../src/node/rows.ts', async (original) => {
  const real = await original<typeof Rows>()
  return {
    ...real,
    putOutbox: (...given: Parameters<typeof real.putOutbox>) => {
      const write = real.putOutbox(...given)
      return broken.by === 'outbox' ? { ...write, type: 'del' as const } : write
    },
    getReceipt: async (...given: Parameters<typeof real.getReceipt>): Promise<Rows.Receipt | undefined> =>
      broken.by === 'keys' ? undefined : real.getReceipt(...given),
  }
})

vi.mock('../../src/node/acknowledge.ts', async (original) => {
  const real = await original<typeof Acknowledge>()
  return {
    async acknowledge(...[held, turn, thread]: Parameters<typeof real.acknowledge>) {
      const missing = broken.by === 'bodies' ? missingBodies(thread) : []
      for (const id of missing) thread.bodies.add(id)
      const ack = await real.acknowledge(held, turn, thread)
      for (const id of missing) thread.bodies.delete(id)
      return ack
    },
  }
})

vi.mock('../../src/node/carry.ts', async (original) => {
  const real = await original<typeof Carry>()
  return {
    ...real,
    dropUnawaited: (...given: Parameters<typeof real.dropUnawaited>) => {
      if (broken.by !== 'carried') real.dropUnawaited(...given)
    },
    carry: (...[held, turn, thread, body]: Parameters<typeof real.carry>) => {
      const quotas = { ...held.quotas, carried: Number.MAX_SAFE_INTEGER, carriedOfAuthor: Number.MAX_SAFE_INTEGER }
      return real.carry(broken.by === 'quota' ? { ...held, quotas } : held, turn, thread, body)
    },
    async *carriedFor(...[held, device]: Parameters<typeof real.carriedFor>) {
      yield* real.carriedFor(held, device)
      if (broken.by !== 'boast') return
      for (const thread of held.facts.keys()) {
        const { graph } = await held.threads.load(thread)
        yield { thread, ids: graph.nodes.map(({ entry }) => entry.id) }
      }
    },
  }
})

vi.mock('../../src/node/fencing.ts', async (original) => {
  const real = await original<typeof Fencing>()
  return {
    ...real,
    secure: (...[held, turn, thread, duties]: Parameters<typeof real.secure>) =>
      real.secure(held, turn, thread, broken.by === 'fence' ? { fence: false, keys: duties?.keys ?? true } : duties),
    fenceBefore: (...given: Parameters<typeof real.fenceBefore>) =>
      broken.by === 'fence' || broken.by === 'late fence' ? undefined : real.fenceBefore(...given),
  }
})

vi.mock('../../src/node/contents.ts', async (original) => {
  const real = await original<typeof Contents>()
  return {
    ...real,
    writingKey: (...[workspace, thread]: Parameters<typeof real.writingKey>) =>
      real.writingKey(broken.by === 'old key' ? { ...workspace, log: emptyRosterLog() } : workspace, thread),
  }
})

vi.mock('../../src/node/reader-keys.ts', async (original) => {
  const real = await original<typeof ReaderKeys>()
  return {
    ...real,
    giveKeys: async (...given: Parameters<typeof real.giveKeys>) =>
      broken.by === 'new key' ? [] : real.giveKeys(...given),
  }
})

vi.mock('../../src/node/checks.ts', async (original) => {
  const real = await original<typeof Checks>()
  return {
    ...real,
    requireSide(...[held, thread, ...rest]: Parameters<typeof real.requireSide>) {
      const side = sideOf(thread, held.workspace.key.public)
      if (broken.by !== 'reader' || side !== 'reader') real.requireSide(held, thread, ...rest)
    },
  }
})

vi.mock('../../src/node/write-queue.ts', async (original) => {
  const real = await original<typeof WriteQueue>()
  return {
    createWriteQueue() {
      const queue = real.createWriteQueue()
      return { run: <T>(task: () => Promise<T>) => (broken.by === 'queue' ? task() : queue.run(task)) }
    },
  }
})

vi.mock('../../src/node/tracker.ts', async (original) => {
  const real = await original<typeof Tracker>()
  return {
    ...real,
    track: (...given: Parameters<typeof real.track>) => {
      if (broken.by !== 'tracker') real.track(...given)
    },
  }
})

interface Mutant {
  readonly node: string
  readonly break?: Break
  readonly defects?: Defects
  readonly removals?: boolean
  /** Seeds of which one, at the latest the last, shows it. */
  readonly seeds: readonly [first: number, last: number]
  /** Checkers that may be the first to say so. */
  readonly by: readonly string[]
}

const MUTANTS: readonly Mutant[] = [
  { node: 'answers before it has written', defects: { diskLiesForMs: 200 }, seeds: [1, 5], by: ['kept', 'told'] },
  { node: 'forgets what it owes', break: 'outbox', seeds: [1, 5], by: ['outbox', 'bounds'] },
  { node: 'never pulls what gossip lost', defects: { mute: ['vector', 'ids'] }, seeds: [1, 5], by: ['converged'] },
  { node: 'asks for no body', defects: { mute: ['want'] }, seeds: [1, 60], by: ['converged'] },
  { node: 'acknowledges before the body is there', break: 'bodies', seeds: [1, 60], by: ['told'] },
  { node: 'trusts an old disk', defects: { noStartMark: true }, seeds: [60, 200], by: ['honest', 'twin'] },
  {
    node: 'has no write queue',
    break: 'queue',
    seeds: [1, 20],
    by: ['answers', 'honest', 'kept', 'once', 'rules', 'twin'],
  },
  { node: 'forgets idempotency keys', break: 'keys', seeds: [1, 20], by: ['once'] },
  { node: 'keeps for others what they have acknowledged', break: 'carried', seeds: [1, 20], by: ['carried'] },
  { node: 'keeps more for others than it may', break: 'quota', seeds: [1, 60], by: ['carried'] },
  { node: 'says that it keeps what it does not', break: 'boast', seeds: [1, 20], by: ['carried'] },
  { node: 'shows a state that has passed', break: 'tracker', seeds: [1, 20], by: ['rules', 'digests'] },
  { node: 'fences nobody', break: 'fence', removals: true, seeds: [1, 20], by: ['shut out'] },
  { node: 'fences after it has taken in', break: 'late fence', removals: true, seeds: [80, 200], by: ['shut out'] },
  { node: 'writes under the old key', break: 'old key', removals: true, seeds: [1, 20], by: ['shut out'] },
  { node: 'gives no reader the new key', break: 'new key', removals: true, seeds: [10, 30], by: ['readers'] },
  { node: 'lets a reader write', break: 'reader', removals: true, seeds: [1, 20], by: ['answers'] },
]

test.each(MUTANTS)(
  'a node that $node is caught',
  async ({ break: by, defects = {}, removals = false, seeds: [first, last], by: who }) => {
    broken.by = by
    for (let seed = first; seed <= last; seed++) {
      const { violation } = await tell(seed, { defects, removals })
      if (!violation) continue
      console.log(`seed ${seed}, ${violation.checker}: ${violation.what}`)
      return expect(who).toContain(violation.checker)
    }
    throw new Error('no seed showed it')
  },
)
