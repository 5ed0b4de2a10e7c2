/** A teammate's laptop hands on what the sender's cannot: sealed bodies, within quotas, until they are acknowledged. */
import { describe, expect, test } from 'vitest'
import { CARRIED_TTL_MS } from '../../protocol/index.ts'
import { DEFAULT_QUOTAS } from '../../src/node/quotas.ts'
import { arrives, handOff, type Laptop, plain, says, SESSION, trio, view, viewOnce, type World } from './world.ts'

const LARGE = 'x'.repeat(40 * 1024)

const bodiesOf = async (at: Laptop): Promise<number> => (await at.disk.rows('body')).length
const carriedBy = (world: World, at: Laptop, count: number) =>
  world.until(
    `${at.name} carries ${count}`,
    async () => (await at.disk.rows('carried')).length === count && (await bodiesOf(at)) === count,
  )

/** Frank is away: what bob sends lies with carol. */
async function whileFrankIsAway() {
  const world = await trio()
  await world.frank.stop()
  return world
}

describe('a handoff to a laptop that is away', () => {
  test.each([
    ['small enough for gossip', 'short'],
    ['too large for gossip', LARGE],
  ])('that is %s arrives after its sender has gone, and both see how', async (_how, text) => {
    const world = await whileFrankIsAway()
    const { bob, frank, carol } = world
    const { thread_id } = await handOff(bob, 'frank', text)
    const told = await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.carriers !== undefined)
    expect(told.delivery).toEqual({
      stored_here: true,
      carriers: [{ name: 'carol/carol-laptop', at: expect.any(String) as string }],
    })
    await bob.stop()
    await frank.start()
    const seen = await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
    expect(plain(seen.entries[0]?.content)?.summary).toBe(text)
    await frank.node.accept({ thread_id }, SESSION)
    await carriedBy(world, carol, 1)
    await frank.stop()
    await bob.start()
    const back = await viewOnce(
      world,
      bob,
      thread_id,
      ({ status, entries }) => status === 'accepted' && entries.length > 1,
    )
    expect(back.delivery).toMatchObject({
      stored_here: true,
      carriers: [{ name: 'carol/carol-laptop' }],
      delivered: [{ device: 'frank/frank-laptop' }],
      accepted: { device: 'frank/frank-laptop' },
    })
    await world.until('nothing is carried any more', async () => (await bodiesOf(carol)) === 0)
  })

  test('that was sent while the carrier was away too is asked for when it is back', async () => {
    const world = await whileFrankIsAway()
    const { bob, frank, carol } = world
    await carol.stop()
    const { thread_id } = await handOff(bob, 'frank', 'nobody is there')
    await carol.start()
    await carriedBy(world, carol, 1)
    await bob.stop()
    await frank.start()
    await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
  })

  test('that seemed to be there, and went before it had all, is kept by others without gossip', async () => {
    const world = await trio()
    const { bob, frank, carol } = world
    world.hub.setGossipFault(() => 'drop')
    // frank's laptop is connected and does not write any more.
    frank.disk.failForever()
    await handOff(bob, 'frank', LARGE)
    await world.until('frank was asked to', () => frank.disk.failures > 0)
    expect(await carol.disk.rows('entry')).toHaveLength(0)
    world.cut(bob, frank)
    await carriedBy(world, carol, 1)
  })

  test('is told again by a carrier whose word was lost, when the two meet anew', async () => {
    const world = await whileFrankIsAway()
    const { bob, carol } = world
    const { thread_id } = await handOff(bob, 'frank', 'kept')
    await carriedBy(world, carol, 1)
    await bob.disk.write((await bob.disk.rows('carrier')).map(([key]) => ({ type: 'del', space: 'carrier', key })))
    await bob.restart()
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.carriers !== undefined)
  })
})

describe('a carrier', () => {
  test('lets go of a body once the other side has acknowledged it, and keeps nothing of what it was not needed for', async () => {
    const world = await trio()
    const { bob, frank, carol } = world
    const { thread_id } = await handOff(bob, 'frank', 'at once')
    await arrives(world, frank, thread_id)
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
    await world.until('carol has let go', async () => {
      const entries = await carol.disk.rows('entry')
      return entries.length === 2 && (await bodiesOf(carol)) === 0
    })
    expect(await carol.disk.rows('carried')).toHaveLength(0)
    expect(carol.node.memory().carried).toBe(0)
  })

  test('keeps what it carries over a restart, and a repair of its store', async () => {
    const world = await whileFrankIsAway()
    const { bob, frank, carol } = world
    const { thread_id } = await handOff(bob, 'frank', LARGE)
    await carriedBy(world, carol, 1)
    const size = carol.node.memory().carried
    await bob.stop()
    await carol.restart()
    expect(carol.node.memory().carried).toBe(size)
    await carol.stop()
    await carol.start({ rebuild: true })
    expect(carol.node.memory().carried).toBe(size)
    await frank.start()
    await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
  })

  test('lets go after thirty days, and does not ask again', async () => {
    const world = await whileFrankIsAway()
    const { bob, carol } = world
    await handOff(bob, 'frank', 'forgotten')
    await carriedBy(world, carol, 1)
    world.clock.advance(CARRIED_TTL_MS)
    await carriedBy(world, carol, 0)
    await carol.restart()
    await world.connected()
    await handOff(bob, 'frank', 'new')
    await carriedBy(world, carol, 1)
  })

  test('that was told to carry nothing keeps headers alone', async () => {
    const world = await whileFrankIsAway()
    const { bob, carol } = world
    await carol.stop()
    await carol.start({ quotas: { ...DEFAULT_QUOTAS, carried: 0 } })
    await world.connected()
    const { thread_id } = await handOff(bob, 'frank', LARGE)
    await world.until('its header is there', async () => (await carol.disk.rows('entry')).length === 1)
    await bob.node.sendMessage({ thread_id, message: says('more') }, SESSION)
    await world.until('both are there', async () => (await carol.disk.rows('entry')).length === 2)
    expect(await bodiesOf(carol)).toBe(0)
    expect((await view(bob, thread_id)).delivery).toEqual({ stored_here: true })
  })

  test('never holds more than its quotas, of one author and in all, and has room again after an acknowledgement', async () => {
    const world = await whileFrankIsAway()
    const { bob, frank, carol } = world
    await carol.stop()
    const sealed = 64 * 1024 + 16
    await carol.start({ quotas: { ...DEFAULT_QUOTAS, carried: 5 * sealed, carriedOfAuthor: 2 * sealed } })
    await world.connected()
    for (let i = 0; i < 4; i++) await handOff(bob, 'frank', `${i} ${LARGE}`)
    await world.until('all headers are there', async () => (await carol.disk.rows('entry')).length === 4)
    await carriedBy(world, carol, 2)
    expect(carol.node.memory().carried).toBe(2 * sealed)
    await frank.start()
    await world.until('frank has all', async () => (await bodiesOf(frank)) === 4)
    await carriedBy(world, carol, 0)
    await frank.stop()
    await handOff(bob, 'frank', LARGE)
    await carriedBy(world, carol, 1)
  })
})
