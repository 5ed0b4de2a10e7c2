/** Standard input in whole lines. */
import { type Readable, Transform } from 'node:stream'

const NEWLINE = 0x0a

/**
 * The same bytes, handed on at the end of each line. The SDK copies and searches all that it holds
 * whenever something is added: a line of 40 MiB that came in pieces would take it a minute.
 * A line longer than `sizeMax` bytes is not waited for.
 */
export function wholeLines(input: Readable, sizeMax: number): Readable {
  let pieces: Buffer[] = []
  let size = 0
  const lines = new Transform({
    transform(piece: Buffer, _, done) {
      const end = piece.lastIndexOf(NEWLINE) + 1
      if (end > 0) {
        this.push(Buffer.concat([...pieces, piece.subarray(0, end)]))
        pieces = []
        size = 0
      }
      if (end < piece.length) pieces.push(piece.subarray(end))
      size += piece.length - end
      if (size > sizeMax) {
        this.push(Buffer.concat(pieces))
        pieces = []
      }
      done()
    },
    flush(done) {
      done(null, Buffer.concat(pieces))
    },
  })
  return input.pipe(lines)
}
