import { describe, expect, test } from 'vitest'
import { type Entry, inOrder, receiptOf, recordHeads, reduce, stateDigest, verdictOf } from '../../protocol/index.ts'
import { acme, alice, begin, bob, bob2, frank, frank2, type Story } from '../cast.ts'
import { allOrders, deliver } from './delivery.ts'

const workspace = acme()

function start(options: Parameters<typeof begin>[0] = {}): Story {
  return begin({ workspace, ...options })
}

function ids(...entries: readonly Entry[]): Set<string> {
  return new Set(entries.map((entry) => entry.id))
}

describe('what two devices do at once', () => {
  test('an accept by a device that had the cancel is refused', () => {
    const story = start()
    story.say(bob, 'cancel')
    expect(story.judge(story.draft(frank, 'accept'))).toMatchObject({ refusal: 'wrong_state' })
  })

  test('a cancel by a sender that had the accept is refused', () => {
    const story = start()
    story.say(frank, 'accept')
    expect(story.judge(story.draft(bob, 'cancel'))).toMatchObject({ refusal: 'wrong_state' })
  })

  test('an accept beats a cancel that crossed it', () => {
    const story = start()
    const cancel = story.say(bob, 'cancel')
    const accept = story.say(frank, 'accept', {}, { past: [story.create] })
    expect(story.state()).toMatchObject({
      status: 'accepted',
      final: false,
      waitingFor: [bob.device],
      lead: { accept: accept.id },
    })
    story.say(bob, 'ack', {}, { past: [cancel, accept] })
    expect(story.state()).toMatchObject({ status: 'accepted', final: true, waitingFor: [] })
  })

  test('of two laptops that accept at once the one that create lists first leads', () => {
    const story = start({ recipients: [frank2, frank] })
    story.say(frank, 'accept', {}, { past: [story.create] })
    const lead = story.say(frank2, 'accept', {}, { past: [story.create] })
    expect(story.state()).toMatchObject({ status: 'accepted', lead: { accept: lead.id }, void: new Set() })
  })

  test('the accept that the sender includes first leads, whatever its rank', () => {
    const story = start({ recipients: [frank2, frank] })
    const seen = story.say(frank, 'accept', {}, { past: [story.create] })
    story.say(bob, 'ack', {}, { past: [seen] })
    story.say(frank2, 'accept', {}, { past: [story.create] })
    expect(story.state().lead.accept).toBe(seen.id)
  })

  test('two completes at once are both kept and shown to conflict', () => {
    const story = start({ recipients: [frank, frank2] })
    const accept = story.say(frank, 'accept')
    const lead = story.say(frank, 'complete', {}, { past: [accept] })
    story.say(frank2, 'complete', { outcome: 'partial' }, { past: [accept] })
    expect(story.state()).toMatchObject({ status: 'completed', conflicting: true, lead: { complete: lead.id } })
  })

  test('a message and a revision that cross the complete are late', () => {
    const story = start()
    const accept = story.say(frank, 'accept')
    const early = story.say(bob, 'message', {}, { past: [accept] })
    const complete = story.say(frank, 'complete', {}, { past: [early] })
    const message = story.say(bob, 'message', {}, { past: [early] })
    const revision = story.say(bob, 'revise', {}, { past: [message] })
    expect(story.state()).toMatchObject({
      status: 'completed',
      late: ids(message, revision),
      lead: { complete: complete.id },
    })
  })

  test('a message that crosses the cancel is late, an ack never is', () => {
    const story = start()
    const cancel = story.say(bob, 'cancel')
    const message = story.say(frank, 'message', {}, { past: [story.create] })
    story.say(frank, 'ack', {}, { past: [message, cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true, late: ids(message) })
  })

  test('a recipient that accepts to one and acknowledges the cancel to another has accepted nothing', () => {
    const story = start()
    const cancel = story.say(bob, 'cancel')
    const accept = story.say(frank, 'accept', {}, { past: [story.create] })
    expect(story.state().status).toBe('accepted')
    story.say(frank, 'ack', {}, { past: [cancel] })
    expect(story.state()).toMatchObject({
      status: 'cancelled',
      final: true,
      void: ids(accept),
      forked: new Set([frank.device]),
      repudiated: false,
    })
  })

  test('the same after a complete repudiates it, and nothing disappears', () => {
    const story = start()
    const cancel = story.say(bob, 'cancel')
    const accept = story.say(frank, 'accept', {}, { past: [story.create] })
    const complete = story.say(frank, 'complete', {}, { past: [accept] })
    story.say(bob, 'ack', {}, { past: [cancel, complete] })
    expect(story.state()).toMatchObject({ status: 'completed', final: true })
    story.say(frank, 'ack', {}, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true, repudiated: true, void: ids(accept) })
    expect(story.graph.byId.has(complete.id)).toBe(true)
  })

  test('a cancel that the recipient has not seen is not final', () => {
    const story = start({ recipients: [frank, frank2] })
    story.say(bob, 'cancel')
    expect(story.state()).toMatchObject({
      status: 'cancelled',
      final: false,
      waitingFor: [frank.device, frank2.device],
    })
    story.say(frank2, 'ack')
    expect(story.state()).toMatchObject({ final: false, waitingFor: [frank.device] })
    story.say(frank, 'ack')
    expect(story.state()).toMatchObject({ status: 'cancelled', final: true, waitingFor: [] })
  })

  test('a pending thread is never final', () => {
    const story = start()
    story.say(frank, 'ack')
    expect(story.state()).toMatchObject({ status: 'pending', final: false, lead: { accept: null, complete: null } })
  })
})

