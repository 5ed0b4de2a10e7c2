/** What is said of transport: each fact is absent until it was observed, and what is owed to a peer survives whatever happens. */
import { expect, test } from 'vitest'
import type { Delivery } from '../../src/node/api.ts'
import { DEFAULT_QUOTAS } from '../../src/node/quotas.ts'
import { emptyStory } from '../cast.ts'
import { entriesMessage, entriesOn, impersonate } from './impostor.ts'
import {
  arrives,
  handOff,
  type Laptop,
  pair,
  says,
  SESSION,
  stoppedAcme,
  trio,
  view,
  viewOnce,
  type World,
} from './world.ts'

const deliveryOf = async (at: Laptop, id: string): Promise<Delivery> => (await view(at, id)).delivery
const delivered = (world: World, at: Laptop, id: string) =>
  viewOnce(world, at, id, (seen) => seen.delivery.delivered !== undefined)
const owedBy = async (at: Laptop): Promise<number> => (await at.node.status()).outbox

test('to someone offline a handoff is stored here and nothing more, until his device says that it has it', async () => {
  const world = await pair()
  const { bob, frank } = world
  await frank.stop()
  const sent = await handOff(bob, 'frank', 'while you were out')
  expect(sent.delivery).toEqual({ stored_here: true })
  expect(await owedBy(bob)).toBe(1)
  const id = sent.thread_id
  expect(await deliveryOf(bob, id)).toEqual({ stored_here: true })

  await frank.start()
  const seen = await delivered(world, bob, id)
  expect(seen.delivery).toEqual({
    stored_here: true,
    delivered: [{ device: 'frank/frank-laptop', at: '2026-01-05T09:00:00.000Z' }],
  })
  expect(seen.status).toBe('pending')
  expect(await owedBy(bob)).toBe(0)
})

test('accepted is a fact of its own, with the device that accepted', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  const atFirst = await delivered(world, bob, thread_id)
  expect(atFirst.delivery.accepted).toBeUndefined()
  await frank.node.accept({ thread_id }, SESSION)
  const seen = await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
  expect(seen.delivery.accepted).toEqual({ device: 'frank/frank-laptop', at: '2026-01-05T09:00:00.000Z' })
})

test('delivered is said of the newest word: a message that was not received yet is not', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await delivered(world, bob, thread_id)
  world.cut(bob, frank)
  const { delivery } = await bob.node.sendMessage({ thread_id, message: says('two') }, SESSION)
  expect(delivery).toEqual({ stored_here: true })
  await world.heal(bob, frank)
  await delivered(world, bob, thread_id)
})

test('what is owed survives a restart of the sender, and goes out when both are there', async () => {
  const world = await stoppedAcme('frank')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  await bob.start()
  const { thread_id } = await handOff(bob, 'frank', 'before the crash')
  await bob.node.sendMessage({ thread_id, message: says('and more') }, SESSION)
  await bob.restart()
  expect(await owedBy(bob)).toBe(2)
  expect(await deliveryOf(bob, thread_id)).toEqual({ stored_here: true })
  await frank.start()
  await delivered(world, bob, thread_id)
  await world.until('nothing is owed', async () => (await owedBy(bob)) === 0)
  await bob.restart()
  expect(await owedBy(bob)).toBe(0)
  expect((await deliveryOf(bob, thread_id)).delivered).toHaveLength(1)
})

test('it goes out by way of a third: bob and frank never meet, carol carries it and reads nothing', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  world.cut(bob, frank)
  const { thread_id } = await handOff(bob, 'frank', 'by way of carol')
  await arrives(world, frank, thread_id)
  await delivered(world, bob, thread_id)
  expect(await carol.disk.image()).not.toContain(Buffer.from('by way of carol').toString('hex'))
})

test('gossip that is lost is healed by asking; nobody has to wait for the next beacon', async () => {
  const world = await pair()
  const { bob, frank } = world
  world.hub.setGossipFault(() => 'drop')
  const { thread_id } = await handOff(bob, 'frank', 'without gossip')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
})

test('a body too large for gossip is asked for once the header is known, also where it came by a third', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  await carol.stop()
  await carol.start({ quotas: { ...DEFAULT_QUOTAS, carried: 0 } })
  await world.connected()
  world.cut(bob, frank)
  const text = 'long '.repeat(20_000)
  const { thread_id } = await handOff(bob, 'frank', text)
  const early = await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 1)
  expect(early.entries[0]?.body).toBe('missing')
  expect(await deliveryOf(bob, thread_id)).toEqual({ stored_here: true })
  expect(await carol.disk.rows('body')).toHaveLength(0)
  await world.heal(bob, frank)
  // What a connected device has not acknowledged is offered again every few seconds.
  world.clock.advance(6000)
  await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
  await delivered(world, bob, thread_id)
})

test('what a device says it cannot open is not delivered and stays owed, until it says otherwise', async () => {
  const world = await stoppedAcme('mallory')
  const bob = world.laptop('bob')
  await bob.start()
  const mallory = await impersonate(world, world.laptop('mallory'))
  const { thread_id } = await handOff(bob, 'mallory', 'one')
  const [create] = await entriesOn(bob.disk)
  if (!create) throw new Error('bob holds what he sent')
  const story = emptyStory(mallory.workspace, [], [])
  story.add(create)
  const talk = await mallory.meet(bob)
  for (const lack of [[create.id], []]) {
    const ack = story.say(mallory, 'ack', { lack })
    await talk.say(entriesMessage(create.id, [{ entry: ack, body: null }], [ack.id]))
    await talk.catchUp()
    const isHere = lack.length === 0
    expect((await deliveryOf(bob, thread_id)).delivered?.length).toBe(isHere ? 1 : undefined)
    expect(await owedBy(bob)).toBe(isHere ? 0 : 1)
    expect(await bob.disk.rows('outbox')).toHaveLength(isHere ? 0 : 1)
  }
})
