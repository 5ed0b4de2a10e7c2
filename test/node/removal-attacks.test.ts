/** Somebody goes on with the keys of a laptop that was removed: honest peers agree on what counts, and it reads nothing new. */
import { describe, expect, test } from 'vitest'
import {
  commitThreadKey,
  type Entry,
  encodeGossip,
  type Hex,
  sealEnvelope,
  topicOf,
  wrapThreadKey,
} from '../../protocol/index.ts'
import { dice, frank2 as thief, type Story } from '../cast.ts'
import { impersonate, type Talk } from './impostor.ts'
import { laptops, entriesOn, isFenced, kindsOn, prekeysOn, readableWith, running, storyOn } from './shut-out-laptop.ts'
import { agreed, arrives, handOff, type Laptop, says, SESSION, view, viewOnce, type World } from './world.ts'

/** How long a removed laptop may take to hear so. */
const FAREWELL_MS = 1000

type Cast = { world: World; bob: Laptop; frank: Laptop; frank2: Laptop; carol: Laptop; thread_id: string; id: Hex }

/** bob's handoff to frank, which both of frank's laptops hold; frank2 is stopped, and carol too: neither knows of a removal to come. */
async function stolen(): Promise<Cast & { story: Omit<Story, 'create'> }> {
  const world = await running('frank', 'frank2', 'carol')
  const [bob, frank, frank2, carol] = laptops(world, 'bob', 'frank', 'frank2', 'carol')
  const { thread_id } = await handOff(bob, 'frank', 'before')
  for (const laptop of [frank, frank2]) await arrives(world, laptop, thread_id)
  await agreed(world, thread_id, bob, frank, frank2)
  await world.until(
    'all acknowledged',
    async () => (await kindsOn(carol.disk)).length === (await kindsOn(bob.disk)).length,
  )
  await frank2.stop()
  await carol.stop()
  const story = await storyOn(frank2.disk)
  const [create] = story.entries()
  if (!create) throw new Error('the thread has a create')
  return { world, bob, frank, frank2, carol, thread_id, id: create.id, story }
}

/** The removal, while carol runs and hears of nothing. */
async function removedUnheard(): ReturnType<typeof stolen> {
  const cast = await stolen()
  const { world, bob, frank, carol } = cast
  world.cut(bob, carol)
  world.cut(frank, carol)
  await carol.start()
  await bob.node.remove({ name: 'frank/frank2-laptop' })
  return cast
}

/** What the thief signs, by the way of carol, who has not heard of the removal. */
async function deliver(talk: Talk, thread: Hex, entries: readonly Entry[]): Promise<void> {
  const heads = entries.map(({ id }) => id).slice(-1)
  await talk.say({ t: 'entries', th: thread, items: entries.map(({ envelope }) => [envelope, null]), heads })
  await talk.hear('got')
}

