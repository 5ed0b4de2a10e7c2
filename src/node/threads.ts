/** Threads in memory: each is read from the store when it is needed, and forgotten when it was not used for long. */
import {
  addNode,
  authorize,
  emptyGraph,
  type Entry,
  type Graph,
  type Hex,
  type Node,
  parseEntry,
  type RosterLog,
  sideIn,
  threadDevices,
  wholeSet,
} from '../../protocol/index.ts'
import type { Store } from '../store/store.ts'
import { readMarks } from './chunk-rows.ts'
import type { EntryContents } from './chunks.ts'
import { type CarrierRow, getThreadRow, readCarriers, readEntries, readSecrets, type ThreadRow } from './rows.ts'
import { emptyTracker, type Tracker, track } from './tracker.ts'
import { keepNewest } from './newest.ts'

export interface Arrival {
  readonly number: number
  /** This node's clock, ms. */
  readonly at: number
}

/** Somebody keeps an entry for the other side. */
export type CarrierFact = Pick<CarrierRow, 'at' | 'host'>

/** One thread as this node holds it. */
export interface Thread {
  readonly id: Hex
  readonly graph: Graph
  readonly tracker: Tracker
  readonly arrivals: Map<Hex, Arrival>
  /** Entries whose sealed body is here. */
  readonly bodies: Set<Hex>
  /** Chunks of artifacts that are here. */
  readonly chunks: Set<Hex>
  /** What the artifacts of entries hold, as far as it was looked at. */
  readonly contents: Map<Hex, EntryContents>
  /** Thread keys by the id of the create or wrap that introduced them. */
  readonly keys: Map<Hex, Uint8Array>
  /** Who keeps an own entry for others, by entry and place. */
  readonly carriers: Map<Hex, Map<string, CarrierFact>>
  row: ThreadRow | undefined
}

export interface Threads {
  /** The thread, empty where nothing of it is held. */
  load(id: Hex): Promise<Thread>
  /** The thread as the store has it, in a copy of its own that is not kept. */
  read(id: Hex): Promise<Thread>
  /** The thread of an entry, among those in memory. */
  threadOf(entry: Hex): Hex | undefined
  /** Keeps a thread that was just begun. */
  adopt(thread: Thread): void
  /** Forgets what is in memory: the store holds the truth. */
  forget(id: Hex): void
}

const THREADS_CACHED_COUNT_MAX = 256

export function createThreads(store: Store, log: RosterLog): Threads {
  /** In order of use, least recent first. */
  const cached = new Map<Hex, Thread>()
  return {
    async load(id) {
      const thread = cached.get(id) ?? (await readThread(store, log, id))
      cached.delete(id)
      cached.set(id, thread)
      keepNewest(cached, THREADS_CACHED_COUNT_MAX)
      return thread
    },
    read: (id) => readThread(store, log, id),
    threadOf(entry) {
      for (const thread of cached.values()) if (thread.graph.byId.has(entry)) return thread.id
      return undefined
    },
    adopt(thread) {
      cached.set(thread.id, thread)
    },
    forget(id) {
      cached.delete(id)
    },
  }
}

export function emptyThread(id: Hex): Thread {
  return {
    id,
    graph: emptyGraph(),
    tracker: emptyTracker(),
    arrivals: new Map(),
    bodies: new Set(),
    chunks: new Set(),
    contents: new Map(),
    keys: new Map(),
    carriers: new Map(),
    row: undefined,
  }
}

async function readThread(store: Store, log: RosterLog, id: Hex): Promise<Thread> {
  const thread = emptyThread(id)
  thread.row = await getThreadRow(store, id)
  const ground = { graph: thread.graph, log, isRefused: () => false }
  for await (const stored of readEntries(store, id)) {
    const parsed = parseEntry(stored.envelope)
    const node = parsed.ok ? authorize(ground, parsed.value) : parsed
    // What was stored was judged by rules that never change. What no longer passes lost its parents
    // with a part of the disk: peers, who see other heads here, send the missing part and it again.
    if (node.ok === true && !thread.graph.byId.has(node.value.entry.id))
      takeIn(thread, node.value, { number: stored.arrival, at: stored.receivedAt })
  }
  const withBody = thread.graph.nodes.filter((node) => node.entry.header.body !== null).map((node) => node.entry.id)
  const bodies = await store.getMany('body', withBody)
  withBody.forEach((entry, i) => {
    if (bodies[i]) thread.bodies.add(entry)
  })
  for await (const [, chunk] of readMarks(store, 'present', id)) thread.chunks.add(chunk)
  for await (const [keyId, key] of readSecrets(store, `thread/${id}`)) thread.keys.set(keyId, key)
  for await (const [entry, { where, at, host }] of readCarriers(store, id))
    thread.carriers.set(entry, (thread.carriers.get(entry) ?? new Map<string, CarrierFact>()).set(where, { at, host }))
  return thread
}

/** Adds a judged node to the thread in memory. */
export function takeIn(thread: Thread, node: Node, arrival: Arrival): void {
  addNode(thread.graph, node)
  thread.arrivals.set(node.entry.id, arrival)
  track(thread.tracker, thread.graph, node)
}

export function createOf(
  thread: Thread,
): (Entry & { header: Extract<Entry['header'], { kind: 'create' }> }) | undefined {
  return thread.graph.byKind.create[0]?.entry
}

/** The side of a device in all that is held. */
export function sideOf(thread: Thread, device: Hex) {
  return sideIn(thread.graph, wholeSet(thread.graph), device)
}

/** Devices that take part in the thread, in rank order; its readers do not. */
export function participantsOf(thread: Thread): Hex[] {
  return threadDevices(thread.graph).filter((device) => sideOf(thread, device) !== 'reader')
}

/** Entries whose sealed body is not here. */
export function missingBodies(thread: Thread): Hex[] {
  const missing = thread.graph.nodes.filter(({ entry }) => entry.header.body !== null && !thread.bodies.has(entry.id))
  return missing.map((node) => node.entry.id)
}

export function receivedAt(thread: Thread, entry: Hex): number {
  return thread.arrivals.get(entry)?.at ?? 0
}

/** All tips of each device's chain: one, unless it forked. */
export function tipsOf(thread: Thread): [device: Hex, seq: number, entry: Hex][] {
  const tips: [Hex, number, Hex][] = []
  for (const [device, nodes] of thread.graph.byDevice) {
    const inner = new Set(nodes.map((node) => node.entry.header.prev))
    for (const { entry } of nodes) if (!inner.has(entry.id)) tips.push([device, entry.header.seq, entry.id])
  }
  return tips
}
