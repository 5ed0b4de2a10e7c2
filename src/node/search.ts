/** Search over what this device can read: from the index to a page of results, each checked again and with its reason. */
import { type Hex, SEARCH_PAGE_COUNT_DEFAULT, SEARCH_PAGE_COUNT_MAX, type Status, toHex } from '../../protocol/index.ts'
import type { InboxItem, InboxPage, ListThreadsParams } from './api.ts'
import { ApiError } from './api-error.ts'
import { type Held, isListed, type ThreadFacts } from './held.ts'
import { mayRead, requireMember } from './membership.ts'
import { inboxItem } from './reading.ts'
import { createKeeper } from './search-keeper.ts'
import { matchesIn, type Meaning } from './search-match.ts'
import { search, wordsSought } from './search-query.ts'
import { isDamage } from './search-rows.ts'
import { revisionIds } from './view.ts'
import { rosterOf } from './workspace.ts'
import { keepNewest } from './newest.ts'

export interface Search {
  /** Throws ApiError invalid_params, or recipient_not_found for `with`. */
  list(params: ListThreadsParams): Promise<InboxPage>
  start(): Promise<void>
  stop(): Promise<void>
}

/** The parameters that make a list a search. */
const SEARCHES = ['query', 'with', 'since', 'until'] as const

export function isSearch(params: ListThreadsParams): boolean {
  return SEARCHES.some((name) => params[name] !== undefined)
}

/** A search waits so long for what is being indexed; then it answers, and says what is missing. */
const PATIENCE_MS = 1000
/** Results are held for so many searches, so that pages fit together whatever comes meanwhile. */
const HELD_COUNT_MAX = 32
const TOKEN_BYTES = 8
/** Threads that are read at the same time for a page. */
const READ_AT_ONCE_COUNT = 4
/** Results in their order, as of the first page. */
interface Results {
  /** What was asked for; a cursor goes with the same question only. */
  readonly question: string
  readonly hits: readonly { readonly thread: Hex; readonly score: number }[]
  /** undefined where no words are looked for. */
  readonly meaning: Meaning | undefined
  /** Threads that were not in the index yet. */
  readonly missing: number
}

export function createSearch(held: Held): Search {
  const keeper = createKeeper(held)
  const kept = new Map<string, Results>()

  async function find(params: ListThreadsParams, filter: Filter): Promise<Results> {
    const question = questionOf(params)
    const words = wordsSought(params.query ?? '')
    const isReadable = (thread: Hex): boolean => {
      const facts = held.facts.get(thread)
      return facts !== undefined && isListed(facts)
    }
    const isWanted = (thread: Hex): boolean => {
      const facts = held.facts.get(thread)
      return facts !== undefined && isListed(facts) && filter(facts)
    }
    if (words.length === 0) {
      const hits = [...held.facts.keys()].filter(isWanted).map((thread) => ({ thread, score: 0 }))
      return { question, hits: inOrder(hits), meaning: undefined, missing: 0 }
    }
    const { index, missing } = await keeper.current(PATIENCE_MS)
    const pause = () => new Promise<void>((resolve) => held.system.clock.after(0, resolve))
    const { hits, meaning } = await search(index, words, { isReadable, pause })
    return { question, hits: inOrder(hits.filter(({ thread }) => isWanted(thread))), meaning, missing }
  }

  function inOrder<H extends { thread: Hex; score: number }>(hits: H[]): H[] {
    const newest = (thread: Hex): number => held.facts.get(thread)?.arrival ?? 0
    return hits.toSorted((a, b) => b.score - a.score || newest(b.thread) - newest(a.thread))
  }

  function keep(results: Results): string {
    const token = toHex(held.system.dice(TOKEN_BYTES))
    kept.set(token, results)
    keepNewest(kept, HELD_COUNT_MAX)
    return token
  }

  /** The result as it is now; undefined where it is none any more. */
  async function itemOf(hit: Results['hits'][number], { meaning }: Results): Promise<InboxItem | undefined> {
    try {
      const thread = await held.threads.read(hit.thread)
      if (!thread.row || !mayRead(held, thread)) return undefined
      const matches = meaning ? await matchesIn(held, thread, meaning) : []
      if (meaning && matches.length === 0) return undefined
      const found = { revision_id: revisionIds(thread)[0] ?? '', score: rounded(hit.score), matches }
      return { ...inboxItem(held, thread.id, thread.row), found }
    } catch (error) {
      if (!isDamage(error)) throw error
      held.system.log.warn('a result cannot be read', { thread: hit.thread, error: error.message })
      return undefined
    }
  }

  return {
    async list(params) {
      requireMember(held)
      const filter = filterOf(held, params)
      const { limit = SEARCH_PAGE_COUNT_DEFAULT } = params
      const place = params.cursor === undefined ? undefined : placeOf(params.cursor)
      const known = place && kept.get(place.token)
      if (place && known?.question !== questionOf(params)) throw unknownCursor()
      const results = known ?? (await find(params, filter))
      const items: InboxItem[] = []
      const wanted = Math.min(limit, SEARCH_PAGE_COUNT_MAX)
      let at = place?.at ?? 0
      while (at < results.hits.length && items.length < wanted) {
        const hits = results.hits.slice(at, at + Math.min(READ_AT_ONCE_COUNT, wanted - items.length))
        at += hits.length
        const shown = await Promise.all(
          hits.map(async (hit) => {
            const facts = held.facts.get(hit.thread)
            // What changed since the first page is shown as it is, or not at all.
            return facts && filter(facts) ? itemOf(hit, results) : undefined
          }),
        )
        items.push(...shown.flatMap((item) => item ?? []))
      }
      const isMore = at < results.hits.length
      return {
        items,
        timed_out: false,
        ...(isMore ? { next_cursor: `${place?.token ?? keep(results)}.${at}` } : {}),
        ...(results.missing > 0 ? { indexing: { missing: results.missing } } : {}),
      }
    },
    start: () => keeper.start(),
    stop: () => keeper.stop(),
  }
}

