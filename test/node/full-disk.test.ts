/** A batch that fails leaves nothing behind, in memory or on disk, and what is tried again works. */
import { describe, expect, test } from 'vitest'
import type { Space } from '../../src/store/store.ts'
import {
  arrives,
  founder,
  handOff,
  inboxItem,
  type Laptop,
  pair,
  refused,
  says,
  SESSION,
  stoppedAcme,
  uuid,
  view,
  viewOnce,
} from './world.ts'

/** All that a front end can see. */
async function seenAt(at: Laptop): Promise<unknown> {
  const status = ['pending', 'accepted', 'completed', 'cancelled'] as const
  const { items } = await at.node.listThreads({ status: [...status] })
  const threads = await Promise.all(items.map(({ thread_id }) => view(at, thread_id)))
  const { outbox, unread, roster } = await at.node.status()
  return { items, threads, outbox, unread, roster, invites: await at.node.listInvites() }
}

/** Fails `write` on a full disk, sees that nothing came of it, here and after a restart, then lets it succeed. */
async function failsCleanly(at: Laptop, write: () => Promise<unknown>, ...spaces: Space[]): Promise<void> {
  const [seen, image] = [await seenAt(at), await at.disk.image('peer')]
  at.disk.failNext(...spaces)
  const error = await refused(write())
  expect(error).toMatchObject({ symbol: 'internal', details: { store: 'STORE_FULL' } })
  expect(error.hint).toContain('relay-node doctor')
  expect(await seenAt(at)).toEqual(seen)
  expect(await at.disk.image('peer')).toBe(image)
  await at.restart()
  expect(await seenAt(at)).toEqual(seen)
  at.disk.failNext(...spaces)
  await refused(write())
  await write()
  expect(await at.disk.image('peer')).not.toBe(image)
}

describe('on a full disk', () => {
  test('a handoff is not made, and its number and key are free', async () => {
    const world = await pair()
    const { bob, frank } = world
    await frank.stop()
    const metadata = { client_idempotency_key: uuid() }
    await failsCleanly(bob, () => handOff(bob, 'frank', 'one', { metadata }))
    const { items } = await bob.node.listThreads({})
    expect(items).toHaveLength(1)
    await frank.start()
    await arrives(world, frank, items[0]?.thread_id ?? '')
  })

  test('a message is not said, and the next one gets its number', async () => {
    const { bob } = await pair()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    const say = () => bob.node.sendMessage({ thread_id, message: says('two') }, SESSION)
    await failsCleanly(bob, say, 'entry')
    expect((await view(bob, thread_id)).entries.map(({ sequence_no }) => sequence_no)).toEqual([1, 3])
    expect((await say()).sequence_no).toBe(5)
    await bob.stop()
    const arrivals = (await bob.disk.rows('entry')).map(([key]) => Number(key.split('/')[1]))
    expect(arrivals.toSorted((a, b) => a - b)).toEqual(arrivals.map((_, i) => i + 1))
  })

  test('a cancel does not happen', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'one')
    await arrives(world, frank, thread_id)
    await world.until('the receipt is here', async () => (await bob.node.status()).outbox === 0)
    await failsCleanly(bob, () => bob.node.cancel({ thread_id }, SESSION))
    await viewOnce(world, frank, thread_id, ({ status }) => status === 'cancelled')
  })

  test('an accept, a verdict and a result do not happen', async () => {
    const world = await pair()
    const { bob, frank } = world
    const proposed_action = { description: 'd', target_files: [], rationale: 'r' }
    const { thread_id } = await handOff(bob, 'frank', 'one', { intent: 'propose_action', proposed_action })
    await arrives(world, frank, thread_id)
    await bob.stop()
    const digest = (await view(frank, thread_id)).action?.digest ?? ''
    await failsCleanly(frank, () => frank.node.accept({ thread_id }, SESSION))
    await failsCleanly(frank, () => frank.node.approve({ thread_id, digest }, SESSION))
    await failsCleanly(frank, () => frank.node.complete({ thread_id, result_summary: 'r' }, SESSION))
    await bob.start()
    await viewOnce(world, bob, thread_id, ({ status }) => status === 'completed')
  })

  test('a read mark does not move', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'one')
    await arrives(world, frank, thread_id)
    await bob.stop()
    frank.disk.failNext('thread')
    expect((await refused(frank.node.getThread({ thread_id, mark_read: true }))).symbol).toBe('internal')
    expect((await inboxItem(frank, thread_id))?.unread_count).toBe(1)
    await frank.node.getThread({ thread_id, mark_read: true })
    expect((await inboxItem(frank, thread_id))?.unread_count).toBe(0)
  })

  test('an invite is not made and not withdrawn, and the roster stays where it was', async () => {
    const { bob } = await founder()
    await failsCleanly(bob, () => bob.node.invite({ name: 'frank' }), 'roster')
    const { items } = await bob.node.listInvites()
    expect(items.map(({ state }) => state)).toEqual(['open'])
    await failsCleanly(bob, () => bob.node.revokeInvite({ invite_id: items[0]?.invite_id ?? '' }), 'roster')
  })

  test('what a peer sends is not taken in, and comes again when there is room', async () => {
    const world = await pair()
    const { bob, frank } = world
    frank.disk.failNext('entry')
    const { thread_id } = await handOff(bob, 'frank', 'one')
    await world.until('it failed', () => frank.disk.failures > 0)
    expect(await frank.disk.rows('entry')).toHaveLength(0)
    // A conversation that broke is begun anew after a pause.
    await world.until('it is there', async () => {
      world.clock.advance(1000)
      return inboxItem(frank, thread_id)
    })
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
  })
})

