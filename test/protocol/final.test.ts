import { describe, expect, test } from 'vitest'
import { type Entry, reduce, type RosterLog } from '../../protocol/index.ts'
import { acme, actor, begin, bob, bob2, frank, frank2, wrapFor } from '../cast.ts'
import { deliver } from './delivery.ts'

function ids(...entries: readonly Entry[]): Set<string> {
  return new Set(entries.map((entry) => entry.id))
}

describe('fences', () => {
  function fenced(options: Parameters<typeof begin>[0] = {}) {
    const changing = acme()
    const story = begin({ workspace: changing, ...options })
    return {
      story,
      removeFrank: () => changing.write('remove-device', { device: frank.device }),
      before: changing.roster().point,
    }
  }

  test('a fence takes the effect from an accept that it crosses and that no sender entry includes', () => {
    const { story, removeFrank, before } = fenced()
    removeFrank()
    story.say(bob, 'fence', { device: frank.device })
    const accept = story.say(frank, 'accept', {}, { past: [story.create], header: { ros: before } })
    expect(story.state()).toMatchObject({ status: 'pending', cut: ids(accept), void: new Set() })
  })

  test('a fence leaves an accept that the sender had included', () => {
    const { story, removeFrank } = fenced()
    story.say(frank, 'accept')
    story.say(bob, 'ack')
    removeFrank()
    story.say(bob, 'fence', { device: frank.device })
    expect(story.state()).toMatchObject({ status: 'accepted', cut: new Set(), final: true })
  })

  test('a fence leaves an accept that another sender laptop included without knowing of the fence', () => {
    const { story, removeFrank, before } = fenced({ senders: [bob, bob2] })
    const accept = story.say(frank, 'accept')
    removeFrank()
    const fence = story.say(bob, 'fence', { device: frank.device }, { past: [story.create] })
    expect(story.state()).toMatchObject({ status: 'pending', cut: ids(accept) })
    story.say(bob2, 'ack', {}, { past: [accept], header: { ros: before } })
    expect(story.state()).toMatchObject({ status: 'accepted', cut: new Set() })
    expect(story.graph.byId.has(fence.id)).toBe(true)
  })

  test('a fenced laptop’s message has no effect, its ack still counts', () => {
    const { story, removeFrank, before } = fenced()
    const cancel = story.say(bob, 'cancel')
    removeFrank()
    story.say(bob, 'fence', { device: frank.device }, { past: [story.create, cancel] })
    const message = story.say(frank, 'message', {}, { past: [story.create], header: { ros: before } })
    story.say(frank, 'ack', {}, { past: [message, cancel], header: { ros: before } })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true, cut: ids(message) })
  })

  test('a fence settles a cancel for a laptop that will never answer', () => {
    const { story, removeFrank } = fenced()
    story.say(bob, 'cancel')
    expect(story.state()).toMatchObject({ final: false, waitingFor: [frank.device] })
    removeFrank()
    story.say(bob, 'fence', { device: frank.device })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true })
  })

  test('a fence from before the cancel settles nothing', () => {
    const { story, removeFrank } = fenced()
    removeFrank()
    const fence = story.say(bob, 'fence', { device: frank.device })
    story.say(bob, 'cancel', {}, { past: [fence] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: false, waitingFor: [frank.device] })
  })

  test('a complete whose accept a fence cut is not called repudiated: nobody forked', () => {
    const { story, removeFrank, before } = fenced({ recipients: [frank, frank2] })
    const cancel = story.say(bob, 'cancel')
    const accept = story.say(frank, 'accept', {}, { past: [story.create] })
    story.say(frank2, 'complete', {}, { past: [accept], header: { ros: before } })
    removeFrank()
    story.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', repudiated: false, cut: ids(accept) })
  })

  test('an accept held back by a fence alone keeps a cancel from being final until every sender laptop knows the fence', () => {
    const { story, removeFrank, before } = fenced({ senders: [bob, bob2] })
    const cancel = story.say(bob, 'cancel')
    const accept = story.say(frank, 'accept', {}, { past: [story.create] })
    removeFrank()
    const fence = story.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
    story.say(frank, 'ack', {}, { past: [accept, cancel], header: { ros: before } })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: false, cut: ids(accept) })
    story.say(bob2, 'ack', {}, { past: [fence] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true })
  })
})

