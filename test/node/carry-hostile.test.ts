/** Carriers that lie, and members that fill the disks of others: it costs time, and never what is true. */
import { describe, expect, test } from 'vitest'
import { hash, headsDigest, textId } from '../../protocol/index.ts'
import { DEFAULT_QUOTAS } from '../../src/node/quotas.ts'
import { actor, dice, emptyStory } from '../cast.ts'
import { entriesMessage, entriesOn, impersonate, type SealedEntry, sealedStory } from './impostor.ts'
import { arrives, handOff, type Laptop, says, SESSION, stoppedAcme, view, viewOnce } from './world.ts'

/** bob and frank with mallory, who says that she carries for them. */
async function withCarrier() {
  const world = await stoppedAcme('frank', 'carol', 'mallory')
  const [bob, frank, carol] = [world.laptop('bob'), world.laptop('frank'), world.laptop('carol')]
  await bob.start()
  const mallory = await impersonate(world, world.laptop('mallory'))
  return { world, bob, frank, carol, mallory }
}

/** What bob sent to frank, as it lies on bob's disk. */
async function sentBy(bob: Laptop): Promise<SealedEntry[]> {
  const bodies = new Map(await bob.disk.rows('body'))
  return (await entriesOn(bob.disk)).map((entry) => ({ entry, body: bodies.get(entry.id) ?? null }))
}

describe('a carrier that', () => {
  test('drops everything after it said that it has it: the sender keeps it, and delivers it itself', async () => {
    const { world, bob, frank, mallory } = await withCarrier()
    const { thread_id } = await handOff(bob, 'frank', 'dropped')
    const [create] = await entriesOn(bob.disk)
    const talk = await mallory.meet(bob)
    await talk.say({ t: 'carried', th: create?.id ?? '', ids: [create?.id ?? ''] })
    const { delivery } = await viewOnce(world, bob, thread_id, (seen) => seen.delivery.carriers !== undefined)
    expect(delivery).toMatchObject({ stored_here: true, carriers: [{ name: 'mallory/mallory-laptop' }] })
    expect(delivery).not.toHaveProperty('delivered')
    expect((await bob.node.status()).outbox).toBe(1)
    await frank.start()
    await viewOnce(world, bob, thread_id, (seen) => seen.delivery.delivered !== undefined)
  })

  test('says that it has what was never written, or what others wrote: nothing is noted', async () => {
    const { world, bob, frank, mallory } = await withCarrier()
    await frank.start()
    const { thread_id } = await handOff(frank, 'bob', 'of frank')
    await arrives(world, bob, thread_id)
    const [create] = await entriesOn(bob.disk)
    const talk = await mallory.meet(bob)
    const unknown = Array.from({ length: 8192 }, (_, i) => hash('payload', [i]))
    for (let i = 0; i < 20; i++) await talk.say({ t: 'carried', th: create?.thread ?? '', ids: unknown })
    await talk.say({ t: 'carried', th: create?.thread ?? '', ids: [create?.id ?? ''] })
    await talk.say({ t: 'carried', th: unknown[0] ?? '', ids: unknown })
    await talk.catchUp()
    expect(await bob.disk.rows('carrier')).toHaveLength(0)
    expect((await view(bob, thread_id)).delivery).not.toHaveProperty('carriers')
  })

  test('serves garbage in place of bodies: it is not kept, and the true body comes from who has it', async () => {
    const { world, bob, frank, mallory } = await withCarrier()
    const { thread_id } = await handOff(bob, 'frank', 'x'.repeat(20_000))
    const sent = await sentBy(bob)
    await bob.stop()
    await frank.start()
    const talk = await mallory.meet(frank)
    const { entry, body } = sent[0] ?? {}
    if (!entry || !body) throw new Error('bob holds what he sent')
    const garbage = new Uint8Array(body.length).fill(7)
    await talk.say(entriesMessage(entry.id, [{ entry, body: garbage }], [entry.id]))
    await talk.say({ t: 'bodies', th: entry.id, items: [[entry.id, garbage]] })
    await talk.catchUp()
    expect((await view(frank, thread_id)).entries[0]?.body).toBe('missing')
    expect(await frank.disk.rows('body')).toHaveLength(0)
    await bob.start()
    await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
  })

  test('replays and reorders what it has: the thread is as it was written', async () => {
    const { world, bob, frank, mallory } = await withCarrier()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    for (const text of ['two', 'three', 'four']) await bob.node.sendMessage({ thread_id, message: says(text) }, SESSION)
    const sent = await sentBy(bob)
    await bob.stop()
    await frank.start()
    const talk = await mallory.meet(frank)
    const [create] = sent
    const last = sent.at(-1)?.entry.id ?? ''
    for (const item of [...sent.toReversed(), ...sent])
      await talk.say(entriesMessage(create?.entry.id ?? '', [item], [last]))
    const seen = await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 4)
    expect(seen.entries.map(({ sequence_no }) => sequence_no)).toEqual([1, 3, 5, 7])
    expect(seen.unread_count).toBe(4)
    await bob.start()
    await viewOnce(world, bob, thread_id, (at) => at.delivery.delivered !== undefined)
  })

  test('withholds the end of a thread: the next beacon of who has it shows it', async () => {
    const { world, bob, frank, mallory } = await withCarrier()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    const sent = await sentBy(bob)
    await frank.start()
    world.cut(bob, frank)
    await bob.node.sendMessage({ thread_id, message: says('withheld') }, SESSION)
    const talk = await mallory.meet(frank)
    await talk.say(entriesMessage(sent[0]?.entry.id ?? '', sent, [sent[0]?.entry.id ?? '']))
    await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 1)
    world.hub.setGossipFault(() => 'drop')
    await world.heal(bob, frank)
    world.clock.advance(10 * 60_000)
    await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 2)
  })
})

