/** What a removal does to open handoffs: fences and new keys, written by the nodes themselves. */
import { describe, expect, test } from 'vitest'
import { DEVICE_WRAPS_COUNT_MAX, type Entry, type Hex, SIDE_DEVICES_COUNT_MAX } from '../../protocol/index.ts'
import { putEntry, putRosterEntry } from '../../src/node/rows.ts'
import type { Space } from '../../src/store/store.ts'
import { actor, CLOCK_MS } from '../cast.ts'
import { impersonate, workspaceOn } from './impostor.ts'
import { enrolSecond } from './second-laptop.ts'
import { message, share } from './sharing.ts'
import {
  dropKeys,
  entriesOn,
  isFenced,
  keysOn,
  kindsOn,
  laptops,
  readableWith,
  running,
  storyOn,
} from './shut-out-laptop.ts'
import {
  agreed,
  arrives,
  handOff,
  type Laptop,
  refused,
  says,
  SESSION,
  stoppedAcme,
  symbolOf,
  view,
  viewOnce,
  type World,
} from './world.ts'

const LEFT_TO_OTHERS_MS = 2000

/** Everybody holds what `at` holds of the one thread, and it has entries of these kinds, receipts aside. */
async function comesTo(world: World, at: Laptop, thread: string, kinds: string[]): Promise<void> {
  await viewOnce(world, at, thread, () => true)
  await world.until(`${at.name} holds ${kinds.join(', ')}`, async () => {
    const found = (await kindsOn(at.disk)).filter((kind) => kind !== 'ack')
    return found.toSorted().join() === kinds.toSorted().join()
  })
}

const wrapsOn = async (laptop: Laptop): Promise<Extract<Entry['header'], { kind: 'wrap' }>[]> =>
  (await entriesOn(laptop.disk)).flatMap(({ header }) => (header.kind === 'wrap' ? [header] : []))

const coveredBy = (header: { ctl: { wraps: readonly (readonly [Hex, ...unknown[]])[] } }): Hex[] =>
  header.ctl.wraps.map(([device]) => device).toSorted()

