/** Why a thread was found: the passages that hold what was looked for, and the words around it. */
import { textId } from '../../protocol/index.ts'
import type { MatchView } from './api.ts'
import type { Held } from './held.ts'
import { partyOf } from './membership.ts'
import { type Passage, passagesOf, WEIGHED } from './search-text.ts'
import { compoundsOf, wordsOf } from './search-words.ts'
import { content, isMine } from './shown.ts'
import type { Thread } from './threads.ts'

/** What a word of a text stands for: places in the list of words that are looked for. */
export type Meaning = ReadonlyMap<string, readonly number[]>

const MATCHES_COUNT_MAX = 3
const EXCERPT_LENGTH_CHARS = 160
/** What stands before the first match, to understand it. */
const EXCERPT_BEFORE_CHARS = 40
/** Where a word stands more often than that, the first places do. */
const PLACES_COUNT_MAX = 500

interface Place {
  readonly from: number
  readonly to: number
  readonly meant: readonly number[]
}

interface Matching {
  readonly passage: Passage
  readonly places: readonly Place[]
  readonly meant: ReadonlySet<number>
}

/** The passages that together hold most of what was looked for, the most telling first; none where the thread holds nothing of it. */
export async function matchesIn(held: Held, thread: Thread, meaning: Meaning): Promise<MatchView[]> {
  const found: Matching[] = []
  for await (const passage of passagesOf(held, thread)) {
    const places = placesIn(passage.text, meaning)
    if (places.length > 0) found.push({ passage, places, meant: new Set(places.flatMap(({ meant }) => meant)) })
  }
  const shown = new Set<number>()
  const chosen: Matching[] = []
  while (chosen.length < MATCHES_COUNT_MAX) {
    const next = mostNews(found, shown)
    if (!next) break
    chosen.push(next)
    for (const at of next.meant) shown.add(at)
  }
  return chosen.map(({ passage, places }) => matchView(held, passage, excerpt(passage.text, places)))
}

function placesIn(text: string, meaning: Meaning): Place[] {
  const places: Place[] = []
  for (const compound of compoundsOf(text)) {
    const meant = wordsOf(compound).flatMap((word) => meaning.get(word) ?? [])
    if (meant.length > 0) places.push({ from: compound.from, to: compound.to, meant })
    if (places.length === PLACES_COUNT_MAX) break
  }
  return places
}

/** The one that holds the most that was not shown yet; of several the one that counts most, of those the newest. */
function mostNews(found: readonly Matching[], shown: ReadonlySet<number>): Matching | undefined {
  let best: Matching | undefined
  let most = 0
  for (const one of found) {
    const news = [...one.meant].filter((at) => !shown.has(at)).length
    const isWeightier = best !== undefined && sortOf(one) < sortOf(best)
    if (news > most || (news === most && news > 0 && isWeightier)) [best, most] = [one, news]
  }
  return best
}

function sortOf({ passage }: Matching): number {
  return WEIGHED.indexOf(passage.weighed)
}

function matchView(held: Held, passage: Passage, text: string): MatchView {
  const { field, weighed, node, artifact } = passage
  const { id, header } = node.entry
  const isRevision = header.kind === 'create' || header.kind === 'revise'
  return {
    field,
    entry_id: textId('entry', id),
    ...(isRevision ? { revision_id: textId('revision', id) } : {}),
    ...(artifact === undefined ? {} : { artifact_id: textId('artifact', artifact) }),
    replaced: weighed === 'earlier',
    from: partyOf(held, header.dev),
    excerpt: content(isMine(held, header.dev), text),
  }
}

/** The stretch of the text that holds the most different words that are looked for. */
function excerpt(text: string, places: readonly Place[]): string {
  const start = Math.max(0, densest(places) - EXCERPT_BEFORE_CHARS)
  const end = Math.min(text.length, start + EXCERPT_LENGTH_CHARS)
  const from = start === 0 ? 0 : wordBoundary(text, start, 1)
  const to = end === text.length ? end : wordBoundary(text, end, -1)
  return `${from > 0 ? '…' : ''}${text.slice(from, to).trim()}${to < text.length ? '…' : ''}`
}

/** Where the stretch begins. */
function densest(places: readonly Place[]): number {
  let most = 0
  let begin = 0
  for (const [i, { from }] of places.entries()) {
    const meant = new Set<number>()
    for (const place of places.slice(i, i + EXCERPT_LENGTH_CHARS)) {
      if (place.to - from > EXCERPT_LENGTH_CHARS - EXCERPT_BEFORE_CHARS) break
      for (const at of place.meant) meant.add(at)
    }
    if (meant.size > most) [most, begin] = [meant.size, from]
  }
  return most === 0 ? (places[0]?.from ?? 0) : begin
}

const BOUNDARY_CHARS = 20

/** A place near `at` where no word is cut, in the given direction; where there is none near, one that cuts no character. */
function wordBoundary(text: string, at: number, step: 1 | -1): number {
  for (let i = at; Math.abs(i - at) < BOUNDARY_CHARS; i += step) if (/\s/u.test(text.charAt(i))) return i
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at + 1 : at
}
