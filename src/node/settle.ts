/** What follows when a thread gained entries: its row, its place in the inbox, the outbox, and who is told. */
import {
  type Hex,
  isBefore,
  isOfKind,
  type Kind,
  type Node,
  PREVIEW_LENGTH_CHARS_MAX,
  receiptOf,
  textId,
  threadDevices,
} from '../../protocol/index.ts'
import { dropUnawaited, lacksForOthers } from './carry.ts'
import { openSealed } from './contents.ts'
import { cursorOf, factsOf, type Held, outboxOf, type Turn } from './held.ts'
import { dropInbox, dropOutbox, putInbox, putOutbox, putThreadRow, type ThreadRow } from './rows.ts'
import { markDue } from './search-due.ts'
import { gistOf } from './search-similar.ts'
import { createOf, missingBodies, participantsOf, sideOf, type Thread } from './threads.ts'
import { stateOf } from './tracker.ts'
import { boundMember, isRemoved, memberOfDevice } from './workspace.ts'

/** Kinds that count as unread when another person's node wrote them. */
const UNREAD: ReadonlySet<Kind> = new Set(['create', 'message', 'revise', 'complete'])
/** Receipts and key changes move no thread up in the inbox. */
const NO_NEWS: ReadonlySet<Kind> = new Set(['ack', 'wrap', 'fence'])

/** Kinds that change nothing that can be searched. A key change may: the key may open what was here before. */
const NO_WORDS: ReadonlySet<Kind> = new Set(['accept', 'ack', 'fence'])

/** An entry that was just taken in, with its sealed body if that came along. */
export interface Gained {
  readonly node: Node
  readonly sealed: Uint8Array | undefined
}

/** Brings the thread's row up to date with what it gained, and clears the outbox of what was acknowledged. */
export function settle(held: Held, turn: Turn, thread: Thread, gained: readonly Gained[]): void {
  turn.touched.add(thread)
  const create = createOf(thread)
  if (!create) return
  const row = thread.row ?? newRow(held, thread)
  const state = stateOf(thread.tracker, thread.graph)
  const next: ThreadRow = {
    ...row,
    side: row.side ?? readerSide(held, thread),
    status: state.status,
    final: state.final,
    waitingFor: [...state.waitingFor],
    heads: [...thread.graph.heads],
    forked: [...thread.graph.forked],
    lacking: isLacking(held, thread),
  }
  const me = boundMember(held.workspace)?.id
  for (const { node, sealed } of gained) {
    const { kind, dev } = node.entry.header
    const arrival = thread.arrivals.get(node.entry.id)
    const mine = memberOfDevice(held.workspace, dev)?.id === me
    if (arrival && !NO_NEWS.has(kind) && next.side !== null) {
      next.arrival = arrival.number
      next.updatedAt = arrival.at
    }
    if (!mine && UNREAD.has(kind) && next.side !== null) next.unread++
    if (sealed) applyPreview(thread, next, { node, sealed }, mine)
    // An own entry may come back from a peer after a part of the store was lost.
    if (dev === held.workspace.key.public)
      fillOutbox(held, turn, thread, { said: [node], to: threadDevices(thread.graph) })
    // A reader has yet to get what was said before the share.
    if (isOfKind(node, 'share')) {
      const said = thread.graph.byDevice.get(held.workspace.key.public) ?? []
      fillOutbox(held, turn, thread, { said, to: node.entry.header.ctl.devices })
    }
    clearOutbox(held, turn, thread, node)
  }
  next.foreign = next.side === null ? withForeign(held, row.foreign, gained) : []
  dropUnawaited(held, turn, thread)
  thread.row = next
  if (gained.some(({ node }) => !NO_WORDS.has(node.entry.header.kind)))
    markDue(
      held,
      turn,
      thread,
      gained.some(({ node }) => node.entry.header.dev === held.workspace.key.public),
    )
  turn.writes.push(putThreadRow(thread.id, next))
  if (next.arrival !== row.arrival) {
    if (row.arrival > 0) turn.writes.push(dropInbox(row.arrival))
    turn.writes.push(putInbox(next.arrival, thread.id))
  }
  turn.after.push(() => {
    held.setFacts(thread.id, factsOf(next))
    if (next.arrival !== row.arrival)
      held.emit({ type: 'inbox', thread_id: textId('thread', thread.id), cursor: cursorOf(held) })
    held.emit({ type: 'thread', thread_id: textId('thread', thread.id), cursor: cursorOf(held) })
  })
}