describe('a laptop of the other side is removed', () => {
  test('the side that stays fences it once and changes the key; what is written then it cannot open', async () => {
    const world = await running('frank', 'frank2')
    const [bob, frank, frank2] = laptops(world, 'bob', 'frank', 'frank2')
    const { thread_id } = await handOff(bob, 'frank', 'before')
    await arrives(world, frank, thread_id)
    await arrives(world, frank2, thread_id)
    await agreed(world, thread_id, bob, frank, frank2)
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await comesTo(world, bob, thread_id, ['create', 'fence', 'wrap'])
    expect(await isFenced(bob, thread_id, 'frank/frank2-laptop')).toBe(true)
    await comesTo(world, frank, thread_id, ['create', 'fence', 'wrap'])
    const [wrap] = await wrapsOn(bob)
    expect(wrap && coveredBy(wrap)).toEqual([bob.device, frank.device].toSorted())
    await frank.node.accept({ thread_id }, SESSION)
    await bob.node.sendMessage({ thread_id, message: says('after') }, SESSION)
    await frank.node.complete({ thread_id, result_summary: 'done' }, SESSION)
    const [shown] = await agreed(world, thread_id, bob, frank)
    expect(shown).toMatchObject({ status: 'completed' })
    expect((await view(frank, thread_id)).entries.every(({ body }) => body === 'ok')).toBe(true)
    const [create] = await entriesOn(bob.disk)
    expect(await readableWith(frank2.disk, bob)).toEqual([create?.id])
    // Nobody wrote a second one in the meantime.
    world.clock.advance(10 * LEFT_TO_OTHERS_MS)
    await bob.restart()
    expect((await kindsOn(bob.disk)).filter((kind) => kind === 'fence' || kind === 'wrap')).toEqual(['fence', 'wrap'])
  })

  test('of two laptops of a side the first by rank does it, and the other where that one is away', async () => {
    const world = await running('bob2', 'frank', 'frank2')
    const [bob, bob2, frank, frank2] = laptops(world, 'bob', 'bob2', 'frank', 'frank2')
    const first = await handOff(bob, 'frank', 'first')
    for (const laptop of [bob2, frank, frank2]) await arrives(world, laptop, first.thread_id)
    await frank2.stop()
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await comesTo(world, bob2, first.thread_id, ['create', 'fence', 'wrap'])
    expect((await entriesOn(bob2.disk)).find(({ header }) => header.kind === 'fence')?.header.dev).toBe(bob.device)
    world.clock.advance(2 * LEFT_TO_OTHERS_MS)
    await agreed(world, first.thread_id, bob, bob2, frank)
    expect((await kindsOn(bob2.disk)).toSorted()).toEqual((await kindsOn(bob.disk)).toSorted())
  })

  test('while the first by rank is away another laptop of its side does it, and it writes none when it is back', async () => {
    const world = await running('bob2', 'frank', 'frank2', 'carol')
    const [bob, bob2, frank, frank2] = laptops(world, 'bob', 'bob2', 'frank', 'frank2')
    const { thread_id } = await handOff(bob2, 'frank', 'from the second one')
    for (const laptop of [bob, frank, frank2]) await arrives(world, laptop, thread_id)
    await bob2.stop()
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await comesTo(world, frank, thread_id, ['create', 'fence', 'wrap'])
    await bob2.start()
    await comesTo(world, bob2, thread_id, ['create', 'fence', 'wrap'])
    world.clock.advance(2 * LEFT_TO_OTHERS_MS)
    await agreed(world, thread_id, bob, bob2, frank)
    expect((await kindsOn(bob.disk)).filter((kind) => kind === 'fence' || kind === 'wrap')).toEqual(['fence', 'wrap'])
  })

  test('the fence is left to a laptop that is connected and does nothing, for two seconds and not longer', async () => {
    const world = await running('bob2', 'frank', 'frank2')
    const [bob, bob2, frank, frank2] = laptops(world, 'bob', 'bob2', 'frank', 'frank2')
    const { thread_id } = await handOff(bob2, 'frank', 'from the second one')
    for (const laptop of [bob, frank, frank2]) await arrives(world, laptop, thread_id)
    await agreed(world, thread_id, bob, bob2, frank, frank2)
    await frank2.stop()
    await bob2.stop()
    const silent = await impersonate(world, bob2)
    await silent.meet(bob)
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await world.until('somebody waits for bob’s other laptop', () => world.clock.isAwaited(LEFT_TO_OTHERS_MS))
    expect(await kindsOn(bob.disk)).not.toContain('fence')
    // frank waits for bob as long, and may write a key at the same moment, which harms nobody.
    for (const laptop of [bob, frank]) {
      await world.until(`${laptop.name} holds a fence and a key`, async () => {
        world.clock.advance(LEFT_TO_OTHERS_MS)
        const kinds = await kindsOn(laptop.disk)
        return kinds.includes('fence') && kinds.includes('wrap')
      })
    }
    const fences = (await entriesOn(frank.disk)).filter(({ header }) => header.kind === 'fence')
    expect(fences.map(({ header }) => header.dev)).toEqual([bob.device])
  })
})

test('a laptop of one’s own side is removed: the other side fences it, and its own side reads on', async () => {
  const world = await running('bob2', 'frank')
  const [bob, bob2, frank] = laptops(world, 'bob', 'bob2', 'frank')
  const { thread_id } = await handOff(bob, 'frank', 'before')
  await arrives(world, frank, thread_id)
  await arrives(world, bob2, thread_id)
  await bob.node.remove({ name: 'bob/bob2-laptop' })
  await comesTo(world, frank, thread_id, ['create', 'fence', 'wrap'])
  const fence = (await entriesOn(frank.disk)).find(({ header }) => header.kind === 'fence')
  const [wrap] = await wrapsOn(frank)
  expect([fence?.header.dev, wrap?.dev]).toEqual([frank.device, bob.device])
  await frank.node.accept({ thread_id }, SESSION)
  await frank.node.sendMessage({ thread_id, message: says('for bob alone') }, SESSION)
  await agreed(world, thread_id, bob, frank)
  expect((await view(bob, thread_id)).entries.every(({ body }) => body === 'ok')).toBe(true)
  expect(await readableWith(bob2.disk, frank)).toHaveLength(1)
})

test('two removals one after the other make two keys, each with the older ones', async () => {
  const world = await running('bob2', 'frank', 'frank2')
  const [bob, bob2, frank, frank2] = laptops(world, 'bob', 'bob2', 'frank', 'frank2')
  const { thread_id } = await handOff(bob, 'frank', 'before')
  for (const laptop of [bob2, frank, frank2]) await arrives(world, laptop, thread_id)
  await bob.node.remove({ name: 'frank/frank2-laptop' })
  await comesTo(world, bob, thread_id, ['create', 'fence', 'wrap'])
  await bob.node.sendMessage({ thread_id, message: says('between') }, SESSION)
  await agreed(world, thread_id, bob, bob2, frank)
  await bob.node.remove({ name: 'bob/bob2-laptop' })
  await comesTo(world, frank, thread_id, ['create', 'fence', 'fence', 'message', 'wrap', 'wrap'])
  await bob.node.sendMessage({ thread_id, message: says('after') }, SESSION)
  await agreed(world, thread_id, bob, frank)
  expect([
    (await readableWith(frank2.disk, bob)).length,
    (await readableWith(bob2.disk, bob)).length,
    (await readableWith(frank.disk, bob)).length,
  ]).toEqual([1, 2, 3])
  expect(await keysOn(frank.disk)).toHaveLength(3)
  expect((await bob.node.status()).roster).toEqual((await frank.node.status()).roster)
})

