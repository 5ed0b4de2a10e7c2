/**
 * The index in memory. Terms lie in a radix tree, which finds the beginnings of words and words with
 * typing mistakes; what a thread holds is a flat list of numbers. To look through the lists of all
 * threads from end to end takes a few milliseconds for ten thousand, and they take a tenth of the
 * memory of inverted lists.
 */
import SearchableMap from 'minisearch/SearchableMap'
import type { Hex } from '../../protocol/index.ts'
import { type Weighed, WEIGHED } from './search-text.ts'
import { isStem, typosIn } from './search-words.ts'

/**
 * What is kept of a thread: the length of each sort of text in words, then one number for each term
 * and sort: term · 2⁷ + sort · 2⁴ + how often, at most 15.
 */
export type Postings = Uint32Array

const SORT_SHIFT = 4
const TERM_SHIFT = 7
const OFTEN_MAX = 15
const TERM_NUMBER_MAX = 2 ** (32 - TERM_SHIFT) - 1
/** The terms of one thread; more than a thousand pages of prose need. */
const TERMS_COUNT_MAX = 8192

export interface Index {
  readonly generation: number
  /** Terms in order of their numbers. */
  readonly terms: readonly string[]
  /** Gives numbers to terms that have none, in their order. */
  learn(terms: readonly string[]): void
  readonly docs: ReadonlyMap<Hex, Postings>
  /** Words per sort of text → the postings of a thread. New terms get numbers. */
  pack(words: ReadonlyMap<Weighed, readonly string[]>): Postings
  put(thread: Hex, postings: Postings): void
  /** The terms that a word of a query stands for, and how well each does, at most 1. */
  expand(word: string): Map<number, number>
  /** Words on average, in each sort of text. */
  averages(): readonly number[]
}

/** A beginning stands the better for a word the more of it is there; a mistake makes a match a doubtful one. */
const PREFIX_WEIGHT = 0.9
const TYPO_WEIGHT = 0.45

export function createIndex(generation: number): Index {
  const terms: string[] = []
  const numbers = new Map<string, number>()
  const tree = new SearchableMap<number>()
  const docs = new Map<Hex, Postings>()
  const totals = WEIGHED.map(() => 0)

  function numberOf(term: string): number | undefined {
    const known = numbers.get(term)
    if (known !== undefined || terms.length > TERM_NUMBER_MAX) return known
    const number = terms.push(term) - 1
    numbers.set(term, number)
    tree.set(term, number)
    return number
  }

  function count(postings: Postings | undefined, sign: 1 | -1): void {
    for (const [sort, total] of totals.entries()) totals[sort] = total + sign * (postings?.[sort] ?? 0)
  }

  return {
    generation,
    terms,
    docs,
    learn: (more) => more.forEach(numberOf),
    pack(words) {
      const postings = WEIGHED.map((sort) => words.get(sort)?.length ?? 0)
      const known = new Set<string>()
      for (const [sort, name] of WEIGHED.entries()) {
        const often = new Map<string, number>()
        for (const word of words.get(name) ?? []) {
          // What was replaced adds nothing where the same word still stands.
          if (name === 'earlier' && known.has(word)) continue
          often.set(word, (often.get(word) ?? 0) + 1)
        }
        for (const [word, times] of often) {
          if (!known.has(word) && known.size >= TERMS_COUNT_MAX) continue
          const number = numberOf(word)
          if (number === undefined) continue
          if (name !== 'earlier') known.add(word)
          postings.push(number * 2 ** TERM_SHIFT + (sort << SORT_SHIFT) + Math.min(times, OFTEN_MAX))
        }
      }
      return Uint32Array.from(postings)
    },
    put(thread, postings) {
      count(docs.get(thread), -1)
      count(postings, 1)
      docs.set(thread, postings)
    },
    expand(word) {
      const found = new Map<number, number>()
      const typos = typosIn(word)
      if (typos > 0) {
        for (const [number, distance] of tree.fuzzyGet(word, typos).values())
          found.set(number, TYPO_WEIGHT / (1 + distance))
      }
      if (isStem(word)) {
        for (const [term, number] of tree.atPrefix(word).entries())
          found.set(number, PREFIX_WEIGHT * (0.5 + (0.5 * word.length) / term.length))
      }
      const exact = numbers.get(word)
      if (exact !== undefined) found.set(exact, 1)
      return found
    },
    averages: () => totals.map((total) => total / Math.max(1, docs.size)),
  }
}