describe('a complete', () => {
  test('is final once create’s author includes it', () => {
    const story = start()
    story.say(frank, 'accept')
    story.say(frank, 'complete')
    expect(story.state()).toMatchObject({ status: 'completed', final: false, waitingFor: [bob.device] })
    story.say(bob, 'ack')
    expect(story.state()).toMatchObject({ status: 'completed', final: true, waitingFor: [] })
  })

  test('waits for the recipient’s other laptop, which could have completed too', () => {
    const story = start({ recipients: [frank, frank2] })
    story.say(frank, 'accept')
    story.say(frank, 'complete')
    story.say(bob, 'ack')
    expect(story.state()).toMatchObject({ final: false, waitingFor: [frank2.device] })
    story.say(frank2, 'ack')
    expect(story.state().final).toBe(true)
  })

  test('is not final by the word of a sender laptop that does not decide which complete leads', () => {
    const story = start({ senders: [bob, bob2], recipients: [frank, frank2] })
    const accept = story.say(frank, 'accept')
    const one = story.say(frank, 'complete', {}, { past: [accept] })
    const other = story.say(frank2, 'complete', { outcome: 'declined' }, { past: [accept] })
    story.say(frank2, 'ack', {}, { past: [one, other] })
    story.say(bob2, 'ack', {}, { past: [one] })
    const before = story.state()
    story.say(bob, 'ack', {}, { past: [other] })
    const after = story.state()
    // What was final must not be sealed anew: the lead moved, so it cannot have been.
    expect(after.lead.complete).toBe(other.id)
    expect(before).toMatchObject({ lead: { complete: one.id }, final: false, waitingFor: [bob.device] })
    expect(after).toMatchObject({ final: true, conflicting: true })
  })
})

