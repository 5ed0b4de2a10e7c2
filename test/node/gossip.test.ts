/** Gossip: sealed for the workspace, by enrolled authors, at a bounded rate; what is lost does no harm. */
import { expect, test } from 'vitest'
import { encodeGossip, type GossipMessage, sealEnvelope, textId, topicOf } from '../../protocol/index.ts'
import { begin, bob as bobOfAnother, dice, frank as frankOfAnother } from '../cast.ts'
import { entriesOn, type Impostor, impersonate } from './impostor.ts'
import { bareHandoffs, receiver } from './receiver.ts'
import { arrives, handOff, inboxItem, type Laptop, says, stoppedAcme, trio, type World } from './world.ts'

interface Crowd {
  world: World
  frank: Laptop
  mallory: Impostor
  key: Uint8Array
  /** Publishes to everybody in the topic; resolves once frank has looked at it. */
  gossip(data: Uint8Array): Promise<void>
  sealed(message: GossipMessage | Uint8Array, epoch?: number): Uint8Array
}

async function crowd(): Promise<Crowd> {
  const world = await stoppedAcme('frank', 'mallory')
  const [frank, laptop] = [world.laptop('frank'), world.laptop('mallory')]
  await frank.start()
  const mallory = await impersonate(world, laptop)
  const key = (await laptop.disk.rows('secret')).find(([name]) => name === 'workspace/0')?.[1]
  if (!key) throw new Error('mallory holds the key of the workspace')
  const topic = topicOf(key, 0)
  mallory.net.setTopics([topic])
  const talk = await mallory.meet(frank)
  const throwDice = dice('gossip')
  return {
    world,
    frank,
    mallory,
    key,
    async gossip(data) {
      expect(await mallory.net.publish(topic, data)).toBe(1)
      await talk.catchUp()
      // Taking in comes after the word to whoever forwarded it; both go through one queue.
      await frank.node
        .listThreads({})
        .then(() => frank.node.getThread({ thread_id: 'ho_a' }))
        .catch(() => undefined)
    },
    sealed(message, epoch = 0) {
      const bytes = message instanceof Uint8Array ? message : encodeGossip(message)
      return sealEnvelope(bytes, { key, epoch, salt: throwDice(32) })
    },
  }
}

test('what is no message of the workspace is counted and changes nothing', async () => {
  const { frank, gossip, sealed } = await crowd()
  const before = await frank.disk.image('peer')
  await gossip(new Uint8Array([1, 2, 3]))
  await gossip(sealed(new Uint8Array([1, 2, 3])))
  const broken = sealed({ t: 'hint', th: 'ab'.repeat(32), heads: [] })
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1
  await gossip(broken)
  await gossip(sealed({ t: 'entry', envelope: new Uint8Array(5), body: null }))
  // Of an epoch whose key is not here: it may be true, and is left alone.
  await gossip(sealed({ t: 'hint', th: 'ab'.repeat(32), heads: [] }, 7))
  expect(await frank.disk.image('peer')).toBe(before)
  const { refused } = await frank.node.status()
  expect(refused['seal_broken']).toBe(1)
  expect(Object.values(refused).reduce((a, b) => a + b)).toBe(3)
})

test('an entry by someone who is not in the workspace is left alone', async () => {
  const { frank, gossip, sealed } = await crowd()
  const foreign = begin({ senders: [bobOfAnother], recipients: [frankOfAnother] }).create
  const stranger = begin({ senders: [frankOfAnother], recipients: [bobOfAnother] }).create
  for (const { envelope } of [foreign, stranger]) await gossip(sealed({ t: 'entry', envelope, body: null }))
  expect(await frank.disk.rows('entry')).toHaveLength(0)
})

test('more than a burst of one author is not forwarded now, and goes on when time has passed', async () => {
  const { world, frank, mallory, gossip, sealed } = await crowd()
  const [create, ...more] = [...bareHandoffs(mallory.workspace, 6)]
  if (!create) throw new Error('some were made')
  for (let i = 0; i < 450; i++) await gossip(sealed({ t: 'entry', envelope: create.entry.envelope, body: null }))
  for (const { entry } of more.slice(0, 2)) await gossip(sealed({ t: 'entry', envelope: entry.envelope, body: null }))
  expect(await entriesOn(frank.disk)).toHaveLength(1)
  world.clock.advance(1000)
  for (const { entry } of more.slice(2)) await gossip(sealed({ t: 'entry', envelope: entry.envelope, body: null }))
  await world.until('the others are there', async () => (await entriesOn(frank.disk)).length === 1 + more.length - 2)
})

test('a hint of something new makes a node ask whoever passed it on', async () => {
  const { world, frank, mallory, gossip, sealed } = await crowd()
  const talk = await mallory.meet(frank)
  const at = await receiver()
  const { create } = await at.story('elsewhere')
  await gossip(sealed({ t: 'hint', th: create.id, heads: [create.id] }))
  await world.until('it asks', () => talk.heard.some((message) => message.t === 'vector' && message.th === create.id))
  expect(await inboxItem(frank, textId('thread', create.id))).toBeUndefined()
})

test('what is too large for gossip travels as a hint, and is there all the same', async () => {
  const world = await trio()
  const { bob, frank } = world
  for (const size of [10, 3000, 12_000, 16_000, 17_000, 70_000]) {
    const { thread_id } = await handOff(bob, 'frank', 'x'.repeat(size))
    const item = await arrives(world, frank, thread_id)
    expect(item.unread_count).toBe(1)
    await world.until('its body is there', async () => {
      const seen = await frank.node.getThread({ thread_id })
      return seen.entries[0]?.body === 'ok'
    })
  }
})

test('a reordered, late or doubled gossip gives the same thread', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  let hop = 0
  world.hub.setGossipFault(() => ([{ delayMs: 30 }, 'pass', { delayMs: 5 }, 'drop'] as const)[hop++ % 4] ?? 'pass')
  const { thread_id } = await handOff(bob, 'frank', 'one')
  for (let i = 0; i < 12; i++) await bob.node.sendMessage({ thread_id, message: says(`${i}`) }, { session: 's' })
  await world.until('all is there', async () => {
    const item = await inboxItem(frank, thread_id)
    return item && (await frank.node.getThread({ thread_id })).entries.length === 13
  })
  const { entries } = await frank.node.getThread({ thread_id })
  expect(new Set(entries.map(({ entry_id }) => entry_id)).size).toBe(13)
  expect(carol.running).toBe(true)
})