describe('a member that fills everybody’s disk with headers of threads between others', () => {
  /** carol, who keeps so much of one author, and mallory, who wrote `count` threads to frank. */
  async function flooded(count: number, kept: number) {
    const world = await stoppedAcme('frank', 'carol', 'mallory')
    const carol = world.laptop('carol')
    const mallory = await impersonate(world, world.laptop('mallory'))
    const throwDice = dice('flood')
    const entries = Array.from({ length: count }, () => {
      const nonce = Buffer.from(throwDice(32)).toString('hex')
      return emptyStory(mallory.workspace, [mallory], [actor('frank')]).draft(mallory, 'create', { nonce })
    })
    const size = Math.max(...entries.map(({ envelope }) => envelope.length))
    await carol.start({ quotas: { ...DEFAULT_QUOTAS, foreignOfAuthor: kept * size } })
    return { world, carol, mallory, entries }
  }

  test('is kept up to the quota, refused nothing, and asked once for the rest', async () => {
    const { carol, mallory, entries } = await flooded(8, 3)
    const talk = await mallory.meet(carol)
    const threads = entries.map(({ id }): [string, string] => [id, headsDigest([id])])
    await talk.say({ t: 'threads', threads })
    for (const entry of entries) {
      const { th } = await talk.hear('vector')
      expect(threads.map(([thread]) => thread)).toContain(th)
      await talk.say(entriesMessage(entry.id, [{ entry, body: null }], [entry.id]))
    }
    await talk.catchUp()
    expect(await carol.disk.rows('entry')).toHaveLength(3)
    for (let i = 0; i < 3; i++) await talk.say({ t: 'threads', threads })
    // A thread that is new is asked for, and nothing was asked for before it.
    await talk.say({ t: 'threads', threads: [['cd'.repeat(32), 'cd'.repeat(32)]] })
    expect((await talk.hear('vector')).th).toBe('cd'.repeat(32))
    expect(talk.heard.filter(({ t }) => t === 'ids')).toHaveLength(0)
    expect((await carol.node.status()).refused).toEqual({})
  })

  test('leaves room for what others write, and for what is for oneself', async () => {
    const { world, carol, mallory, entries } = await flooded(8, 3)
    const bob = world.laptop('bob')
    const talk = await mallory.meet(carol)
    for (const entry of entries) await talk.say(entriesMessage(entry.id, [{ entry, body: null }], [entry.id]))
    await talk.catchUp()
    await bob.start()
    await handOff(bob, 'frank', 'of bob')
    await world.until('carol keeps it', async () => (await carol.disk.rows('entry')).length === 4)
    const story = await sealedStory({
      workspace: mallory.workspace,
      disk: world.laptop('mallory').disk,
      from: mallory,
      to: actor('carol'),
      body: { summary: 'for carol', artifacts: [] },
      dice: dice('to carol'),
    })
    await talk.say(entriesMessage(story.create.id, [story.first], [story.create.id]))
    expect((await arrives(world, carol, textId('thread', story.create.id))).unread_count).toBe(1)
  })

  test('is taken in by a node that starts with more room', async () => {
    const { world, carol, mallory, entries } = await flooded(8, 3)
    const bob = world.laptop('bob')
    await bob.start()
    const talk = await mallory.meet(bob)
    for (const entry of entries) await talk.say(entriesMessage(entry.id, [{ entry, body: null }], [entry.id]))
    await talk.catchUp()
    world.clock.advance(10 * 60_000)
    await world.until('carol has as many as she keeps', async () => (await carol.disk.rows('entry')).length === 3)
    await carol.restart()
    await world.until('carol has all', async () => (await carol.disk.rows('entry')).length === entries.length)
  })
})
