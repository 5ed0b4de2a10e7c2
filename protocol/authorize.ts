/**
 * May this entry be stored? A pure function of the entry, its past and the roster up to the point
 * it cites (rules S2 to S10): the same verdict on every peer, for ever.
 */
import type { Hex } from './canonical.ts'
import { deviceOf, isCut, ofKind, type Status, statusOf, type View, viewOf } from './effect.ts'
import type { Entry } from './entry.ts'
import {
  chainBefore,
  type Graph,
  isBefore,
  isOfKind,
  type Node,
  type NodeOf,
  parentsOf,
  placeNode,
  type Side,
} from './graph.ts'
import type { CtlOf, Kind } from './kinds.ts'
import {
  DEVICE_TURNS_COUNT_MAX,
  DEVICE_WRAPS_COUNT_MAX,
  LACK_CHANGES_COUNT_MAX,
  PENDING_TURNS_COUNT_MAX,
  REVISE_BASE_COUNT_MAX,
} from './limits.ts'
import { type Checked, pass, refuse, type Refused } from './refusal.ts'
import { covers, descendsFrom, type Roster, type RosterLog } from './roster.ts'
import { recordHeads, standingVerdict } from './thread.ts'

/** What a judgement rests on, beside the entry itself. */
export interface Ground {
  readonly graph: Graph
  readonly log: RosterLog
  /** True for ids that were refused by anything but a wrong signature. */
  readonly isRefused: (id: Hex) => boolean
  /** The thread of an entry that is stored in whichever thread; without it, a parent from another thread is just missing. */
  readonly threadOf?: (id: Hex) => Hex | undefined
}

/** What has to arrive before the entry can be judged. */
export interface Missing {
  readonly ok: 'missing'
  readonly entries: readonly Hex[]
  readonly roster: Hex | undefined
}

/** Judges `entry`; the node is ready to be added to the graph. */
export function authorize(ground: Ground, entry: Entry): Checked<Node> | Missing {
  const { graph } = ground
  const { header } = entry
  const parentIds = parentsOf(entry)
  if (header.kind === 'create' && parentIds.length > 0) return refuse('missing_create', 'a create has no past')
  if (parentIds.some((id) => ground.isRefused(id))) return refuse('parent_refused')
  const parents = parentIds.flatMap((id) => graph.byId.get(id) ?? [])
  const roster = ground.log.rosters.get(header.ros[1])
  if (parents.length < parentIds.length || !roster) {
    const entries = parentIds.filter((id) => !graph.byId.has(id))
    if (entries.some((id) => (ground.threadOf?.(id) ?? entry.thread) !== entry.thread)) return refuse('thread_mismatch')
    return { ok: 'missing', entries, roster: roster ? undefined : header.ros[1] }
  }
  const placed = placeInGraph(graph, entry, parents)
  if (!placed.ok) return placed
  const node = placed.value
  const refused =
    checkRoster(ground, node, parents, roster) ??
    checkSides(graph, node, roster) ??
    checkGuard(graph, node) ??
    checkArguments(graph, node, roster) ??
    checkCounts(graph, node)
  return refused ?? pass(node)
}

/** Rules S3 to S5, and that the past is of one thread. */
function placeInGraph(graph: Graph, entry: Entry, parents: readonly Node[]): Checked<Node> {
  const { header } = entry
  const create = graph.byKind.create[0]
  if (header.kind === 'create') {
    if (create || header.seq !== 0) return refuse('missing_create', 'a thread has one create')
  } else {
    if (!create || header.th !== create.entry.id || parents.length === 0) return refuse('missing_create')
    if (header.v !== create.entry.header.v) return refuse('version_mismatch')
    if (header.ws !== create.entry.header.ws) return refuse('workspace_mismatch')
  }
  // prev is owed even where a dep already includes it; a dep that another parent includes says nothing.
  const deps = header.prev === null ? parents : parents.slice(1)
  if (deps.some((dep) => dep.entry.id === header.prev || parents.some((parent) => isBefore(dep, parent))))
    return refuse('redundant_parent')
  if (header.prev !== null) {
    const prev = graph.byId.get(header.prev)?.entry.header
    if (prev?.dev !== header.dev || prev.seq !== header.seq - 1) return refuse('chain_broken')
  }
  const node = placeNode(graph, entry, parents)
  return chainBefore(graph, node).length === header.seq ? pass(node) : refuse('own_fork')
}

