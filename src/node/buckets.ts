/** The digests of what is held, as sync says them, kept up to date: a change costs its own bucket and no other. */
import { bucketDigest, bucketDigests, bucketOf, type Hex } from '../../protocol/index.ts'

export interface Buckets {
  /** undefined: the thread does not count. */
  set(thread: Hex, headsDigest: Hex | undefined): void
  /** As {@link bucketDigests} of all that was set. */
  digests(): Hex
}

export function createBuckets(): Buckets {
  const buckets = new Map<number, { threads: Map<Hex, Hex>; digest: Hex | undefined }>()
  const empty = bucketDigest([])
  const count = bucketDigests([]).length / empty.length
  let all: Hex | undefined
  return {
    set(thread, headsDigest) {
      const at = bucketOf(thread)
      const bucket = buckets.get(at) ?? { threads: new Map<Hex, Hex>(), digest: undefined }
      buckets.set(at, bucket)
      if (bucket.threads.get(thread) === headsDigest) return
      if (headsDigest === undefined) bucket.threads.delete(thread)
      else bucket.threads.set(thread, headsDigest)
      bucket.digest = undefined
      all = undefined
    },
    digests() {
      all ??= Array.from({ length: count }, (_, at) => {
        const bucket = buckets.get(at)
        if (bucket === undefined) return empty
        bucket.digest ??= bucketDigest([...bucket.threads])
        return bucket.digest
      }).join('')
      return all
    },
  }
}
