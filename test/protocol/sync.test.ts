import { describe, expect, test } from 'vitest'
import {
  bucketDigests,
  bucketOf,
  differingBuckets,
  encodeCanonical,
  encodeGossip,
  encodeSync,
  FRAME_SIZE_BYTES_MAX,
  hash,
  headsDigest,
  parseGossip,
  parseSync,
  prekeysDigest,
  SYNC_IDS_COUNT_MAX,
} from '../../protocol/index.ts'
import { GOSSIP_MESSAGES, ID, SYNC_MESSAGES } from './samples.ts'

describe('messages', () => {
  test.each(SYNC_MESSAGES)('a $t parses to what was encoded', (message) => {
    expect(parseSync(encodeSync(message))).toEqual({ ok: true, value: message })
  })

  test.each(GOSSIP_MESSAGES)('a gossiped $t parses to what was encoded', (message) => {
    expect(parseGossip(encodeGossip(message))).toEqual({ ok: true, value: message })
  })

  test('as many ids as a message may name fit one frame', () => {
    const ids = Array.from({ length: SYNC_IDS_COUNT_MAX }, () => ID)
    const frame = encodeSync({ t: 'ids', th: ID, ids })
    expect(frame.length).toBeLessThanOrEqual(FRAME_SIZE_BYTES_MAX)
    expect(parseSync(frame).ok).toBe(true)
    expect(
      parseSync(
        encodeCanonical({
          t: 'ids',
          th: new Uint8Array(32),
          ids: [...ids.map(() => new Uint8Array(32)), new Uint8Array(32)].slice(0, 8193),
        }),
      ).ok,
    ).toBe(false)
  })

  test.each([
    ['of another message’s shape', { t: 'heads' }],
    ['whose id is short', { t: 'want', th: new Uint8Array(31), ids: [] }],
    ['that is no map', ['got']],
    ['that is null', null],
    ['that is text', 'got'],
  ])('a message %s is refused', (_, value) => {
    expect(parseSync(encodeCanonical(value as never))).toMatchObject({ refusal: 'message' })
  })

  test('gossip larger than it may be is refused unread', () => {
    expect(parseGossip(encodeGossip({ t: 'entry', envelope: new Uint8Array(16 * 1024), body: null }))).toMatchObject({
      refusal: 'oversize',
    })
  })
})

describe('digests', () => {
  const threads = Array.from({ length: 600 }, (_, i) => [hash('payload', [i]), hash('payload', ['heads', i])] as const)

  test('do not depend on order', () => {
    expect(bucketDigests(threads.toReversed())).toBe(bucketDigests(threads))
    expect(headsDigest([ID, hash('payload', [])])).toBe(headsDigest([hash('payload', []), ID]))
  })

  test('differ in the bucket of the thread that differs, and in no other', () => {
    const [first, ...rest] = threads
    if (!first) throw new Error('none')
    const bucket = bucketOf(first[0])
    expect(differingBuckets(bucketDigests(threads), bucketDigests(rest))).toEqual([bucket])
    expect(differingBuckets(bucketDigests(threads), bucketDigests([[first[0], ID], ...rest]))).toEqual([bucket])
    expect(differingBuckets(bucketDigests(threads), bucketDigests(threads))).toEqual([])
  })

  test('of prekeys are not those of heads', () => {
    expect(prekeysDigest([ID])).not.toBe(headsDigest([ID]))
  })
})
