/** A write with a key happens once. */
import { expect, test } from 'vitest'
import type { NewHandoffParams } from '../../src/node/api.ts'
import { arrives, handOff, type Laptop, pair, refused, says, SESSION, symbolOf, uuid, view } from './world.ts'

const HOUR_MS = 60 * 60 * 1000
const keyed = (key = uuid()) => ({ metadata: { client_idempotency_key: key } })
const count = async (at: Laptop): Promise<number> => (await at.node.status()).threads

test('the same key with the same payload gives the first result again, also after a restart', async () => {
  const { bob } = await pair()
  const once = keyed()
  const first = await handOff(bob, 'frank', 'once', once)
  expect(await handOff(bob, 'frank', 'once', once)).toEqual(first)
  await bob.restart()
  expect(await handOff(bob, 'frank', 'once', once)).toEqual(first)
  expect(await count(bob)).toBe(1)
})

test('another payload under the same key is refused, and does nothing', async () => {
  const { bob } = await pair()
  const once = keyed()
  await handOff(bob, 'frank', 'once', once)
  const error = await refused(handOff(bob, 'frank', 'twice', once))
  expect(error).toMatchObject({ symbol: 'duplicate_idempotency_key' })
  expect(await count(bob)).toBe(1)
})

test('the order of keys and what is left undefined make no other payload; the order of a list does', async () => {
  const { bob } = await pair()
  const { metadata } = keyed()
  const [a, b] = [
    { type: 'link' as const, url: 'https://a.example', title: 'A' },
    { type: 'test_command' as const, command: 'make' },
  ]
  const params: NewHandoffParams = {
    recipient: 'frank@acme',
    intent: 'inform',
    message: says('x'),
    artifacts: [a, b],
    metadata,
  }
  const first = await bob.node.sendHandoff(params, SESSION)
  const again: NewHandoffParams = {
    metadata,
    question: undefined,
    artifacts: [{ title: 'A', url: 'https://a.example', type: 'link' }, b],
    message: { parts: [{ text: 'x', type: 'text' }], role: 'user' },
    intent: 'inform',
    recipient: 'frank@acme',
  }
  expect(await bob.node.sendHandoff(again, SESSION)).toEqual(first)
  expect(await symbolOf(bob.node.sendHandoff({ ...again, artifacts: [b, a] }, SESSION))).toBe(
    'duplicate_idempotency_key',
  )
})

test('two at once are one', async () => {
  const { bob } = await pair()
  const once = keyed()
  const [one, other] = await Promise.all([handOff(bob, 'frank', 'once', once), handOff(bob, 'frank', 'once', once)])
  expect(other).toEqual(one)
  expect(await count(bob)).toBe(1)
})

test('a call that failed leaves no receipt: it may succeed later', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await arrives(world, frank, thread_id)
  const complete = { thread_id, result_summary: 'r', ...keyed() }
  expect(await symbolOf(frank.node.complete(complete, SESSION))).toBe('invalid_transition')
  await frank.node.accept({ thread_id }, SESSION)
  expect(await frank.node.complete(complete, SESSION)).toMatchObject({ status: 'completed' })
})

test('every write takes a key', async () => {
  const world = await pair()
  const { bob, frank } = world
  const proposed_action = { description: 'd', target_files: [], rationale: 'r' }
  const { thread_id } = await handOff(bob, 'frank', 'one', { intent: 'propose_action', proposed_action })
  const other = await handOff(bob, 'frank', 'two')
  await arrives(world, frank, thread_id)
  const digest = (await view(frank, thread_id)).action?.digest ?? ''
  const writes: [Laptop, (metadata: object) => Promise<unknown>][] = [
    [bob, (more) => bob.node.sendMessage({ thread_id, message: says('m'), ...more }, SESSION)],
    [frank, (more) => frank.node.accept({ thread_id, ...more }, SESSION)],
    [frank, (more) => frank.node.reject({ thread_id, digest, ...more }, SESSION)],
    [frank, (more) => frank.node.approve({ thread_id, digest, ...more }, SESSION)],
    [frank, (more) => frank.node.complete({ thread_id, result_summary: 'r', ...more }, SESSION)],
    [bob, (more) => bob.node.cancel({ thread_id: other.thread_id, ...more }, SESSION)],
  ]
  for (const [at, write] of writes) {
    const once = keyed()
    const first = await write(once)
    const onDisk = (await at.disk.rows('receipt')).length
    expect(await write(once)).toEqual(JSON.parse(JSON.stringify(first)))
    expect((await at.disk.rows('receipt')).length).toBe(onDisk)
  }
  await world.until(
    'nothing is owed',
    async () => (await bob.node.status()).outbox + (await frank.node.status()).outbox === 0,
  )
  expect((await view(frank, thread_id)).entries.map(({ kind }) => kind)).toEqual([
    'create',
    'message',
    'accept',
    'approve',
    'approve',
    'complete',
  ])
})

test('without a key a call is a new call', async () => {
  const { bob } = await pair()
  await handOff(bob, 'frank', 'once')
  await handOff(bob, 'frank', 'once')
  expect(await count(bob)).toBe(2)
  expect(await bob.disk.rows('receipt')).toEqual([])
})

test('a key ends after a day, and is taken off the disk', async () => {
  const { bob, clock, until } = await pair()
  const once = keyed()
  await handOff(bob, 'frank', 'once', once)
  clock.advance(24 * HOUR_MS - 1)
  await handOff(bob, 'frank', 'once', once)
  expect(await count(bob)).toBe(1)
  clock.advance(1)
  expect(await bob.disk.rows('receipt')).toHaveLength(1)
  await handOff(bob, 'frank', 'something else', once)
  expect(await count(bob)).toBe(2)
  clock.advance(26 * HOUR_MS)
  await until('it is forgotten', async () => (await bob.disk.rows('receipt')).length === 0)
})