/** Rules S2 and S6. */
function checkRoster(ground: Ground, node: Node, parents: readonly Node[], roster: Roster): Refused | undefined {
  const { header } = node.entry
  if (header.ros[0] !== roster.point[0]) return refuse('roster_position')
  if (header.ws !== roster.ws) return refuse('workspace_mismatch')
  const device = roster.devices.get(header.dev)
  if (!device) return refuse('device_not_enrolled')
  if (device.removed) return refuse('device_removed')
  if (parents.some((parent) => !descendsFrom(ground.log, header.ros, parent.entry.header.ros)))
    return refuse('roster_went_back')
  if (roster.members.get(device.member)?.role === 'reader' && header.kind !== 'ack') return refuse('reader_only')
  return undefined
}

/** Who may write each kind. */
const WRITERS: Record<Exclude<Kind, 'create'>, readonly Side[]> = {
  accept: ['recipient'],
  cancel: ['sender'],
  complete: ['recipient'],
  message: ['sender', 'recipient'],
  revise: ['sender', 'recipient'],
  annotate: ['sender', 'recipient'],
  resolve: ['sender', 'recipient'],
  approve: ['recipient'],
  share: ['sender', 'recipient'],
  wrap: ['sender', 'recipient'],
  ack: ['sender', 'recipient', 'reader'],
  fence: ['sender', 'recipient'],
}

/** Rule S7. */
function checkSides(graph: Graph, node: Node, roster: Roster): Refused | undefined {
  const { header } = node.entry
  if (header.kind === 'create') return checkCreate(node, header.ctl, roster)
  if (!node.side) return refuse('no_side')
  if (!WRITERS[header.kind].includes(node.side)) return refuse(node.side === 'reader' ? 'reader_only' : 'wrong_side')
  if (header.kind === 'share') return checkShare(graph, header.ctl, roster)
  if (header.kind === 'wrap' && header.ctl.adds !== null) {
    const { adds } = header.ctl
    if (!isActive(roster, adds, roster.devices.get(header.dev)?.member)) return refuse('foreign_device')
    if (namesDevice(graph, node, adds)) return refuse('repeated_device')
  }
  return undefined
}

function isActive(roster: Roster, key: Hex, member: Hex | undefined): boolean {
  const device = roster.devices.get(key)
  return device !== undefined && !device.removed && device.member === member
}

function checkCreate(node: Node, ctl: CtlOf<'create'>, roster: Roster): Refused | undefined {
  const author = deviceOf(node)
  const member = roster.devices.get(author)?.member
  const to = roster.members.get(ctl.to)
  if (!to || to.removed) return refuse('unknown_member')
  if (ctl.to === member) return refuse('same_member')
  const listed = [...ctl.senders, ...ctl.recipients]
  if (new Set(listed).size !== listed.length) return refuse('repeated_device')
  if (!ctl.senders.includes(author)) return refuse('author_not_listed')
  if (ctl.senders.some((device) => !isActive(roster, device, member))) return refuse('foreign_device')
  if (ctl.recipients.some((device) => !isActive(roster, device, ctl.to))) return refuse('foreign_device')
  return undefined
}

function checkShare(graph: Graph, ctl: CtlOf<'share'>, roster: Roster): Refused | undefined {
  const create = graph.byKind.create[0]?.entry.header
  const reader = roster.members.get(ctl.reader)
  if (!create || !reader || reader.removed) return refuse('unknown_member')
  if (ctl.reader === create.ctl.to || ctl.reader === roster.devices.get(create.dev)?.member)
    return refuse('same_member')
  if (new Set(ctl.devices).size !== ctl.devices.length) return refuse('repeated_device')
  if (ctl.devices.some((device) => !isActive(roster, device, ctl.reader))) return refuse('foreign_device')
  return undefined
}

