/** Content of artifacts that lies in chunks: how much of it is here, what of it is to be fetched, and reading it. */
import { createHash } from 'node:crypto'
import {
  type Artifact,
  ARTIFACT_SIZE_BYTES_MAX,
  artifactContent,
  ARTIFACTS_COUNT_MAX,
  CHUNK_SIZE_BYTES,
  type Chunked,
  chunkSize,
  type Hex,
  type Kind,
  type Node,
  openChunk,
  type SyncMessage,
  type SyncMessageOf,
  textId,
  THREAD_ARTIFACTS_SIZE_BYTES_MAX,
  threadDevices,
} from '../../protocol/index.ts'
import { StoreError } from '../store/store.ts'
import { ApiError } from './api-error.ts'
import { getChunk, putMark } from './chunk-rows.ts'
import { openContent } from './contents.ts'
import type { Held, Turn } from './held.ts'
import { type Thread } from './threads.ts'
import { deviceLabel, memberOfDevice } from './workspace.ts'
import { keepNewest } from './newest.ts'

/** Chunks that are not here and are to be fetched, by thread. */
export interface Wanted {
  readonly byThread: Map<Hex, Set<Hex>>
  /** There is more to fetch. */
  onMore: () => void
}

export function addWanted(wanted: Wanted, thread: Hex, chunk: Hex): void {
  const chunks = wanted.byThread.get(thread) ?? new Set<Hex>()
  wanted.byThread.set(thread, chunks.add(chunk))
}

export function dropWanted(wanted: Wanted, thread: Hex, chunk: Hex): void {
  const chunks = wanted.byThread.get(thread)
  chunks?.delete(chunk)
  if (chunks?.size === 0) wanted.byThread.delete(thread)
}

/** What the artifacts of one entry hold, in their order: bytes that stand in the body, and what lies in chunks. */
export type EntryContents = readonly (number | Chunked)[]

/** Kinds whose bodies carry artifacts. */
const CARRIES: ReadonlySet<Kind> = new Set(['create', 'message', 'complete', 'revise'])

/** The contents of all artifacts that can be read here, entry by entry in order of arrival. */
async function contentsOf(held: Held, thread: Thread): Promise<EntryContents[]> {
  const found: EntryContents[] = []
  for (const node of thread.graph.nodes) {
    const contents = thread.contents.get(node.entry.id) ?? (await lookAt(held, thread, node))
    if (contents && contents.length > 0) found.push(contents)
  }
  return found
}

async function lookAt(held: Held, thread: Thread, node: Node): Promise<EntryContents | undefined> {
  if (!CARRIES.has(node.entry.header.kind)) return undefined
  const opened = await openContent(held, thread, node.entry)
  const isForLater = opened.state === 'missing' || (opened.state === 'unreadable' && opened.isSealed)
  if (isForLater) return undefined
  const artifacts = 'body' in opened && 'artifacts' in opened.body ? opened.body.artifacts : []
  const contents = artifacts.map(contentFacts)
  thread.contents.set(node.entry.id, contents)
  return contents
}

/** Bytes that the artifacts hold together. */
export function contentSize(artifacts: readonly Artifact[]): number {
  return artifacts.map(contentFacts).reduce<number>((sum, content) => sum + sizeOf(content), 0)
}

function contentFacts(artifact: Artifact): number | Chunked {
  const content = artifactContent(artifact)
  return content instanceof Uint8Array ? content.length : (content ?? 0)
}

function sizeOf(content: number | Chunked): number {
  return typeof content === 'number' ? content : content.size
}

/** Bytes that all artifacts of the thread hold together. */
export async function contentHeld(held: Held, thread: Thread): Promise<number> {
  const contents = await contentsOf(held, thread)
  return contents.flat().reduce<number>((sum, content) => sum + sizeOf(content), 0)
}

/** Whether content in chunks is fetched at all. What is beyond the quotas is named and nothing else. */
export async function isWithinQuotas(held: Held, thread: Thread, { key }: Chunked): Promise<boolean> {
  return (await fetchable(held, thread)).some((content) => content.key === key)
}

/** What lies in chunks and is within this node's quotas. */
async function fetchable(held: Held, thread: Thread): Promise<Chunked[]> {
  const found: Chunked[] = []
  let size = 0
  for (const contents of await contentsOf(held, thread)) {
    for (const content of contents.slice(0, ARTIFACTS_COUNT_MAX)) {
      if (sizeOf(content) > ARTIFACT_SIZE_BYTES_MAX) continue
      if (size + sizeOf(content) > THREAD_ARTIFACTS_SIZE_BYTES_MAX) continue
      size += sizeOf(content)
      if (typeof content !== 'number') found.push(content)
    }
  }
  return found
}

