/**
 * Fetching chunks of artifacts: which are asked of whom. Those that somebody waits for come first,
 * then those of threads that were accepted. A chunk is asked of one peer at a time; of one that
 * does not have it, sends other bytes or is slow, the next one is asked.
 */
import { chunkId, type Hex, threadDevices } from '../../protocol/index.ts'
import { StoreError } from '../store/store.ts'
import { keepChunk } from './artifacts.ts'
import { dropWanted } from './chunks.ts'
import { countRefusal, type Held } from './held.ts'
import { markDue } from './search-due.ts'
import { keepNewest } from './newest.ts'

/** Chunks that are asked of a peer and not answered: more than may be under way, so that the line is never idle. */
const ASKED_COUNT_MAX = 4
/** A peer that gives no chunk in this time is no reason to wait for it: others are asked too. */
const ANSWER_MS = 10_000
/** How long a reader waits for a chunk after the one before. */
const READER_MS = 20_000
/** After a failure of the disk. Whoever reads meanwhile tries at once. */
const PAUSE_MS = 60_000
/** Chunks that a peer sent wrong, and that it is never asked for again; the oldest is forgotten first. */
const WRONG_COUNT_MAX = 1024

/** What became of chunks that somebody waits for. */
export type Fetched = 'here' | 'nobody has it' | 'late' | 'given up'

export interface Fetching {
  /** A conversation that may bring chunks: `ask` says what is wanted. */
  join(device: Hex, ask: (thread: Hex, chunks: Hex[]) => void): Source
  /** Fetches chunks before all others. Rejects with StoreError where they cannot be kept. */
  fetch(thread: Hex, chunks: readonly Hex[], signal?: AbortSignal): Promise<Fetched>
  isConnected(device: Hex): boolean
}

/** One conversation. */
export interface Source {
  /** Takes in what the peer said of chunks that it was asked for; anything else is left. */
  take(thread: Hex, items: readonly (readonly [chunk: Hex, sealed: Uint8Array | null])[]): Promise<void>
  leave(): void
}

interface Peer {
  readonly device: Hex
  ask(thread: Hex, chunks: Hex[]): void
  /** What it was asked for and has not answered. */
  readonly asked: Set<string>
  /** What it does not have. */
  readonly without: Set<string>
  /** It was too slow: what it was asked for may be asked of others, and it is asked for nothing more until something comes. */
  slow: boolean
  stopTimer: () => void
}

/** Somebody waits for chunks of a thread. */
interface Reader {
  readonly thread: Hex
  readonly missing: Set<Hex>
  /** Something came for it. */
  progress(): void
  end(result: Fetched | StoreError): void
}

const keyOf = (thread: Hex, chunk: Hex): string => `${thread}/${chunk}`

