/**
 * What this node keeps for others: sealed bodies of threads that it takes no part in, until every
 * device that they are for has acknowledged them. It cannot open them. Whatever it lets go of costs
 * time and nothing else, since their author keeps them too.
 */
import {
  CARRIED_COUNT_MAX,
  CARRIED_TTL_MS,
  hasBit,
  type Hex,
  type Node,
  pastOf,
  threadDevices,
} from '../../protocol/index.ts'
import type { Held, Turn } from './held.ts'
import { type CarriedRow, dropBody, dropCarried, putBody, putCarried } from './rows.ts'
import { missingBodies, sideOf, type Thread } from './threads.ts'
import { memberOfDevice, ownMember, rosterOf } from './workspace.ts'

/** Everything that is carried, and how much it is. */
export interface Carried {
  readonly byThread: Map<Hex, Map<Hex, CarriedRow>>
  /** Member → bytes. */
  readonly byAuthor: Map<Hex, number>
  count: number
  /** Bytes. */
  size: number
}

export function emptyCarried(): Carried {
  return { byThread: new Map(), byAuthor: new Map(), count: 0, size: 0 }
}

export function addCarried(carried: Carried, entry: Hex, row: CarriedRow): void {
  const ofThread = carried.byThread.get(row.thread) ?? new Map<Hex, CarriedRow>()
  carried.byThread.set(row.thread, ofThread.set(entry, row))
  count(carried, row, 1)
}

function removeCarried(carried: Carried, entry: Hex, row: CarriedRow): void {
  const ofThread = carried.byThread.get(row.thread)
  if (ofThread?.delete(entry) !== true) return
  if (ofThread.size === 0) carried.byThread.delete(row.thread)
  count(carried, row, -1)
}

function count(carried: Carried, { author, size }: CarriedRow, sign: 1 | -1): void {
  carried.count += sign
  carried.size += sign * size
  carried.byAuthor.set(author, (carried.byAuthor.get(author) ?? 0) + sign * size)
}

/**
 * Tells of an entry whether a device of another side than its author's has yet to acknowledge it.
 * Nobody waits for a device that was fenced or removed.
 */
function awaitedIn(held: Held, thread: Thread): (node: Node) => boolean {
  if (held.quarantined.has(thread.id)) return () => false
  const { graph } = thread
  const roster = rosterOf(held.workspace)
  const fenced = new Set(graph.byKind.fence.map((fence) => fence.entry.header.ctl.device))
  const others = threadDevices(thread.graph).flatMap((device) => {
    if (roster?.devices.get(device)?.removed !== false || fenced.has(device)) return []
    const own = graph.byDevice.get(device) ?? []
    const ack = own.findLast(({ entry }) => entry.header.kind === 'ack')?.entry.header
    const lack = new Set(ack?.kind === 'ack' ? ack.ctl.lack : [])
    return [{ side: sideOf(thread, device), acknowledged: pastOf(graph, own), lack }]
  })
  return ({ side, index, entry }) =>
    others.some((other) => other.side !== side && (!hasBit(other.acknowledged, index) || other.lack.has(entry.id)))
}

/** The row of a body that would be kept now, if there is room for it beside `more` bytes of the same author. */
function rowOf(held: Held, thread: Thread, node: Node, more = 0): CarriedRow | undefined {
  const { carried, quotas, system, workspace } = held
  const { header, id } = node.entry
  const author = memberOfDevice(workspace, header.dev)?.id
  const at = thread.arrivals.get(id)?.at
  if (header.body === null || author === undefined || at === undefined || !ownMember(workspace)) return undefined
  if (system.clock.now() - at >= CARRIED_TTL_MS || carried.count >= CARRIED_COUNT_MAX) return undefined
  const size = header.body.n
  if (carried.size + more + size > quotas.carried) return undefined
  if ((carried.byAuthor.get(author) ?? 0) + more + size > quotas.carriedOfAuthor) return undefined
  return { thread: thread.id, author, size, at }
}

/** Keeps a body for others within this turn, if it may. True: it is kept. */
export function carry(held: Held, turn: Turn, thread: Thread, body: { node: Node; sealed: Uint8Array }): boolean {
  const { node, sealed } = body
  const { id } = node.entry
  const row = awaitedIn(held, thread)(node) ? rowOf(held, thread, node) : undefined
  if (!row) return false
  thread.bodies.add(id)
  addCarried(held.carried, id, row)
  turn.undo.push(() => removeCarried(held.carried, id, row))
  turn.writes.push(putCarried(id, row), putBody(id, sealed))
  return true
}

