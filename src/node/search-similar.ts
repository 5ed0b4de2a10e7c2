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

/** The words of a text as sorted hashes, in base64. */
export function gistOf(text: string): string {
  const hashes = new Set<number>()
  for (const { parts } of compoundsOf(text)) for (const part of parts) hashes.add(crc32(part))
  const lowest = Uint32Array.from(hashes).toSorted().slice(0, GIST_WORDS_COUNT_MAX)
  return Buffer.from(lowest.buffer, lowest.byteOffset, lowest.byteLength).toString('base64')
}

/** How near two texts are, 0 to 1, if they are nearly the same. */
export function nearness(one: string, other: string): number | undefined {
  if (one === other) return 1
  const [mine, theirs] = [hashesOf(one), hashesOf(other)]
  // The lowest hashes of both texts together are a fair sample of all of their words.
  const sample = [...new Set([...mine, ...theirs])].toSorted((a, b) => a - b).slice(0, GIST_WORDS_COUNT_MAX)
  const inBoth = sample.filter((hash) => mine.has(hash) && theirs.has(hash)).length
  const share = sample.length === 0 ? 0 : inBoth / sample.length
  return share >= NEARLY_SAME_SHARE ? share : undefined
}

function hashesOf(gist: string): Set<number> {
  const bytes = Buffer.from(gist, 'base64')
  return new Set(new Uint32Array(new Uint8Array(bytes).buffer))
}