/** How much a word counts in each sort of text: wherever it stands in the first, that is more than anywhere in all others. */
const WEIGHTS: Readonly<Record<Weighed, number>> = { heading: 13, words: 3, names: 3, content: 1, earlier: 0.5 }
const SORT_WEIGHTS = WEIGHED.map((sort) => WEIGHTS[sort])
/** What a word counts at least, of the weight of its sort; the rest is for how often, in how long a text. */
const SURE_SHARE = 0.6
/** How much the length of a text matters, as in BM25. */
const LENGTH_SHARE = 0.5

/** A word of a query. */
export interface Sought {
  readonly word: string
  /** Term → how well it stands for the word. */
  readonly terms: ReadonlyMap<number, number>
  /** It only adds to the score of what matches otherwise. */
  readonly isExtra: boolean
}

/** How well a thread matches one word: its score before the word's rarity, and the best of its terms. */
interface Partial {
  readonly score: number
  readonly weight: number
}

export interface Candidate {
  readonly thread: Hex
  readonly partials: readonly Partial[]
}

/** One list at a time is looked through; `pause` between so many lets others have their turn. */
const LOOKED_AT_ONCE_COUNT = 2000

/** All threads that hold any of the words, of those that `isReadable`. */
export async function lookThrough(
  index: Index,
  sought: readonly Sought[],
  { isReadable, pause }: { isReadable: (thread: Hex) => boolean; pause: () => Promise<void> },
): Promise<{ candidates: Candidate[]; total: number }> {
  const table = tableOf(index, sought)
  const averages = index.averages()
  const sorts = WEIGHED.length
  const best = new Float64Array(sought.length * sorts)
  const often = new Float64Array(sought.length * sorts)
  const candidates: Candidate[] = []
  let total = 0
  let looked = 0
  for (const [thread, postings] of index.docs) {
    if (++looked % LOOKED_AT_ONCE_COUNT === 0) await pause()
    if (!isReadable(thread)) continue
    total++
    let isHit = false
    for (let i = sorts; i < postings.length; i++) {
      const posting = postings[i] ?? 0
      const entry = table.slots[posting >>> TERM_SHIFT] ?? 0
      if (entry === 0) continue
      isHit = true
      for (const { at, weight } of table.stands[entry - 1] ?? []) {
        const cell = at * sorts + ((posting >>> SORT_SHIFT) & 7)
        best[cell] = Math.max(best[cell] ?? 0, weight)
        often[cell] = (often[cell] ?? 0) + (posting & OFTEN_MAX)
      }
    }
    if (!isHit) continue
    candidates.push({ thread, partials: sought.map((_, at) => partialOf(postings, at)) })
    best.fill(0)
    often.fill(0)
  }
  return { candidates, total }

  function partialOf(postings: Postings, at: number): Partial {
    let score = 0
    let weight = 0
    for (let sort = 0; sort < sorts; sort++) {
      const match = best[at * sorts + sort] ?? 0
      if (match === 0) continue
      weight = Math.max(weight, match)
      const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * (postings[sort] ?? 0)) / Math.max(1, averages[sort] ?? 1)
      const times = (often[at * sorts + sort] ?? 0) / length
      score += match * (SORT_WEIGHTS[sort] ?? 0) * (SURE_SHARE + ((1 - SURE_SHARE) * times) / (1 + times))
    }
    return { score, weight }
  }
}

/** Term → what it stands for, as quick to look up as there is. */
function tableOf(index: Index, sought: readonly Sought[]) {
  const slots = new Uint32Array(index.terms.length)
  const stands: { at: number; weight: number }[][] = []
  for (const [at, { terms }] of sought.entries()) {
    for (const [number, weight] of terms) {
      if (slots[number] === 0) slots[number] = stands.push([])
      stands[(slots[number] ?? 0) - 1]?.push({ at, weight })
    }
  }
  return { slots, stands }
}
