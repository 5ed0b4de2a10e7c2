/** Lists follow from the entries: they can be made anew, and where entries may be lost nothing is written before a peer was met. */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { Space } from '../../src/store/store.ts'
import {
  arrives,
  handOff,
  inboxItem,
  type Laptop,
  pair,
  refused,
  says,
  SESSION,
  trio,
  view,
  viewOnce,
} from './world.ts'

async function lose(at: Laptop, space: Space, isLost: (key: string) => boolean = () => true): Promise<void> {
  const keys = (await at.disk.rows(space)).map(([key]) => key).filter(isLost)
  await at.disk.write(keys.map((key) => ({ type: 'del', space, key })))
}

async function conversation() {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await frank.node.sendMessage({ thread_id, message: says('two') }, SESSION)
  const other = await handOff(frank, 'bob', 'the other way')
  await arrives(world, bob, other.thread_id)
  await viewOnce(world, bob, thread_id, ({ entries }) => entries.length === 3)
  await world.until(
    'nothing is owed',
    async () => (await bob.node.status()).outbox + (await frank.node.status()).outbox === 0,
  )
  await frank.stop()
  await bob.node.sendMessage({ thread_id, message: says('three') }, SESSION)
  await bob.node.getThread({ thread_id: other.thread_id, mark_read: true })
  return { ...world, thread_id, other: other.thread_id }
}

test('from the entries alone the same lists come out: threads, places, unread counts, what is owed', async () => {
  const { bob, thread_id, other } = await conversation()
  const seen = async () => ({
    items: [await inboxItem(bob, thread_id), await inboxItem(bob, other)],
    order: (await bob.node.listThreads({})).items.map((item) => item.thread_id),
    view: await view(bob, thread_id),
    outbox: (await bob.node.status()).outbox,
  })
  const before = await seen()
  expect(before.outbox).toBe(1)
  await bob.stop()
  for (const space of ['inbox', 'outbox'] as const) await lose(bob, space)
  await lose(bob, 'meta')
  await bob.start()
  expect(await seen()).toEqual(before)
  expect((await bob.node.sendMessage({ thread_id, message: says('four') }, SESSION)).sequence_no).toBe(5)
})

test('where the rows are gone too, only the read marks are lost', async () => {
  const { bob, thread_id, other } = await conversation()
  await bob.stop()
  for (const space of ['inbox', 'outbox', 'thread', 'meta'] as const) await lose(bob, space)
  await bob.start()
  expect(await inboxItem(bob, other)).toMatchObject({ unread_count: 1, status: 'pending' })
  expect(await inboxItem(bob, thread_id)).toMatchObject({ unread_count: 1, status: 'accepted' })
})

test('after a repair nothing is written into a thread until a device of the other side was met; then what was lost is back', async () => {
  const world = await conversation()
  const { bob, frank, thread_id } = world
  await frank.start()
  await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 4)
  await world.until('nothing is owed', async () => (await bob.node.status()).outbox === 0)
  await frank.stop()
  const digest = (await view(bob, thread_id)).state_digest
  await bob.stop()
  // The last thing that bob wrote is lost with a part of the disk.
  const entries = await bob.disk.rows('entry')
  const last = entries.map(([key]) => key).toSorted((a, b) => (a.slice(-12) < b.slice(-12) ? 1 : -1))[1]
  await lose(bob, 'entry', (key) => key === last)
  await bob.start({ rebuild: true })
  const say = () => bob.node.sendMessage({ thread_id, message: says('after the repair') }, SESSION)
  const error = await refused(say())
  expect(error).toMatchObject({ symbol: 'state_changed' })
  expect(error.message).toContain('repaired')
  expect((await bob.node.status()).recovering).toEqual({ handoffs: 2, roster: true })
  await frank.start()
  await viewOnce(world, bob, thread_id, (seen) => seen.state_digest === digest)
  await world.until('it may be written again', async () => say().catch(() => undefined))
  const seen = await viewOnce(world, frank, thread_id, ({ entries: said }) => said.length === 5)
  expect(seen.forks).toEqual([])
})

test('after a repair the owner changes no roster until a teammate was met, since two of one number would stop everybody', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  const position = async (at: Laptop) => (await at.node.status()).roster
  const sameRoster = () =>
    world.until('frank has the roster', async () => isDeepStrictEqual(await position(frank), await position(bob)))
  const { code } = await bob.node.invite({ name: 'erin', standalone: true })
  await bob.node.setRole({ handle: 'carol', role: 'reader' })
  await sameRoster()
  for (const laptop of [frank, carol, bob]) await laptop.stop()
  const entries = (await bob.disk.rows('roster')).map(([key]) => key).toSorted()
  await lose(bob, 'roster', (key) => key === entries.at(-1))
  await bob.start({ rebuild: true })
  const changes = [
    () => bob.node.invite({ name: 'dave' }),
    () => bob.node.remove({ name: 'carol' }),
    () => bob.node.setRole({ handle: 'frank', role: 'reader' }),
    () => bob.node.useBootstrap({ addresses: [] }),
  ]
  expect((await bob.node.status()).recovering).toEqual({ handoffs: 0, roster: true })
  for (const change of changes) {
    const error = await refused(change())
    expect(error).toMatchObject({ symbol: 'state_changed' })
    expect(error.message).toContain('a part of the roster may be missing')
    expect(error.hint).not.toBe('')
  }
  const erin = await world.stranger('erin')
  await erin.start()
  expect(await refused(erin.node.join({ code }))).toMatchObject({ details: { reason: 'busy' } })
  await frank.start()
  const made = await world.until('bob may invite', () => bob.node.invite({ name: 'dave' }).catch(() => undefined))
  expect(made).toMatchObject({ handle: 'dave@acme' })
  expect((await bob.node.members()).items).toMatchObject([
    { handle: 'bob@acme' },
    { handle: 'frank@acme' },
    { handle: 'carol@acme', role: 'reader' },
  ])
  expect(await erin.node.join({ code })).toMatchObject({ handle: 'erin@acme' })
  await sameRoster()
  expect(await position(frank)).toMatchObject({ forked: false })
  for (const at of [bob, frank]) expect((await at.node.status()).recovering).toEqual({ handoffs: 0, roster: false })
})
