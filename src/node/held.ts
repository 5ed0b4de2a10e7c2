/**
 * All that the node holds, and the turns in which it changes. A turn decides on what is in memory,
 * collects what has to be written, and ends with one synced batch; nobody is told before that.
 */
import { type Ground, type Hex, headsDigest, type SigningKey } from '../../protocol/index.ts'
import { type Store, StoreError, type Write } from '../store/store.ts'
import type { System } from '../system.ts'
import type { NodeEvent } from './api.ts'
import { createBuckets } from './buckets.ts'
import { addCarried, type Carried, emptyCarried } from './carry.ts'
import { addWanted, type Wanted } from './chunks.ts'
import { createDue, type Due } from './search-due.ts'
import { readMarks } from './chunk-rows.ts'
import { DEFAULT_QUOTAS, type Quotas } from './quotas.ts'
import {
  getArrival,
  getMet,
  getTwin,
  nextRefused,
  putArrival,
  putBody,
  readCarried,
  readOutbox,
  readQuarantine,
  readThreadRows,
  type ThreadRow,
  type TwinRow,
} from './rows.ts'
import { createThreads, type Thread, type Threads } from './threads.ts'
import { createWriteQueue } from './write-queue.ts'
import { loadWorkspace, type Workspace } from './workspace.ts'
import { keepNewest } from './newest.ts'

/** What is kept of every thread in memory. */
export interface ThreadFacts {
  headsDigest: Hex
  side: ThreadRow['side']
  status: ThreadRow['status']
  open: boolean
  /** Arrival number of the newest news, and when that was, ms. */
  arrival: number
  updatedAt: number
  sender: Hex
  recipient: Hex
  /** Of the summary of an open handoff that was sent from here. */
  gist: string | null
  unread: number
  recovering: boolean
  lacking: boolean
  forked: readonly Hex[]
  foreign: ThreadRow['foreign']
}

export interface Turn {
  readonly writes: Write[]
  /** Threads whose memory is ahead of the disk until the batch is written. */
  readonly touched: Set<Thread>
  /** Runs once everything is on disk. */
  readonly after: (() => void)[]
  /** Runs, last first, if nothing was written after all. */
  readonly undo: (() => void)[]
  nextArrival(): number
}

export interface Held {
  readonly store: Store
  readonly system: System
  readonly workspace: Workspace
  readonly threads: Threads
  readonly facts: ReadonlyMap<Hex, ThreadFacts>
  setFacts(thread: Hex, facts: ThreadFacts): void
  /** Digests of all threads' heads, as the sync protocol says them. */
  buckets(): Hex
  /** Device → entry → thread: what that device has not acknowledged. */
  readonly outbox: Map<Hex, Map<Hex, Hex>>
  readonly quotas: Quotas
  /** Chunks that are to be fetched. */
  readonly wanted: Wanted
  /** Contents in chunks that were compared as a whole with their SHA-256. */
  readonly compared: Set<string>
  /** Sealed bodies that are kept for others. */
  readonly carried: Carried
  /** Member → bytes of its entries in threads that this node's member takes no part in. */
  readonly foreign: ReadonlyMap<Hex, number>
  /** Grows whenever something may be taken in that was left with peers for want of room. */
  roomMade(): number
  /** Sealed bodies whose batch is not on disk yet. */
  readonly freshBodies: Map<Hex, Uint8Array>
  /** Threads that are kept apart, with the time since when, ms: begun by a device that was removed before they came. */
  readonly quarantined: Map<Hex, number>
  /** Ids refused by anything but a wrong signature, newest last. */
  readonly refusedIds: Set<Hex>
  /** Number of the next refused entry that is kept. */
  readonly proofs: { next: number }
  /** Devices that were in sync since a part of the store was lost; undefined where nothing is lost. */
  readonly recovery: { met: ReadonlySet<Hex> | undefined }
  /** The newest own entry that came from elsewhere and was never written here: another machine has this key. */
  readonly twin: { seen: TwinRow | undefined }
  /** Threads whose words have to be indexed. */
  readonly due: Due
  /** Why the last batch was not written, until one is. */
  readonly disk: { failure: StoreError | undefined }
  /** Refusals by name since the start. */
  readonly refusals: Map<string, number>
  /** Runs `task` in the write queue, then commits what it wrote. */
  turn<T>(task: (turn: Turn) => Promise<T>): Promise<T>
  emit(event: NodeEvent): void
  onEvent(listener: (event: NodeEvent) => void): () => void
  arrival(): number
}

