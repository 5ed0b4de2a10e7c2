/** Cancelling, accepting, and what happens when the two cross. */
import { expect, test } from 'vitest'
import type { NodeEvent } from '../../src/node/api.ts'
import { agreed, arrives, handOff, pair, refused, SESSION, symbolOf, viewOnce } from './world.ts'

test('a cancel while the recipient is offline is not final and says whose word is missing; it is final once that device has it', async () => {
  const world = await pair()
  const { bob, frank } = world
  await frank.stop()
  const { thread_id } = await handOff(bob, 'frank', 'never mind')
  const cancelled = await bob.node.cancel({ thread_id, reason: 'done already' }, SESSION)
  expect(cancelled).toMatchObject({ status: 'cancelled', final: false, waiting_for: ['frank/frank-laptop'] })

  await frank.start()
  for (const at of [bob, frank]) {
    const seen = await viewOnce(world, at, thread_id, ({ status, final }) => status === 'cancelled' && final)
    expect(seen.waiting_for).toEqual([])
  }
  expect(await symbolOf(frank.node.accept({ thread_id }, SESSION))).toBe('thread_terminal')
  await agreed(world, thread_id, bob, frank)
})

test('a cancel that the recipient already has is final at once when he is online', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'never mind')
  await arrives(world, frank, thread_id)
  await bob.node.cancel({ thread_id }, SESSION)
  const seen = await viewOnce(world, frank, thread_id, ({ final }) => final)
  expect(seen.entries.at(-1)).toMatchObject({ kind: 'cancel', content: { untrusted: { reason: '' } } })
})

test('an accept beats a cancel that crossed it: accepted on both sides once they meet, and the canceller is told', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'contested')
  await arrives(world, frank, thread_id)
  world.cut(bob, frank)
  expect(await bob.node.cancel({ thread_id }, SESSION)).toMatchObject({ status: 'cancelled', final: false })
  expect(await frank.node.accept({ thread_id }, SESSION)).toMatchObject({ status: 'accepted', final: false })
  const events: NodeEvent[] = []
  bob.node.onEvent((event) => events.push(event))

  await world.heal(bob, frank)
  for (const at of [bob, frank])
    await viewOnce(world, at, thread_id, ({ status, final }) => status === 'accepted' && final)
  await agreed(world, thread_id, bob, frank)
  expect(events).toContainEqual(expect.objectContaining({ type: 'thread', thread_id }))
  expect(await refused(bob.node.cancel({ thread_id }, SESSION))).toMatchObject({ symbol: 'state_changed' })
  await frank.node.complete({ thread_id, result_summary: 'done anyway' }, SESSION)
  await viewOnce(world, bob, thread_id, ({ status, final }) => status === 'completed' && final)
})

test('two sessions accept at once: one wins, the other learns on which device it happened', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'first come')
  await arrives(world, frank, thread_id)
  const others = { session: '00000000-0000-4000-8000-000000000002' }
  const calls = await Promise.allSettled([
    frank.node.accept({ thread_id }, SESSION),
    frank.node.accept({ thread_id }, others),
  ])
  expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  const lost = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason as unknown] : []))
  expect(lost[0]).toMatchObject({
    symbol: 'state_changed',
    details: { status: 'accepted', accepted_on: 'frank/frank-laptop' },
  })
  const seen = await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
  expect(seen.entries.filter(({ kind }) => kind === 'accept')).toHaveLength(1)
})

test('an accept and a cancel at once on two connected nodes end the same on both, whichever came first', async () => {
  const world = await pair()
  const { bob, frank } = world
  for (let round = 0; round < 5; round++) {
    const { thread_id } = await handOff(bob, 'frank', `round ${round}`)
    await arrives(world, frank, thread_id)
    await Promise.allSettled([bob.node.cancel({ thread_id }, SESSION), frank.node.accept({ thread_id }, SESSION)])
    const [atBob] = await agreed(world, thread_id, bob, frank)
    expect(['accepted', 'cancelled']).toContain(atBob?.status)
  }
})
