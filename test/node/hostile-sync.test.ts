/** A teammate's device that misuses the sync protocol: its conversation ends or stays bounded, and everybody else is served. */
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { type Hex, signPrekey, SYNC_IDS_COUNT_MAX, textId } from '../../protocol/index.ts'
import { emptyStory, seedOf } from '../cast.ts'
import { bareHandoffs } from './receiver.ts'
import { entriesMessage, entriesOn, type Impostor, impersonate, type Talk } from './impostor.ts'
import { arrives, handOff, type Laptop, says, SESSION, stoppedAcme, viewOnce, type World } from './world.ts'

interface Meeting {
  world: World
  bob: Laptop
  frank: Laptop
  mallory: Impostor
  talk: Talk
}

/** bob and frank at work, and mallory’s device before bob’s. */
async function meeting(): Promise<Meeting> {
  const world = await stoppedAcme('frank', 'mallory')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  await bob.start()
  await frank.start()
  await world.connected()
  const mallory = await impersonate(world, world.laptop('mallory'))
  return { world, bob, frank, mallory, talk: await mallory.meet(bob) }
}

/** The main job goes on between the others. */
async function othersAreServed({ world, bob, frank }: Meeting): Promise<void> {
  const { thread_id } = await handOff(bob, 'frank', 'meanwhile')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await viewOnce(world, bob, thread_id, ({ status, final }) => status === 'accepted' && final)
}

const unknownIds = (count: number): Hex[] =>
  Array.from({ length: count }, (_, i) => Buffer.from(seedOf('unknown', i)).toString('hex'))
const heardOf = (talk: Talk, t: string): number => talk.heard.filter((message) => message.t === t).length

describe('the conversation ends', () => {
  property.prop([fc.uint8Array({ maxLength: 200 })], { numRuns: 10 })(
    'after a frame that is no message',
    async (frame) => {
      const here = await meeting()
      await here.talk.sayBytes(frame)
      await here.talk.over()
      const { refused } = await here.bob.node.status()
      expect(Object.values(refused).reduce((a, b) => a + b)).toBe(1)
      await othersAreServed(here)
    },
  )

  test('with a peer of another workspace or version', async () => {
    for (const change of [{ ws: 'ab'.repeat(32) }, { v: 2 }]) {
      const here = await meeting()
      await here.talk.say(here.mallory.hello(change))
      await here.talk.over()
      await othersAreServed(here)
    }
  })

  test('with one that asks for the answers to thousands of questions and takes none', async () => {
    const here = await meeting()
    const { world, bob, talk } = here
    // Batches that wait for its word that there is room.
    for (let i = 0; i < 8; i++) await handOff(bob, 'mallory', `${i} ${'x'.repeat(200 * 1024)}`)
    const held = (await entriesOn(bob.disk)).map(({ thread }) => thread)
    for (const th of held) await talk.say({ t: 'vector', th, tips: [] })
    for (const th of unknownIds(2000)) {
      if (talk.isOver) break
      await talk.say({ t: 'vector', th, tips: [] }).catch(() => undefined)
    }
    await talk.over()
    expect(heardOf(talk, 'entries')).toBeLessThanOrEqual(4)
    world.clock.advance(20_000)
    await othersAreServed(here)
  })

  test('with one that sends entries by the hundred that the rules refuse', async () => {
    const here = await meeting()
    const { mallory, talk } = here
    const junk = Array.from({ length: 200 }, (_, i): [Uint8Array, null] => [new Uint8Array([i, 1, 2]), null])
    await talk.say({ t: 'entries', th: mallory.workspace.ws, items: junk, heads: null })
    await talk.over()
    expect((await here.bob.disk.rows('refused')).length).toBeLessThanOrEqual(64)
    await othersAreServed(here)
  })
})

