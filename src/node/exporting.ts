/** What proves a handoff to somebody else: its entries as received, their sealed bodies, and a key for each; never a thread key. */
import { actionKey, chainsTo, type RosterEntry, textId, toHex } from '../../protocol/index.ts'
import type { ExportPage, ExportParams } from './api.ts'
import { ApiError } from './api-error.ts'
import { sealedContent } from './contents.ts'
import type { Held } from './held.ts'
import { requireReading, requireThread } from './membership.ts'
import { createOf, sideOf, type Thread } from './threads.ts'

/** Of envelopes and bodies in one page; at least one entry is given. */
const PAGE_SIZE_BYTES = 1024 * 1024

/**
 * Pages: entries in order of arrival, then the roster entries that those cite. What arrives meanwhile comes with later
 * pages, so that what is given builds on nothing that is not.
 */
export function exportThread(held: Held, params: ExportParams): Promise<ExportPage> {
  const place = parsePlace(params.cursor)
  return held.turn(async () => {
    requireReading(held, params.after_removal)
    const thread = await requireThread(held, params.thread_id)
    if (sideOf(thread, held.workspace.key.public) === 'reader') {
      throw new ApiError('forbidden', 'This thread was shared with you to read.', {
        hint: 'Ask its sender or recipient for an export.',
      })
    }
    return place.roster === undefined
      ? entriesPage(held, thread, place.arrival)
      : rosterPage(held, thread, { arrival: place.arrival, from: place.roster })
  })
}

interface Place {
  /** Of the last entry that was given. */
  readonly arrival: number
  /** How many roster entries were given; undefined while there are entries. */
  readonly roster: number | undefined
}

function parsePlace(cursor = '0'): Place {
  const [, arrival, roster] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(cursor) ?? []
  if (arrival === undefined)
    throw new ApiError('invalid_params', 'That is not a cursor of this node.', {
      hint: 'Leave the cursor out to begin anew.',
    })
  return { arrival: Number(arrival), roster: roster === undefined ? undefined : Number(roster) }
}

async function entriesPage(held: Held, thread: Thread, after: number): Promise<ExportPage> {
  const entries: ExportPage['entries'] = []
  let size = 0
  let last = after
  for (const { entry } of thread.graph.nodes) {
    const arrival = thread.arrivals.get(entry.id)?.number ?? 0
    if (arrival <= after) continue
    const { sealed, key } = await sealedContent(held, thread, entry)
    size += entry.envelope.length + (sealed?.length ?? 0)
    if (entries.length > 0 && size > PAGE_SIZE_BYTES) return page(thread, { entries, next_cursor: String(last) })
    last = arrival
    entries.push({
      envelope: base64(entry.envelope),
      ...(sealed ? { body: base64(sealed) } : {}),
      ...(key ? { key: base64(key) } : {}),
    })
  }
  return page(thread, { entries, next_cursor: `${last}.0` })
}

function rosterPage(held: Held, thread: Thread, { arrival, from }: { arrival: number; from: number }): ExportPage {
  const chain = cited(held, thread, arrival)
  const roster: string[] = []
  let size = 0
  for (const { envelope } of chain.slice(from)) {
    size += envelope.length
    if (roster.length > 0 && size > PAGE_SIZE_BYTES) break
    roster.push(base64(envelope))
  }
  const next = from + roster.length
  return page(thread, { roster, ...(next < chain.length ? { next_cursor: `${arrival}.${next}` } : {}) })
}

/** From genesis to every point that an entry up to `arrival` cites. */
function cited(held: Held, thread: Thread, arrival: number): RosterEntry[] {
  const given = thread.graph.nodes.filter(({ entry }) => (thread.arrivals.get(entry.id)?.number ?? 0) <= arrival)
  return chainsTo(
    held.workspace.log,
    given.map(({ entry }) => entry.header.ros),
  )
}

function page(thread: Thread, given: Partial<ExportPage>): ExportPage {
  const create = createOf(thread)
  const key = create && thread.keys.get(create.id)
  const isProposed = create !== undefined && create.header.ctl.action !== null
  return {
    thread_id: textId('thread', thread.id),
    ...(isProposed && key ? { action_key: toHex(actionKey(key, create.header.ctl.nonce)) } : {}),
    entries: [],
    roster: [],
    ...given,
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
