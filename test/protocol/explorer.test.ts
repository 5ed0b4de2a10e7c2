import { describe, expect, test } from 'vitest'
import { explore } from './explorer.ts'
import {
  anotherCancelCrossed,
  fenceHoldsBackAccept,
  recipientForkedAcrossCancel,
  senderForked,
} from './explorer-exceptions.ts'
import { replay } from './explorer-replay.ts'
import { describe as tell } from './explorer-telling.ts'
import { castOf } from './explorer-world.ts'
import { worldOf, WORLDS } from './explorer-worlds.ts'
import { boundChanges, loadRules } from './mutant.ts'

const RULES = loadRules([])

describe('what is promised holds in every history', () => {
  const statuses = new Set<string>()
  let histories = 0

  test.each(WORLDS)('$name, up to $entriesMax entries after create: $histories histories', (world) => {
    const rules = world.bounds ? loadRules(boundChanges(world.bounds)) : RULES
    const found = explore(rules, world)
    expect(found.violations).toEqual([])
    expect(found.histories).toBe(world.histories)
    histories += found.histories
    for (const status of found.statuses.keys()) statuses.add(status)
  })

  test('and everything that a thread can come to is among them', () => {
    const ends = ['accepted', 'completed', 'cancelled']
    expect(statuses).toEqual(new Set(['pending', ...ends, ...ends.map((end) => `${end}, final`)]))
    console.info(`explored: ${histories} histories in ${WORLDS.length} worlds, 0 violations`)
  })
})

describe('histories that once broke a promise', () => {
  test.each([
    [
      'a fence took its effect from the complete by which the other laptop was known to know of one',
      'fenced-completer',
      'r0 accept @0; r0 accept @0; r0 complete @1; r1 complete @2; s0 ack @0,3; s0 fence r0 @5',
      'completed, final',
    ],
  ])('%s', (_, world, text, end) => {
    const { lines, violations } = replay(RULES, worldOf(world), text)
    expect(violations).toEqual([])
    expect(lines.at(-1)).toMatch(new RegExp(`→ ${end}$`))
  })
})

describe('the known exceptions are needed', () => {
  function walk(world: string, text: string) {
    const { lines, violations, history } = replay(RULES, worldOf(world), text)
    expect(violations).toEqual([])
    return { cast: castOf(worldOf(world)), shape: history, ends: lines.map((line) => line.split(' → ')[1]) }
  }

  test('a sender that forks can undo a cancel that its own side relied on', () => {
    const { cast, shape, ends } = walk(
      'fenced-recipient',
      's0 cancel @0; s0 fence r0 @1; s1 ack @2; r0 accept @0; s1 ack @4',
    )
    expect(ends.slice(2)).toEqual(['cancelled, final', 'cancelled, final', 'accepted, final'])
    expect(senderForked(cast, shape)).toBe(true)
  })

  test('a recipient that forks where a cancel crossed takes its own accept back', () => {
    const { cast, shape, ends } = walk('one-laptop-each', 's0 cancel @0; r0 accept @0; s0 ack @1,2; r0 ack @1')
    expect(ends.slice(2)).toEqual(['accepted, final', 'cancelled, final'])
    expect(recipientForkedAcrossCancel(cast, shape)).toBe(true)
  })

  test('a cancel that all acknowledged waits while a fence that another sender may not know holds an accept back', () => {
    const { ends } = walk('fenced-recipient', 's0 cancel @0; r0 accept @0; s0 fence r0 @1; r0 ack @1,2; s1 ack @2')
    expect(ends.slice(3)).toEqual(['cancelled, waiting for r0', 'accepted, final'])
    const { cast, shape } = walk('fenced-recipient', 's0 cancel @0; r0 accept @0; s0 fence r0 @1; r0 ack @1,2')
    expect(fenceHoldsBackAccept(cast, shape, 1)).toBe(true)
  })

  test('a cancel by another of the sender’s laptops adds to the record of a final cancel', () => {
    const { shape, ends } = walk('two-sender-laptops', 's0 cancel @0; r0 ack @1; s1 message @0; s1 cancel @3')
    expect(ends.slice(1)).toEqual(['cancelled, final', 'cancelled, final', 'cancelled, final'])
    expect(anotherCancelCrossed(shape, 0b11000, 4)).toBe(true)
  })
})

describe('a history', () => {
  const world = worldOf('one-laptop-each')

  test('is told in lines and walked again from one', () => {
    const text = 's0 cancel @0; r0 accept @0; r0 accept @0; s0 ack @1,2'
    const { lines, history } = replay(RULES, world, text)
    expect(lines).toEqual([
      '1: s0 cancel, naming 0 → cancelled, waiting for r0',
      '2: r0 accept, naming 0 → accepted, waiting for s0',
      '3: r0 accept, naming 0 → accepted, waiting for s0',
      '4: s0 ack, naming 1 and 2 → accepted, final',
    ])
    expect(tell(castOf(world), history).replay).toBe(text)
  })

  test('ends where the rules refuse it', () => {
    expect(replay(RULES, world, 's0 cancel @0; r0 accept @1').lines.at(-1)).toBe('r0 accept on 1: refused')
  })

  test('of another world is no history', () => {
    for (const text of ['r1 accept @0', 'r0 approve @0', 'r0 accept @1', 'r0 accept'])
      expect(() => replay(RULES, world, text)).toThrow('entry 1 is not of this world')
  })
})
