/** Takes in what a peer sent: open → parents → authorize → put → reduce. What is only missing a parent waits, within bounds. */
import {
  authorize,
  type Entry,
  FORKED_ENTRIES_COUNT_MAX,
  type Hex,
  isBodyOf,
  isOfKind,
  type Node,
  openEntry,
  type Refused,
  QUARANTINE_COUNT_MAX,
  REFUSED_KEPT_COUNT_MAX,
  SENDER_OPEN_THREADS_COUNT_MAX,
  textId,
  toHex,
  WAITING_ENTRIES_COUNT_MAX,
  WAITING_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import { acknowledge } from './acknowledge.ts'
import { carry } from './carry.ts'
import { wantChunks } from './chunks.ts'
import { openThreadKeys } from './contents.ts'
import { fenceBefore } from './fencing.ts'
import { countRefusal, factsOf, groundOf, type Held, keepBody, rememberRefused, type Turn } from './held.ts'
import type { Published } from './publish.ts'
import { quarantineIfRemoved } from './quarantine.ts'
import { putEntry, putRefused, putThreadRow, putTwin } from './rows.ts'
import { markDue } from './search-due.ts'
import { applyPreview, authorOf, type Gained, isLacking, settle } from './settle.ts'
import { createOf, sideOf, takeIn, type Thread } from './threads.ts'
import { isRemoved, memberOfDevice, ownMember, rosterOf } from './workspace.ts'

export interface Incoming {
  readonly envelope: Uint8Array
  readonly body: Uint8Array | null
}

export interface Delivery {
  /** The peer that sent them. */
  readonly from: Hex
  readonly items: readonly Incoming[]
  /** More of the same is on its way: receipts wait for it, since they would say that all is here. */
  readonly more?: boolean
  /** The thread that this delivery ends, to be acknowledged even if nothing new came with it. */
  readonly thread?: Hex
}

/** What became of a delivery. */
export interface Admitted {
  /** Threads of which something is missing, with what. */
  readonly missing: Map<Hex, Hex[]>
  /** The roster entry that something cites is not here. */
  missingRoster: boolean
  /** What this node wrote because of what came: receipts, and fences before what a removed device wrote. */
  readonly said: Published[]
  /** How many entries were refused, what waited for them included. */
  refused: number
  /** Threads that gained entries or bodies. */
  readonly changed: Set<Hex>
  /** Threads of which something was left, because of a quota. */
  readonly left: Set<Hex>
  /** Bodies that are kept for others since now, by thread. */
  readonly carried: Map<Hex, Hex[]>
}

interface Waiting {
  readonly entry: Entry
  readonly body: Uint8Array | null
  readonly from: Hex
}

/** Entries that wait for a parent or a roster entry; per peer bounded, the oldest go first. */
export interface WaitingRoom {
  readonly byId: Map<Hex, Waiting>
}

export function createWaitingRoom(): WaitingRoom {
  return { byId: new Map() }
}

function nothingYet(): Admitted {
  return {
    missing: new Map(),
    missingRoster: false,
    refused: 0,
    said: [],
    changed: new Set(),
    left: new Set(),
    carried: new Map(),
  }
}

/** Takes in entries of a peer within one turn, in the given order. */
export async function admit(held: Held, room: WaitingRoom, delivery: Delivery): Promise<Admitted> {
  const { from, items, more = false } = delivery
  const opened: Waiting[] = []
  const refused: { refused: Refused; envelope: Uint8Array }[] = []
  for (const { envelope, body } of items) {
    const entry = openEntry(envelope)
    if (entry.ok) opened.push({ entry: entry.value, body, from })
    else refused.push({ refused: entry, envelope })
  }
  return held.turn(async (turn) => {
    const admitted = nothingYet()
    for (const { refused: why, envelope } of refused)
      noteRefused(held, turn, admitted, { refused: why, envelope, from })
    const work = new Map<Hex, { thread: Thread; gained: Gained[] }>()
    for (const waiting of opened) await admitOne(held, turn, { room, work, admitted, waiting })
    if (delivery.thread !== undefined && !work.has(delivery.thread)) {
      work.set(delivery.thread, { thread: await held.threads.load(delivery.thread), gained: [] })
    }
    for (const { thread, gained } of work.values()) {
      if (gained.length > 0) {
        settle(held, turn, thread, gained)
        admitted.changed.add(thread.id)
        // A body that came after its entry may be the last thing that a receipt waited for.
      } else if (thread.id !== delivery.thread && !admitted.changed.has(thread.id)) continue
      await wantChunks(held, turn, thread)
      const ack = more ? undefined : await acknowledge(held, turn, thread)
      if (ack) admitted.said.push(ack)
    }
    return admitted
  })
}

interface Work {
  room: WaitingRoom
  work: Map<Hex, { thread: Thread; gained: Gained[] }>
  admitted: Admitted
  waiting: Waiting
}

async function admitOne(held: Held, turn: Turn, { room, work, admitted, waiting }: Work): Promise<void> {
  const queue = [waiting]
  for (let next = queue.shift(); next; next = queue.shift()) {
    const { entry, body, from } = next
    const at = work.get(entry.thread) ?? { thread: await held.threads.load(entry.thread), gained: [] }
    work.set(entry.thread, at)
    const { thread } = at
    const known = thread.graph.byId.get(entry.id)
    if (known) {
      if (body) await admitBody(held, turn, { thread, entry: known.entry, sealed: body, admitted })
      continue
    }
    if (!isWelcome(held, entry, { thread, work })) {
      admitted.left.add(entry.thread)
      continue
    }
    const judged = authorize(groundOf(held, thread), entry)
    if (judged.ok === false) {
      rememberRefused(held, entry.id)
      noteRefused(held, turn, admitted, { refused: judged, envelope: entry.envelope, from })
      room.byId.delete(entry.id)
      // Whatever waits for it is refused with it.
      queue.push(...waitingFor(room, entry.id))
      continue
    }
    if (judged.ok === 'missing') {
      admitted.missingRoster ||= judged.roster !== undefined
      putAside(room, next)
      if (judged.entries.length > 0)
        admitted.missing.set(entry.thread, [...(admitted.missing.get(entry.thread) ?? []), ...judged.entries])
      continue
    }
    room.byId.delete(entry.id)
    turn.touched.add(thread)
    if (entry.header.kind === 'create') quarantineIfRemoved(held, turn, entry)
    const fence = fenceBefore(held, turn, thread, entry.header.dev)
    if (fence) admitted.said.push(fence)
    noteTwin(held, turn, thread, entry)
    const arrival = { number: turn.nextArrival(), at: held.system.clock.now() }
    // With a fence between, it has another place; the verdict rests on its past and is the same.
    const node = fence ? placedAnew(held, thread, entry) : judged.value
    takeIn(thread, node, arrival)
    turn.writes.push(putEntry(thread.id, { envelope: entry.envelope, arrival: arrival.number, receivedAt: arrival.at }))
    turn.writes.push(...(await openThreadKeys(held, thread, node)))
    if (beginsToRead(held, thread, node)) at.gained.unshift(...(await heldBefore(held, thread, at.gained)))
    const kept = body !== null && isBodyOf(entry, body) && keep(held, turn, thread, { node, sealed: body })
    if (kept === 'for others') noteCarried(admitted, entry)
    at.gained.push({ node, sealed: kept === 'as own' ? (body ?? undefined) : undefined })
    queue.push(...waitingFor(room, entry.id))
  }
}

function placedAnew(held: Held, thread: Thread, entry: Entry): Node {
  const judged = authorize(groundOf(held, thread), entry)
  if (judged.ok !== true) throw new Error('a verdict does not depend on what lies beside the past of an entry')
  return judged.value
}

/** Keeps a body: of this device's own threads always, of others' as far as it may. */
function keep(
  held: Held,
  turn: Turn,
  thread: Thread,
  { node, sealed }: { node: Node; sealed: Uint8Array },
): 'as own' | 'for others' | false {
  if (!sideOf(thread, held.workspace.key.public))
    return carry(held, turn, thread, { node, sealed }) ? 'for others' : false
  keepBody(held, turn, thread, { entry: node.entry.id, sealed })
  return 'as own'
}

/** Whether a share makes this device a reader of a thread that it took no part in. */
function beginsToRead(held: Held, thread: Thread, node: Node): boolean {
  const isNamed = isOfKind(node, 'share') && node.entry.header.ctl.devices.includes(held.workspace.key.public)
  return isNamed && thread.row?.side === null && sideOf(thread, held.workspace.key.public) === 'reader'
}

/** What was held of a thread before it was shared: to a new reader all of it is new. */
async function heldBefore(held: Held, thread: Thread, gained: readonly Gained[]): Promise<Gained[]> {
  const known = new Set(gained.map(({ node }) => node))
  const nodes = thread.graph.nodes.slice(0, -1).filter((node) => !known.has(node))
  const sealed = await held.store.getMany(
    'body',
    nodes.map(({ entry }) => entry.id),
  )
  return nodes.map((node, i) => ({ node, sealed: sealed[i] }))
}

/** Own words that come from a peer were lost here with a part of the store, or another machine said them. */
function noteTwin(held: Held, turn: Turn, thread: Thread, entry: Entry): void {
  if (entry.header.dev !== held.workspace.key.public || held.recovery.met || thread.row?.recovering === true) return
  const seen = { thread: thread.id, entry: entry.id, at: held.system.clock.now() }
  turn.writes.push(putTwin(seen))
  turn.after.push(() => (held.twin.seen = seen))
}

function noteCarried(admitted: Admitted, { thread, id }: Entry): void {
  admitted.carried.set(thread, [...(admitted.carried.get(thread) ?? []), id])
}

/**
 * Local policy, no verdict: not taken in now are entries of another workspace, more of a device that
 * forks than proves it, more handoffs than are kept apart, more open ones of one sender than anyone
 * can read, and more of one author in threads of others than this node keeps.
 */
function isWelcome(held: Held, entry: Entry, { thread, work }: Pick<Work, 'work'> & { thread: Thread }): boolean {
  const roster = rosterOf(held.workspace)
  if (entry.header.ws !== roster?.ws) return false
  const { dev } = entry.header
  // The counts of the rules look at one past each: a device that forks escapes them.
  if (entry.header.kind === 'create' && isRemoved(held.workspace, dev) && held.quarantined.size >= QUARANTINE_COUNT_MAX)
    return false
  if (thread.graph.forked.has(dev) && (thread.graph.byDevice.get(dev)?.length ?? 0) >= FORKED_ENTRIES_COUNT_MAX)
    return false
  if (isForeign(held, entry, thread)) return hasRoomForForeign(held, entry, work)
  if (entry.header.kind !== 'create' || entry.header.ctl.to !== ownMember(held.workspace)?.id) return true
  const sender = memberOfDevice(held.workspace, dev)?.id
  let open = 0
  for (const facts of held.facts.values()) if (facts.open && facts.side === 'in' && facts.sender === sender) open++
  for (const { thread: begun, gained } of work.values()) {
    const create = gained.length > 0 && !held.facts.has(begun.id) ? createOf(begun)?.header : undefined
    if (create?.ctl.to === entry.header.ctl.to && memberOfDevice(held.workspace, create.dev)?.id === sender) open++
  }
  return open < SENDER_OPEN_THREADS_COUNT_MAX
}

/** Whether an entry belongs to a thread that this node's member takes no part in and does not read. */
function isForeign(held: Held, { header }: Entry, thread: Thread): boolean {
  if (sideOf(thread, held.workspace.key.public)) return false
  const create = createOf(thread)?.header ?? (header.kind === 'create' ? header : undefined)
  const me = ownMember(held.workspace)?.id
  return create !== undefined && create.ctl.to !== me && memberOfDevice(held.workspace, create.dev)?.id !== me
}

function hasRoomForForeign(held: Held, { header, envelope }: Entry, work: Work['work']): boolean {
  const author = authorOf(held, header.dev)
  let size = (held.foreign.get(author) ?? 0) + envelope.length
  for (const { gained } of work.values())
    for (const { entry } of gained.map(({ node }) => node))
      if (authorOf(held, entry.header.dev) === author) size += entry.envelope.length
  return size <= held.quotas.foreignOfAuthor
}

function waitingFor(room: WaitingRoom, parent: Hex): Waiting[] {
  return [...room.byId.values()].filter(
    ({ entry }) => entry.header.prev === parent || entry.header.deps.includes(parent) || entry.header.th === parent,
  )
}

function takeWaiting(room: WaitingRoom): { from: Hex; items: Incoming[] }[] {
  const byPeer = new Map<Hex, Incoming[]>()
  for (const { entry, body, from } of room.byId.values())
    byPeer.set(from, [...(byPeer.get(from) ?? []), { envelope: entry.envelope, body }])
  room.byId.clear()
  return [...byPeer].map(([from, items]) => ({ from, items }))
}

/** Judges again what waits, since the roster has grown. */
export async function admitWaiting(
  held: Held,
  room: WaitingRoom,
  onAdmitted: (from: Hex, admitted: Admitted) => void,
): Promise<void> {
  for (const { from, items } of takeWaiting(room)) onAdmitted(from, await admit(held, room, { from, items }))
}

function putAside(room: WaitingRoom, waiting: Waiting): void {
  room.byId.set(waiting.entry.id, waiting)
  const ofPeer = [...room.byId.values()].filter(({ from }) => from === waiting.from)
  let size = ofPeer.reduce((sum, { entry, body }) => sum + entry.envelope.length + (body?.length ?? 0), 0)
  let count = ofPeer.length
  for (const oldest of ofPeer) {
    if (count <= WAITING_ENTRIES_COUNT_MAX && size <= WAITING_SIZE_BYTES_MAX) break
    room.byId.delete(oldest.entry.id)
    size -= oldest.entry.envelope.length + (oldest.body?.length ?? 0)
    count--
  }
}

/** A body that came after its entry. */
export async function admitBodies(
  held: Held,
  threadId: Hex,
  items: readonly (readonly [entry: Hex, sealed: Uint8Array])[],
): Promise<Admitted> {
  return held.turn(async (turn) => {
    const admitted = nothingYet()
    const thread = await held.threads.load(threadId)
    for (const [id, sealed] of items) {
      const node = thread.graph.byId.get(id)
      if (node) await admitBody(held, turn, { thread, entry: node.entry, sealed, admitted })
    }
    if (admitted.changed.size > 0) {
      await wantChunks(held, turn, thread)
      const ack = await acknowledge(held, turn, thread)
      if (ack) admitted.said.push(ack)
    }
    return admitted
  })
}

async function admitBody(
  held: Held,
  turn: Turn,
  options: { thread: Thread; entry: Entry; sealed: Uint8Array; admitted: Admitted },
): Promise<void> {
  const { thread, entry, sealed, admitted } = options
  if (thread.bodies.has(entry.id) || !isBodyOf(entry, sealed)) return
  const node = thread.graph.byId.get(entry.id)
  if (!node) return
  turn.touched.add(thread)
  const kept = keep(held, turn, thread, { node, sealed })
  if (!kept) return
  if (kept === 'for others') noteCarried(admitted, entry)
  else admitted.changed.add(thread.id)
  if (thread.row) {
    const row = { ...thread.row, lacking: isLacking(held, thread) }
    const isMine = memberOfDevice(held.workspace, entry.header.dev)?.id === ownMember(held.workspace)?.id
    if (kept === 'as own') applyPreview(thread, row, { node, sealed }, isMine)
    thread.row = row
    if (kept === 'as own') markDue(held, turn, thread, false)
    turn.writes.push(putThreadRow(thread.id, row))
    turn.after.push(() => held.setFacts(thread.id, factsOf(row)))
  }
  turn.after.push(() =>
    held.emit({ type: 'thread', thread_id: textId('thread', thread.id), cursor: String(held.arrival()) }),
  )
}

/** A few of a peer's refused entries are kept as proof of what it sends; one delivery does not push out the proofs of others. */
const PROOFS_COUNT_MAX = 4

function noteRefused(
  held: Held,
  turn: Turn,
  admitted: Admitted,
  proof: { refused: Refused; envelope: Uint8Array; from: Hex },
): void {
  const { refused, envelope, from } = proof
  countRefusal(held, refused.refusal)
  if (++admitted.refused > PROOFS_COUNT_MAX) return
  const row = {
    refusal: refused.refusal,
    detail: refused.detail,
    from,
    envelope: toHex(envelope.slice(0, 16 * 1024)),
    at: held.system.clock.now(),
  }
  turn.writes.push(...putRefused(held.proofs.next++, row, REFUSED_KEPT_COUNT_MAX))
}
