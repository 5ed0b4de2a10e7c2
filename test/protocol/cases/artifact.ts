/** Refusals of artifacts and of chunks of their content. */
import { CHUNK_SIZE_BYTES, type Chunked, chunkId, sealContent, toHex, type Value } from '../../../protocol/index.ts'
import { chunked as shape } from '../../../protocol/kinds.ts'
import { seedOf } from '../../cast.ts'
import { type Exhibit, writeHex, writeValue } from '../vector-form.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

const KEY = seedOf('artifact key')
const some = Uint8Array.of(1, 2, 3)

function described(size: number, count: number): Value {
  const ids = Array.from({ length: count }, (_, i) => seedOf('chunk', i))
  return { size, sha256: seedOf('content'), key: KEY, ids }
}

function written(artifact: { readonly [key: string]: Value }): Exhibit {
  return { check: 'parse_artifact', input: { artifact: writeValue(artifact) }, context: {} }
}

const file = { type: 'file', name: 'a', media_type: 'text/plain' }

/** A chunk, as whoever has the description finds it. */
function found(chunked: Chunked, sealed: Uint8Array, index = 0): Exhibit {
  const context = { chunked: writeValue(shape.encode(chunked)) }
  return { check: 'open_chunk', input: { index, sealed: writeHex(sealed) }, context }
}

export const ARTIFACT_CASES: readonly RefusalCase[] = [
  refusalCase('schema', 'content in the body and in chunks', (wrong) =>
    written(wrong ? { ...file, bytes: some, chunks: described(3, 1) } : { ...file, bytes: some }),
  ),
  refusalCase('schema', 'a file without content', (wrong) => written(wrong ? file : { ...file, bytes: some })),
  refusalCase('schema', 'a diff without content', (wrong) => {
    const diff = { type: 'file_diff', path: 'a' }
    return written(wrong ? diff : { ...diff, diff: '' })
  }),
  refusalCase('schema', 'a chunk too few for its size', (wrong) =>
    written({ ...file, chunks: described(CHUNK_SIZE_BYTES + 1, wrong ? 1 : 2) }),
  ),
  refusalCase('schema', 'a chunk too many for its size', (wrong) =>
    written({ ...file, chunks: described(CHUNK_SIZE_BYTES, wrong ? 2 : 1) }),
  ),
  refusalCase('schema', 'nothing in no chunks', (wrong) =>
    written({ ...file, chunks: described(wrong ? 0 : 1, wrong ? 0 : 1) }),
  ),
  refusalCase('schema', 'chunks of a type that has no content', (wrong) => {
    const link = { type: 'link', url: 'https://example.org' }
    return written(wrong ? { ...link, chunks: described(3, 1) } : link)
  }),
  refusalCase('chunk', 'a chunk of other content', (wrong) => {
    const { chunked, sealed } = sealContent(some, KEY)
    const other = sealContent(Uint8Array.of(1, 2, 4), KEY).sealed
    return found(chunked, (wrong ? other : sealed)[0] ?? some)
  }),
  refusalCase('chunk', 'a chunk of another length than its place', (wrong) => {
    const { chunked, sealed } = sealContent(some, KEY)
    return found({ ...chunked, size: wrong ? 4 : 3 }, sealed[0] ?? some)
  }),
  refusalCase('seal_broken', 'a chunk under another key than the described one', (wrong) => {
    const { chunked, sealed } = sealContent(some, KEY)
    return found({ ...chunked, key: toHex(wrong ? seedOf('another key') : KEY) }, sealed[0] ?? some)
  }),
  refusalCase('seal_broken', 'the last chunk in the place of the first', (wrong) => {
    const { chunked, sealed } = sealContent(new Uint8Array(CHUNK_SIZE_BYTES + 3).fill(7), KEY)
    const last = sealed[1] ?? some
    const [first = '', second = ''] = chunked.ids
    return found({ ...chunked, ids: wrong ? [chunkId(last), first] : [first, second] }, last, wrong ? 0 : 1)
  }),
]