function questionOf({ query = '', status, side, with: other, since, until }: ListThreadsParams): string {
  return JSON.stringify([query, status, side, other, since, until])
}

const PLACE = /^([0-9a-f]{16})\.(\d{1,9})$/

function placeOf(cursor: string): { token: string; at: number } {
  const match = PLACE.exec(cursor)
  if (!match) throw unknownCursor()
  return { token: match[1] ?? '', at: Number(match[2]) }
}

function unknownCursor(): ApiError {
  return new ApiError('invalid_params', 'That cursor goes with no search that this node holds.', {
    hint: 'Give it together with the very parameters of the page that it came with. If the node was restarted, or many searches came since, leave it out to search anew.',
  })
}

/** Scores compare results; more digits would say nothing. */
function rounded(score: number): number {
  return Math.round(score * 1000) / 1000
}

type Filter = (facts: ThreadFacts) => boolean

const ALL: readonly Status[] = ['pending', 'accepted', 'completed', 'cancelled']

function filterOf(held: Held, params: ListThreadsParams): Filter {
  const { status = ALL, side } = params
  const members = params.with === undefined ? undefined : membersCalled(held, params.with)
  const since = params.since === undefined ? -Infinity : timeOf('since', params.since, 'begin')
  const until = params.until === undefined ? Infinity : timeOf('until', params.until, 'end')
  return (facts) =>
    status.includes(facts.status) &&
    (side === undefined || facts.side === side) &&
    (members === undefined || members.has(facts.sender) || members.has(facts.recipient)) &&
    facts.updatedAt >= since &&
    facts.updatedAt <= until
}

/** The members of that name: whoever has left can be searched for, too. */
function membersCalled(held: Held, handle: string): Set<Hex> {
  const roster = rosterOf(held.workspace)
  const [name = '', team, ...rest] = handle.trim().toLowerCase().split('@')
  const isHere = rest.length === 0 && (team === undefined || team === roster?.name)
  const members = isHere ? [...(roster?.members.values() ?? [])].filter((member) => member.name === name) : []
  if (members.length === 0) {
    throw new ApiError('recipient_not_found', 'No member of this workspace has that handle.', {
      hint: 'Call list_teammates (relay-node status) for the handles there are.',
    })
  }
  return new Set(members.map(({ id }) => id))
}

const DAY = /^\d{4}-\d\d-\d\d$/
const DAY_MS = 24 * 60 * 60 * 1000
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i

/** A time, or the begin or end of a day, in ms. */
function timeOf(field: string, text: string, edge: 'begin' | 'end'): number {
  const isDay = DAY.test(text)
  const time = isDay || TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) {
    throw new ApiError('invalid_params', `${field} is no time.`, {
      hint: 'Write it like 2026-11-30T12:00:00Z, or 2026-11-30 for a day in UTC.',
    })
  }
  return isDay && edge === 'end' ? time + DAY_MS - 1 : time
}
