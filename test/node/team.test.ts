/** What a node says of itself and of its teammates: facts, and why something is not as it should be. */
import { expect, test } from 'vitest'
import { CLOCK_MS } from '../cast.ts'
import { impersonate } from './impostor.ts'
import { founder, handOff, pair, refused, stoppedAcme, trio } from './world.ts'

test('a founder is a member, the owner, and alone', async () => {
  const { bob } = await founder()
  expect(await bob.node.status()).toMatchObject({
    handle: 'bob@acme',
    device: 'bob-laptop',
    workspaces: ['acme'],
    owner: true,
    node_state: 'ready',
    reachable_peers: 0,
    protocol: 1,
    threads: 0,
    unread: 0,
    outbox: 0,
    refused: {},
    roster: { position: 0, forked: false },
    clock_ms: CLOCK_MS,
    started_at: '2026-01-05T09:00:00.000Z',
  })
})

test('a teammate that is gone is not reachable, and was last seen when it went; that survives a restart', async () => {
  const world = await pair()
  const { bob, frank, clock } = world
  clock.advance(90_000)
  await frank.stop()
  await world.until('it is noticed', () => bob.net.peers().every(({ connected }) => !connected))
  const seen = async () => (await bob.node.listTeammates({})).items.find(({ handle }) => handle === 'frank@acme')
  expect(await seen()).toMatchObject({ reachable: false, last_seen: '2026-01-05T09:01:30.000Z' })
  await bob.restart()
  expect(await seen()).toMatchObject({ reachable: false, last_seen: '2026-01-05T09:01:30.000Z' })
})

test('a clock that is more than a minute off is told, one that is less is not', async () => {
  for (const [offset, told] of [
    [59_000, undefined],
    [-3_600_000, -3_600_000],
  ] as const) {
    const world = await stoppedAcme('mallory')
    const bob = world.laptop('bob')
    await bob.start()
    const mallory = await impersonate(world, world.laptop('mallory'))
    const talk = await mallory.meet(bob)
    await talk.say(mallory.hello({ clock: CLOCK_MS + offset }))
    await talk.hear('digests')
    const { items } = await bob.node.listTeammates({})
    expect(items.find(({ me }) => !me)?.devices[0]?.clock_skew_ms).toBe(told)
  }
})

test('a claim of a time that no calendar has is shown as the end of time', async () => {
  const world = await stoppedAcme('mallory')
  const bob = world.laptop('bob')
  await bob.start()
  const mallory = await impersonate(world, world.laptop('mallory'))
  const talk = await mallory.meet(bob)
  await talk.say(mallory.hello({ clock: Number.MAX_SAFE_INTEGER }))
  await talk.hear('digests')
  expect((await bob.node.status()).teammates).toHaveLength(2)
})

test('teammates are listed by role, and each has the devices that answer a ping', async () => {
  const { bob, frank } = await trio()
  expect((await bob.node.listTeammates({ role: 'reader' })).items).toEqual([])
  expect((await bob.node.listTeammates({ role: 'member' })).items).toHaveLength(3)
  await frank.stop()
  const { items } = await bob.node.ping({ handle: 'frank@acme' })
  expect(items).toEqual([{ device: 'frank/frank-laptop', failure: 'not connected' }])
  expect((await refused(bob.node.ping({ handle: 'nobody' }))).symbol).toBe('recipient_not_found')
})

test('status counts what is unread, what is open and what is owed', async () => {
  const world = await pair()
  const { bob, frank } = world
  await frank.stop()
  for (const text of ['a', 'b']) await handOff(bob, 'frank', text)
  expect(await bob.node.status()).toMatchObject({ threads: 2, outbox: 2, unread: 0 })
  await frank.start()
  await world.until('both are there', async () => (await frank.node.status()).unread === 2)
  await world.until('nothing is owed', async () => (await bob.node.status()).outbox === 0)
  expect(await frank.node.status()).toMatchObject({ threads: 2, outbox: 0 })
})
