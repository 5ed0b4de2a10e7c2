import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  artifactContent,
  artifactId,
  BODY_SIZE_BYTES_MAX,
  CHUNK_SIZE_BYTES,
  chunkSize,
  encodeBody,
  encodeSync,
  FRAME_SIZE_BYTES_MAX,
  openChunk,
  PADDED_SIZES_BYTES,
  parseSync,
  sealContent,
  SYNC_CHUNKS_COUNT_MAX,
} from '../../protocol/index.ts'
import { dice, seedOf } from '../cast.ts'

const KEY = seedOf('artifact key')
const ID = 'ab'.repeat(32)

function bytesOf(length: number): Uint8Array {
  return dice(`content of ${length}`)(length)
}

/** The content, put together from its chunks. */
function opened(content: Uint8Array, key = KEY): Uint8Array {
  const { chunked, sealed } = sealContent(content, key)
  const pieces = sealed.map((chunk, index) => openChunk(chunked, index, chunk))
  return Buffer.concat(pieces.map((piece) => (piece.ok ? piece.value : new Uint8Array(0))))
}

describe('an artifact is named by its labels and its content', () => {
  test('whatever is undefined in it', () => {
    const one = artifactId({ type: 'file_ref', path: 'a', lines: undefined })
    expect(artifactId({ type: 'file_ref', path: 'a' })).toBe(one)
    expect(artifactId({ type: 'file_ref', path: 'b' })).not.toBe(one)
  })

  test('wherever its content lies, and whatever key seals it', () => {
    const content = new TextEncoder().encode('+x\n')
    for (const key of [KEY, seedOf('another key')]) {
      const { chunked: chunks } = sealContent(content, key)
      const diff = { type: 'file_diff', path: 'a', base_commit: 'c' } as const
      expect(artifactId({ ...diff, chunks })).toBe(artifactId({ ...diff, diff: '+x\n' }))
      const file = { type: 'file', name: 'a', media_type: 'text/plain' } as const
      expect(artifactId({ ...file, chunks })).toBe(artifactId({ ...file, bytes: content }))
      expect(artifactId({ type: 'api_contract', chunks })).toBe(artifactId({ type: 'api_contract', inline: '+x\n' }))
    }
  })

  test('so that another label, another content and another type have other ids', () => {
    const ids = [
      artifactId({ type: 'file_diff', path: 'a', diff: '+x\n' }),
      artifactId({ type: 'file_diff', path: 'a', diff: '+y\n' }),
      artifactId({ type: 'file_diff', path: 'b', diff: '+x\n' }),
      artifactId({ type: 'file_diff', path: 'a', diff: '+x\n', repo: 'r' }),
      artifactId({ type: 'file_diff', path: 'a', diff: '+x\n', base_commit: 'r' }),
      artifactId({ type: 'api_contract' }),
      artifactId({ type: 'api_contract', inline: '' }),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('and its content is what its type says', () => {
    const text = new TextEncoder().encode('ä')
    expect(artifactContent({ type: 'file_diff', path: 'a', diff: 'ä' })).toEqual(text)
    expect(artifactContent({ type: 'api_contract', inline: 'ä' })).toEqual(text)
    expect(artifactContent({ type: 'link', url: 'ä' })).toBeUndefined()
    expect(artifactContent({ type: 'api_contract', schema_url: 'ä' })).toBeUndefined()
  })
})

describe('content in chunks', () => {
  test('comes out as it went in, whatever its size', () => {
    for (const size of [1, 252, 253, CHUNK_SIZE_BYTES - 1, CHUNK_SIZE_BYTES, CHUNK_SIZE_BYTES + 1, 8 * 1024 * 1024]) {
      const content = bytesOf(size)
      expect(Buffer.compare(opened(content), content), `${size} bytes`).toBe(0)
      const { chunked, sealed } = sealContent(content, KEY)
      expect(chunked.ids).toHaveLength(Math.ceil(size / CHUNK_SIZE_BYTES))
      expect(chunked.ids.reduce((sum, _, index) => sum + chunkSize(chunked, index), 0)).toBe(size)
      for (const chunk of sealed) expect(PADDED_SIZES_BYTES).toContain(chunk.length - 16)
    }
  })

  property.prop([fc.uint8Array({ minLength: 1, maxLength: 2000 }), fc.uint8Array({ minLength: 32, maxLength: 32 })])(
    'of any bytes opens under its own key alone',
    (content, key) => {
      expect(Buffer.compare(opened(content, key), content)).toBe(0)
    },
  )

  test('cannot change places: each place has a key of its own', () => {
    const { chunked, sealed } = sealContent(bytesOf(3 * CHUNK_SIZE_BYTES), KEY)
    const [first = '', second = '', third = ''] = chunked.ids
    const swapped = { ...chunked, ids: [second, first, third] }
    expect(openChunk(swapped, 0, sealed[1] ?? new Uint8Array(0))).toMatchObject({ refusal: 'seal_broken' })
    expect(openChunk(chunked, 0, sealed[1] ?? new Uint8Array(0))).toMatchObject({ refusal: 'chunk' })
    expect(openChunk(chunked, 3, sealed[1] ?? new Uint8Array(0))).toMatchObject({ refusal: 'chunk' })
  })

  test('of the same bytes and another count is sealed otherwise', () => {
    const [one] = sealContent(bytesOf(CHUNK_SIZE_BYTES), KEY).sealed
    const two = new Uint8Array(CHUNK_SIZE_BYTES + 1)
    two.set(bytesOf(CHUNK_SIZE_BYTES))
    expect(sealContent(two, KEY).sealed[0]).not.toEqual(one)
  })

  test('is described in few bytes, so that 32 MiB in sixteen artifacts fit into a body beside all that is said', () => {
    const ids = Array.from({ length: 9 }, () => ID)
    const chunks = { size: 2 * 1024 * 1024, sha256: ID, key: ID, ids }
    const artifacts = Array.from({ length: 16 }, (_, i) => ({
      type: 'file' as const,
      name: `a-long-name-of-a-file-${i}`,
      media_type: 'application/octet-stream',
      chunks,
    }))
    expect(encodeBody('message', { body: '', artifacts }).length).toBeLessThan(BODY_SIZE_BYTES_MAX / 20)
  })

  test('travels one chunk a frame', () => {
    const { chunked, sealed } = sealContent(bytesOf(CHUNK_SIZE_BYTES), KEY)
    const none = Array.from({ length: SYNC_CHUNKS_COUNT_MAX - 1 }, (): [string, null] => [ID, null])
    const frame = encodeSync({ t: 'chunks', th: ID, items: [[chunked.ids[0] ?? '', sealed[0] ?? null], ...none] })
    expect(frame.length).toBeLessThan(FRAME_SIZE_BYTES_MAX)
    expect(parseSync(frame)).toMatchObject({ ok: true })
  })
})
