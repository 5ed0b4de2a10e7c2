/** Makes everything anew that follows from the entries: rows, inbox, outbox, what is carried, which chunks are here and wanted, the arrival counter. For a repaired store, or one whose lists are of an older form. */
import { encodeCanonical, type Hex } from '../../protocol/index.ts'
import type { Space, Store, Write } from '../store/store.ts'
import { carryAnew } from './carry.ts'
import { putMark, readMarks } from './chunk-rows.ts'
import { wantChunks } from './chunks.ts'
import type { Held } from './held.ts'
import { markRead } from './reading.ts'
import { markRecovering } from './recovery.ts'
import { decodeRow, putArrival, putMet, readThreadRows } from './rows.ts'
import { settle } from './settle.ts'

/** Counts up whenever the form of a list changes. */
const LISTS_VERSION = 6
const LISTS_KEY = 'lists'

/** Whether the lists are of this form and may be trusted. */
export async function hasLists(store: Store): Promise<boolean> {
  const value = await store.get('meta', LISTS_KEY)
  return value !== undefined && decodeRow(value) === LISTS_VERSION
}

/**
 * Empties the lists and finds the greatest arrival number that was given out. To be done before the
 * node reads them. A row of a thread that has no entries any more would say that it is held.
 */
export async function clearLists(store: Store): Promise<void> {
  let arrival = 0
  const threads = new Set<Hex>()
  for await (const [key] of store.range('entry')) {
    const [thread = '', number] = key.split('/')
    threads.add(thread)
    arrival = Math.max(arrival, Number(number))
  }
  const writes: Write[] = [putArrival(arrival)]
  for await (const [thread] of readThreadRows(store))
    if (!threads.has(thread)) writes.push({ type: 'del', space: 'thread', key: thread })
  for (const space of ['inbox', 'outbox', 'carried', 'present', 'wanted', 'search'] satisfies Space[])
    for await (const [key] of store.range(space)) writes.push({ type: 'del', space, key })
  for await (const [thread, chunk] of readMarks(store, 'chunk')) writes.push(putMark('present', thread, chunk))
  await store.batch(writes)
}

/**
 * Fills the lists from the entries, thread by thread. Read marks that are still there are kept.
 * `lossy`: entries may be missing, so that each thread waits until a peer that holds them was met.
 */
export async function rebuildLists(held: Held, lossy: boolean): Promise<void> {
  for (const id of await threadIds(held.store)) {
    await held.turn(async (turn) => {
      const thread = await held.threads.load(id)
      const read = thread.row?.read ?? 0
      thread.row = undefined
      const sealed = await held.store.getMany(
        'body',
        thread.graph.nodes.map((node) => node.entry.id),
      )
      settle(
        held,
        turn,
        thread,
        thread.graph.nodes.map((node, i) => ({ node, sealed: sealed[i] })),
      )
      carryAnew(held, turn, thread)
      await wantChunks(held, turn, thread)
      markRead(held, turn, thread, read)
      if (lossy) markRecovering(turn, thread, true)
    })
  }
  await held.turn(async (turn) => {
    if (lossy) turn.writes.push(putMet([]))
    turn.writes.push({ type: 'put', space: 'meta', key: LISTS_KEY, value: encodeCanonical(LISTS_VERSION) })
  })
}

async function threadIds(store: Store): Promise<Hex[]> {
  const ids = new Set<Hex>()
  for await (const [key] of store.range('entry')) ids.add(key.slice(0, key.indexOf('/')))
  return [...ids]
}