/** Once this member has accepted, all chunks of the thread are wanted, so that the work can go on without a network. */
export async function wantChunks(held: Held, turn: Turn, thread: Thread): Promise<void> {
  const { row } = thread
  if (row?.side !== 'in' || (row.status !== 'accepted' && row.status !== 'completed')) return
  const wanted = held.wanted.byThread.get(thread.id)
  const ids = (await fetchable(held, thread)).flatMap((content) => content.ids)
  const more = ids.filter((id) => !thread.chunks.has(id) && wanted?.has(id) !== true)
  if (more.length === 0) return
  turn.writes.push(...more.map((id) => putMark('wanted', thread.id, id)))
  turn.after.push(() => {
    for (const id of more) addWanted(held.wanted, thread.id, id)
    held.wanted.onMore()
  })
}

/** Answers a device of the thread: of each chunk that it wants the bytes, one at a time, or null where they are not here. */
export async function* wantedChunks(
  held: Held,
  device: Hex,
  { th, ids }: SyncMessageOf<'want-chunks'>,
): AsyncIterable<SyncMessage> {
  const given = await held.turn(async () => {
    const thread = await held.threads.load(th)
    return threadDevices(thread.graph).includes(device) ? ids.filter((id) => thread.chunks.has(id)) : []
  })
  const none = ids.filter((id) => !given.includes(id)).map((id): [Hex, null] => [id, null])
  if (none.length > 0) yield { t: 'chunks', th, items: none }
  for (const id of new Set(given)) yield { t: 'chunks', th, items: [[id, (await chunkToGive(held, th, id)) ?? null]] }
}

/** One that cannot be read any more is one that is not here: others may have it, and the conversation goes on. */
async function chunkToGive(held: Held, thread: Hex, id: Hex): Promise<Uint8Array | undefined> {
  try {
    return await getChunk(held.store, thread, id)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    held.system.log.error('a chunk cannot be read', { thread, chunk: id, error: error.message })
    return undefined
  }
}

/** Bytes of the content that are here. */
export function bytesHere(thread: Thread, content: Chunked): number {
  return content.ids.reduce((sum, id, index) => sum + (thread.chunks.has(id) ? chunkSize(content, index) : 0), 0)
}

/** The chunks that hold the bytes from `from` to `to`. */
export function chunksOf(content: Chunked, from: number, to: number): Hex[] {
  return content.ids.slice(Math.floor(from / CHUNK_SIZE_BYTES), Math.ceil(to / CHUNK_SIZE_BYTES))
}

/** An artifact's content and the entry that carries it. */
export interface Described {
  readonly content: Chunked
  readonly node: Node
}

/** The bytes from `from` to `to`, whose chunks are here. Throws ApiError verification_failed. */
export async function readRange(
  held: Held,
  thread: Thread,
  { content, node }: Described,
  range: { from: number; to: number },
): Promise<Uint8Array> {
  const first = Math.floor(range.from / CHUNK_SIZE_BYTES)
  const pieces: Uint8Array[] = []
  for (let index = first; index * CHUNK_SIZE_BYTES < range.to; index++)
    pieces.push(await readPiece(held, thread, { content, node }, index))
  const start = first * CHUNK_SIZE_BYTES
  return Buffer.concat(pieces).subarray(range.from - start, range.to - start)
}

async function readPiece(held: Held, thread: Thread, { content, node }: Described, index: number): Promise<Uint8Array> {
  const sealed = await getChunk(held.store, thread.id, content.ids[index] ?? '')
  if (!sealed) throw new Error('a chunk that is here can be read')
  const plain = openChunk(content, index, sealed)
  if (!plain.ok) throw wrongContent(held, node, plain.refusal)
  return plain.value
}

/** Of contents that were compared the oldest is forgotten first, and compared anew. */
const COMPARED_COUNT_MAX = 1024

/** Whether the content was compared as a whole: only where all of it is here. Throws ApiError verification_failed where it is another. */
export async function isVerified(held: Held, thread: Thread, described: Described): Promise<boolean> {
  const { content, node } = described
  const name = `${thread.id}/${content.key}/${content.sha256}`
  if (held.compared.has(name)) return true
  if (!content.ids.every((id) => thread.chunks.has(id))) return false
  const hash = createHash('sha256')
  for (const index of content.ids.keys()) hash.update(await readPiece(held, thread, described, index))
  if (hash.digest('hex') !== content.sha256) throw wrongContent(held, node, 'sha256')
  held.compared.add(name)
  keepNewest(held.compared, COMPARED_COUNT_MAX)
  return true
}

function wrongContent(held: Held, { entry }: Node, why: string): ApiError {
  const device = deviceLabel(held.workspace, entry.header.dev)
  const name = memberOfDevice(held.workspace, entry.header.dev)?.name ?? 'its author'
  return new ApiError(
    'verification_failed',
    `${device} published this artifact as something that its content is not.`,
    {
      hint: `Use nothing of it, and ask ${name} in person to send it again.`,
      details: { published_by: device, entry_id: textId('entry', entry.id), check: why },
    },
  )
}
