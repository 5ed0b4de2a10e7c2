import { describe, expect, test } from 'vitest'
import { isBefore, parentsOf, pastOf, sideIn, wholeSet } from '../../protocol/index.ts'
import { chainBefore, compareRank, isConcurrent } from '../../protocol/graph.ts'
import { acme, alice, begin, bob, bob2, frank, frank2, mallory } from '../cast.ts'

const workspace = acme()

test('a past holds all that is reachable and not the entry itself', () => {
  const story = begin({ workspace })
  const accept = story.say(frank, 'accept')
  const message = story.say(bob, 'message')
  const [create, middle, last] = [story.create, accept, message].map((entry) => story.node(entry))
  if (!create || !middle || !last) throw new Error('not stored')
  expect([isBefore(create, last), isBefore(middle, last), isBefore(last, last), isBefore(last, create)]).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(parentsOf(message)).toEqual([story.create.id, accept.id])
  expect([create.depth, middle.depth, last.depth]).toEqual([1, 2, 3])
})

test('neither of two entries that do not know each other comes first', () => {
  const story = begin({ workspace })
  const one = story.node(story.say(bob, 'message', {}, { past: [story.create] }))
  const other = story.node(story.say(frank, 'message', {}, { past: [story.create] }))
  expect([isConcurrent(one, other), isConcurrent(one, one), isBefore(one, other)]).toEqual([true, false, false])
})

test('heads are the entries that nobody names yet', () => {
  const story = begin({ workspace })
  const one = story.say(bob, 'message', {}, { past: [story.create] })
  const other = story.say(frank, 'message', {}, { past: [story.create] })
  expect(story.graph.heads).toEqual(new Set([one.id, other.id]))
  const both = story.say(bob, 'ack')
  expect(story.graph.heads).toEqual(new Set([both.id]))
})

test('past sets grow beyond one machine word', () => {
  const story = begin({ workspace })
  for (let i = 0; i < 70; i++) story.say(i % 2 === 0 ? bob : frank, 'message')
  const whole = wholeSet(story.graph)
  const last = story.graph.nodes.at(-1)
  if (!last) throw new Error('empty')
  expect(pastOf(story.graph, [last])).toEqual(whole)
  expect(story.graph.nodes.every((node) => node === last || isBefore(node, last))).toBe(true)
})

describe('a fork', () => {
  test('is two entries of one device with one number', () => {
    const story = begin({ workspace })
    const one = story.say(frank, 'message', {}, { past: [story.create] })
    expect(story.graph.forked.size).toBe(0)
    story.say(frank, 'message', {}, { past: [story.create] })
    expect(story.graph.forked).toEqual(new Set([frank.device]))
    const next = story.node(story.say(frank, 'message', {}, { past: [one] }))
    expect(chainBefore(story.graph, next).map((node) => node.entry.id)).toEqual([one.id])
  })

  test('is noticed when the longer branch comes first', () => {
    const story = begin({ workspace })
    story.say(frank, 'accept')
    story.say(frank, 'message')
    story.say(frank, 'ack', {}, { past: [story.create] })
    expect(story.graph.forked).toEqual(new Set([frank.device]))
  })
})

describe('a side', () => {
  test('follows from create’s lists, from wraps that add, then from shares', () => {
    const story = begin({ workspace })
    story.say(bob, 'share')
    story.say(frank, 'wrap', { adds: frank2.device })
    const whole = wholeSet(story.graph)
    const sides = [bob, frank, frank2, alice, mallory].map(({ device }) => sideIn(story.graph, whole, device))
    expect(sides).toEqual(['sender', 'recipient', 'recipient', 'reader', undefined])
  })

  test('is that of the past, not of what is known since', () => {
    const story = begin({ workspace })
    const before = pastOf(story.graph, [story.node(story.create)])
    story.say(bob, 'share')
    expect(sideIn(story.graph, before, alice.device)).toBeUndefined()
  })
})

test('rank goes by create’s lists, then by key', () => {
  const story = begin({ workspace, senders: [bob2, bob] })
  const ranked = [mallory, alice, frank, bob, bob2]
    .map(({ device }) => device)
    .toSorted((a, b) => compareRank(story.graph, a, b))
  expect(ranked).toEqual([bob2.device, bob.device, frank.device, ...[alice.device, mallory.device].toSorted()])
})
