/**
 * What of a set of stored entries has effect (rules E1 to E3, E5): the status of a thread and which
 * entries are void or cut. The set may be any past, or all that is stored; it is closed under pasts.
 */
import type { Hex } from './canonical.ts'
import { type Bits, compareRank, type Graph, hasBit, isBefore, isConcurrent, type Node, type NodeOf } from './graph.ts'
import type { Kind } from './kinds.ts'

export type Status = 'pending' | 'accepted' | 'completed' | 'cancelled'

/** A graph seen through a set of its nodes. Results are remembered, since the rules ask for them again and again. */
export interface View {
  readonly graph: Graph
  readonly set: Bits
  /** The fences that count: those of the set, unless the question is what would be without some. */
  readonly fences: readonly NodeOf<'fence'>[]
  readonly cut: Map<Node, boolean>
  readonly void: Map<Node, boolean>
}

export function viewOf(graph: Graph, set: Bits): View {
  const fences = graph.byKind.fence.filter((fence) => hasBit(set, fence.index))
  return { graph, set, fences, cut: new Map(), void: new Map() }
}

/** The same view, had only these fences been written. */
export function withFences(view: View, fences: readonly NodeOf<'fence'>[]): View {
  return { ...view, fences, cut: new Map(), void: new Map() }
}

/** The nodes of one kind in the view. */
export function ofKind<K extends Kind>(view: View, kind: K): NodeOf<K>[] {
  return view.graph.byKind[kind].filter((node) => hasBit(view.set, node.index))
}

export function deviceOf(node: Node): Hex {
  return node.entry.header.dev
}

/** The nodes of one device in the view. */
export function ofDevice(view: View, device: Hex): Node[] {
  return (view.graph.byDevice.get(device) ?? []).filter((node) => hasBit(view.set, node.index))
}

/** Kinds that a fence can take the effect from. Creates, cancels and receipts are never cut. */
const CUTTABLE: ReadonlySet<Kind> = new Set([
  'accept',
  'complete',
  'approve',
  'wrap',
  'share',
  'message',
  'revise',
  'annotate',
  'resolve',
])

/** Rule E5 for one fence: `node` is by the fenced device, outside the fence's past, and the fencing side never built on it unaware of the fence. */
function isCutBy(view: View, node: Node, fence: NodeOf<'fence'>): boolean {
  if (fence.entry.header.ctl.device !== deviceOf(node) || !CUTTABLE.has(node.entry.header.kind)) return false
  if (isBefore(node, fence)) return false
  return !view.graph.nodes.some(
    (x) =>
      x.side === fence.side && x !== fence && hasBit(view.set, x.index) && !isBefore(fence, x) && isBefore(node, x),
  )
}

/** Rule E5: some fence of the view cuts the node. */
export function isCut(view: View, node: Node): boolean {
  let cut = view.cut.get(node)
  if (cut === undefined) {
    cut = view.fences.some((fence) => isCutBy(view, node, fence))
    view.cut.set(node, cut)
  }
  return cut
}

/** Rule E2, first clause: the node's device showed to someone a past that holds a cancel and not this node. */
function isDominated(view: View, node: Node): boolean {
  const device = deviceOf(node)
  // Concurrent entries of one device are a fork.
  if (!view.graph.forked.has(device)) return false
  return ofDevice(view, device).some((q) => q.afterCancel && isConcurrent(q, node))
}

/**
 * Rule E2: void by a receipt that crossed it; or by a device that is neither of create's lists nor
 * added by a wrap of its own past that is itself neither void nor cut.
 */
export function isVoid(view: View, node: Node): boolean {
  let verdict = view.void.get(node)
  if (verdict === undefined) {
    verdict = isDominated(view, node) || !isRooted(view, node)
    view.void.set(node, verdict)
  }
  return verdict
}

function isRooted(view: View, node: Node): boolean {
  const device = deviceOf(node)
  const ctl = view.graph.byKind.create[0]?.entry.header.ctl
  if (ctl?.senders.includes(device) || ctl?.recipients.includes(device)) return true
  return view.graph.byKind.wrap.some(
    (wrap) =>
      wrap.entry.header.ctl.adds === device && isBefore(wrap, node) && !isVoid(view, wrap) && !isCut(view, wrap),
  )
}

function isEffectiveAccept(view: View, accept: NodeOf<'accept'>): boolean {
  return !isVoid(view, accept) && !isCut(view, accept)
}

export function effectiveAccepts(view: View): NodeOf<'accept'>[] {
  return ofKind(view, 'accept').filter((accept) => isEffectiveAccept(view, accept))
}

/** A complete has effect iff it is not cut and an effective accept is in its past. */
export function effectiveCompletes(view: View): NodeOf<'complete'>[] {
  const completes = ofKind(view, 'complete')
  if (completes.length === 0) return []
  const accepts = effectiveAccepts(view)
  return completes.filter((complete) => !isCut(view, complete) && accepts.some((accept) => isBefore(accept, complete)))
}

/** Rule E1. */
export function statusOf(view: View): Status {
  if (effectiveCompletes(view).length > 0) return 'completed'
  if (effectiveAccepts(view).length > 0) return 'accepted'
  return ofKind(view, 'cancel').length > 0 ? 'cancelled' : 'pending'
}

/** Rule E3: first the one that an earliest entry of create's author includes, then rank, then the lower id. */
export function leadOf<N extends Node>(view: View, candidates: readonly N[]): N | undefined {
  const create = view.graph.byKind.create[0]
  if (!create) return undefined
  const author = ofDevice(view, deviceOf(create))
  const firstSeen = (node: Node) =>
    author.reduce(
      (least, own) => (isBefore(node, own) ? Math.min(least, own.entry.header.seq) : least),
      Number.POSITIVE_INFINITY,
    )
  return candidates.reduce<N | undefined>((lead, node) => {
    if (!lead) return node
    const seen = firstSeen(node)
    const leadSeen = firstSeen(lead)
    if (seen !== leadSeen) return seen < leadSeen ? node : lead
    const rank = compareRank(view.graph, deviceOf(node), deviceOf(lead))
    return rank < 0 || (rank === 0 && node.entry.id < lead.entry.id) ? node : lead
  }, undefined)
}

/** Devices of one side: those of create's list and those that a wrap in effect adds. */
export function devicesOfSide(view: View, side: 'sender' | 'recipient'): Hex[] {
  const ctl = view.graph.byKind.create[0]?.entry.header.ctl
  if (!ctl) return []
  const added = ofKind(view, 'wrap').flatMap((wrap) => {
    const { adds } = wrap.entry.header.ctl
    return adds !== null && wrap.side === side && !isVoid(view, wrap) && !isCut(view, wrap) ? [adds] : []
  })
  return [...new Set([...(side === 'sender' ? ctl.senders : ctl.recipients), ...added])]
}