export async function openHeld(options: {
  store: Store
  system: System
  key: SigningKey
  quotas?: Quotas
}): Promise<Held> {
  const { store, system, key, quotas = DEFAULT_QUOTAS } = options
  const workspace = await loadWorkspace(store, key)
  const threads = createThreads(store, workspace.log)
  const queue = createWriteQueue()
  const listeners = new Set<(event: NodeEvent) => void>()
  const facts = new Map<Hex, ThreadFacts>()
  const foreign = new Map<Hex, number>()
  let roomMade = 0
  const buckets = createBuckets()
  let arrival = await getArrival(store)
  const met = await getMet(store)

  function attempt(run: () => void): void {
    try {
      run()
    } catch (error) {
      system.log.error('who should be told of a change failed', { error: String(error) })
    }
  }

  const held: Held = {
    store,
    system,
    workspace,
    threads,
    facts,
    setFacts(thread, of) {
      const before = facts.get(thread)
      for (const [author, size] of before?.foreign ?? []) foreign.set(author, (foreign.get(author) ?? 0) - size)
      for (const [author, size] of of.foreign) foreign.set(author, (foreign.get(author) ?? 0) + size)
      if (before?.open === true && !of.open) roomMade++
      facts.set(thread, of)
      // Peers that do not hold it learn nothing of a thread that is kept apart.
      buckets.set(thread, held.quarantined.has(thread) ? undefined : of.headsDigest)
    },
    buckets: () => buckets.digests(),
    outbox: new Map(),
    quotas,
    wanted: { byThread: new Map(), onMore: () => undefined },
    compared: new Set(),
    carried: emptyCarried(),
    foreign,
    roomMade: () => roomMade,
    freshBodies: new Map(),
    quarantined: new Map(),
    refusedIds: new Set(),
    proofs: { next: await nextRefused(store) },
    recovery: { met: met && new Set(met) },
    twin: { seen: await getTwin(store) },
    due: createDue(),
    disk: { failure: undefined },
    refusals: new Map(),
    turn(task) {
      return queue.run(async () => {
        const arrivalBefore = arrival
        const turn: Turn = { writes: [], touched: new Set(), after: [], undo: [], nextArrival: () => ++arrival }
        let result
        try {
          result = await task(turn)
          if (arrival > arrivalBefore) turn.writes.push(putArrival(arrival))
          if (turn.writes.length > 0) {
            await store.batch(turn.writes)
            held.disk.failure = undefined
          }
        } catch (error) {
          if (error instanceof StoreError) held.disk.failure = error
          arrival = arrivalBefore
          for (const thread of turn.touched) threads.forget(thread.id)
          for (const undo of turn.undo.toReversed()) undo()
          throw error
        } finally {
          held.freshBodies.clear()
        }
        // It is on disk: whatever fails from here on takes nothing back.
        for (const run of turn.after) attempt(run)
        return result
      })
    },
    emit(event) {
      for (const listener of listeners) attempt(() => listener(event))
    },
    onEvent(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    arrival: () => arrival,
  }
  for await (const [thread, at] of readQuarantine(store)) held.quarantined.set(thread, at)
  for await (const [thread, row] of readThreadRows(store)) held.setFacts(thread, factsOf(row))
  for await (const item of readOutbox(store)) outboxOf(held, item.device).set(item.entry, item.thread)
  for await (const [thread, chunk] of readMarks(store, 'wanted')) addWanted(held.wanted, thread, chunk)
  for await (const [entry, row] of readCarried(store)) addCarried(held.carried, entry, row)
  return held
}

export function factsOf(row: ThreadRow): ThreadFacts {
  const { side, status, arrival, updatedAt, sender, recipient, unread, recovering, lacking, forked, foreign } = row
  const open = status === 'pending' || status === 'accepted'
  return {
    headsDigest: headsDigest(row.heads),
    side,
    status,
    open,
    arrival,
    updatedAt,
    sender,
    recipient,
    gist: open && side === 'out' ? row.gist : null,
    unread,
    recovering,
    lacking,
    forked,
    foreign,
  }
}

/** Whether this node's member has something to do with a thread at all. Whether this device may read it, its entries say. */
export function isListed({ side }: ThreadFacts): boolean {
  return side !== null
}

export function outboxOf(held: Held, device: Hex): Map<Hex, Hex> {
  let items = held.outbox.get(device)
  if (!items) held.outbox.set(device, (items = new Map<Hex, Hex>()))
  return items
}

/** Keeps a sealed body: readable at once within the turn, on disk at its end. */
export function keepBody(held: Held, turn: Turn, thread: Thread, body: { entry: Hex; sealed: Uint8Array }): void {
  thread.bodies.add(body.entry)
  held.freshBodies.set(body.entry, body.sealed)
  turn.writes.push(putBody(body.entry, body.sealed))
}

/** Older refusals are forgotten: what builds on one then waits in vain instead, which is as harmless. */
const REFUSED_IDS_COUNT_MAX = 10_000

export function rememberRefused(held: Held, entry: Hex): void {
  held.refusedIds.add(entry)
  keepNewest(held.refusedIds, REFUSED_IDS_COUNT_MAX)
}

export function countRefusal(held: Held, refusal: string): void {
  held.refusals.set(refusal, (held.refusals.get(refusal) ?? 0) + 1)
}

/** What the judgement of an entry of `thread` rests on. */
export function groundOf(held: Held, thread: Thread): Ground {
  return {
    graph: thread.graph,
    log: held.workspace.log,
    isRefused: (id) => held.refusedIds.has(id),
    threadOf: (id) => held.threads.threadOf(id),
  }
}

/** The cursor that grows with local arrival order. */
export function cursorOf(held: Held): string {
  return String(held.arrival())
}