describe('what is final stays final', () => {
  function removed(options: Parameters<typeof begin>[0], ...laptops: readonly (typeof frank)[]) {
    const changing = acme()
    const story = begin({ workspace: changing, ...options })
    const header = { ros: changing.roster().point }
    for (const { device } of laptops) changing.write('remove-device', { device })
    return { story, old: { header } }
  }
  const both = [bob, frank, frank2].map(({ device }) => wrapFor(device))

  test('a complete, when the recipient adds a laptop afterwards', () => {
    const story = begin()
    story.say(frank, 'accept')
    const complete = story.say(frank, 'complete')
    story.say(bob, 'ack')
    expect(story.state()).toMatchObject({ status: 'completed', final: true })
    story.say(frank, 'wrap', { adds: frank2.device }, { past: [complete] })
    expect(story.state()).toMatchObject({ status: 'completed', final: true })
  })

  test('a complete, when a fork that adds a laptop comes to light', () => {
    const story = begin()
    story.say(frank, 'accept')
    story.say(frank, 'complete')
    story.say(bob, 'ack')
    const wrap = story.say(frank, 'wrap', { adds: frank2.device }, { past: [story.create] })
    story.say(frank2, 'accept', {}, { past: [wrap] })
    expect(story.state()).toMatchObject({ status: 'completed', final: true })
  })

  test('a cancel, when a fenced laptop turns out to have added another', () => {
    const { story, old } = removed({}, frank)
    const cancel = story.say(bob, 'cancel', {}, old)
    story.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true })
    const wrap = story.say(frank, 'wrap', { adds: frank2.device, wraps: both }, { past: [story.create], ...old })
    story.say(frank2, 'accept', {}, { past: [wrap], ...old })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true })
  })

  test('a cancel is not final while a removed and fenced sender laptop may have included an accept', () => {
    const { story, old } = removed({ senders: [bob, bob2], recipients: [frank, frank2] }, frank, bob2)
    const cancel = story.say(bob, 'cancel', {}, old)
    story.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
    const accept = story.say(frank, 'accept', {}, { past: [story.create], ...old })
    story.say(frank2, 'fence', { device: bob2.device }, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: false, cut: ids(accept) })
    story.say(bob2, 'ack', {}, { past: [accept], ...old })
    expect(story.state()).toMatchObject({ status: 'accepted', cut: new Set() })
  })

  test('a cancel, when a sender that knew of the fence adds a laptop afterwards', () => {
    const { story, old } = removed({}, frank)
    const cancel = story.say(bob, 'cancel', {}, old)
    const fence = story.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true })
    const wraps = [bob, bob2].map(({ device }) => wrapFor(device))
    story.say(bob, 'wrap', { adds: bob2.device, wraps }, { past: [fence] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true, waitingFor: [] })
  })

  test('a cancel is not final while a fence that another sender laptop may not know holds back an added laptop', () => {
    const { story, old } = removed({ senders: [bob, bob2] }, frank)
    const cancel = story.say(bob, 'cancel', {}, old)
    story.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
    const wraps = [...both, wrapFor(bob2.device)]
    const wrap = story.say(frank, 'wrap', { adds: frank2.device, wraps }, { past: [story.create], ...old })
    story.say(frank, 'ack', {}, { past: [wrap, cancel], ...old })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: false, waitingFor: [frank2.device] })
    story.say(bob2, 'ack', {}, { past: [wrap], ...old })
    story.say(frank2, 'accept', {}, { past: [wrap], ...old })
    expect(story.state()).toMatchObject({ status: 'accepted', cut: new Set() })
  })
})

describe('who is waited for', () => {
  /** The state that the entries give in an order of arrival. */
  function arrived(order: readonly Entry[], log: RosterLog) {
    const { graph, refused, waiting } = deliver(order, log)
    expect([refused.size, waiting.length]).toEqual([0, 0])
    return reduce(graph)
  }

  test('does not depend on which of two wraps that add one laptop arrived first', () => {
    const workspace = acme()
    const [third, fourth] = [actor('frank3'), actor('frank4')]
    for (const laptop of [third, fourth]) workspace.enrolDevice(workspace.member('frank'), laptop)
    const story = begin({ workspace, recipients: [frank, frank2] })
    const accept = story.say(frank, 'accept')
    const complete = story.say(frank, 'complete')
    const hidden = story.say(frank, 'wrap', { adds: third.device }, { past: [story.create] })
    const further = story.say(third, 'wrap', { adds: fourth.device }, { past: [hidden] })
    const again = story.say(frank2, 'wrap', { adds: third.device }, { past: [story.create] })
    const acks = [
      story.say(third, 'ack', {}, { past: [complete, further] }),
      story.say(frank2, 'ack', {}, { past: [complete, again] }),
      story.say(bob, 'ack', {}, { past: [complete] }),
    ]
    for (const wraps of [
      [hidden, further, again],
      [hidden, again, further],
    ])
      expect(arrived([story.create, accept, complete, ...wraps, ...acks], workspace.log)).toMatchObject({
        status: 'completed',
        final: false,
        waitingFor: [fourth.device],
      })
  })

  test('does not depend on which of two cancels arrived first', () => {
    const workspace = acme()
    const story = begin({ workspace, senders: [bob, bob2], recipients: [frank, frank2] })
    const first = story.say(bob, 'cancel', {}, { past: [story.create] })
    const second = story.say(bob2, 'cancel', {}, { past: [story.create] })
    const acks = [story.say(frank, 'ack', {}, { past: [first] }), story.say(frank2, 'ack', {}, { past: [second] })]
    for (const cancels of [
      [first, second],
      [second, first],
    ])
      expect(arrived([story.create, ...cancels, ...acks], workspace.log).waitingFor).toEqual([frank2.device])
  })

  test('is said by rank', () => {
    const workspace = acme()
    const laptops = ['frank3', 'frank4', 'frank5'].map(actor)
    for (const laptop of laptops) workspace.enrolDevice(workspace.member('frank'), laptop)
    const story = begin({ workspace, recipients: [frank2, frank] })
    const wraps = laptops.map(({ device }) => story.say(frank, 'wrap', { adds: device }))
    const ranked = [frank2.device, frank.device, ...laptops.map(({ device }) => device).toSorted()]
    expect(arrived([story.create, ...wraps], workspace.log).waitingFor).toEqual(ranked)
  })
})
