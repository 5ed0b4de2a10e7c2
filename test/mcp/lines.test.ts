import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { wholeLines } from '../../src/mcp/lines.ts'

/** What comes out of the pieces, piece by piece. */
async function through(pieces: readonly string[], sizeMax = 1000): Promise<string[]> {
  const input = new PassThrough()
  const lines = wholeLines(input, sizeMax)
  const out: string[] = []
  lines.on('data', (piece: Buffer) => out.push(piece.toString()))
  const ended = new Promise((resolve) => lines.once('end', resolve))
  for (const piece of pieces) input.write(piece)
  input.end()
  await ended
  return out
}

it('lines are handed on whole, however they were cut', async () => {
  expect(await through(['{"a"', ':1}', '\n'])).toEqual(['{"a":1}\n'])
  expect(await through(['a\nb\nc', 'd\n', '\n', 'e\n'])).toEqual(['a\nb\n', 'cd\n', '\n', 'e\n'])
  expect(await through('ab\ncd\n'.split(''))).toEqual(['ab\n', 'cd\n'])
})

it('what comes after the last line is handed on at the end', async () => {
  expect(await through(['a\nb', 'c'])).toEqual(['a\n', 'bc'])
})

it('a line that is too long is not waited for', async () => {
  const [first = '', ...rest] = await through(['x'.repeat(600), 'x'.repeat(600), 'more', 'and more'])
  expect(first).toHaveLength(1200)
  expect(rest.join('')).toBe('moreand more')
})