/** True if a create, wrap or share in the past of `node` names the device. */
function namesDevice(graph: Graph, node: Node, device: Hex): boolean {
  return graph.nodes.some((earlier) => {
    if (!isBefore(earlier, node)) return false
    const { header } = earlier.entry
    switch (header.kind) {
      case 'create':
        return header.ctl.senders.includes(device) || header.ctl.recipients.includes(device)
      case 'wrap':
        return header.ctl.adds === device
      case 'share':
        return header.ctl.devices.includes(device)
      default:
        return false
    }
  })
}

const OPEN: readonly Status[] = ['pending', 'accepted']

/** The states of its past in which a kind may be written; kinds that are not here may be written in any. */
const GUARDS: Partial<Record<Kind, readonly Status[]>> = {
  accept: ['pending'],
  cancel: ['pending'],
  complete: ['accepted'],
  message: OPEN,
  revise: OPEN,
  annotate: OPEN,
  resolve: OPEN,
  approve: ['accepted'],
  share: OPEN,
}

/** Rule S8. */
function checkGuard(graph: Graph, node: Node): Refused | undefined {
  const { header } = node.entry
  const allowed = GUARDS[header.kind]
  if (!allowed) return undefined
  const view = viewOf(graph, node.past)
  const status = statusOf(view)
  if (!allowed.includes(status)) return refuse('wrong_state', `${header.kind} while ${status}`)
  if (header.kind === 'complete' && header.ctl.outcome === 'done') {
    const proposes = graph.byKind.create[0]?.entry.header.ctl.intent === 'propose_action'
    if (proposes && standingVerdict(view) !== 'approved') return refuse('approval_missing')
  }
  return undefined
}

/** Rule S9. */
function checkArguments(graph: Graph, node: Node, roster: Roster): Refused | undefined {
  const { header } = node.entry
  switch (header.kind) {
    case 'create':
      return covers(header.ctl.wraps, [...header.ctl.senders, ...header.ctl.recipients])
        ? undefined
        : refuse('wrap_cover')
    case 'revise': {
      // A device that forks its revisions must not be able to pile up more heads than anyone may name.
      const heads = recordHeads(graph, node.past).map((head) => head.entry.id)
      const base = heads.toSorted().slice(0, REVISE_BASE_COUNT_MAX)
      return base.join() === header.ctl.base.join() ? undefined : refuse('base_not_heads')
    }
    case 'annotate':
      return inPast(graph, node, header.ctl.target, ['create', 'revise', 'message', 'complete'])
    case 'resolve':
      return (
        inPast(graph, node, header.ctl.annotation, ['annotate']) ??
        inPast(graph, node, header.ctl.revision, ['create', 'revise'])
      )
    case 'approve':
      return graph.byKind.create[0]?.entry.header.ctl.action === header.ctl.action
        ? undefined
        : refuse('action_differs')
    case 'share':
      if (!covers(header.ctl.wraps, header.ctl.devices)) return refuse('wrap_cover')
      return inPast(graph, node, header.ctl.key, ['create', 'wrap'])
    case 'wrap':
      return covers(header.ctl.wraps, devicesToCover(viewOf(graph, node.past), header.ctl.adds, roster))
        ? undefined
        : refuse('wrap_cover')
    case 'ack':
      return header.ctl.lack.every((id) => isKnownBefore(graph, node, id)) ? undefined : refuse('lack_not_in_past')
    case 'fence': {
      const target = sideOfFenced(graph, node, header.ctl.device)
      const other: Side = node.side === 'sender' ? 'recipient' : 'sender'
      return target === other && roster.devices.get(header.ctl.device)?.removed ? undefined : refuse('fence_target')
    }
    default:
      return undefined
  }
}

function isKnownBefore(graph: Graph, node: Node, id: Hex): boolean {
  const earlier = graph.byId.get(id)
  return earlier !== undefined && isBefore(earlier, node)
}

function inPast(graph: Graph, node: Node, id: Hex, kinds: readonly Kind[]): Refused | undefined {
  const kind = graph.byId.get(id)?.entry.header.kind
  return kind && kinds.includes(kind) && isKnownBefore(graph, node, id) ? undefined : refuse('target_missing')
}

