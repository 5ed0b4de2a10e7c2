/** From what somebody typed to the threads that fit best. */
import { type Hex, SEARCH_QUERY_LENGTH_CHARS_MAX, SEARCH_WORDS_COUNT_MAX } from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import { type Candidate, type Index, lookThrough, type Sought } from './search-index.ts'
import { compoundsOf } from './search-words.ts'

/** The words of a query, each once. None: everything is wanted. Throws ApiError invalid_params where it cannot be looked for. */
export function wordsSought(query: string): Omit<Sought, 'terms'>[] {
  const text = query.trim()
  if (text === '') return []
  if (text.length > SEARCH_QUERY_LENGTH_CHARS_MAX) {
    throw new ApiError(
      'invalid_params',
      `query is ${text.length} characters long; at most ${SEARCH_QUERY_LENGTH_CHARS_MAX} are looked for.`,
      { hint: 'Give the few words that tell the handoff from others.' },
    )
  }
  const isExtra = new Map<string, boolean>()
  for (const { parts, whole } of compoundsOf(text)) {
    for (const part of parts) isExtra.set(part, false)
    if (whole !== undefined && !isExtra.has(whole)) isExtra.set(whole, true)
  }
  const sought = [...isExtra].map(([word, extra]) => ({ word, isExtra: extra }))
  const count = sought.filter((one) => !one.isExtra).length
  if (count === 0) {
    throw new ApiError('invalid_params', 'query holds no letter and no digit: there is nothing to look for.', {
      hint: 'Words are looked for as they are; there are no patterns and no operators. Leave query out to list by newest activity.',
    })
  }
  if (count > SEARCH_WORDS_COUNT_MAX) {
    throw new ApiError(
      'invalid_params',
      `query has ${count} words; at most ${SEARCH_WORDS_COUNT_MAX} are looked for.`,
      {
        hint: 'Give the few words that tell the handoff from others.',
      },
    )
  }
  return sought
}

export interface Hit {
  readonly thread: Hex
  /** Above 0; it compares the results of one search and nothing else. */
  readonly score: number
}

export interface Found {
  /** In no order. */
  readonly hits: Hit[]
  /** What a term of the index stands for: places in the list of words. */
  readonly meaning: ReadonlyMap<string, readonly number[]>
}

/** A result holds at least this share of what the best one holds of the query, a rare word counting more than a common one. */
const SHARE_OF_BEST = 0.5

export async function search(
  index: Index,
  words: readonly Omit<Sought, 'terms'>[],
  look: { isReadable: (thread: Hex) => boolean; pause: () => Promise<void> },
): Promise<Found> {
  const sought = words.map((one) => ({ ...one, terms: index.expand(one.word) }))
  const { candidates, total } = await lookThrough(index, sought, look)
  return { hits: best(candidates, sought, total), meaning: meaningOf(index, sought) }
}

/** BM25 over sorts of text: what is rare counts more; the rest is in the candidates. */
function best(candidates: readonly Candidate[], sought: readonly Sought[], total: number): Hit[] {
  const rarity = sought.map((_, at) => {
    const holding = candidates.filter(({ partials }) => (partials[at]?.weight ?? 0) > 0).length
    return Math.log(1 + (total - holding + 0.5) / (holding + 0.5))
  })
  const whole = sought.reduce((sum, { isExtra }, at) => sum + (isExtra ? 0 : (rarity[at] ?? 0)), 0)
  const scored = candidates.map(({ thread, partials }) => {
    let score = 0
    let held = 0
    for (const [at, partial] of partials.entries()) {
      score += partial.score * (rarity[at] ?? 0)
      if (sought[at]?.isExtra === false) held += partial.weight * (rarity[at] ?? 0)
    }
    const share = held / whole
    return { thread, score: score * share, share }
  })
  const most = scored.reduce((max, { share }) => Math.max(max, share), 0)
  return scored.filter(({ share, score }) => score > 0 && share >= SHARE_OF_BEST * most)
}

function meaningOf(index: Index, sought: readonly Sought[]): Map<string, number[]> {
  const meaning = new Map<string, number[]>()
  for (const [at, { terms }] of sought.entries()) {
    for (const number of terms.keys()) {
      const term = index.terms[number] ?? ''
      meaning.set(term, [...(meaning.get(term) ?? []), at])
    }
  }
  return meaning
}
