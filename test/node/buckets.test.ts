import { fc, test as property } from '@fast-check/vitest'
import { expect } from 'vitest'
import { bucketDigests } from '../../protocol/index.ts'
import { createBuckets } from '../../src/node/buckets.ts'

const id = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))

property.prop([
  fc.uniqueArray(id, { minLength: 1, maxLength: 20 }),
  fc.array(fc.tuple(fc.nat(), id), { maxLength: 40 }),
])('the digests are those of what was set last, whenever they are asked for', (threads, changes) => {
  const buckets = createBuckets()
  const held = new Map<string, string>()
  expect(buckets.digests()).toBe(bucketDigests([]))
  for (const [at, digest] of changes) {
    const thread = threads[at % threads.length] ?? ''
    held.set(thread, digest)
    buckets.set(thread, digest)
    expect(buckets.digests()).toBe(bucketDigests(held))
  }
})