describe('the conversation stays bounded', () => {
  test('with a peer that never says that it has taken a batch in; once it does, it gets the rest', async () => {
    const here = await meeting()
    const { bob, talk } = here
    for (let i = 0; i < 8; i++) await handOff(bob, 'mallory', `${i} ${'x'.repeat(200 * 1024)}`)
    const threads = (await entriesOn(bob.disk)).map(({ thread }) => thread)
    for (const th of threads) await talk.say({ t: 'vector', th, tips: [] })
    for (let i = 0; i < 4; i++) await talk.hear('entries')
    await talk.catchUp()
    await othersAreServed(here)
    expect(heardOf(talk, 'entries')).toBe(4)
    for (let i = 0; i < 4; i++) {
      await talk.say({ t: 'got' })
      await talk.hear('entries')
    }
    expect(heardOf(talk, 'entries')).toBe(8)
  })

  test('with one whose credit is larger than any: more than a few batches are never under way', async () => {
    const here = await meeting()
    const { bob, talk } = here
    for (let i = 0; i < 100; i++) await talk.say({ t: 'got' })
    for (let i = 0; i < 8; i++) await handOff(bob, 'mallory', `${i} ${'x'.repeat(200 * 1024)}`)
    for (const { thread } of await entriesOn(bob.disk)) await talk.say({ t: 'vector', th: thread, tips: [] })
    for (let i = 0; i < 4; i++) await talk.hear('entries')
    await talk.catchUp()
    expect(heardOf(talk, 'entries')).toBe(4)
  })

  test('with one that announces heads which it never delivers', async () => {
    const here = await meeting()
    const { world, bob, talk } = here
    const { thread_id } = await handOff(bob, 'mallory', 'one')
    const [create] = await entriesOn(bob.disk)
    if (!create) throw new Error('bob holds what he sent')
    for (let round = 0; round < 5; round++) {
      await talk.say({ t: 'heads', th: create.thread, heads: unknownIds(50) })
      await talk.hear('vector')
      await talk.say({ t: 'entries', th: create.thread, items: [], heads: unknownIds(50) })
      await talk.catchUp()
    }
    // Each announcement costs one question, and now and then the full list of one thread.
    expect(heardOf(talk, 'vector')).toBeLessThanOrEqual(10)
    expect(heardOf(talk, 'ids')).toBeLessThanOrEqual(5)
    await viewOnce(world, bob, thread_id, ({ entries }) => entries.length === 1)
    await othersAreServed(here)
  })

  test('with one that names thousands of threads which nobody has: it is asked a few at a time, and goes on being asked', async () => {
    const here = await meeting()
    const { talk } = here
    const threads = unknownIds(3000).map((id): [Hex, Hex] => [id, id])
    await talk.say({ t: 'threads', threads })
    await talk.catchUp()
    const asked = heardOf(talk, 'vector')
    expect(asked).toBeLessThanOrEqual(32)
    for (let i = 0; i < 40; i++) {
      const { th } = await talk.hear('vector')
      await talk.say({ t: 'entries', th, items: [], heads: [] })
    }
    expect(talk.isOver).toBe(false)
    expect(await here.bob.disk.rows('thread')).toHaveLength(0)
    await othersAreServed(here)
  })

  test('with one that says hello without end: where it was met is written one time after the other, not a thousand times', async () => {
    const world = await stoppedAcme('frank', 'mallory')
    const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
    const released = Promise.withResolvers<void>()
    let written = 0
    const { open } = bob.disk
    bob.disk.open = () => {
      const store = open()
      return {
        ...store,
        async batch(writes) {
          if (writes.every(({ space }) => space === 'peer') && ++written > 0) await released.promise
          await store.batch(writes)
        },
      }
    }
    await bob.start()
    await frank.start()
    await world.connected()
    const mallory = await impersonate(world, world.laptop('mallory'))
    const talk = await mallory.meet(bob)
    for (let i = 0; i < 1000; i++) await talk.say(mallory.hello({ clock: i }))
    await talk.catchUp()
    expect(written).toBe(1)
    released.resolve()
    await othersAreServed({ world, bob, frank, mallory, talk })
    expect(written).toBeLessThan(20)
  })

  test('with one that lists ids for ever', async () => {
    const here = await meeting()
    const { bob, talk } = here
    await handOff(bob, 'mallory', 'one')
    const [create] = await entriesOn(bob.disk)
    const ids = unknownIds(SYNC_IDS_COUNT_MAX)
    for (let i = 0; i < 30 && !talk.isOver; i++) {
      await talk.say({ t: 'ids', th: create?.thread ?? '', ids }, { t: 'got' })
    }
    await talk.catchUp()
    expect(heardOf(talk, 'entries')).toBeLessThanOrEqual(30)
    await othersAreServed(here)
  })

  test('with one that wants bodies which are not for it: it gets what it could carry sealed, and nothing of threads that are not there', async () => {
    const here = await meeting()
    const { bob, talk } = here
    await handOff(bob, 'frank', 'not for mallory')
    const [create] = await entriesOn(bob.disk)
    await talk.say({ t: 'want', th: create?.thread ?? '', ids: [create?.id ?? ''] })
    await talk.say({ t: 'want', th: 'ab'.repeat(32), ids: [create?.id ?? '', ...unknownIds(10)] })
    await talk.say({ t: 'vector', th: create?.thread ?? '', tips: [] })
    const { items } = await talk.hear('entries')
    expect(items.map(([, body]) => body)).toEqual([null])
    await talk.catchUp()
    expect(heardOf(talk, 'bodies')).toBe(1)
    const { items: bodies } = await talk.hear('bodies')
    expect(bodies.map(([id]) => id)).toEqual([create?.id])
    expect(Buffer.from(bodies[0]?.[1] ?? []).includes('not for mallory')).toBe(false)
  })

  test('with one whose entries, each refused, come a few at a time: the proofs that are kept are few', async () => {
    const here = await meeting()
    const { bob, talk, mallory } = here
    for (let i = 0; i < 30; i++) {
      await talk.say({ t: 'entries', th: mallory.workspace.ws, items: [[new Uint8Array([i]), null]], heads: null })
    }
    await talk.catchUp()
    expect(await bob.disk.rows('refused')).toHaveLength(30)
    expect(await bob.disk.rows('entry')).toHaveLength(0)
    await othersAreServed(here)
  })
})

