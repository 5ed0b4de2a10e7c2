/**
 * Where two peers differ and will go on to. Threads of which this node did not take everything,
 * because of a quota of its own: as long as the peer holds no more of them than it did then, and
 * nothing made room here, they are not asked for again, and count as equal. And threads that are
 * quarantined here: a peer learns of one only if it holds it itself.
 */
import { bucketDigests, type Hex } from '../../protocol/index.ts'
import type { Held } from './held.ts'
import { keepNewest } from './newest.ts'

/** Threads that are remembered; one that is forgotten is asked for once more. */
const THREADS_COUNT_MAX = 16_384

export interface Apart {
  /** The peer holds the thread. True: that changes what it may learn. */
  noteHolder(thread: Hex): boolean
  /** Whether the peer may learn of the thread from here. */
  isOpen(thread: Hex): boolean
  /** The digests of all threads that the peer may learn of. */
  buckets(): Hex
  /** Entries of `thread` were left with the peer, whose heads had this digest. */
  leave(thread: Hex, digest: Hex): void
  /** Whether all that the peer holds of `thread`, by the digest of its heads, was left there. */
  isLeft(thread: Hex, digest: Hex): boolean
  /** Whether the peer, by its digests of all threads, holds nothing beyond what is here and what was left. */
  isAllLeft(buckets: Hex): boolean
}

export function createApart(held: Held): Apart {
  const left = new Map<Hex, Hex>()
  /** Quarantined threads that the peer holds. */
  const shared = new Set<Hex>()
  let roomMade = held.roomMade()

  function current(): Map<Hex, Hex> {
    if (held.roomMade() !== roomMade) left.clear()
    roomMade = held.roomMade()
    return left
  }

  const isOpen = (thread: Hex): boolean => !held.quarantined.has(thread) || shared.has(thread)

  function digests(): Map<Hex, Hex> {
    return new Map(
      [...held.facts].flatMap(([thread, { headsDigest }]) => (isOpen(thread) ? [[thread, headsDigest]] : [])),
    )
  }

  function buckets(): Hex {
    return [...shared].some((thread) => held.quarantined.has(thread)) ? bucketDigests(digests()) : held.buckets()
  }

  return {
    noteHolder(thread) {
      if (isOpen(thread)) return false
      shared.add(thread)
      return true
    },
    isOpen,
    buckets,
    leave(thread, digest) {
      const threads = current()
      threads.delete(thread)
      threads.set(thread, digest)
      keepNewest(threads, THREADS_COUNT_MAX)
    },
    isLeft: (thread, digest) => current().get(thread) === digest,
    isAllLeft(theirs) {
      if (theirs === buckets()) return true
      const threads = current()
      if (threads.size === 0) return false
      const expected = digests()
      for (const [thread, digest] of threads) expected.set(thread, digest)
      return bucketDigests(expected) === theirs
    },
  }
}
