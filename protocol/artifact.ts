/**
 * What an artifact holds, its id, and content that is too large for a body: sealed chunks under a
 * key that stands in the body and nowhere else, so that whoever opens the body, and nobody else,
 * opens them. Source: spec/artifact.md.
 */
import { fromHex, type Hex, toHex, type Value } from './canonical.ts'
import { contentHash, derive, hash, openPadded, sealPadded, tagged } from './crypto.ts'
import type { Artifact, Chunked } from './kinds.ts'
import { CHUNK_SIZE_BYTES } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

/** The field of each type that holds content, where that is in the body. */
const CONTENT_FIELDS: { readonly [type: string]: string } = { file_diff: 'diff', api_contract: 'inline', file: 'bytes' }

/** The content itself, what describes it where it lies outside of the body, or undefined where there is none. */
export function artifactContent(artifact: Artifact): Uint8Array | Chunked | undefined {
  const fields: { chunks?: Chunked | undefined; [field: string]: unknown } = artifact
  const content = fields.chunks ?? fields[CONTENT_FIELDS[artifact.type] ?? '']
  return typeof content === 'string' ? new TextEncoder().encode(content) : (content as Uint8Array | Chunked | undefined)
}

/** Content-addressed id of an artifact in a thread: the same, wherever the same content lies. */
export function artifactId(artifact: Artifact): Hex {
  const content = artifactContent(artifact)
  const sha256 = content instanceof Uint8Array ? contentHash(content) : content?.sha256
  return hash('artifact', [labelsOf(artifact), sha256 === undefined ? null : fromHex(sha256)])
}

/** Everything but the content. */
function labelsOf(artifact: Artifact): Value {
  const field = CONTENT_FIELDS[artifact.type]
  return Object.fromEntries(
    Object.entries(artifact).filter(([key, value]) => value !== undefined && key !== 'chunks' && key !== field),
  ) as Value
}

/** Plain bytes of the chunk at `index`: all are full but the last. */
export function chunkSize({ size, ids }: Chunked, index: number): number {
  return index < ids.length - 1 ? CHUNK_SIZE_BYTES : size - CHUNK_SIZE_BYTES * (ids.length - 1)
}

/** What a sealed chunk is named by. */
export function chunkId(sealed: Uint8Array): Hex {
  return hash('chunk-id', [sealed])
}

/** Seals content of at least one byte. `key`: 32 fresh random bytes. */
export function sealContent(content: Uint8Array, key: Uint8Array): { chunked: Chunked; sealed: Uint8Array[] } {
  const count = Math.ceil(content.length / CHUNK_SIZE_BYTES)
  const sealed = Array.from({ length: count }, (_, index) => {
    const plain = content.subarray(index * CHUNK_SIZE_BYTES, (index + 1) * CHUNK_SIZE_BYTES)
    return sealPadded(chunkKey(key, index, count), plain, tagged('chunk', [index, count]))
  })
  const ids = sealed.map(chunkId)
  return { chunked: { size: content.length, sha256: contentHash(content), key: toHex(key), ids }, sealed }
}

/** Opens the chunk at `index`; refused where it is not the one that is named there, does not open, or is not of its size. */
export function openChunk(chunked: Chunked, index: number, sealed: Uint8Array): Checked<Uint8Array> {
  const { ids, key } = chunked
  if (ids[index] !== chunkId(sealed)) return refuse('chunk', 'other bytes')
  const place = [index, ids.length]
  const plain = openPadded(chunkKey(fromHex(key), index, ids.length), sealed, tagged('chunk', place))
  if (!plain.ok) return plain
  return plain.value.length === chunkSize(chunked, index) ? pass(plain.value) : refuse('chunk', 'another size')
}

function chunkKey(key: Uint8Array, index: number, count: number): Uint8Array {
  return derive(key, NO_SALT, 'chunk', [index, count])
}

const NO_SALT = new Uint8Array(0)
