/**
 * Where two peers differ and will go on to: threads of which this node did not take everything,
 * because of a quota of its own. As long as the peer holds no more of them than it did then, and
 * nothing made room here, they are not asked for again, and count as equal.
 */
import { bucketDigests, type Hex } from '../../protocol/index.ts'
import type { Held } from './held.ts'

/** Threads that are remembered; one that is forgotten is asked for once more. */
const THREADS_COUNT_MAX = 16_384

export interface Apart {
  /** Entries of `thread` were left with the peer, whose heads had this digest. */
  leave(thread: Hex, digest: Hex): void
  /** Whether all that the peer holds of `thread`, by the digest of its heads, was left there. */
  isLeft(thread: Hex, digest: Hex): boolean
  /** Whether the peer, by its digests of all threads, holds nothing beyond what is here and what was left. */
  isAllLeft(buckets: Hex): boolean
}

export function createApart(held: Held): Apart {
  const left = new Map<Hex, Hex>()
  let roomMade = held.roomMade()

  function current(): Map<Hex, Hex> {
    if (held.roomMade() !== roomMade) left.clear()
    roomMade = held.roomMade()
    return left
  }

  return {
    leave(thread, digest) {
      const threads = current()
      threads.delete(thread)
      threads.set(thread, digest)
      for (const oldest of threads.keys()) {
        if (threads.size <= THREADS_COUNT_MAX) break
        threads.delete(oldest)
      }
    },
    isLeft: (thread, digest) => current().get(thread) === digest,
    isAllLeft(buckets) {
      if (buckets === held.buckets()) return true
      const threads = current()
      if (threads.size === 0) return false
      const digests = new Map([...held.facts].map(([thread, { headsDigest }]) => [thread, headsDigest]))
      for (const [thread, digest] of threads) digests.set(thread, digest)
      return bucketDigests(digests) === buckets
    },
  }
}
