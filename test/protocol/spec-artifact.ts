/** The worked example of protocol/spec/artifact.md: a file whose content lies in one chunk. */
import { artifactId, encodeCanonical, fromHex, sealContent, textId } from '../../protocol/index.ts'
import { derive, tagged } from '../../protocol/crypto.ts'
import { seedOf } from '../cast.ts'
import { cborLines, heading, type HexLine, rawLines, taggedLines } from './hex-lines.ts'

const NO_SALT = new Uint8Array(0)

export function chunk(): HexLine[] {
  const content = new TextEncoder().encode('hello\n')
  const key = seedOf('artifact key')
  const { chunked, sealed } = sealContent(content, key)
  const { size, sha256, ids } = chunked
  const described = { size, sha256: fromHex(sha256), key, ids: ids.map((id) => fromHex(id)) }
  const labels = { type: 'file', name: 'a.txt', media_type: 'text/plain' } as const
  return [
    heading('the artifact, as it stands in a body'),
    ...cborLines(encodeCanonical({ ...labels, chunks: described })),
    heading('info of the key of the only chunk, which is its associated data too'),
    ...taggedLines(tagged('chunk', [0, 1]), { notes: { 0: 'index', 1: 'count' } }),
    heading('the key of the chunk'),
    ...rawLines(derive(key, NO_SALT, 'chunk', [0, 1])),
    heading('the plaintext: length, content, zeros up to 256 bytes'),
    ...rawLines(Uint8Array.of(0, 0, 0, content.length), `${content.length} bytes follow`),
    ...rawLines(content),
    heading(`${256 - 4 - content.length} zero bytes`),
    heading('the chunk, with its tag; its id is SHA-256 over tag "chunk-id" of it'),
    ...rawLines(sealed[0] ?? NO_SALT),
    heading('what is hashed for the id of the artifact'),
    ...taggedLines(tagged('artifact', [labels, described.sha256]), {
      notes: { 0: 'the labels', 1: 'SHA-256 of the content' },
    }),
    heading('the id'),
    ...rawLines(
      fromHex(artifactId({ ...labels, chunks: chunked })),
      textId('artifact', artifactId({ ...labels, bytes: content })),
    ),
  ]
}
