/** Entries that arrive in one order or another. */
import {
  addNode,
  authorize,
  emptyGraph,
  type Entry,
  type Graph,
  type Ground,
  type Hex,
  parentsOf,
  type Refusal,
  type RosterLog,
} from '../../protocol/index.ts'

export interface Delivered {
  readonly graph: Graph
  readonly refused: ReadonlyMap<Hex, Refusal>
  /** Entries of which a parent never came. */
  readonly waiting: readonly Entry[]
}

/** Takes entries in by the order they come, as a node does: what misses a parent waits for it. */
export function deliver(entries: Iterable<Entry>, log: RosterLog): Delivered {
  const graph = emptyGraph()
  const refused = new Map<Hex, Refusal>()
  const ground: Ground = { graph, log, isRefused: (id) => refused.has(id) }
  let waiting: Entry[] = []
  const settle = (entry: Entry): boolean => {
    const verdict = authorize(ground, entry)
    if (verdict.ok === 'missing') return false
    if (verdict.ok) addNode(graph, verdict.value)
    else refused.set(entry.id, verdict.refusal)
    return true
  }
  for (const entry of entries) {
    if (!settle(entry)) {
      waiting.push(entry)
      continue
    }
    for (let settled = true; settled;) {
      const still = waiting.filter((other) => !settle(other))
      settled = still.length < waiting.length
      waiting = still
    }
  }
  return { graph, refused, waiting }
}

/** Every order in which parents come before children. */
export function* allOrders(entries: readonly Entry[]): Generator<Entry[]> {
  if (entries.length === 0) yield []
  for (const first of entries) {
    const rest = entries.filter((entry) => entry !== first)
    if (rest.some((entry) => parentsOf(first).includes(entry.id))) continue
    for (const order of allOrders(rest)) yield [first, ...order]
  }
}

/** The items in an order that `rank` picks: a permutation made of random numbers. */
export function shuffled<T>(items: readonly T[], rank: readonly number[]): T[] {
  return items
    .map((item, i) => ({ item, rank: rank[i % Math.max(rank.length, 1)] ?? 0, i }))
    .toSorted((a, b) => a.rank - b.rank || a.i - b.i)
    .map(({ item }) => item)
}