/** The devices that a wrap has to cover: those of its past in effect, the one it adds, and readers, less the removed. */
export function devicesToCover(view: View, adds: Hex | null, roster: Roster): Hex[] {
  const create = ofKind(view, 'create')[0]?.entry.header.ctl
  const covered = new Set([...(create?.senders ?? []), ...(create?.recipients ?? [])])
  for (const wrap of ofKind(view, 'wrap'))
    if (wrap.entry.header.ctl.adds !== null && !isCut(view, wrap)) covered.add(wrap.entry.header.ctl.adds)
  for (const share of ofKind(view, 'share'))
    if (!isCut(view, share)) for (const device of share.entry.header.ctl.devices) covered.add(device)
  if (adds !== null) covered.add(adds)
  return [...covered].filter((device) => roster.devices.get(device)?.removed === false)
}

function sideOfFenced(graph: Graph, node: Node, device: Hex): Side | undefined {
  const ctl = graph.byKind.create[0]?.entry.header.ctl
  if (ctl?.senders.includes(device)) return 'sender'
  if (ctl?.recipients.includes(device)) return 'recipient'
  return graph.byKind.wrap.find((wrap) => isBefore(wrap, node) && wrap.entry.header.ctl.adds === device)?.side
}

const TURNS: ReadonlySet<Kind> = new Set(['message', 'revise', 'annotate', 'resolve', 'approve', 'share'])

/** Rule S10, counted over the author's own chain in the entry's past. */
function checkCounts(graph: Graph, node: Node): Refused | undefined {
  const { header } = node.entry
  if (header.kind === 'create') return undefined
  if (header.kind === 'ack') return checkAckNews(graph, node as NodeOf<'ack'>)
  const chain = chainBefore(graph, node)
  if (TURNS.has(header.kind)) {
    const turns = chain.filter((own) => TURNS.has(own.entry.header.kind))
    if (turns.length >= DEVICE_TURNS_COUNT_MAX) return refuse('turns_exceeded')
    if (node.side === 'sender' && turns.length >= PENDING_TURNS_COUNT_MAX && isPending(graph, node)) {
      const pending = turns.filter((own) => isPending(graph, own))
      if (pending.length >= PENDING_TURNS_COUNT_MAX) return refuse('pending_turns_exceeded')
    }
  }
  if (
    header.kind === 'wrap' &&
    chain.filter((own) => own.entry.header.kind === 'wrap').length >= DEVICE_WRAPS_COUNT_MAX
  )
    return refuse('wraps_exceeded')
  if (
    header.kind === 'fence' &&
    chain.some((own) => isOfKind(own, 'fence') && own.entry.header.ctl.device === header.ctl.device)
  )
    return refuse('fence_repeated')
  return undefined
}

function isPending(graph: Graph, node: Node): boolean {
  return statusOf(viewOf(graph, node.past)) === 'pending'
}

/** An ack needs news, an entry of another device that is no ack and not in prev's past; or a changed lack, a limited number of times. */
function checkAckNews(graph: Graph, node: NodeOf<'ack'>): Refused | undefined {
  if (hasNews(graph, node)) return undefined
  const acks = chainBefore(graph, node).filter((own) => isOfKind(own, 'ack'))
  const lackBefore = acks.at(-1)?.entry.header.ctl.lack ?? []
  if (node.entry.header.ctl.lack.join() === lackBefore.join()) return refuse('ack_without_news')
  const changes = acks.filter((own) => !hasNews(graph, own)).length
  return changes >= LACK_CHANGES_COUNT_MAX ? refuse('lack_changes_exceeded') : undefined
}

function hasNews(graph: Graph, node: Node): boolean {
  const prev = node.entry.header.prev === null ? undefined : graph.byId.get(node.entry.header.prev)
  // News is mostly among the newest.
  const news = graph.nodes.findLast(
    (x) =>
      deviceOf(x) !== deviceOf(node) &&
      x.entry.header.kind !== 'ack' &&
      isBefore(x, node) &&
      !(prev && isBefore(x, prev)),
  )
  return news !== undefined
}
