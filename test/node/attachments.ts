/** Sixteen artifacts of all types and sizes, what each holds, and reading them back. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { CHUNK_SIZE_BYTES } from '../../protocol/index.ts'
import type { ArtifactInput, ArtifactSlice } from '../../src/node/api.ts'
import { dice } from '../cast.ts'
import { type Laptop, plain } from './world.ts'

const KIB = 1024

/** Bytes that look like nothing, the same each time. */
export function noise(label: string, length: number): Buffer {
  const block = Buffer.from(dice(label)(64 * KIB))
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at += block.length) {
    // No two blocks are equal, so that a chunk in the place of another would show.
    block.writeUInt32BE(at)
    block.copy(bytes, at)
  }
  return bytes
}

/** Text with letters of one to four bytes, and lines. */
function wideText(length: number): string {
  const letters = ['a', 'ä', '€', '𝄞', '\n']
  let text = ''
  let size = 0
  for (let i = 0; size < length; i++) {
    const letter = letters[i % letters.length] ?? ''
    text += letter
    size += Buffer.byteLength(letter)
  }
  return text
}

export function fileOf(name: string, bytes: Uint8Array): ArtifactInput {
  const base64 = Buffer.from(bytes).toString('base64')
  return { type: 'file', name, media_type: 'application/octet-stream', base64 }
}

const EVERY_BYTE = Buffer.from(Array.from({ length: 1024 }, (_, i) => i % 256))
const DIFF = wideText(600 * KIB)
const CONTRACT = JSON.stringify({ openapi: '3.1.0', description: 'ä'.repeat(150 * KIB) })

/** [artifact, what it holds]. `large`: bytes of the largest one. */
export function sixteen(large = 8 * KIB * KIB): [ArtifactInput, Buffer][] {
  const files: [string, Buffer][] = [
    ['empty', Buffer.alloc(0)],
    ['one-byte', Buffer.from([0])],
    ['every-byte', EVERY_BYTE],
    ['just-under-a-chunk', noise('under', CHUNK_SIZE_BYTES - 1)],
    ['a-chunk', noise('a chunk', CHUNK_SIZE_BYTES)],
    ['just-over-a-chunk', noise('over', CHUNK_SIZE_BYTES + 1)],
    ['256-kib', noise('256 KiB', 256 * KIB)],
    ['zeros', Buffer.alloc(300 * KIB)],
    ['large', noise('large', large)],
  ]
  const text = wideText(large / 8).slice(0, -4)
  return [
    ...files.map(([name, bytes]): [ArtifactInput, Buffer] => [fileOf(name, bytes), bytes]),
    [{ type: 'file', name: 'text', media_type: 'text/plain', text }, Buffer.from(text)],
    [
      { type: 'file_diff', path: 'a.py', diff: '@@ -1 +1 @@\n-a\n+ä\n', base_commit: 'abc' },
      Buffer.from('@@ -1 +1 @@\n-a\n+ä\n'),
    ],
    [{ type: 'file_diff', path: 'b.py', diff: DIFF, repo: 'def' }, Buffer.from(DIFF)],
    [{ type: 'api_contract', inline: CONTRACT }, Buffer.from(CONTRACT)],
    [{ type: 'file_ref', path: 'src/b.py', lines: '1-3' }, Buffer.from('src/b.py')],
    [{ type: 'test_command', command: 'pytest' }, Buffer.from('pytest')],
    [{ type: 'link', url: 'https://a.example' }, Buffer.from('https://a.example')],
  ]
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export interface Ids {
  thread_id: string
  artifact_id: string
}

/** Reads an artifact to its end, and says in how many pages. */
export async function readAll(
  at: Laptop,
  ids: Ids,
  max_bytes?: number,
): Promise<{ bytes: Buffer; pages: number; slice: ArtifactSlice }> {
  const pieces: Buffer[] = []
  let offset = 0
  for (;;) {
    const slice = await at.node.readArtifact({ ...ids, offset, max_bytes })
    expect(slice.offset).toBe(offset)
    expect(slice.content).toBeDefined()
    const bytes = Buffer.from(plain(slice.content) ?? '', slice.encoding)
    pieces.push(bytes)
    expect(slice.truncated).toBe(slice.next_offset !== undefined)
    if (slice.next_offset === undefined) return { bytes: Buffer.concat(pieces), pages: pieces.length, slice }
    expect(slice.next_offset).toBe(offset + bytes.length)
    offset = slice.next_offset
  }
}