test('a joiner whose admission cannot be written is not in, on the owner’s disk or in his memory; the same code works again', async () => {
  const world = await founder()
  const { bob } = world
  const frank = await world.stranger('frank')
  await frank.start()
  const { code } = await bob.node.invite({ name: 'frank', standalone: true })
  const image = await bob.disk.image('peer')
  bob.disk.failNext('roster')
  await refused(frank.node.join({ code }))
  expect(await bob.disk.image('peer')).toBe(image)
  expect((await bob.node.listTeammates({})).items.map(({ handle }) => handle)).toEqual(['bob@acme'])
  expect((await frank.node.whoami()).node_state).toBe('alone')
  expect(await frank.node.join({ code })).toMatchObject({ handle: 'frank@acme' })
  await bob.restart()
  expect((await bob.node.listTeammates({})).items.map(({ handle }) => handle)).toEqual(['bob@acme', 'frank@acme'])
})

test('a joiner whose own disk is full is not in, and after the next attempt everything is on his disk', async () => {
  const world = await founder()
  const { bob } = world
  const frank = await world.stranger('frank')
  await frank.start()
  const { code } = await bob.node.invite({ name: 'frank', standalone: true })
  frank.disk.failNext('roster')
  expect((await refused(frank.node.join({ code }))).symbol).toBe('internal')
  expect(await frank.node.whoami()).toMatchObject({ node_state: 'alone', workspaces: [] })
  await frank.node.join({ code })
  const secrets = (await frank.disk.rows('secret')).map(([key]) => key.split('/').slice(0, 2).join('/'))
  expect(secrets).toContain('workspace/0')
  await frank.restart()
  await world.connected()
  const { thread_id } = await handOff(frank, 'bob', 'I am in')
  await arrives(world, bob, thread_id)
})

test('a teammate who cannot be written is not known, and comes again', async () => {
  const world = await pair()
  const { bob, frank } = world
  const carol = await world.stranger('carol')
  await carol.start()
  const { code } = await bob.node.invite({ name: 'carol', standalone: true })
  await world.until('the invite is known', async () => (await frank.node.status()).roster.position === 4)
  frank.disk.failNext('roster')
  await carol.node.join({ code })
  await world.until('it failed', () => frank.disk.failures > 0)
  expect((await frank.node.listTeammates({})).items).toHaveLength(2)
  expect((await frank.node.status()).roster.position).toBe(4)
  await world.until('frank knows carol', async () => {
    world.clock.advance(1000)
    return (await frank.node.listTeammates({})).items.length === 3
  })
  await world.connected()
})

test('a disk that stays full refuses every write, says so, and still gives what it holds', async () => {
  const world = await stoppedAcme('frank')
  const bob = world.laptop('bob')
  await bob.start()
  const { thread_id } = await handOff(bob, 'frank', 'one')
  bob.disk.failForever()
  for (let i = 0; i < 3; i++) expect((await refused(handOff(bob, 'frank', 'two'))).symbol).toBe('internal')
  expect((await view(bob, thread_id)).entries).toHaveLength(1)
  bob.disk.repair()
  await handOff(bob, 'frank', 'three')
  expect((await bob.node.listThreads({})).items).toHaveLength(2)
})

test('a listener that fails takes nothing back of what is on disk', async () => {
  const { bob } = await pair()
  const { thread_id } = await handOff(bob, 'frank', 'one')
  bob.node.onEvent(() => {
    throw new Error('this front end is broken')
  })
  const say = (text: string) => bob.node.sendMessage({ thread_id, message: says(text) }, SESSION)
  expect((await say('two')).sequence_no).toBe(3)
  expect((await say('three')).sequence_no).toBe(5)
  await bob.restart()
  expect((await view(bob, thread_id)).entries).toHaveLength(3)
})

test('a row that cannot be read while a peer waits for it ends that conversation; the next one delivers', async () => {
  const world = await pair()
  const { bob, frank } = world
  world.hub.setGossipFault(() => 'drop')
  bob.disk.failNextRead('body')
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await world.until('it failed', () => bob.disk.failures > 0)
  await world.until('it is there', async () => {
    world.clock.advance(1000)
    return inboxItem(frank, thread_id)
  })
})