/** Whether a body of a thread of others is not here, and somebody waits for it. Never, where nothing is carried. */
export function lacksForOthers(held: Held, thread: Thread): boolean {
  return held.quotas.carried > 0 && missingNodes(thread).some(awaitedIn(held, thread))
}

/** Bodies of a thread of others that are not here and would be kept. */
export function wantedToCarry(held: Held, thread: Thread): Hex[] {
  const wanted: Hex[] = []
  let size = 0
  for (const node of missingNodes(thread).filter(awaitedIn(held, thread))) {
    const row = rowOf(held, thread, node, size)
    if (!row) continue
    wanted.push(node.entry.id)
    size += row.size
  }
  return wanted
}

function missingNodes(thread: Thread): Node[] {
  return missingBodies(thread).flatMap((id) => thread.graph.byId.get(id) ?? [])
}

/** Lets go of what nobody waits for any more. What turned out to be this device's own stays, as its own. */
export function dropUnawaited(held: Held, turn: Turn, thread: Thread): void {
  const rows = held.carried.byThread.get(thread.id)
  if (!rows) return
  const isOwn = sideOf(thread, held.workspace.key.public) !== undefined
  const isAwaited = awaitedIn(held, thread)
  for (const [id, row] of rows) {
    const node = thread.graph.byId.get(id)
    if (isOwn) letGo(held, turn, id, row)
    else if (!node || !isAwaited(node)) dropFrom(held, turn, thread, { id, row })
  }
}

/** Lets go of what was kept for so long that nobody will come for it. */
export async function dropExpired(held: Held): Promise<void> {
  const now = held.system.clock.now()
  const isOver = ({ at }: CarriedRow): boolean => now - at >= CARRIED_TTL_MS
  const threads = [...held.carried.byThread].filter(([, rows]) => [...rows.values()].some(isOver))
  for (const [threadId] of threads) {
    await held.turn(async (turn) => {
      const thread = await held.threads.load(threadId)
      for (const [id, row] of held.carried.byThread.get(threadId) ?? [])
        if (isOver(row)) dropFrom(held, turn, thread, { id, row })
    })
  }
}

/** Makes the list anew for a thread: its bodies that are here and not this device's own are kept as far as they may be. */
export function carryAnew(held: Held, turn: Turn, thread: Thread): void {
  if (sideOf(thread, held.workspace.key.public)) return
  const isAwaited = awaitedIn(held, thread)
  for (const id of thread.bodies) {
    const node = thread.graph.byId.get(id)
    const row = node && isAwaited(node) ? rowOf(held, thread, node) : undefined
    if (row) {
      addCarried(held.carried, id, row)
      turn.undo.push(() => removeCarried(held.carried, id, row))
      turn.writes.push(putCarried(id, row))
    } else {
      turn.touched.add(thread)
      thread.bodies.delete(id)
      turn.writes.push(dropBody(id))
    }
  }
}

function letGo(held: Held, turn: Turn, id: Hex, row: CarriedRow): void {
  removeCarried(held.carried, id, row)
  turn.undo.push(() => addCarried(held.carried, id, row))
  turn.writes.push(dropCarried(id))
}

function dropFrom(held: Held, turn: Turn, thread: Thread, { id, row }: { id: Hex; row: CarriedRow }): void {
  letGo(held, turn, id, row)
  turn.touched.add(thread)
  thread.bodies.delete(id)
  turn.writes.push(dropBody(id))
}

/** Entries that are named to a device when it connects anew. Each was named to it before, when it came. */
const TOLD_COUNT_MAX = 128

/** What is carried of the threads that `device` takes part in, newest first, as far as it is told at once. */
export async function* carriedFor(held: Held, device: Hex): AsyncIterable<{ thread: Hex; ids: Hex[] }> {
  let room = TOLD_COUNT_MAX
  for (const id of [...held.carried.byThread.keys()].toReversed()) {
    if (room <= 0) return
    const devices = await held.turn(async () => threadDevices((await held.threads.load(id)).graph))
    const ids = [...(held.carried.byThread.get(id)?.keys() ?? [])].slice(-room)
    if (ids.length === 0 || !devices.includes(device)) continue
    yield { thread: id, ids }
    // The name of the thread weighs as much as that of an entry.
    room -= ids.length + 1
  }
}
