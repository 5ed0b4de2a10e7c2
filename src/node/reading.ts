/** Reading: the inbox, a thread, an artifact. Reading never accepts and tells nobody; it moves this member's own read mark at most. */
import {
  ARTIFACT_READ_BYTES_DEFAULT,
  ARTIFACT_READ_BYTES_MAX,
  artifactId,
  type Hex,
  INBOX_PAGE_COUNT_DEFAULT,
  INBOX_PAGE_COUNT_MAX,
  INBOX_WAIT_S_MAX,
  type Kind,
  type Status,
  textId,
} from '../../protocol/index.ts'
import type {
  ArtifactParams,
  ArtifactSlice,
  GetThreadParams,
  InboxItem,
  InboxPage,
  ListThreadsParams,
  ThreadView,
} from './api.ts'
import { ApiError } from './api-error.ts'
import { artifactBytes, artifactFacts } from './artifacts.ts'
import { requireRevision } from './checks.ts'
import { factsOf, type Held, type Turn } from './held.ts'
import { matchId, partyOf, requireMember, requireThread } from './membership.ts'
import { putThreadRow, readInbox, type ThreadRow } from './rows.ts'
import type { Thread } from './threads.ts'
import { findArtifact, threadView } from './view.ts'
import { content, isMine, timeText } from './shown.ts'
import { handleOf } from './workspace.ts'

function parseCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  const number = Number(cursor)
  if (!Number.isSafeInteger(number) || number < 0)
    throw new ApiError('invalid_params', 'That is not a cursor of this node.', {
      hint: 'Leave the cursor out to begin anew.',
    })
  return number
}

export function getThread(held: Held, params: GetThreadParams): Promise<ThreadView> {
  return held.turn(async (turn) => {
    requireMember(held)
    const thread = await requireThread(held, params.thread_id)
    const { revision_id: revision, compare_with: other, annotations } = params
    const { view, last } = await threadView(held, thread, {
      after: parseCursor(params.cursor),
      annotations,
      revision: revision === undefined ? undefined : requireRevision(thread, revision),
      compareWith: other === undefined ? undefined : requireRevision(thread, other),
    })
    if (params.mark_read === true) markRead(held, turn, thread, last)
    return view
  })
}

const UNREAD: ReadonlySet<Kind> = new Set(['create', 'message', 'revise', 'complete'])

/** Moves this member's read mark: everything that arrived up to `last` was given to it. */
export function markRead(held: Held, turn: Turn, thread: Thread, last: number): void {
  const { row } = thread
  if (!row || last <= row.read) return
  const unread = thread.graph.nodes.filter(({ entry }) => {
    const arrival = thread.arrivals.get(entry.id)?.number ?? 0
    return arrival > last && UNREAD.has(entry.header.kind) && !isMine(held, entry.header.dev)
  }).length
  const next: ThreadRow = { ...row, read: last, unread }
  thread.row = next
  turn.touched.add(thread)
  turn.writes.push(putThreadRow(thread.id, next))
  turn.after.push(() => {
    held.setFacts(thread.id, factsOf(next))
    if (next.unread !== row.unread)
      held.emit({ type: 'thread', thread_id: textId('thread', thread.id), cursor: String(held.arrival()) })
  })
}

const OPEN: readonly Status[] = ['pending', 'accepted']

export async function listThreads(held: Held, params: ListThreadsParams, signal?: AbortSignal): Promise<InboxPage> {
  requireMember(held)
  const page = await inboxPage(held, params)
  if (params.wait_s === undefined || params.wait_s === 0 || page.items.some((item) => item.unread_count > 0))
    return page
  const arrived = await nextArrival(held, params, signal)
  return { ...(await inboxPage(held, params)), timed_out: !arrived }
}

/** True once a thread that fits has news; false when the time is over or nobody waits any more. */
function nextArrival(held: Held, params: ListThreadsParams, signal: AbortSignal | undefined): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const seconds = Math.min(params.wait_s ?? 0, INBOX_WAIT_S_MAX)
  const cancelTimer = held.system.clock.after(seconds * 1000, () => resolve(false))
  const look = () => {
    inboxPage(held, params).then(
      ({ items }) => items.some((item) => item.unread_count > 0) && resolve(true),
      () => resolve(false),
    )
  }
  const stopListening = held.onEvent((event) => event.type === 'inbox' && look())
  const onAbort = () => resolve(false)
  // A signal that is aborted by now never says so again.
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  // Something may have come between the first look and the listening.
  look()
  return promise.finally(() => {
    cancelTimer()
    stopListening()
    signal?.removeEventListener('abort', onAbort)
  })
}

