/** Artifacts: from what a caller gives to what a body carries, and from there to the index and to readable bytes. */
import {
  type Artifact,
  ARTIFACT_SIZE_BYTES_MAX,
  ARTIFACT_TYPES,
  artifactContent,
  artifactId,
  ARTIFACTS_COUNT_MAX,
  CHUNK_SIZE_BYTES,
  type Chunked,
  contentHash,
  type Hex,
  type Node,
  sealContent,
  textId,
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import { putChunk } from './chunk-rows.ts'
import type { ArtifactFacts, ArtifactInput } from './api.ts'
import { bytesHere, isVerified, readRange } from './chunks.ts'
import type { Held, Turn } from './held.ts'
import type { Thread } from './threads.ts'

function textField(input: ArtifactInput, field: string): string {
  const value = input[field]
  if (typeof value !== 'string') throw new ApiError('invalid_params', `artifact ${input.type}: ${field} has to be text`)
  return value
}

function optionalFields(input: ArtifactInput, fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap((field) => (input[field] === undefined ? [] : [[field, textField(input, field)]])),
  )
}

/**
 * The artifacts that a body carries. Throws ApiError invalid_params where fields are missing or do
 * not fit the type, payload_too_large where there are too many or one of them holds too much.
 */
export function toArtifacts(inputs: readonly ArtifactInput[] = []): Artifact[] {
  if (inputs.length > ARTIFACTS_COUNT_MAX) {
    throw new ApiError('payload_too_large', `${inputs.length} artifacts; at most ${ARTIFACTS_COUNT_MAX} go together.`, {
      hint: 'Send the most important ones here and the rest with send_message.',
      details: { limit: ARTIFACTS_COUNT_MAX, size: inputs.length },
    })
  }
  const artifacts = inputs.map(toArtifact)
  for (const artifact of artifacts) requireSize(artifact)
  return artifacts
}

function requireSize(artifact: Artifact): void {
  const size = artifactBytes(artifact)?.length ?? 0
  if (size <= ARTIFACT_SIZE_BYTES_MAX) return
  throw new ApiError(
    'payload_too_large',
    `${artifact.type}: ${size} bytes; one artifact holds at most ${ARTIFACT_SIZE_BYTES_MAX}.`,
    {
      hint: 'Name a commit with a file_ref, put it where a link leads to, or send it in parts.',
      details: { limit: ARTIFACT_SIZE_BYTES_MAX, size },
    },
  )
}

function toArtifact(input: ArtifactInput): Artifact {
  switch (input.type) {
    case 'file_diff':
      return {
        type: 'file_diff',
        path: textField(input, 'path'),
        diff: textField(input, 'diff'),
        ...optionalFields(input, ['repo', 'base_commit']),
      }
    case 'file_ref':
      return { type: 'file_ref', path: textField(input, 'path'), ...optionalFields(input, ['git_sha', 'lines']) }
    case 'test_command':
      return { type: 'test_command', command: textField(input, 'command'), ...optionalFields(input, ['cwd']) }
    case 'api_contract':
      return { type: 'api_contract', ...optionalFields(input, ['schema_url', 'inline']) }
    case 'link':
      return { type: 'link', url: textField(input, 'url'), ...optionalFields(input, ['title']) }
    case 'file':
      return {
        type: 'file',
        name: textField(input, 'name'),
        media_type: textField(input, 'media_type'),
        bytes: fileBytes(input),
      }
    default:
      throw new ApiError(
        'invalid_params',
        `There is no artifact type ${String(input.type)}; there are ${ARTIFACT_TYPES.join(', ')}.`,
      )
  }
}

