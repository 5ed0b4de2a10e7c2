/** What was acknowledged is there after a restart, and is the same. */
import { expect, test } from 'vitest'
import {
  agreed,
  arrives,
  founder,
  handOff,
  type Laptop,
  pair,
  says,
  SESSION,
  stoppedAcme,
  symbolOf,
  view,
  viewOnce,
} from './world.ts'
import { foundAcme } from './world.ts'

async function everything(at: Laptop): Promise<unknown> {
  const status = ['pending', 'accepted', 'completed', 'cancelled'] as const
  const { items } = await at.node.listThreads({ status: [...status] })
  const threads = await Promise.all(items.map(({ thread_id }) => view(at, thread_id)))
  const { started_at, reachable_peers, teammates, ...lasting } = await at.node.status()
  expect(started_at).toBeDefined()
  expect(teammates.filter(({ reachable }) => reachable)).toHaveLength(1 + reachable_peers)
  return { items, threads, lasting }
}

test('threads, marks, numbers, digests, the outbox and the roster are as they were', async () => {
  const world = await pair()
  const { bob, frank } = world
  const first = await handOff(bob, 'frank', 'accepted', { artifacts: [{ type: 'link', url: 'https://a.example' }] })
  const second = await handOff(bob, 'frank', 'cancelled')
  const third = await handOff(frank, 'bob', 'the other way')
  for (const [at, { thread_id }] of [
    [frank, first],
    [frank, second],
    [bob, third],
  ] as const)
    await arrives(world, at, thread_id)
  await frank.node.accept({ thread_id: first.thread_id }, SESSION)
  await frank.node.sendMessage({ thread_id: first.thread_id, message: says('question') }, SESSION)
  await bob.node.cancel({ thread_id: second.thread_id }, SESSION)
  await bob.node.getThread({ thread_id: third.thread_id, mark_read: true })
  for (const { thread_id } of [first, second, third]) await agreed(world, thread_id, bob, frank)
  await world.until(
    'nothing is owed',
    async () => (await bob.node.status()).outbox + (await frank.node.status()).outbox === 0,
  )

  // A last word that frank does not get before everybody stops.
  world.cut(bob, frank)
  await bob.node.sendMessage({ thread_id: first.thread_id, message: says('last') }, SESSION)
  const before = [await everything(bob), await everything(frank)]
  await bob.restart()
  await frank.restart()
  expect([await everything(bob), await everything(frank)]).toEqual(before)
  await world.heal(bob, frank)
  await agreed(world, first.thread_id, bob, frank)
  await viewOnce(world, bob, first.thread_id, ({ delivery }) => delivery.delivered !== undefined)
})

test('a node that stops in the middle of saying many things has on disk all that it answered', async () => {
  const world = await pair()
  const { bob } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  const calls = Array.from({ length: 30 }, (_, i) =>
    bob.node.sendMessage({ thread_id, message: says(String(i)) }, SESSION).then(
      ({ message_id }) => message_id,
      () => undefined,
    ),
  )
  await Promise.race(calls)
  await bob.stop()
  const answered = (await Promise.all(calls)).filter((id) => id !== undefined)
  await bob.start()
  const there = (await view(bob, thread_id)).entries.map(({ message_id }) => message_id)
  expect(answered.length).toBeGreaterThan(0)
  for (const id of answered) expect(there).toContain(id)
})

test('after stopping, every call is refused in the words of the interface', async () => {
  const world = await stoppedAcme('frank')
  const bob = world.laptop('bob')
  await bob.start()
  const { node } = bob
  await bob.stop()
  expect(await symbolOf(node.listThreads({}))).toBe('internal')
  expect(await symbolOf(node.sendHandoff({ recipient: 'frank', intent: 'inform', message: says('x') }, SESSION))).toBe(
    'internal',
  )
})

test('the list comes from the index: it does not look at the entries of the threads in it', async () => {
  const world = await stoppedAcme('frank')
  const bob = world.laptop('bob')
  await bob.start()
  for (const text of ['a', 'b', 'c']) await handOff(bob, 'frank', text)
  await bob.stop()
  const entries = await bob.disk.rows('entry')
  await bob.disk.write(entries.map(([key]) => ({ type: 'del', space: 'entry', key })))
  await bob.start()
  const { items } = await bob.node.listThreads({})
  expect(items.map(({ preview }) => preview?.own)).toEqual(['c', 'b', 'a'])
})

test('a home holds one workspace: founding a second one is refused and changes nothing', async () => {
  const { bob } = await founder()
  const image = await bob.disk.image()
  expect(await symbolOf(foundAcme(bob))).toBe('invalid_params')
  expect(await bob.disk.image()).toBe(image)
})

test('threads that memory has no room for are read again when they are needed', async () => {
  const world = await stoppedAcme('frank')
  const bob = world.laptop('bob')
  await bob.start()
  const ids: string[] = []
  for (let i = 0; i < 260; i++) {
    const params = { recipient: 'frank', intent: 'inform' as const, message: says(`${i}`) }
    ids.push((await bob.node.sendHandoff(params, { session: `${i}` })).thread_id)
  }
  const [thread_id = ''] = ids
  expect((await bob.node.sendMessage({ thread_id, message: says('more') }, SESSION)).sequence_no).toBe(3)
  expect((await view(bob, thread_id)).entries).toHaveLength(2)
})
