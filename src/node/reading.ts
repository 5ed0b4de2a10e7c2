/** Reading: the inbox, a thread, an artifact. Reading never accepts and tells nobody; it moves this member's own read mark at most. */
import {
  type Artifact,
  ARTIFACT_READ_BYTES_DEFAULT,
  ARTIFACT_READ_BYTES_MAX,
  ARTIFACT_SIZE_BYTES_MAX,
  artifactContent,
  type Hex,
  INBOX_PAGE_COUNT_DEFAULT,
  INBOX_PAGE_COUNT_MAX,
  INBOX_WAIT_S_MAX,
  type Kind,
  type Node,
  type Status,
  textId,
  THREAD_ARTIFACTS_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import type {
  ArtifactParams,
  ArtifactSlice,
  Elsewhere,
  GetThreadParams,
  InboxItem,
  InboxPage,
  ListThreadsParams,
  ThreadView,
} from './api.ts'
import { ApiError } from './api-error.ts'
import { artifactBytes, artifactFacts } from './artifacts.ts'
import { requireRevision } from './checks.ts'
import { chunksOf, isVerified, isWithinQuotas, readRange } from './chunks.ts'
import type { Fetched, Fetching } from './fetching.ts'
import { factsOf, type Held, type Turn } from './held.ts'
import { matchId, partyOf, requireReading, requireThread } from './membership.ts'
import { putThreadRow, readInbox, type ThreadRow } from './rows.ts'
import type { Thread } from './threads.ts'
import { findArtifact, threadView } from './view.ts'
import { content, isMine, timeText } from './shown.ts'
import { deviceLabel, handleOf, isRemoved } from './workspace.ts'

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
    requireReading(held, params.after_removal)
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
  requireReading(held, params.after_removal)
  const page = await inboxPage(held, params)
  if (params.wait_s === undefined || params.wait_s === 0 || page.items.some((item) => item.unread_count > 0))
    return page
  const arrived = await nextArrival(held, params, signal)
  requireReading(held, params.after_removal)
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
  const stopListening = held.onEvent(({ type }) => {
    if (type === 'inbox') look()
    // Whoever was removed meanwhile has nothing to wait for.
    if (type === 'status' && isRemoved(held.workspace, held.workspace.key.public)) resolve(false)
  })
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

/** What a page of an artifact is made of. */
interface Page {
  readonly thread: Thread
  readonly artifact: Artifact
  readonly node: Node
  readonly offset: number
  readonly end: number
  readonly size: number
}

export async function readArtifact(
  held: Held,
  fetching: Fetching,
  params: ArtifactParams,
  signal?: AbortSignal,
): Promise<ArtifactSlice> {
  const page = await held.turn(() => findPage(held, params))
  const content = artifactContent(page.artifact)
  const { thread, node, offset, end } = page
  if (content === undefined || content instanceof Uint8Array) {
    const bytes = artifactBytes(page.artifact) ?? new Uint8Array(0)
    return sliceOf(held, page, { bytes: bytes.subarray(offset, end), verified: true })
  }
  const described = { content, node }
  const wanted = chunksOf(content, offset, end)
  if (wanted.some((id) => !thread.chunks.has(id))) {
    const isFetched = await held.turn(async () => isWithinQuotas(held, thread, content))
    if (!isFetched) throw beyondQuotas(content.size)
    const fetched = await fetching.fetch(thread.id, wanted, signal)
    if (fetched !== 'here') return sliceOf(held, page, { elsewhere: elsewhere(held, fetching, node, fetched) })
  }
  // While it was fetched the thread may have been read anew.
  const now = await held.turn(() => held.threads.load(thread.id))
  const verified = await isVerified(held, now, described)
  const bytes = await readRange(held, now, described, { from: offset, to: end })
  return sliceOf(held, { ...page, thread: now }, { bytes, verified })
}

async function findPage(held: Held, params: ArtifactParams): Promise<Page> {
  requireReading(held, params.after_removal)
  const thread = await requireThread(held, params.thread_id)
  const found = await findArtifact(held, thread, (id) => matchId('artifact', params.artifact_id, [id]).length > 0)
  if (!found)
    throw new ApiError('artifact_not_found', 'The thread has no such artifact, or its entry is not here yet.', {
      hint: 'Call view_thread for the artifacts there are.',
    })
  const { size } = artifactFacts(thread, found.artifact, found.node.entry.id)
  const offset = Math.min(params.offset ?? 0, size)
  const wanted = Math.min(params.max_bytes ?? ARTIFACT_READ_BYTES_DEFAULT, ARTIFACT_READ_BYTES_MAX)
  return { thread, ...found, offset, end: Math.min(offset + wanted, size), size }
}

function sliceOf(
  held: Held,
  { thread, artifact, node, offset, end, size }: Page,
  got: { bytes: Uint8Array; verified: boolean } | { elsewhere: Elsewhere },
): ArtifactSlice {
  const { dev } = node.entry.header
  const slice = 'bytes' in got ? sliceText(got.bytes, end >= size) : NOTHING
  const next = offset + slice.length
  return {
    thread_id: textId('thread', thread.id),
    ...artifactFacts(thread, artifact, node.entry.id),
    from: partyOf(held, dev),
    offset,
    verified: 'bytes' in got && got.verified,
    truncated: next < size,
    ...(next < size ? { next_offset: next } : {}),
    encoding: slice.encoding,
    ...('bytes' in got ? { content: content(isMine(held, dev), slice.text) } : got),
  }
}

/** What is not here: who published it is known to have it; whoever else may have it was asked. */
function elsewhere(held: Held, fetching: Fetching, { entry }: Node, fetched: Fetched): Elsewhere {
  const { dev } = entry.header
  const device = deviceLabel(held.workspace, dev)
  const reachable = fetching.isConnected(dev)
  const calm = 'Nothing is lost, and what came so far stays.'
  if (!reachable)
    return { device, reachable, why: `It lies on ${device}, which is not reachable now. ${calm} Read it again later.` }
  const why = fetched === 'nobody has it' ? `${device} does not give it now.` : `It is on its way from ${device}.`
  return { device, reachable, why: `${why} ${calm} Read it again in a moment.` }
}

function beyondQuotas(size: number): ApiError {
  return new ApiError(
    'payload_too_large',
    'This artifact is larger than what this laptop fetches, or there are too many in its thread.',
    {
      hint: 'Ask its author for a smaller one, or for a link to it.',
      details: { size, limit: ARTIFACT_SIZE_BYTES_MAX, limit_of_thread: THREAD_ARTIFACTS_SIZE_BYTES_MAX },
    },
  )
}

interface TextSlice {
  readonly encoding: 'utf8' | 'base64'
  readonly text: string
  /** Bytes that it stands for. */
  readonly length: number
}

const NOTHING: TextSlice = { encoding: 'utf8', text: '', length: 0 }

/** A slice as text where it is UTF-8, shortened by up to three bytes so that it ends with a whole character; else as base64. */
function sliceText(slice: Uint8Array, isLast: boolean): TextSlice {
  if (slice.length === 0) return NOTHING
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