test('completed and cancelled handoffs, and those of others, are left as they are', async () => {
  const world = await running('frank', 'frank2', 'carol')
  const [bob, frank, carol] = laptops(world, 'bob', 'frank', 'carol')
  const done = await handOff(bob, 'frank', 'done')
  await arrives(world, frank, done.thread_id)
  await frank.node.accept({ thread_id: done.thread_id }, SESSION)
  await frank.node.complete({ thread_id: done.thread_id, result_summary: 'done' }, SESSION)
  const gone = await handOff(bob, 'frank', 'never mind')
  await bob.node.cancel({ thread_id: gone.thread_id }, SESSION)
  const other = await handOff(bob, 'carol', 'for carol')
  await arrives(world, carol, other.thread_id)
  await viewOnce(world, bob, done.thread_id, ({ status }) => status === 'completed')
  await bob.node.remove({ name: 'frank/frank2-laptop' })
  await world.until('everybody has confirmed', async () => (await bob.node.status()).unconfirmed.length === 0)
  world.clock.advance(2 * LEFT_TO_OTHERS_MS)
  const later = await handOff(bob, 'carol', 'later')
  await arrives(world, carol, later.thread_id)
  for (const laptop of [bob, frank, carol])
    expect((await kindsOn(laptop.disk)).filter((kind) => kind === 'fence' || kind === 'wrap')).toEqual([])
})