export function newRow(held: Held, thread: Thread): ThreadRow {
  const create = createOf(thread)
  if (!create) throw new Error('a thread has a create before it has a row')
  const { header } = create
  const sender = memberOfDevice(held.workspace, header.dev)?.id ?? ''
  const me = boundMember(held.workspace)?.id
  const side = sender === me ? 'out' : header.ctl.to === me ? 'in' : readerSide(held, thread)
  return {
    intent: header.ctl.intent,
    sender,
    senderDevice: header.dev,
    recipient: header.ctl.to,
    // As long as it is quarantined, it is a thread that this node's member has no part in.
    side: held.quarantined.has(thread.id) ? null : side,
    status: 'pending',
    final: false,
    waitingFor: [],
    heads: [],
    createdAt: header.ts,
    updatedAt: thread.arrivals.get(create.id)?.at ?? header.ts,
    arrival: 0,
    unread: 0,
    read: 0,
    preview: null,
    gist: null,
    recovering: isLost(held, thread),
    forked: [],
    lacking: false,
    foreign: [],
  }
}

function readerSide(held: Held, thread: Thread): 'reader' | null {
  if (held.quarantined.has(thread.id)) return null
  return sideOf(thread, held.workspace.key.public) === 'reader' ? 'reader' : null
}

/** Whose entries they are: a member, or a device of nobody that is known. */
export function authorOf(held: Held, device: Hex): Hex {
  return memberOfDevice(held.workspace, device)?.id ?? device
}

function withForeign(held: Held, before: ThreadRow['foreign'], gained: readonly Gained[]): ThreadRow['foreign'] {
  const sizes = new Map(before)
  for (const { entry } of gained.map(({ node }) => node)) {
    const author = authorOf(held, entry.header.dev)
    sizes.set(author, (sizes.get(author) ?? 0) + entry.envelope.length)
  }
  return [...sizes]
}

/** Whether own entries may be missing here, so that nothing may be written into the thread. */
export function isRecovering(held: Held, thread: Thread): boolean {
  return thread.row?.recovering ?? isLost(held, thread)
}

/**
 * Whether own entries of a thread that comes from a peer may have been lost here, and not come back
 * yet. Only who takes part tells: a reader is no surer to have had them than any other teammate.
 */
function isLost(held: Held, thread: Thread): boolean {
  const { met } = held.recovery
  return met !== undefined && !participantsOf(thread).some((device) => met.has(device))
}

/** A body is missing: any, where this device takes part; elsewhere one that somebody waits for. */
export function isLacking(held: Held, thread: Thread): boolean {
  return sideOf(thread, held.workspace.key.public) ? missingBodies(thread).length > 0 : lacksForOthers(held, thread)
}

/** Texts that a list shows the beginning of. */
export function applyPreview(
  thread: Thread,
  row: ThreadRow,
  gained: { node: Node; sealed: Uint8Array },
  mine: boolean,
): void {
  const opened = openSealed(thread, gained.node.entry, gained.sealed)
  if (opened.state !== 'ok') return
  let text: string | undefined
  if (opened.kind === 'create') {
    text = opened.body.summary
    row.gist = gistOf(text)
  } else if (opened.kind === 'message') text = opened.body.body
  else if (opened.kind === 'complete') text = opened.body.result_summary
  if (text) {
    const device = gained.node.entry.header.dev
    row.preview = { text: firstChars(text, PREVIEW_LENGTH_CHARS_MAX), mine, device }
  }
}

/** The first `count` characters, never half of a surrogate pair. */
function firstChars(text: string, count: number): string {
  const cut = text.slice(0, count)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** Puts own entries into the outbox of each of the devices that has not acknowledged them. Receipts are not acknowledged in turn. */
function fillOutbox(
  held: Held,
  turn: Turn,
  thread: Thread,
  { said, to }: { said: readonly Node[]; to: readonly Hex[] },
): void {
  for (const node of said.filter(({ entry }) => entry.header.kind !== 'ack')) {
    const { id } = node.entry
    for (const device of to) {
      if (
        device === held.workspace.key.public ||
        isRemoved(held.workspace, device) ||
        receiptOf(thread.graph, node, device)
      )
        continue
      turn.writes.push(putOutbox(device, id, thread.id))
      turn.after.push(() => outboxOf(held, device).set(id, thread.id))
    }
  }
}

/** A removed device is owed nothing any more. */
export function dropOwedToRemoved(held: Held, turn: Turn): void {
  for (const [device, items] of held.outbox) {
    if (!isRemoved(held.workspace, device)) continue
    for (const entry of items.keys()) turn.writes.push(dropOutbox(device, entry))
    turn.after.push(() => held.outbox.delete(device))
  }
}

/** An entry of another device acknowledges all of its past, but what it says it cannot open. */
function clearOutbox(held: Held, turn: Turn, thread: Thread, node: Node): void {
  const { header } = node.entry
  const items = held.outbox.get(header.dev)
  if (!items || header.dev === held.workspace.key.public) return
  const lack = header.kind === 'ack' ? header.ctl.lack : []
  for (const [entry, ofThread] of items) {
    const waiting = ofThread === thread.id ? thread.graph.byId.get(entry) : undefined
    if (!waiting || !isBefore(waiting, node) || lack.includes(entry)) continue
    turn.writes.push(dropOutbox(header.dev, entry))
    turn.after.push(() => items.delete(entry))
  }
}