export function createFetching(held: Held): Fetching {
  const { clock, log } = held.system
  const peers = new Set<Peer>()
  const readers = new Set<Reader>()
  /** Who is waited for, by chunk. */
  const underWay = new Map<string, Peer>()
  /** Device and chunk, where the device sent other bytes under that name. */
  const wrong = new Set<string>()
  /** Thread → its devices, of threads with something to fetch. */
  const devices = new Map<Hex, ReadonlySet<Hex>>()
  let paused = false

  function mayHave(peer: Peer, thread: Hex, chunk: Hex): boolean {
    const key = keyOf(thread, chunk)
    if (peer.without.has(key) || wrong.has(`${peer.device}/${key}`)) return false
    return devices.get(thread)?.has(peer.device) === true
  }

  /** Up to `count` chunks of one thread that this peer may have and nobody is asked for. */
  function nextFor(peer: Peer, count: number): { thread: Hex; chunks: Hex[] } | undefined {
    const read = [...readers].map(({ thread, missing }) => [thread, missing] as const)
    for (const [thread, missing] of paused ? read : [...read, ...held.wanted.byThread]) {
      const chunks: Hex[] = []
      for (const chunk of missing) {
        if (chunks.length >= count) break
        const key = keyOf(thread, chunk)
        if (!underWay.has(key) && !peer.asked.has(key) && mayHave(peer, thread, chunk)) chunks.push(chunk)
      }
      if (chunks.length > 0) return { thread, chunks }
    }
    return undefined
  }

  function askAll(): void {
    for (const peer of peers) {
      for (let room = ASKED_COUNT_MAX - peer.asked.size; room > 0 && !peer.slow;) {
        const next = nextFor(peer, room)
        if (!next) break
        room -= next.chunks.length
        for (const chunk of next.chunks) {
          peer.asked.add(keyOf(next.thread, chunk))
          underWay.set(keyOf(next.thread, chunk), peer)
        }
        if (peer.asked.size === next.chunks.length) startTimer(peer)
        peer.ask(next.thread, next.chunks)
      }
    }
    for (const reader of readers) if (isHopeless(reader)) reader.end('nobody has it')
  }

  /** Nobody who is connected may have what is missing. */
  function isHopeless({ thread, missing }: Reader): boolean {
    return [...missing].some((chunk) => ![...peers].some((peer) => mayHave(peer, thread, chunk)))
  }

  function startTimer(peer: Peer): void {
    peer.stopTimer()
    peer.stopTimer = clock.after(ANSWER_MS, () => {
      peer.slow = true
      free(peer)
      askAll()
    })
  }

  function free(peer: Peer): void {
    for (const [key, asked] of underWay) if (asked === peer) underWay.delete(key)
  }

  /** Notes that a chunk is here, for whoever waits for it. */
  function arrived(thread: Hex, chunk: Hex): void {
    dropWanted(held.wanted, thread, chunk)
    for (const reader of readers) {
      if (reader.thread !== thread || !reader.missing.delete(chunk)) continue
      if (reader.missing.size === 0) reader.end('here')
      else reader.progress()
    }
  }

  async function keep(thread: Hex, chunk: Hex, sealed: Uint8Array): Promise<void> {
    try {
      await held.turn(async (turn) => {
        const loaded = await held.threads.load(thread)
        if (loaded.chunks.has(chunk)) return
        keepChunk(turn, loaded, [chunk, sealed])
        // It may be the last one of a text.
        markDue(held, turn, loaded, false)
      })
      arrived(thread, chunk)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      // What is here stays, and the rest can still be fetched later: the conversation goes on.
      log.warn('a chunk could not be kept', { error: error.message })
      paused = true
      clock.after(PAUSE_MS, () => {
        paused = false
        askAll()
      })
      for (const reader of readers) if (reader.missing.has(chunk)) reader.end(error)
    }
  }

  /** Learns who takes part in a thread, and gives those of its chunks that are not here. */
  async function missingOf(thread: Hex, chunks: readonly Hex[] = []): Promise<Hex[]> {
    return held.turn(async () => {
      const loaded = await held.threads.load(thread)
      devices.set(thread, new Set(threadDevices(loaded.graph)))
      return chunks.filter((chunk) => !loaded.chunks.has(chunk))
    })
  }

  /** Asks for what is wanted, now that there is more of it or somebody who may have it. */
  async function look(): Promise<void> {
    try {
      const read = new Set([...readers].map(({ thread }) => thread))
      for (const thread of devices.keys())
        if (!read.has(thread) && !held.wanted.byThread.has(thread)) devices.delete(thread)
      // A thread may have gained devices since it was looked at.
      for (const thread of held.wanted.byThread.keys()) await missingOf(thread)
      askAll()
    } catch (error) {
      log.warn('what is to be fetched could not be read', { error: String(error) })
    }
  }

  held.wanted.onMore = () => void look()

  return {
    join(device, ask) {
      const peer: Peer = { device, ask, asked: new Set(), without: new Set(), slow: false, stopTimer: () => undefined }
      peers.add(peer)
      void look()
      return {
        async take(thread, items) {
          for (const [chunk, sealed] of items) {
            const key = keyOf(thread, chunk)
            if (!peer.asked.delete(key)) continue
            if (sealed !== null && chunkId(sealed) === chunk) await keep(thread, chunk, sealed)
            else if (sealed === null) peer.without.add(key)
            else {
              countRefusal(held, 'chunk')
              wrong.add(`${device}/${key}`)
              keepNewest(wrong, WRONG_COUNT_MAX)
            }
            if (underWay.get(key) === peer) underWay.delete(key)
          }
          peer.slow = false
          if (peer.asked.size > 0) startTimer(peer)
          else peer.stopTimer()
          askAll()
        },
        leave() {
          peers.delete(peer)
          peer.stopTimer()
          free(peer)
          askAll()
        },
      }
    },

    async fetch(thread, chunks, signal) {
      const missing = await missingOf(thread, chunks)
      if (missing.length === 0) return 'here'
      const result = Promise.withResolvers<Fetched>()
      let stopTimer = (): void => undefined
      const reader: Reader = {
        thread,
        missing: new Set(missing),
        progress() {
          stopTimer()
          stopTimer = clock.after(READER_MS, () => reader.end('late'))
        },
        end(how) {
          readers.delete(reader)
          if (how instanceof StoreError) result.reject(how)
          else result.resolve(how)
        },
      }
      const giveUp = () => reader.end('given up')
      readers.add(reader)
      // Whoever had none of it before may have it by now.
      for (const peer of peers) for (const chunk of missing) peer.without.delete(keyOf(thread, chunk))
      reader.progress()
      if (signal?.aborted === true) giveUp()
      else signal?.addEventListener('abort', giveUp, { once: true })
      askAll()
      return result.promise.finally(() => {
        stopTimer()
        signal?.removeEventListener('abort', giveUp)
      })
    },

    isConnected: (device) => [...peers].some((peer) => peer.device === device),
  }
}