describe('added laptops', () => {
  test('a laptop that a wrap adds may accept, and ranks after those of create', () => {
    const story = start()
    story.say(frank, 'wrap', { adds: frank2.device })
    const accept = story.say(frank2, 'accept')
    expect(story.state()).toMatchObject({ status: 'accepted', lead: { accept: accept.id } })
  })

  test('its accept is void with the wrap that added it', () => {
    const story = start()
    const cancel = story.say(bob, 'cancel')
    const wrap = story.say(frank, 'wrap', { adds: frank2.device }, { past: [story.create] })
    const accept = story.say(frank2, 'accept', {}, { past: [wrap] })
    expect(story.state().status).toBe('accepted')
    story.say(frank, 'ack', {}, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', void: ids(wrap, accept), final: true })
  })

  test('a cancel waits for a laptop that was added without knowing of it', () => {
    const story = start()
    const cancel = story.say(bob, 'cancel')
    const wrap = story.say(frank, 'wrap', { adds: frank2.device }, { past: [story.create] })
    story.say(frank, 'ack', {}, { past: [wrap, cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: false, waitingFor: [frank2.device] })
    story.say(frank2, 'ack')
    expect(story.state().final).toBe(true)
  })
})

describe('numbers, order, heads and receipts', () => {
  test('sender numbers are odd, recipient numbers even, and they grow along the past', () => {
    const story = start()
    const numbers = [
      story.create,
      story.say(frank, 'message'),
      story.say(bob, 'message'),
      story.say(bob, 'message'),
      story.say(frank, 'accept'),
      story.say(frank, 'message'),
      story.say(frank, 'complete'),
    ].map((entry) => story.node(entry).number)
    expect(numbers).toEqual([1, 2, 3, 5, undefined, 6, 8])
  })

  test('two sender laptops that write at once share a number', () => {
    const story = start({ senders: [bob, bob2] })
    const one = story.say(bob, 'message', {}, { past: [story.create] })
    const other = story.say(bob2, 'message', {}, { past: [story.create] })
    expect([one, other].map((entry) => story.node(entry).number)).toEqual([3, 3])
  })

  test('the one order puts every entry after its past, then goes by rank', () => {
    const story = start()
    const late = story.say(frank, 'message', {}, { past: [story.create] })
    const first = story.say(bob, 'message', {}, { past: [story.create] })
    const last = story.say(frank, 'ack')
    expect(inOrder(story.graph).map((node) => node.entry.id)).toEqual(
      [story.create, first, late, last].map((entry) => entry.id),
    )
  })

  test('two revisions at once make two heads; one that names both settles it', () => {
    const story = start()
    const one = story.say(bob, 'revise', {}, { past: [story.create] })
    const other = story.say(frank, 'revise', {}, { past: [story.create] })
    expect(recordHeads(story.graph).map((node) => node.entry.id)).toEqual([one.id, other.id])
    const settled = story.say(bob, 'revise')
    expect(recordHeads(story.graph).map((node) => node.entry.id)).toEqual([settled.id])
  })

  test('an entry is delivered by a later entry of the device that includes it, unless the newest ack lacks it', () => {
    const story = start()
    const message = story.say(bob, 'message')
    const node = story.node(message)
    expect(receiptOf(story.graph, node, frank.device)).toBeUndefined()
    const lacking = story.say(frank, 'ack', { lack: [message.id] })
    expect(receiptOf(story.graph, node, frank.device)).toBeUndefined()
    story.say(frank, 'ack')
    expect(receiptOf(story.graph, node, frank.device)?.entry.id).toBe(lacking.id)
  })

  test('a verdict stands until a later one that knows it', () => {
    const story = start({ create: { intent: 'propose_action', action: '00'.repeat(32) } })
    expect(verdictOf(story.graph)).toBeUndefined()
    story.say(frank, 'accept')
    story.say(frank, 'approve', { verdict: 'rejected' })
    expect(verdictOf(story.graph)).toBe('rejected')
    story.say(frank, 'approve')
    expect(verdictOf(story.graph)).toBe('approved')
  })

  test('a reader may acknowledge and changes nothing by it', () => {
    const story = start()
    story.say(bob, 'share')
    const cancel = story.say(bob, 'cancel')
    story.say(alice, 'ack', {}, { past: [cancel] })
    expect(story.state()).toMatchObject({ status: 'cancelled', final: false, waitingFor: [frank.device] })
  })
})

test('a sender can answer what was built on its last entry', () => {
  const story = start()
  story.say(frank, 'accept')
  const answer = story.say(bob, 'message')
  expect(answer.header.prev).toBe(story.create.id)
})

test('all orders of one history end in one digest', () => {
  const story = start()
  const cancel = story.say(bob, 'cancel')
  const accept = story.say(frank, 'accept', {}, { past: [story.create] })
  story.say(frank, 'complete', {}, { past: [accept] })
  story.say(frank, 'ack', {}, { past: [cancel] })
  story.say(bob, 'ack', {}, { past: [accept, cancel] })
  const digest = stateDigest(story.graph, story.state())
  let orders = 0
  for (const order of allOrders(story.entries())) {
    const { graph, refused, waiting } = deliver(order, workspace.log)
    expect([refused.size, waiting.length]).toEqual([0, 0])
    expect(stateDigest(graph, reduce(graph))).toBe(digest)
    orders++
  }
  expect(orders).toBeGreaterThan(10)
})