describe('what the thief signs under the roster that it knew', () => {
  test('is stored by everybody, cut by everybody, and shown so: an accept, a message, with an old time', async () => {
    const { world, bob, frank, frank2, carol, thread_id, id, story } = await removedUnheard()
    await world.until('bob has fenced it', () => isFenced(bob, thread_id, 'frank/frank2-laptop'))
    const talk = await (await impersonate(world, frank2)).meet(carol)
    const accept = story.say(thief, 'accept', {}, { header: { ts: 1 } })
    const message = story.say(thief, 'message', {}, { header: { ts: 1 } })
    await deliver(talk, id, [accept, message])
    await world.until('carol holds it', async () => (await kindsOn(carol.disk)).includes('accept'))
    await world.heal(bob, carol)
    await world.heal(frank, carol)
    // carol has told the thief too, and hangs up.
    await world.until('carol waits', () => world.clock.isAwaited(FAREWELL_MS))
    world.clock.advance(FAREWELL_MS)
    await talk.over()
    await world.until('it has come to bob', async () => (await kindsOn(bob.disk)).includes('message'))
    const [atBob] = await agreed(world, thread_id, bob, frank)
    expect(atBob).toMatchObject({ status: 'pending' })
    expect(atBob?.lead).toBeUndefined()
    expect(atBob?.entries.filter(({ cut }) => cut).map(({ kind }) => kind)).toEqual(['accept', 'message'])
    await frank.node.accept({ thread_id }, SESSION)
    await bob.node.sendMessage({ thread_id, message: says('for frank') }, SESSION)
    const [, atFrank] = await agreed(world, thread_id, bob, frank)
    expect(atFrank).toMatchObject({ status: 'accepted' })
    // The thief keeps the bodies of what it signed to itself; that keeps nobody from acknowledging the rest.
    await world.until('everything is acknowledged', async () => (await bob.node.status()).outbox === 0)
    expect(await readableWith(frank2.disk, bob)).toEqual([id])
  })

  test('is cut also where it comes to somebody who knows of the removal and has not fenced yet', async () => {
    const { world, bob, carol, frank2, thread_id, id, story } = await stolen()
    await carol.start()
    const talk = await (await impersonate(world, frank2)).meet(carol)
    world.cut(bob, carol)
    await deliver(talk, id, [story.say(thief, 'accept')])
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await bob.stop()
    expect(await kindsOn(bob.disk)).not.toContain('fence')
    // The accept comes with the first thing that carol says, before bob has looked what is due.
    await bob.start()
    await world.heal(bob, carol)
    const shown = await viewOnce(world, bob, thread_id, ({ entries }) => entries.some(({ kind }) => kind === 'accept'))
    expect(shown).toMatchObject({ status: 'pending' })
    expect(shown.entries.find(({ kind }) => kind === 'accept')).toMatchObject({ cut: true })
  })

  test('does not take a cancel back that it had not seen', async () => {
    const { world, bob, carol, frank, frank2, thread_id, id, story } = await stolen()
    await carol.start()
    const talk = await (await impersonate(world, frank2)).meet(carol)
    world.cut(bob, carol)
    world.cut(frank, carol)
    await bob.node.cancel({ thread_id }, SESSION)
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await deliver(talk, id, [story.say(thief, 'accept')])
    await world.heal(bob, carol)
    const shown = await viewOnce(world, bob, thread_id, ({ entries }) => entries.some(({ kind }) => kind === 'accept'))
    expect(shown).toMatchObject({ status: 'cancelled' })
    await world.heal(frank, carol)
    const [atBob] = await agreed(world, thread_id, bob, frank)
    expect(atBob).toMatchObject({ status: 'cancelled' })
  })

  test('is a fork, told differently to two: both are kept, neither counts, and everybody has the same', async () => {
    const { world, bob, carol, frank, frank2, thread_id, id, story } = await removedUnheard()
    await world.until('bob has fenced it', () => isFenced(bob, thread_id, 'frank/frank2-laptop'))
    const talk = await (await impersonate(world, frank2)).meet(carol)
    const past = story.entries()
    const forks = Array.from({ length: 40 }, () => story.say(thief, 'message', {}, { past }))
    await deliver(talk, id, [...forks, story.say(thief, 'accept', {}, { past })])
    await world.heal(bob, carol)
    await world.heal(frank, carol)
    await world.until('it has come to frank', async () => (await kindsOn(frank.disk)).includes('accept'))
    const [shown] = await agreed(world, thread_id, bob, frank)
    expect(shown).toMatchObject({ status: 'pending', forks: ['frank/frank2-laptop'] })
    expect(shown?.entries.filter(({ cut }) => cut)).toHaveLength(41)
    await frank.node.accept({ thread_id }, SESSION)
    await frank.node.complete({ thread_id, result_summary: 'done' }, SESSION)
    expect((await agreed(world, thread_id, bob, frank))[0]).toMatchObject({ status: 'completed' })
  })

  test('is a key of its own with a lower id than any: nobody writes under it', async () => {
    const { world, bob, carol, frank, frank2, thread_id, id, story } = await removedUnheard()
    await world.until('bob has a new key', async () => (await kindsOn(bob.disk)).includes('wrap'))
    const honest = (await entriesOn(bob.disk)).find(({ header }) => header.kind === 'wrap')
    const { wrap, key } = await lowestWrap(story, frank2, honest?.id ?? '')
    const talk = await (await impersonate(world, frank2)).meet(carol)
    await deliver(talk, id, [wrap])
    await frank2.disk.write([{ type: 'put', space: 'secret', key: `thread/${id}/${wrap.id}`, value: key }])
    await world.heal(bob, carol)
    await world.heal(frank, carol)
    await world.until(
      'it has come',
      async () => (await kindsOn(frank.disk)).filter((kind) => kind === 'wrap').length === 2,
    )
    await world.until('to bob', async () => (await kindsOn(bob.disk)).filter((kind) => kind === 'wrap').length === 2)
    await bob.node.sendMessage({ thread_id, message: says('for frank alone') }, SESSION)
    await agreed(world, thread_id, bob, frank)
    await frank.node.accept({ thread_id }, SESSION)
    await frank.node.sendMessage({ thread_id, message: says('for bob alone') }, SESSION)
    await agreed(world, thread_id, bob, frank)
    expect((await view(bob, thread_id)).entries.filter(({ body }) => body === 'ok')).toHaveLength(4)
    expect(await readableWith(frank2.disk, bob)).toEqual([id])
    expect(wrap.id < (honest?.id ?? '')).toBe(true)
  })
})