async function inboxPage(held: Held, params: ListThreadsParams): Promise<InboxPage> {
  const { side, status = OPEN, limit = INBOX_PAGE_COUNT_DEFAULT } = params
  const before = parseCursor(params.cursor)
  const items: InboxItem[] = []
  let last = 0
  for await (const { arrival, thread, row } of readInbox(held.store, before)) {
    if (row.side === null || !status.includes(row.status) || (side !== undefined && row.side !== side)) continue
    if (items.length >= Math.min(limit, INBOX_PAGE_COUNT_MAX))
      return { items, next_cursor: String(last), timed_out: false }
    items.push(inboxItem(held, thread, row))
    last = arrival
  }
  return { items, timed_out: false }
}

/** A thread as lists show it. */
export function inboxItem(held: Held, thread: Hex, row: ThreadRow): InboxItem {
  const { preview } = row
  return {
    thread_id: textId('thread', thread),
    intent: row.intent,
    side: row.side ?? 'in',
    sender: partyOf(held, row.senderDevice),
    recipient: handleOf(held.workspace, row.recipient),
    status: row.status,
    final: row.final,
    unread_count: row.unread,
    created_at: timeText(row.createdAt),
    updated_at: timeText(row.updatedAt),
    age_s: Math.max(0, Math.round((held.system.clock.now() - row.createdAt) / 1000)),
    ...(preview ? { preview: content(preview.mine, preview.text) } : {}),
    ...(preview?.device === undefined ? {} : { preview_from: partyOf(held, preview.device) }),
  }
}

export function readArtifact(held: Held, params: ArtifactParams): Promise<ArtifactSlice> {
  return held.turn(async () => {
    requireMember(held)
    const thread = await requireThread(held, params.thread_id)
    const found = await findArtifact(held, thread, (id) => matchId('artifact', params.artifact_id, [id]).length > 0)
    if (!found)
      throw new ApiError('artifact_not_found', 'The thread has no such artifact, or its entry is not here yet.', {
        hint: 'Call view_thread for the artifacts there are.',
      })
    const { artifact, node } = found
    const bytes = artifactBytes(artifact)
    const offset = Math.min(params.offset ?? 0, bytes.length)
    const wanted = Math.min(params.max_bytes ?? ARTIFACT_READ_BYTES_DEFAULT, ARTIFACT_READ_BYTES_MAX)
    const slice = sliceText(bytes, offset, wanted)
    const end = offset + slice.length
    const facts = artifactFacts(artifact, node.entry.id)
    return {
      thread_id: textId('thread', thread.id),
      artifact_id: textId('artifact', artifactId(artifact)),
      type: artifact.type,
      from: partyOf(held, node.entry.header.dev),
      entry_id: facts.entry_id,
      offset,
      size: facts.size,
      sha256: facts.sha256,
      truncated: end < bytes.length,
      ...(end < bytes.length ? { next_offset: end } : {}),
      encoding: slice.encoding,
      content: content(isMine(held, node.entry.header.dev), slice.text),
    }
  })
}

/** A slice as text where it is UTF-8, shortened by up to three bytes so that it ends with a whole character; else as base64. */
function sliceText(
  bytes: Uint8Array,
  offset: number,
  wanted: number,
): { encoding: 'utf8' | 'base64'; text: string; length: number } {
  const slice = bytes.subarray(offset, offset + wanted)
  if (slice.length === 0) return { encoding: 'utf8', text: '', length: 0 }
  const isLast = offset + slice.length >= bytes.length
  for (let cut = 0; cut <= (isLast ? 0 : 3) && cut < slice.length; cut++) {
    const part = slice.subarray(0, slice.length - cut)
    try {
      return {
        encoding: 'utf8',
        text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(part),
        length: part.length,
      }
    } catch {
      // Not a whole number of characters, or not text at all.
    }
  }
  return { encoding: 'base64', text: Buffer.from(slice).toString('base64'), length: slice.length }
}
