/**
 * Keeps the index: on disk as rows that each change deletes, in memory once it is needed. What has
 * to be indexed waits here; it is read from the store as it is there, and not kept.
 */
import type { Hex } from '../../protocol/index.ts'
import { type Held, isListed } from './held.ts'
import { mayRead } from './membership.ts'
import { createIndex, type Index, type Postings } from './search-index.ts'
import { CHUNK_TERMS_COUNT, getForm, isDamage, putDoc, putForm, putTerms, readDocs, readTerms } from './search-rows.ts'
import { type Weighed, wordsIn } from './search-text.ts'

export interface Keeper {
  /**
   * The index with all that this node wrote itself, and with what else could be taken in within
   * `patienceMs`; `missing` is how many threads are not in it yet, which goes on in the background.
   */
  current(patienceMs: number): Promise<{ index: Index; missing: number }>
  /** Begins in the background where an index has to be made from the start. */
  start(): Promise<void>
  /** Ends what is going on; what is not indexed by then will be the next time. */
  stop(): Promise<void>
}

/** So many threads are indexed before they are written, in one turn. */
const BATCH_COUNT = 64
/** Threads that are read at the same time, so that the disk and the processor both have something to do. */
const READ_AT_ONCE_COUNT = 4
/** Once so many wait, they are indexed without being asked for. */
const WAITING_COUNT_MAX = 64

interface Indexed {
  readonly thread: Hex
  readonly version: number
  readonly postings: Postings
  /** False where it could not be read: it is tried again after the next start. */
  readonly isWhole: boolean
}

const NO_WORDS: ReadonlyMap<Weighed, readonly string[]> = new Map()

export function createKeeper(held: Held): Keeper {
  const { store, system } = held
  const { marks } = held.due
  const device = held.workspace.key.public
  let opening: Promise<Index> | undefined
  let working: Promise<void> | undefined
  let stopped = false
  /** Nothing can be written: the index is made for this run alone. */
  let isInMemoryOnly = false
  /** Terms that are on disk. */
  let termsKept = 0
  let progress = Promise.withResolvers<void>()

  async function open(): Promise<Index> {
    const listed = [...held.facts].flatMap(([thread, facts]) => (isListed(facts) ? [thread] : [])).toSorted()
    const index = (await readIndex(listed)) ?? createIndex(new DataView(system.dice(4).buffer).getUint32(0))
    termsKept = index.terms.length
    for (const thread of listed) if (!index.docs.has(thread) && !marks.has(thread)) marks.set(thread, NOT_INDEXED)
    return index
  }

  /** What is kept of the threads; undefined where the terms are not all there. */
  async function readIndex(threads: readonly Hex[]): Promise<Index | undefined> {
    const form = await getForm(store, device)
    if (!form) return undefined
    const index = createIndex(form.generation)
    for await (const terms of readTerms(store, form)) index.learn(terms)
    if (index.terms.length !== form.termsCount) return undefined
    for await (const [thread, postings] of readDocs(store, index.generation, threads))
      if (!marks.has(thread)) index.put(thread, postings)
    return index
  }

  function opened(): Promise<Index> {
    opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }

  /** Own words first, then what changed last. */
  function next(count: number): [thread: Hex, version: number][] {
    const own = [...marks].filter(([, mark]) => mark.isOwn)
    const others = [...marks].filter(([, mark]) => !mark.isOwn)
    return [...own.toReversed(), ...others.toReversed()].slice(0, count).map(([thread, mark]) => [thread, mark.version])
  }

  async function work(index: Index): Promise<void> {
    while (marks.size > 0 && !stopped) {
      const batch: Indexed[] = []
      const threads = next(BATCH_COUNT).values()
      await Promise.all(Array.from({ length: READ_AT_ONCE_COUNT }, () => read(index, threads, batch)))
      if (!stopped) await keep(index, batch)
      progress.resolve()
      progress = Promise.withResolvers()
    }
  }

  /** Reads of the threads that come next what it can. */
  async function read(index: Index, threads: Iterable<[Hex, number]>, batch: Indexed[]): Promise<void> {
    for (const [id, version] of threads) {
      if (stopped) return
      const words = await wordsOf(id)
      batch.push({ thread: id, version, postings: index.pack(words ?? NO_WORDS), isWhole: words !== undefined })
    }
  }

  /** What this device takes no part in has no words here; undefined where a part of it is damaged. */
  async function wordsOf(id: Hex): Promise<ReadonlyMap<Weighed, readonly string[]> | undefined> {
    try {
      const thread = await held.threads.read(id)
      return mayRead(held, thread) ? await wordsIn(held, thread) : NO_WORDS
    } catch (error) {
      if (!isDamage(error)) throw error
      system.log.warn('a thread cannot be indexed', { thread: id, error: error.message })
      return undefined
    }
  }

  async function keep(index: Index, batch: readonly Indexed[]): Promise<void> {
    if (!isInMemoryOnly) {
      try {
        await held.turn(async (turn) => {
          for (const { thread, version, postings, isWhole } of batch)
            if (isWhole && marks.get(thread)?.version === version)
              turn.writes.push(putDoc(thread, index.generation, postings))
          for (let first = firstOfChunk(termsKept); first < index.terms.length; first += CHUNK_TERMS_COUNT)
            turn.writes.push(putTerms(first, index.terms.slice(first, first + CHUNK_TERMS_COUNT)))
          const termsCount = index.terms.length
          turn.writes.push(putForm(device, { generation: index.generation, termsCount }))
          turn.after.push(() => {
            termsKept = termsCount
            take(index, batch)
          })
        })
        return
      } catch (error) {
        isInMemoryOnly = true
        system.log.warn('the search index cannot be written; it is kept in memory', { error: String(error) })
      }
    }
    take(index, batch)
  }

  function take(index: Index, batch: readonly Indexed[]): void {
    for (const { thread, version, postings } of batch) {
      index.put(thread, postings)
      if (marks.get(thread)?.version === version) marks.delete(thread)
    }
  }

  function begin(index: Index): Promise<void> {
    working ??= work(index).finally(() => (working = undefined))
    return working
  }

  function inBackground(): void {
    opened()
      .then(begin)
      .catch((error: unknown) => system.log.warn('indexing stopped', { error: String(error) }))
  }

  held.due.onMark(() => {
    if (marks.size >= WAITING_COUNT_MAX && working === undefined && !stopped) inBackground()
  })

  return {
    async current(patienceMs) {
      const index = await opened()
      let isOver = false
      const over = Promise.withResolvers<void>()
      const cancel = system.clock.after(patienceMs, () => {
        isOver = true
        over.resolve()
      })
      try {
        while (marks.size > 0 && !stopped) {
          if (isOver && ![...marks.values()].some(({ isOwn }) => isOwn)) break
          const working = begin(index)
          working.catch(() => undefined)
          await Promise.race([working, progress.promise, ...(isOver ? [] : [over.promise])])
        }
      } finally {
        cancel()
      }
      return { index, missing: marks.size }
    },
    async start() {
      if (held.facts.size >= WAITING_COUNT_MAX && !(await getForm(store, device))) inBackground()
    },
    async stop() {
      stopped = true
      await Promise.allSettled([opening, working])
    },
  }
}

/** What was not indexed before: no change of it is known. */
const NOT_INDEXED = { version: 0, isOwn: false }

function firstOfChunk(term: number): number {
  return term - (term % CHUNK_TERMS_COUNT)
}
