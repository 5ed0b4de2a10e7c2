/** Whether two summaries say nearly the same: by the words that they share. */
import { crc32 } from 'node:zlib'
import { compoundsOf } from './search-words.ts'

/** Of a longer text the words with the lowest hashes stand for all: a sample that two equal texts share (bottom-k sketch). */
const GIST_WORDS_COUNT_MAX = 128
/**
 * The share of the words of both that stand in both. In the pairs of test/node/search-similar.test.ts
 * reworded, corrected and reordered summaries of one piece of work share 0.79 or more, those of two
 * pieces of work of one sort 0.71 or less. Long texts that differ in one name are taken for the same.
 */
const NEARLY_SAME_SHARE = 0.75

const BASE64_PADDING_CHARS = 4

/** The words of a text as sorted hashes, in base64. */
export function gistOf(text: string): string {
  const hashes = new Set<number>()
  for (const { parts } of compoundsOf(text)) for (const part of parts) hashes.add(crc32(part))
  const lowest = Uint32Array.from(hashes).toSorted().slice(0, GIST_WORDS_COUNT_MAX)
  return Buffer.from(lowest.buffer).toString('base64')
}

/** How near the text of a gist is to this one, 0 to 1, if they are nearly the same. */
export function nearnessTo(text: string): (gist: string) => number | undefined {
  const own = gistOf(text)
  const mine = hashesOf(own)
  return (gist) => {
    // Of a text with so many more words too few can stand in the other.
    const [shorter, longer] = own.length < gist.length ? [own, gist] : [gist, own]
    if (shorter.length < NEARLY_SAME_SHARE * longer.length - BASE64_PADDING_CHARS) return undefined
    const share = sharedBy(mine, hashesOf(gist))
    return share >= NEARLY_SAME_SHARE ? share : undefined
  }
}

/** The lowest hashes of both together are a fair sample of all of their words. */
function sharedBy(one: Uint32Array, other: Uint32Array): number {
  let inBoth = 0
  let seen = 0
  for (let i = 0, j = 0; seen < GIST_WORDS_COUNT_MAX && (i < one.length || j < other.length); seen++) {
    const [a = Infinity, b = Infinity] = [one[i], other[j]]
    if (a === b) inBoth++
    if (a <= b) i++
    if (b <= a) j++
  }
  return seen === 0 ? 0 : inBoth / seen
}

function hashesOf(gist: string): Uint32Array {
  return new Uint32Array(new Uint8Array(Buffer.from(gist, 'base64')).buffer)
}
