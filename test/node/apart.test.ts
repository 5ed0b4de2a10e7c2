/** Two peers with different quotas differ for good, and both know when nothing else differs. */
import { expect, test } from 'vitest'
import { bucketDigests, headsDigest } from '../../protocol/index.ts'
import { createApart } from '../../src/node/apart.ts'
import type { ThreadFacts } from '../../src/node/held.ts'
import { receiver } from './receiver.ts'

const [HERE, LEFT] = ['11'.repeat(32), '22'.repeat(32)]
const digest = (name: string): string => headsDigest([name.repeat(32)])
const facts = (change: Partial<ThreadFacts> = {}): ThreadFacts => ({
  headsDigest: digest('aa'),
  side: 'in',
  status: 'pending',
  open: true,
  arrival: 1,
  updatedAt: 0,
  sender: '',
  recipient: '',
  gist: null,
  unread: 0,
  recovering: false,
  lacking: false,
  forked: [],
  foreign: [],
  ...change,
})
const ofPeer = (left: string): string =>
  bucketDigests([
    [HERE, digest('aa')],
    [LEFT, left],
  ])

test('what was left with a peer counts as equal, until the peer holds more of it or there is room', async () => {
  const { held } = await receiver()
  const apart = createApart(held)
  held.setFacts(HERE, facts())
  expect(apart.isAllLeft(held.buckets())).toBe(true)
  expect(apart.isAllLeft(ofPeer(digest('bb')))).toBe(false)
  apart.leave(LEFT, digest('bb'))
  expect(apart.isLeft(LEFT, digest('bb'))).toBe(true)
  expect(apart.isAllLeft(ofPeer(digest('bb')))).toBe(true)
  expect(apart.isLeft(LEFT, digest('cc')), 'it holds more by now').toBe(false)
  expect(apart.isAllLeft(ofPeer(digest('cc')))).toBe(false)
  held.setFacts(HERE, facts({ open: false }))
  expect(apart.isLeft(LEFT, digest('bb')), 'a thread that ended made room').toBe(false)
})

test('part of a thread may be here and the rest be left', async () => {
  const { held } = await receiver()
  const apart = createApart(held)
  held.setFacts(HERE, facts())
  held.setFacts(LEFT, facts({ headsDigest: digest('01') }))
  apart.leave(LEFT, digest('bb'))
  expect(apart.isAllLeft(ofPeer(digest('bb')))).toBe(true)
  expect(apart.isAllLeft(ofPeer(digest('01'))), 'and a peer that holds the same part is equal as well').toBe(true)
})