/** A wrap that the rules allow under the old roster, for everybody who was in then, with an id below `limit`. */
async function lowestWrap(
  story: Omit<Story, 'create'>,
  at: Laptop,
  limit: Hex,
): Promise<{ wrap: Entry; key: Uint8Array }> {
  const throwDice = dice('thief')
  const create = story.graph.byKind.create[0]?.entry
  const prev = story.graph.byDevice.get(thief.device)?.at(-1)?.entry.id ?? null
  if (!create) throw new Error('the thread has a create')
  const { nonce, senders, recipients } = create.header.ctl
  const { ws } = create.header
  const prekeys = await prekeysOn(at.disk)
  for (let at2 = 0; ; at2++) {
    const key = throwDice(32)
    const wraps = await Promise.all(
      [...senders, ...recipients].map((device) => {
        const prekey = prekeys.get(device)
        if (!prekey) throw new Error('a device without a prekey')
        const to = { device, prekey: prekey.id, x25519: prekey.x25519, ekm: throwDice(32) }
        return wrapThreadKey(key, { ws, nonce, author: thief.device }, to)
      }),
    )
    const commit = commitThreadKey(key, { nonce, ws, device: thief.device, prev })
    for (let ts = 0; ts < 64; ts++) {
      const wrap = story.draft(thief, 'wrap', { commit, wraps, older: [] }, { header: { ts: at2 * 64 + ts } })
      if (wrap.id < limit) return { wrap: story.add(wrap), key }
    }
  }
}

describe('the thief asks', () => {
  test('carriers and peers, and hears nothing but that it was removed', async () => {
    const { world, bob, carol, frank, frank2, thread_id, id } = await stolen()
    await carol.start()
    await world.connected()
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await world.until('bob has a new key', async () => (await kindsOn(bob.disk)).includes('wrap'))
    await frank.stop()
    await bob.node.sendMessage({ thread_id, message: says('for frank') }, SESSION)
    await world.until('carol carries it', async () => (await carol.node.status()).carried.entries > 0)
    const impostor = await impersonate(world, frank2)
    for (const laptop of [carol, bob]) {
      const talk = await impostor.meet(laptop)
      await talk.say(impostor.hello(), { t: 'vector', th: id, tips: [] }, { t: 'want', th: id, ids: [id] })
      await talk.hear('roster')
      await talk.say(impostor.hello({ ros: [0, impostor.workspace.ws] }), { t: 'ids', th: id, ids: [] })
      world.clock.advance(10_000)
      await talk.over()
      expect(talk.heard.map(({ t }) => t)).toEqual(['roster'])
    }
  })

  test('for the gossip: it is in no topic that anybody else is in, and what it says there is heard by nobody', async () => {
    const { world, bob, carol, frank, frank2, thread_id, story } = await stolen()
    await carol.start()
    const [, w] = (await frank2.disk.rows('secret')).find(([key]) => key === 'workspace/0') ?? []
    if (!w) throw new Error('the thief has the workspace key of its time')
    const impostor = await impersonate(world, frank2)
    await impostor.meet(carol)
    const topic = topicOf(w, 0)
    impostor.net.setTopics([topic])
    const message = story.say(thief, 'message')
    const data = sealEnvelope(encodeGossip({ t: 'entry', envelope: message.envelope, body: null }), {
      key: w,
      epoch: 0,
      salt: dice('salt')(32),
    })
    expect(await impostor.net.publish(topic, data)).toBe(1)
    await world.until('carol takes it, who knows of nothing', async () =>
      (await kindsOn(carol.disk)).includes('message'),
    )
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await world.until('everybody knows', async () => (await bob.node.status()).unconfirmed.length === 0)
    expect(await impostor.net.publish(topic, data)).toBe(0)
    await world.until('bob has fenced it', () => isFenced(bob, thread_id, 'frank/frank2-laptop'))
    await agreed(world, thread_id, bob, frank)
  })
})
