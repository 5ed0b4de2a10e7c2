import { describe, expect, test } from 'vitest'
import type { Entry } from '../../protocol/index.ts'
import { acme, begin, bob, bob2, frank, frank2, wrapFor } from '../cast.ts'

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
