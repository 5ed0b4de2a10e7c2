/** The reducer: a set of stored entries → the state of the thread. Equal sets give equal states, in any order of arrival. */
import { fromHex, type Hex } from './canonical.ts'
import { hash } from './crypto.ts'
import {
  effectiveAccepts,
  effectiveCompletes,
  isCut,
  isVoid,
  leadOf,
  ofKind,
  type Status,
  statusOf,
  type View,
  viewOf,
  withFences,
} from './effect.ts'
import { finalityOf } from './final.ts'
import {
  type Bits,
  compareOrder,
  type Graph,
  hasBit,
  isBefore,
  type Node,
  type NodeOf,
  pastOf,
  wholeSet,
} from './graph.ts'
import type { Kind, Verdict } from './kinds.ts'

export interface ThreadState {
  readonly status: Status
  /** No later entry can change the status, as long as the devices of one's own side do not fork. */
  readonly final: boolean
  /** Devices whose word is missing until it is final. */
  readonly waitingFor: readonly Hex[]
  /** The accept and the complete that lead, where there are any in effect (rule E3). */
  readonly lead: { readonly accept: Hex | null; readonly complete: Hex | null }
  /** More than one complete is in effect. */
  readonly conflicting: boolean
  /** Completed once, and turned into cancelled by a fork of the recipient. */
  readonly repudiated: boolean
  /** Accepts, and wraps that add a device, without effect by rule E2. */
  readonly void: ReadonlySet<Hex>
  /** Entries without effect by rule E5. */
  readonly cut: ReadonlySet<Hex>
  /** Entries outside the sealed record (rule E4): kept, shown apart. */
  readonly late: ReadonlySet<Hex>
  /** Devices with two entries of one number. */
  readonly forked: ReadonlySet<Hex>
}

const CAN_BE_LATE: ReadonlySet<Kind> = new Set(['message', 'revise', 'annotate', 'resolve'])

/** The state of all that `graph` holds. The graph has a create. */
export function reduce(graph: Graph): ThreadState {
  const view = viewOf(graph, wholeSet(graph))
  const status = statusOf(view)
  const completes = effectiveCompletes(view)
  const leadAccept = leadOf(view, effectiveAccepts(view))
  const leadComplete = leadOf(view, completes)
  const late = lateEntries(view, status, leadComplete)
  const voided = idsWhere(graph, (node) => canBeVoid(node) && isVoid(view, node))
  const cut = graph.byKind.fence.length === 0 ? new Set<Hex>() : idsWhere(graph, (node) => isCut(view, node))
  const lead = { accept: leadAccept?.entry.id ?? null, complete: leadComplete?.entry.id ?? null }
  return {
    status,
    ...finalityOf(view, status, leadComplete),
    lead,
    conflicting: completes.length > 1,
    repudiated: status === 'cancelled' && graph.byKind.complete.some((complete) => isRepudiated(view, complete)),
    void: voided,
    cut,
    late,
    forked: new Set(graph.forked),
  }
}

/** SHA-256 over all ids, the status, the leads, and the void, cut and late entries: equal sets give equal digests on every peer. */
export function stateDigest(graph: Graph, state: ThreadState): Hex {
  const { status, lead } = state
  return hash('digest', [
    sortedBytes(graph.byId.keys()),
    status,
    [lead.accept === null ? null : fromHex(lead.accept), lead.complete === null ? null : fromHex(lead.complete)],
    sortedBytes(state.void),
    sortedBytes(state.cut),
    sortedBytes(state.late),
  ])
}

/** True if only a fork of a device that accepted keeps the complete from having effect. */
function isRepudiated(view: View, complete: Node): boolean {
  if (isCut(view, complete)) return false
  const unfenced = withFences(view, [])
  return ofKind(view, 'accept').some(
    (accept) => isBefore(accept, complete) && !isCut(view, accept) && isVoid(unfenced, accept),
  )
}

function canBeVoid(node: Node): boolean {
  const { header } = node.entry
  return header.kind === 'accept' || (header.kind === 'wrap' && header.ctl.adds !== null)
}

function idsWhere(graph: Graph, test: (node: Node) => boolean): Set<Hex> {
  return new Set(graph.nodes.filter(test).map((node) => node.entry.id))
}

function sortedBytes(ids: Iterable<Hex>): Uint8Array[] {
  return [...ids].toSorted().map(fromHex)
}