describe('nothing is forgotten', () => {
  test('when the node dies after the removal is on disk and before the fence is', async () => {
    const world = await running('frank', 'frank2')
    const [bob, frank, frank2] = laptops(world, 'bob', 'frank', 'frank2')
    const { thread_id } = await handOff(bob, 'frank', 'before')
    await arrives(world, frank, thread_id)
    await arrives(world, frank2, thread_id)
    await agreed(world, thread_id, bob, frank, frank2)
    await frank.stop()
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await bob.stop()
    expect(await kindsOn(bob.disk)).not.toContain('fence')
    await bob.start()
    await comesTo(world, bob, thread_id, ['create', 'fence', 'wrap'])
    await frank.start()
    await comesTo(world, frank, thread_id, ['create', 'fence', 'wrap'])
  })

  test('of a handoff that comes here only after the removal', async () => {
    const world = await running('bob2', 'frank', 'frank2', 'carol')
    const [bob, bob2, frank, frank2, carol] = laptops(world, 'bob', 'bob2', 'frank', 'frank2', 'carol')
    await bob.stop()
    await frank.stop()
    const { thread_id } = await handOff(bob2, 'frank', 'while bob and frank are away')
    await arrives(world, frank2, thread_id)
    await bob2.stop()
    await frank2.stop()
    await bob.start()
    world.cut(bob, carol)
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await world.heal(bob, carol)
    await comesTo(world, bob, thread_id, ['create', 'fence', 'wrap'])
    await frank.start()
    await comesTo(world, frank, thread_id, ['create', 'fence', 'wrap'])
  })

  test('where the key of a laptop that stays is not here: status says so, nothing is written under the old one, and it is done when it comes', async () => {
    const world = await running('frank', 'frank2', 'carol')
    const [bob, frank, frank2, carol] = laptops(world, 'bob', 'frank', 'frank2', 'carol')
    const { thread_id } = await handOff(carol, 'frank', 'before')
    await arrives(world, frank, thread_id)
    await arrives(world, frank2, thread_id)
    await agreed(world, thread_id, carol, frank, frank2)
    await carol.stop()
    await dropKeys(carol.disk, frank.device)
    await frank.stop()
    await frank2.stop()
    const owner = await workspaceOn(bob.disk)
    await bob.stop()
    const removal = owner.draft('remove-device', { device: frank2.device })
    await carol.disk.write([putRosterEntry(removal.header.n, removal.id, removal.envelope)])
    await carol.start()
    await comesTo(world, carol, thread_id, ['create', 'fence'])
    expect((await carol.node.status()).keyless).toEqual([
      { thread_id, why: 'prekeys', devices: ['frank/frank-laptop'] },
    ])
    const error = await refused(carol.node.sendMessage({ thread_id, message: says('for frank alone') }, SESSION))
    expect(error).toMatchObject({ symbol: 'state_changed' })
    expect(await symbolOf(carol.node.cancel({ thread_id }, SESSION))).toBe('state_changed')
    await frank.start()
    await comesTo(world, carol, thread_id, ['create', 'fence', 'wrap'])
    expect((await carol.node.status()).keyless).toEqual([])
    await carol.node.sendMessage({ thread_id, message: says('for frank alone') }, SESSION)
    await agreed(world, thread_id, carol, frank)
    expect(await readableWith(frank2.disk, carol)).toHaveLength(1)
  })

  test('where this laptop has changed the key as often as it may: status says so, and nothing is written under the old one', async () => {
    const world = await running('frank', 'frank2')
    const [bob, frank] = laptops(world, 'bob', 'frank')
    const { thread_id } = await handOff(bob, 'frank', 'before')
    await arrives(world, frank, thread_id)
    await frank.stop()
    await bob.stop()
    const workspace = await workspaceOn(bob.disk)
    const story = await storyOn(bob.disk)
    for (let i = 0; i < DEVICE_WRAPS_COUNT_MAX; i++) story.say(actor('bob'), 'wrap')
    await bob.disk.write(
      story
        .entries()
        .slice((await entriesOn(bob.disk)).length)
        .map(({ envelope, thread }, i) => putEntry(thread, { envelope, arrival: 100 + i, receivedAt: CLOCK_MS })),
    )
    const removal = workspace.draft('remove-member', { member: workspace.member('frank') })
    await bob.disk.write([putRosterEntry(removal.header.n, removal.id, removal.envelope)])
    await bob.start({ rebuild: false })
    await world.until('bob says so', async () => (await bob.node.status()).keyless.length > 0)
    expect((await bob.node.status()).keyless).toEqual([{ thread_id, why: 'wraps', devices: [] }])
    expect(await symbolOf(bob.node.sendMessage({ thread_id, message: says('hello') }, SESSION))).toBe('state_changed')
  })

  // 8 KiB of header hold about 43 keys.
  test('where it is shared with more laptops than one key can be given to: status says so, and others are not held up', async () => {
    const members = ['carol', 'dave', 'erin', 'grace', 'heidi', 'ivan']
    const world = await stoppedAcme('frank', 'frank2', ...members)
    const [bob] = laptops(world, 'bob')
    const owner = (space: Space) => bob.disk.rows(space)
    for (const member of members) {
      for (let number = 2; number <= SIDE_DEVICES_COUNT_MAX; number++)
        await bob.disk.write((await enrolSecond({ owner, name: `${member}${number}`, system: bob.system })).everybody)
    }
    await bob.start()
    const [many, few] = [await handOff(bob, 'frank', 'for all'), await handOff(bob, 'frank', 'for most')]
    for (const reader of members) await share(bob, many.thread_id, reader)
    for (const reader of members.slice(1)) await share(bob, few.thread_id, reader)
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await world.until('the removal is dealt with', async () => (await wrapsOn(bob)).length > 0)
    await world.until('status says so', async () => (await bob.node.status()).keyless.length > 0)
    expect((await bob.node.status()).keyless).toEqual([{ thread_id: many.thread_id, why: 'devices', devices: [] }])
    expect(await symbolOf(message(bob, many.thread_id, 'after'))).toBe('state_changed')
    expect((await message(bob, few.thread_id, 'after')).thread_id).toBe(few.thread_id)
    expect((await wrapsOn(bob)).map((wrap) => coveredBy(wrap).length)).toEqual([2 + 5 * SIDE_DEVICES_COUNT_MAX])
  })

  test('with every write: what is said before the fences are made is under a key of its own already', async () => {
    const world = await running('frank', 'frank2')
    const [bob, frank, frank2] = laptops(world, 'bob', 'frank', 'frank2')
    const { thread_id } = await handOff(bob, 'frank', 'before')
    await arrives(world, frank, thread_id)
    await arrives(world, frank2, thread_id)
    await agreed(world, thread_id, bob, frank, frank2)
    await Promise.all([
      bob.node.remove({ name: 'frank/frank2-laptop' }),
      bob.node.sendMessage({ thread_id, message: says('after, at once') }, SESSION),
    ])
    expect((await kindsOn(bob.disk)).filter((kind) => kind !== 'ack')).toEqual(['create', 'fence', 'wrap', 'message'])
    await agreed(world, thread_id, bob, frank)
    expect(await readableWith(frank2.disk, bob)).toHaveLength(1)
  })
})
