/**
 * The graph of one thread: who is in whose past, heads, sides, numbers and the one order.
 *
 * A node holds what follows from its own past alone, so that it is the same on every peer for ever.
 */
import type { Hex } from './canonical.ts'
import type { Entry } from './entry.ts'
import type { CtlOf, Kind } from './kinds.ts'

export type Side = 'sender' | 'recipient' | 'reader'

/** A set of node indexes, one bit each. */
export type Bits = Uint32Array

export function hasBit(bits: Bits, index: number): boolean {
  return ((bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0
}

function addBit(bits: Bits, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31))
}

function addAll(bits: Bits, more: Bits): void {
  for (let i = 0; i < more.length; i++) bits[i] = (bits[i] ?? 0) | (more[i] ?? 0)
}

/** An entry in its place. */
export interface Node {
  readonly entry: Entry
  /** Position in {@link Graph.nodes}: parents come before children. */
  readonly index: number
  /** All entries reachable by prev and deps, itself left out. */
  readonly past: Bits
  /** 1 + the greatest depth of its past. */
  readonly depth: number
  /** The author's side in its own past. */
  readonly side: Side | undefined
  /** True if a cancel is in its past. */
  readonly afterCancel: boolean
  /** Sequence number of create, message and complete. */
  readonly number: number | undefined
  /** The greatest sequence number of its past and itself. */
  readonly numberMax: number
}

export type NodeOf<K extends Kind> = Node & {
  readonly entry: Entry & { readonly header: { readonly kind: K; readonly ctl: CtlOf<K> } }
}

export interface Graph {
  readonly nodes: Node[]
  readonly byId: Map<Hex, Node>
  /** Device → its entries in order of arrival. */
  readonly byDevice: Map<Hex, Node[]>
  readonly byKind: { readonly [K in Kind]: NodeOf<K>[] }
  /** Entries that nobody names yet. */
  readonly heads: Set<Hex>
  /** Devices with two entries of one number. */
  readonly forked: Set<Hex>
}

export function emptyGraph(): Graph {
  return {
    nodes: [],
    byId: new Map(),
    byDevice: new Map(),
    byKind: {
      create: [],
      accept: [],
      cancel: [],
      complete: [],
      message: [],
      revise: [],
      annotate: [],
      resolve: [],
      approve: [],
      share: [],
      wrap: [],
      ack: [],
      fence: [],
    },
    heads: new Set(),
    forked: new Set(),
  }
}

/** prev and deps of an entry. */
export function parentsOf(entry: Entry): Hex[] {
  const { prev, deps } = entry.header
  return prev === null ? [...deps] : [prev, ...deps]
}

export function isOfKind<K extends Kind>(node: Node, kind: K): node is NodeOf<K> {
  return node.entry.header.kind === kind
}

/** The set of all nodes. */
export function wholeSet(graph: Graph): Bits {
  const bits = new Uint32Array((graph.nodes.length + 31) >>> 5)
  for (let i = 0; i < graph.nodes.length; i++) addBit(bits, i)
  return bits
}

/** True if a is in the past of b. */
export function isBefore(a: Node, b: Node): boolean {
  return hasBit(b.past, a.index)
}

/** True if neither is in the other's past. */
export function isConcurrent(a: Node, b: Node): boolean {
  return a !== b && !isBefore(a, b) && !isBefore(b, a)
}

/** The union of what `parents` and their pasts hold. */
export function pastOf(graph: Graph, parents: readonly Node[]): Bits {
  const past = new Uint32Array((graph.nodes.length + 31) >>> 5)
  for (const parent of parents) {
    addAll(past, parent.past)
    addBit(past, parent.index)
  }
  return past
}

/**
 * The side of `device` as of `past`: sender or recipient by create's lists or by a wrap that adds
 * it, else reader by a share.
 */
export function sideIn(graph: Graph, past: Bits, device: Hex): Side | undefined {
  const create = graph.byKind.create[0]
  if (!create || !hasBit(past, create.index)) return undefined
  const { senders, recipients } = create.entry.header.ctl
  if (senders.includes(device)) return 'sender'
  if (recipients.includes(device)) return 'recipient'
  for (const wrap of graph.byKind.wrap)
    if (hasBit(past, wrap.index) && wrap.entry.header.ctl.adds === device) return wrap.side
  for (const share of graph.byKind.share)
    if (hasBit(past, share.index) && share.entry.header.ctl.devices.includes(device)) return 'reader'
  return undefined
}

const NUMBERED: ReadonlySet<Kind> = new Set(['create', 'message', 'complete'])

/** The node of `entry` below its parents, not yet part of the graph. */
export function placeNode(graph: Graph, entry: Entry, parents: readonly Node[]): Node {
  const { kind, dev } = entry.header
  const past = pastOf(graph, parents)
  let depth = 1
  let numberMax = 0
  let afterCancel = false
  for (const parent of parents) {
    depth = Math.max(depth, parent.depth + 1)
    numberMax = Math.max(numberMax, parent.numberMax)
    afterCancel ||= parent.afterCancel || parent.entry.header.kind === 'cancel'
  }
  const side = kind === 'create' ? 'sender' : sideIn(graph, past, dev)
  let number: number | undefined
  if (NUMBERED.has(kind)) {
    // The smallest number above all in its past with its side's parity: sender odd, recipient even.
    number = numberMax + 1
    if ((number % 2 === 1) !== (side === 'sender')) number++
    numberMax = number
  }
  return { entry, index: graph.nodes.length, past, depth, side, afterCancel, number, numberMax }
}

/** Takes a placed node in. The caller has judged it, and nothing was added since it was placed. */
export function addNode(graph: Graph, node: Node): void {
  const { dev, seq, kind } = node.entry.header
  graph.nodes.push(node)
  graph.byId.set(node.entry.id, node)
  const own = graph.byDevice.get(dev)
  if (own) {
    // Parents come first, so an unforked chain of n entries holds the numbers 0 to n - 1.
    if (seq < own.length) graph.forked.add(dev)
    own.push(node)
  } else graph.byDevice.set(dev, [node])
  ;(graph.byKind[kind] as Node[]).push(node)
  for (const parent of parentsOf(node.entry)) graph.heads.delete(parent)
  graph.heads.add(node.entry.id)
}

/** Rank of a device (rule E3): sender devices, then recipient devices in create's order, then added devices by their key. */
export function compareRank(graph: Graph, a: Hex, b: Hex): number {
  const ctl = graph.byKind.create[0]?.entry.header.ctl
  const listed = ctl ? [...ctl.senders, ...ctl.recipients] : []
  const rankA = listed.indexOf(a)
  const rankB = listed.indexOf(b)
  if (rankA >= 0 || rankB >= 0) return (rankA < 0 ? listed.length : rankA) - (rankB < 0 ? listed.length : rankB)
  return a < b ? -1 : a > b ? 1 : 0
}

/** The one order (rule E6): depth, then rank, then id. */
export function compareOrder(graph: Graph, a: Node, b: Node): number {
  return (
    a.depth - b.depth ||
    compareRank(graph, a.entry.header.dev, b.entry.header.dev) ||
    (a.entry.id < b.entry.id ? -1 : 1)
  )
}

/** A device's own entries in the past of `node`, which extends that device's chain: just its predecessors. */
export function chainBefore(graph: Graph, node: Node): Node[] {
  return (graph.byDevice.get(node.entry.header.dev) ?? []).filter((own) => isBefore(own, node))
}