/** Rule E4: the record is the lead complete and its past, or all cancels and their pasts. */
function lateEntries(view: View, status: Status, leadComplete: Node | undefined): Set<Hex> {
  const { graph } = view
  const seals =
    status === 'completed' && leadComplete ? [leadComplete] : status === 'cancelled' ? ofKind(view, 'cancel') : []
  if (seals.length === 0) return new Set()
  const sealed = pastOf(graph, seals)
  return idsWhere(graph, (node) => CAN_BE_LATE.has(node.entry.header.kind) && !hasBit(sealed, node.index))
}

// Selectors.

/** The entries in the one order (rule E6). */
export function inOrder(graph: Graph): Node[] {
  return graph.nodes.toSorted((a, b) => compareOrder(graph, a, b))
}

/** Revisions (create and revise entries) of `set` that no revise of `set` names as its base. */
export function recordHeads(graph: Graph, set: Bits = wholeSet(graph)): NodeOf<'create' | 'revise'>[] {
  const revises = graph.byKind.revise.filter((node) => hasBit(set, node.index))
  const based = new Set(revises.flatMap((node) => node.entry.header.ctl.base))
  const revisions: NodeOf<'create' | 'revise'>[] = [
    ...graph.byKind.create.filter((node) => hasBit(set, node.index)),
    ...revises,
  ]
  return revisions.filter((node) => !based.has(node.entry.id))
}

/** All devices with a side in the thread, in rank order: senders, recipients, then added ones and readers. */
export function threadDevices(graph: Graph): Hex[] {
  const { create, wrap, share } = graph.byKind
  const listed = create.flatMap(({ entry }) => [...entry.header.ctl.senders, ...entry.header.ctl.recipients])
  const added = wrap.flatMap(({ entry }) => entry.header.ctl.adds ?? [])
  const readers = share.flatMap(({ entry }) => entry.header.ctl.devices)
  return [...new Set([...listed, ...added, ...readers])]
}

export interface Annotation {
  readonly node: NodeOf<'annotate'>
  /** The first resolve that has effect, in the one order; undefined while it is open. */
  readonly resolved: NodeOf<'resolve'> | undefined
}

/** All annotations in the one order. A resolve has effect where it is not cut. */
export function annotationsOf(graph: Graph, cut: ReadonlySet<Hex>): Annotation[] {
  const byOrder = (a: Node, b: Node): number => compareOrder(graph, a, b)
  const resolves = graph.byKind.resolve.filter(({ entry }) => !cut.has(entry.id)).toSorted(byOrder)
  return graph.byKind.annotate.toSorted(byOrder).map((node) => ({
    node,
    resolved: resolves.find(
      (resolve) => resolve.entry.header.ctl.annotation === node.entry.id && isBefore(node, resolve),
    ),
  }))
}

/**
 * The verdict that stands on the proposed action in a view: approved iff there are approvals and
 * every uncut one that no other names in its past is approved.
 */
export function standingVerdict(view: View): Verdict | undefined {
  const uncut = ofKind(view, 'approve').filter((node) => !isCut(view, node))
  const maximal = uncut.filter((node) => !uncut.some((other) => isBefore(node, other)))
  if (maximal.length === 0) return undefined
  return maximal.every((node) => node.entry.header.ctl.verdict === 'approved') ? 'approved' : 'rejected'
}

/** The verdict that stands on the proposed action among all that `graph` holds. */
export function verdictOf(graph: Graph): Verdict | undefined {
  return standingVerdict(viewOf(graph, wholeSet(graph)))
}

/** Digest of the heads: two peers with equal ones hold the same entries. */
export function headsDigest(heads: Iterable<Hex>): Hex {
  return hash('heads', [sortedBytes(heads)])
}

/**
 * Delivered at `device`: an entry of it has `node` in its past, and its newest ack does not list it
 * as one that it cannot open. Gives the first such entry.
 */
export function receiptOf(graph: Graph, node: Node, device: Hex): Node | undefined {
  const own = graph.byDevice.get(device) ?? []
  const including = own.filter((entry) => isBefore(node, entry))
  const lastAck = including.findLast((entry) => entry.entry.header.kind === 'ack')
  const header = lastAck?.entry.header
  if (header?.kind === 'ack' && header.ctl.lack.includes(node.entry.id)) return undefined
  return including[0]
}