function fileBytes(input: ArtifactInput): Uint8Array {
  if ((input['text'] === undefined) === (input['base64'] === undefined)) {
    throw new ApiError('invalid_params', 'artifact file: give its content either as text or as base64')
  }
  if (input['text'] !== undefined) return new TextEncoder().encode(textField(input, 'text'))
  const base64 = textField(input, 'base64').replace(/={1,2}$/, '')
  if (!isBase64(base64)) throw new ApiError('invalid_params', 'artifact file: base64 is not base64')
  const { buffer, byteOffset, length } = Buffer.from(base64, 'base64')
  return new Uint8Array(buffer, byteOffset, length)
}

/** Node skips what is no base64, and would hand on other bytes than were meant. Only the end is decoded for it: a file may be megabytes. */
function isBase64(unpadded: string): boolean {
  const end = unpadded.slice(unpadded.length - (unpadded.length % 4))
  return !/[^A-Za-z0-9+/]/.test(unpadded) && Buffer.from(end, 'base64').toString('base64').replace(/=+$/, '') === end
}

/** The content that stands in the body itself. */
export function contentInBody(artifact: Artifact): Uint8Array | undefined {
  const content = artifactContent(artifact)
  return content instanceof Uint8Array ? content : undefined
}

/** What read_artifact gives in pages, and what size and SHA-256 are of; undefined where it lies in chunks. */
export function artifactBytes(artifact: Artifact): Uint8Array | undefined {
  const content = artifactContent(artifact)
  if (content instanceof Uint8Array) return content
  return content === undefined ? new TextEncoder().encode(subjectOf(artifact)) : undefined
}

/** What an artifact without content is about. */
function subjectOf(artifact: Artifact): string {
  switch (artifact.type) {
    case 'test_command':
      return artifact.command
    case 'link':
      return artifact.url
    case 'api_contract':
      return artifact.schema_url ?? ''
    case 'file_ref':
    case 'file_diff':
      return artifact.path
    case 'file':
      return artifact.name
  }
}

/** Content by the position of its artifact in a body that has no room for it. */
export type Outside = ReadonlyMap<number, Uint8Array>

/** A body with artifacts, as far as this file is concerned. */
interface Carrying {
  readonly artifacts?: readonly Artifact[]
}

/** The artifact with its content taken out. What stands in its place has the size and id of what sealing will put there. */
export function withoutContent(artifact: Artifact, content: Uint8Array): Artifact {
  const count = Math.ceil(content.length / CHUNK_SIZE_BYTES)
  const ids = Array.from({ length: count }, () => NO_HASH)
  return inChunks(artifact, { size: content.length, sha256: contentHash(content), key: NO_HASH, ids })
}

const NO_HASH = '00'.repeat(32)

function inChunks(artifact: Artifact, chunks: Chunked): Artifact {
  switch (artifact.type) {
    case 'file_diff':
      return { ...artifact, diff: undefined, chunks }
    case 'api_contract':
      return { ...artifact, inline: undefined, chunks }
    case 'file':
      return { ...artifact, bytes: undefined, chunks }
    case 'file_ref':
    case 'test_command':
    case 'link':
      return artifact
  }
}

/** A sealed chunk and what it is named by. */
export type Chunk = readonly [id: Hex, sealed: Uint8Array]

/** The body with what is outside of it sealed and described, and the chunks. `key` gives 32 fresh random bytes. */
export function withChunks<B extends object>(
  body: B & Carrying,
  outside: Outside = new Map(),
  key: () => Uint8Array,
): { body: B; chunks: Chunk[] } {
  if (outside.size === 0) return { body, chunks: [] }
  const chunks: Chunk[] = []
  const artifacts = body.artifacts?.map((artifact, at) => {
    const content = outside.get(at)
    if (!content) return artifact
    const { chunked, sealed } = sealContent(content, key())
    chunks.push(...sealed.map((bytes, i): Chunk => [chunked.ids[i] ?? '', bytes]))
    return inChunks(artifact, chunked)
  })
  return { body: { ...body, artifacts }, chunks }
}

/** Keeps a sealed chunk: on disk at the end of the turn. */
export function keepChunk(turn: Turn, thread: Thread, [id, sealed]: Chunk): void {
  turn.touched.add(thread)
  thread.chunks.add(id)
  turn.writes.push(...putChunk(thread.id, id, sealed))
}

