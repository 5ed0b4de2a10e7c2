/** Envelopes that arrive in one order or another, of one thread or several, and what comes of them. */
import {
  addNode,
  authorize,
  type Checked,
  commitThreadKey,
  emptyGraph,
  type Entry,
  type Graph,
  type Hex,
  inOrder,
  isBodyOf,
  openBody,
  openEntry,
  recordHeads,
  reduce,
  type Refusal,
  type RosterLog,
  stateDigest,
  unwrapThreadKey,
  verdictOf,
} from '../../protocol/index.ts'
import type { BodyKind } from '../../protocol/kinds.ts'
import type { Fields, Json } from './vector-form.ts'

export interface Arrival {
  readonly envelope: Uint8Array
  /** The sealed body that came with it. */
  readonly body: Uint8Array | null
}

interface Received {
  readonly graphs: ReadonlyMap<Hex, Graph>
  /** Refusals by the position of arrival. */
  readonly refused: ReadonlyMap<number, Refusal>
  /** Positions of what still waits for a parent or a roster entry. */
  readonly waiting: readonly number[]
}

/** Takes entries in as a node does: by thread; what misses a parent waits for it; what is refused for more than its signature is remembered. */
export function receive(
  arrivals: readonly Arrival[],
  log: RosterLog,
  open: (envelope: Uint8Array) => Checked<Entry> = openEntry,
): Received {
  const graphs = new Map<Hex, Graph>()
  const refused = new Map<number, Refusal>()
  const refusedIds = new Set<Hex>()
  const graphOf = (thread: Hex) => {
    const graph = graphs.get(thread) ?? emptyGraph()
    graphs.set(thread, graph)
    return graph
  }
  const threadOf = (id: Hex) => [...graphs].find(([, graph]) => graph.byId.has(id))?.[0]
  const settle = ([position, entry]: readonly [number, Entry]): boolean => {
    const graph = graphOf(entry.thread)
    if (graph.byId.has(entry.id)) return true
    const verdict = authorize({ graph, log, isRefused: (id) => refusedIds.has(id), threadOf }, entry)
    if (verdict.ok === 'missing') return false
    if (verdict.ok) addNode(graph, verdict.value)
    else {
      refused.set(position, verdict.refusal)
      refusedIds.add(entry.id)
    }
    return true
  }
  let waiting: (readonly [number, Entry])[] = []
  arrivals.forEach(({ envelope }, position) => {
    const opened = open(envelope)
    if (!opened.ok) {
      refused.set(position, opened.refusal)
      return
    }
    waiting.push([position, opened.value])
    for (let settled = true; settled;) {
      const still = waiting.filter((one) => !settle(one))
      settled = still.length < waiting.length
      waiting = still
    }
  })
  return { graphs, refused, waiting: waiting.map(([position]) => position) }
}

/** What a vector says of the thread that arrived. */
export function tellThread(received: Received, thread: Hex): Fields {
  const { graphs, refused, waiting } = received
  return {
    ...stateOf(graphs.get(thread) ?? emptyGraph()),
    refused: [...refused].toSorted(([a], [b]) => a - b),
    waiting: waiting.toSorted((a, b) => a - b),
  }
}

function stateOf(graph: Graph): Fields {
  if (graph.nodes.length === 0) return { status: null }
  const state = reduce(graph)
  const order = inOrder(graph)
  return {
    status: state.status,
    final: state.final,
    waiting_for: state.waitingFor.toSorted(),
    lead: { ...state.lead },
    conflicting: state.conflicting,
    repudiated: state.repudiated,
    void: [...state.void].toSorted(),
    cut: [...state.cut].toSorted(),
    late: [...state.late].toSorted(),
    forked: [...state.forked].toSorted(),
    numbers: order.flatMap(({ entry, number }) => (number === undefined ? [] : [[entry.id, number]])),
    order: order.map(({ entry }) => entry.id),
    heads: [...graph.heads].toSorted(),
    record_heads: recordHeads(graph)
      .map(({ entry }) => entry.id)
      .toSorted(),
    verdict: verdictOf(graph) ?? null,
    digest: stateDigest(graph, state),
  }
}

/** Which of the bodies that came open under the keys of the thread, by position. */
export function tellBodies(received: Received, arrivals: readonly Arrival[], keys: ReadonlyMap<Hex, Uint8Array>): Json {
  return arrivals.flatMap(({ envelope, body }, position) => {
    const opened = openEntry(envelope)
    if (!body || !opened.ok) return []
    const entry = opened.value
    const stored = received.graphs.get(entry.thread)?.byId.get(entry.id)
    const key = keys.get(entry.header.body?.key ?? entry.id)
    if (!stored || !key) return []
    if (!isBodyOf(entry, body)) return [[position, 'other_bytes']]
    const content = openBody(entry, entry.header.kind as BodyKind, body, key)
    return [[position, content.ok ? 'opens' : content.refusal]]
  })
}

/** What devices find in the wraps of create: their key, one that was not committed to, or nothing. */
export async function tellWraps(
  graph: Graph | undefined,
  seeds: readonly (readonly [device: Hex, seed: Uint8Array])[],
): Promise<Json> {
  const header = graph?.byKind.create[0]?.entry.header
  const told: Json[] = []
  for (const [device, seed] of header ? seeds : []) {
    const wrap = header?.ctl.wraps.find(([to]) => to === device)
    if (!header || !wrap) continue
    const { ws, dev } = header
    const { nonce, commit } = header.ctl
    const key = await unwrapThreadKey(wrap, { ws, nonce, author: dev }, seed)
    const isCommitted = key.ok && commitThreadKey(key.value, { nonce, ws, device: dev, prev: null }) === commit
    told.push([device, isCommitted ? 'opens' : key.ok ? 'key_commitment' : key.refusal])
  }
  return told
}
