import * as z from 'zod'
import { ANSWER_LENGTH_CHARS_MAX, SEARCH_PAGE_COUNT_DEFAULT, SEARCH_PAGE_COUNT_MAX } from '../../protocol/index.ts'
import { type InboxItem, type InboxPage, type MatchView, shapes } from '../rpc/client.ts'
import { answer, type Answer, fits, lengthOf } from './answer.ts'
import { ownAndForeign, type PeerFacts, type Wrapper } from './provenance.ts'
import { partyOf, writerOf } from './thread-view.ts'
import { READS, tool } from './tool.ts'

export const searchHandoffs = tool({
  name: 'search_handoffs',
  title: 'Search handoffs',
  description:
    'Searches all handoffs that this user can read, ended ones too: summaries, continuity records, messages, results, annotations, names and text of artifacts. ' +
    'Call it before you hand something off or start on something, to find what was done, decided or tried before. ' +
    'Give a few words or identifiers: case, accents, beginnings of words and small typing mistakes do not matter; there are no operators. Without query it lists by newest activity. ' +
    'Best first; matches say in which field, entry and revision the words stand, and replaced true that a later revision says something else: read the current one. ' +
    'words holds a preview and match_1, match_2 … in the order of matches. indexing.missing: so many handoffs could not be searched yet; search again later. ' +
    'Next: view_thread.',
  annotations: READS,
  input: z.strictObject({
    query: shapes.text.describe('Words to look for').optional(),
    status: z.array(shapes.status).min(1).describe('Default: all').optional(),
    side: shapes.side
      .describe('in: sent to the user. out: sent by the user. reader: shared with the user to read. Default: all')
      .optional(),
    with: shapes.id.describe('Handle of the teammate who sent or received it').optional(),
    since: shapes.id.describe('Newest activity then or later: 2026-11-30 or 2026-11-30T12:00:00Z').optional(),
    until: shapes.id.describe('Newest activity then or earlier').optional(),
    limit: z.int().min(1).max(SEARCH_PAGE_COUNT_MAX).describe(`Default: ${SEARCH_PAGE_COUNT_DEFAULT}`).optional(),
    cursor: shapes.cursor.describe('next_cursor of the last answer; repeat the other arguments').optional(),
  }),
  async run(params, { call, wrapper, signal }) {
    let limit = params.limit ?? SEARCH_PAGE_COUNT_DEFAULT
    for (;;) {
      const page = await call('tasks/list', { ...params, query: params.query ?? '', limit }, { signal })
      const found = pageOf(page, wrapper)
      if (fits(found) || page.items.length <= 1) return found
      // Asked again for fewer: the node's cursor for the rest is worth more than one made up here.
      limit = Math.max(1, Math.floor((page.items.length * ANSWER_LENGTH_CHARS_MAX) / lengthOf(found)) - 1)
    }
  },
})

function pageOf({ items, next_cursor, indexing }: InboxPage, wrapper: Wrapper): Answer {
  return answer(wrapper, {
    items: items.map((item) => itemOf(item, wrapper)),
    ...(indexing === undefined ? {} : { indexing: { missing: indexing.missing } }),
    ...(next_cursor === undefined
      ? {}
      : { next_cursor, left: 'There are more: call again with cursor and the same arguments.' }),
  })
}

function itemOf(item: InboxItem, wrapper: Wrapper) {
  const { thread_id, intent, side, sender, recipient, status, final, unread_count, updated_at, preview } = item
  const { revision_id, score, matches } = item.found ?? { revision_id: '', score: 0, matches: [] }
  const said = matches.map(({ excerpt }, i) => [`match_${i + 1}`, excerpt] as const)
  const { own, foreign } = ownAndForeign({ ...(preview ? { preview } : {}), ...Object.fromEntries(said) })
  return {
    thread_id,
    revision_id,
    score,
    status,
    final,
    intent,
    side,
    sender: partyOf(sender),
    recipient,
    unread_count,
    updated_at,
    matches: matches.map(matchFacts),
    words: {
      ...(Object.keys(own).length > 0 ? { own } : {}),
      ...(foreign === undefined ? {} : wrapper.show(foreign, { ...writerOfAll(item), thread_id })),
    },
  }
}

function matchFacts({ field, entry_id, revision_id, artifact_id, replaced, from }: MatchView) {
  return { field, entry_id, revision_id, artifact_id, replaced, from: from.handle }
}

/** Who wrote the words of others, where all of them are one person's. */
function writerOfAll(item: InboxItem): Pick<PeerFacts, 'from'> {
  const authors = new Set(
    (item.found?.matches ?? []).flatMap(({ from, excerpt }) => (excerpt.untrusted === undefined ? [] : [from.handle])),
  )
  if (item.preview?.untrusted !== undefined) authors.add(writerOf(item).handle)
  const [handle, ...others] = authors
  return handle === undefined || others.length > 0 ? {} : { from: { handle } }
}