/**
 * The beginning of an artifact's content, if it is text and all of the content is here and what its
 * author said that it is; undefined for bytes, and for what has no content of its own.
 */
export async function artifactText(
  held: Held,
  thread: Thread,
  { artifact, node }: { artifact: Artifact; node: Node },
  sizeMax: number,
): Promise<string | undefined> {
  const content = artifactContent(artifact)
  if (content === undefined || content instanceof Uint8Array) return content && utf8(content)
  try {
    const described = { content, node }
    if (!(await isVerified(held, thread, described))) return undefined
    return utf8(await readRange(held, thread, described, { from: 0, to: Math.min(sizeMax, content.size) }))
  } catch (error) {
    if (error instanceof ApiError && error.symbol === 'verification_failed') return undefined
    throw error
  }
}

/** Text, of which a last character may be cut off. NUL is in no text, and in most of what is none. */
function utf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
}

export function artifactTextId(artifact: Artifact): string {
  return textId('artifact', artifactId(artifact))
}

/** What this node computed itself of an artifact that `entry` carries, and, of content in chunks, what its author says that it will be. */
export function artifactFacts(thread: Thread, artifact: Artifact, entry: Hex): ArtifactFacts {
  const content = artifactContent(artifact)
  const names = { artifact_id: artifactTextId(artifact), type: artifact.type, entry_id: textId('entry', entry) }
  const bytes = artifactBytes(artifact)
  if (bytes || content === undefined || content instanceof Uint8Array)
    return { ...names, size: bytes?.length ?? 0, sha256: contentHash(bytes ?? new Uint8Array(0)), here: true }
  const { size, sha256 } = content
  const here = bytesHere(thread, content)
  return { ...names, size, sha256, here: here === size, ...(here < size ? { here_bytes: here } : {}) }
}

/**
 * The plain bytes of an artifact, whole and compared with its SHA-256, if they are here; undefined
 * where some of its chunks have not been fetched. Throws ApiError verification_failed.
 */
export async function readWhole(
  held: Held,
  thread: Thread,
  { artifact, node }: { artifact: Artifact; node: Node },
): Promise<Uint8Array | undefined> {
  const content = artifactContent(artifact)
  if (content === undefined || content instanceof Uint8Array) return artifactBytes(artifact)
  const described = { content, node }
  if (!(await isVerified(held, thread, described))) return undefined
  return readRange(held, thread, described, { from: 0, to: content.size })
}

/** What tells artifacts of one record apart: of two with one name the later one stands. */
export function artifactName(artifact: Artifact): string {
  switch (artifact.type) {
    case 'file_diff':
    case 'file_ref':
      return artifact.path
    case 'test_command':
      return artifact.command
    case 'api_contract':
      return artifact.schema_url ?? 'api_contract'
    case 'link':
      return artifact.title ?? artifact.url
    case 'file':
      return artifact.name
  }
}

/** Names, paths, commands and addresses: everything but long content. */
export function artifactLabels(artifact: Artifact): Record<string, string> {
  switch (artifact.type) {
    case 'file_diff':
      return labels(artifact, ['path', 'repo', 'base_commit'])
    case 'file_ref':
      return labels(artifact, ['path', 'git_sha', 'lines'])
    case 'test_command':
      return labels(artifact, ['command', 'cwd'])
    case 'api_contract':
      return labels(artifact, ['schema_url'])
    case 'link':
      return labels(artifact, ['url', 'title'])
    case 'file':
      return labels(artifact, ['name', 'media_type'])
  }
}

function labels(artifact: object, fields: readonly string[]): Record<string, string> {
  const found = artifact as Record<string, unknown>
  return Object.fromEntries(
    fields.flatMap((field) => (typeof found[field] === 'string' ? [[field, found[field]]] : [])),
  )
}