test('rosters and prekeys that are not signed by whom they have to be are counted and not kept', async () => {
  const here = await meeting()
  const { bob, frank, mallory, talk } = here
  const before = await bob.disk.image('peer')
  const forged = signPrekey(
    {
      ws: mallory.workspace.ws,
      device: frank.device,
      counter: 99,
      x25519: Buffer.from(seedOf('x')).toString('hex'),
      mailbox: mallory.device,
      created: 0,
    },
    mallory.key,
  )
  await talk.say({ t: 'prekeys', records: [forged.bytes, new Uint8Array(3), new Uint8Array(0)] })
  await talk.say({ t: 'roster', entries: [new Uint8Array(100), new Uint8Array(0)] })
  await talk.catchUp()
  expect(await bob.disk.image('peer')).toBe(before)
  const { refused, roster } = await bob.node.status()
  expect(refused['bad_signature']).toBe(1)
  expect(Object.values(refused).reduce((a, b) => a + b)).toBe(5)
  expect(roster).toEqual({ position: 6, forked: false, workspace_id: expect.any(String) })
  await othersAreServed(here)
})

test('a sender who floods with handoffs gets fifty in, and the others theirs', async () => {
  const here = await meeting()
  const { world, bob, frank, mallory } = here
  const talk = await mallory.meet(frank)
  const many = [...bareHandoffs(mallory.workspace, 60)]
  for (const { entry } of many) await talk.say(entriesMessage(entry.id, [{ entry, body: null }], [entry.id]))
  await talk.catchUp()
  const { items } = await frank.node.listThreads({ limit: 200 })
  expect(items).toHaveLength(50)
  const names = new Set(many.map(({ entry }) => textId('thread', entry.id)))
  expect(items.every((item) => names.has(item.thread_id))).toBe(true)
  await othersAreServed(here)
  expect((await handOff(bob, 'frank', 'one more')).status).toBe('pending')
  await world.until('it is there', async () => (await frank.node.listThreads({ limit: 200 })).items.length === 52)
})

test('a message from a device that the sender of the thread never named does not enter the thread', async () => {
  const here = await meeting()
  const { world, bob, frank, mallory, talk } = here
  const { thread_id } = await handOff(bob, 'frank', 'between us')
  await arrives(world, frank, thread_id)
  await frank.node.sendMessage({ thread_id, message: says('yes') }, SESSION)
  await world.until('both hold it', async () => (await entriesOn(bob.disk)).length >= 3)
  const held = await entriesOn(bob.disk)
  const story = emptyStory(mallory.workspace, [], [])
  for (const entry of held) story.add(entry)
  const intruding = story.draft(mallory, 'message')
  await talk.say(entriesMessage(held[0]?.thread ?? '', [{ entry: intruding, body: null }]))
  await talk.catchUp()
  expect((await bob.node.status()).refused).toEqual({ no_side: 1 })
  expect((await entriesOn(bob.disk)).map(({ id }) => id)).not.toContain(intruding.id)
})
