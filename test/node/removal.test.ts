/** Members and laptops that are removed: who may, what stops, what everybody else does, who has not confirmed. */
import { describe, expect, test } from 'vitest'
import { parseRosterEntry } from '../../protocol/index.ts'
import { laptops, dropKeys, running } from './shut-out-laptop.ts'
import {
  arrives,
  handOff,
  inboxItem,
  type Laptop,
  refused,
  says,
  SESSION,
  symbolOf,
  view,
  type World,
} from './world.ts'

const rosterKinds = async (laptop: Laptop): Promise<string[]> =>
  (await laptop.disk.rows('roster')).flatMap(([, envelope]) => {
    const entry = parseRosterEntry(envelope)
    return entry.ok ? [entry.value.header.kind] : []
  })

const epochs = async (laptop: Laptop): Promise<string[]> =>
  (await laptop.disk.rows('secret')).flatMap(([key]) => (key.startsWith('workspace/') ? [key] : []))

/** Why its own node lets a laptop do nothing any more. */
function knows(world: World, laptop: Laptop): Promise<unknown> {
  return world.until(`${laptop.name} knows that it was removed`, () =>
    laptop.node.listThreads({}).then(
      () => undefined,
      (error: unknown) => error,
    ),
  )
}

const REMOVED = { symbol: 'unauthenticated', message: 'This device was removed from its workspace.' }

describe('the owner removes', () => {
  test('a laptop: it is told so, and everybody else goes on under a new workspace key', async () => {
    const world = await running('frank', 'frank2', 'carol')
    const [bob, frank, frank2, carol] = laptops(world, 'bob', 'frank', 'frank2', 'carol')
    const result = await bob.node.remove({ name: 'frank/frank2-laptop' })
    expect(result).toMatchObject({
      handle: 'frank@acme',
      member_removed: false,
      removed: ['frank/frank2-laptop'],
      last_device: false,
      open_invites: 0,
    })
    expect(await knows(world, frank2)).toMatchObject(REMOVED)
    expect(frank2.net.peers()).toEqual([])
    await world.until('everybody has confirmed', async () => (await bob.node.status()).unconfirmed.length === 0)
    for (const laptop of [bob, frank, carol]) expect(await epochs(laptop)).toEqual(['workspace/0', 'workspace/1'])
    expect(await epochs(frank2)).toEqual(['workspace/0'])
    const { items } = await carol.node.members()
    expect(items.find(({ handle }) => handle === 'frank@acme')?.devices).toMatchObject([
      { device: 'frank/frank-laptop', removed: false, confirmed: true },
      { device: 'frank/frank2-laptop', removed: true, reachable: false },
    ])
    const { thread_id } = await handOff(bob, 'frank', 'after')
    await arrives(world, frank, thread_id)
  })

  test('a member with all laptops, who can be invited anew under the name and comes with another key', async () => {
    const world = await running('frank', 'frank2')
    const [bob, frank, frank2] = [world.laptop('bob'), world.laptop('frank'), world.laptop('frank2')]
    const { thread_id } = await handOff(frank, 'bob', 'before')
    await arrives(world, bob, thread_id)
    expect(await bob.node.remove({ name: 'frank' })).toMatchObject({
      member_removed: true,
      removed: ['frank/frank-laptop', 'frank/frank2-laptop'],
      later: [],
      unconfirmed: [],
    })
    await knows(world, frank)
    await knows(world, frank2)
    expect(await symbolOf(handOff(bob, 'frank', 'hello?'))).toBe('recipient_not_found')
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    expect(await refused(frank.node.join({ code }))).toMatchObject({ symbol: 'unauthenticated' })
    const anew = await world.stranger('franks-new-laptop')
    await anew.start()
    await anew.node.join({ code })
    await world.until('they are connected', () => bob.net.peers().some(({ connected }) => connected))
    const later = await handOff(bob, 'frank', 'hello again')
    await arrives(world, anew, later.thread_id)
    expect((await epochs(anew)).at(-1)).toBe('workspace/1')
  })

  test('the last laptop of a member, and says what that means', async () => {
    const world = await running('frank')
    const bob = world.laptop('bob')
    expect(await bob.node.remove({ name: 'frank/frank-laptop' })).toMatchObject({ last_device: true })
    expect((await refused(handOff(bob, 'frank', 'hello?'))).message).toBe('frank has no laptop in this workspace.')
  })

  test('nobody that is not there, and not himself', async () => {
    const world = await running('frank', 'bob2')
    const bob = world.laptop('bob')
    const names = ['nobody', 'frank/nothing', 'frank@elsewhere', 'frank/frank-laptop/more', '']
    expect(await Promise.all(names.map((name) => symbolOf(bob.node.remove({ name }))))).toEqual(
      names.map(() => 'recipient_not_found'),
    )
    expect(await symbolOf(bob.node.remove({ name: 'bob' }))).toBe('forbidden')
    expect(await symbolOf(bob.node.remove({ name: 'bob/bob-laptop' }))).toBe('forbidden')
    expect(await bob.node.remove({ name: 'BOB/bob2-laptop' })).toMatchObject({ removed: ['bob/bob2-laptop'] })
    expect(await symbolOf(bob.node.remove({ name: 'bob/bob2-laptop' }))).toBe('recipient_not_found')
  })

  test('and nobody else does', async () => {
    const world = await running('frank', 'carol')
    const error = await refused(world.laptop('frank').node.remove({ name: 'carol' }))
    expect(error).toMatchObject({ symbol: 'forbidden', hint: 'Ask bob@acme to run relay-node member remove.' })
  })
})

describe('a removal is whole or not at all', () => {
  test('where the key of a laptop that stays is not here it names the laptop, and nothing is removed', async () => {
    const world = await running('frank', 'carol')
    const bob = world.laptop('bob')
    await world.laptop('carol').stop()
    await bob.stop()
    await dropKeys(bob.disk, world.laptop('carol').device)
    world.cut(bob, world.laptop('frank'))
    await bob.start()
    const before = (await bob.node.status()).roster.position
    const error = await refused(bob.node.remove({ name: 'frank' }))
    expect(error).toMatchObject({ symbol: 'state_changed', details: { devices: ['carol/carol-laptop'] } })
    expect(error.message).toContain('Nobody was removed')
    expect((await bob.node.status()).roster.position).toBe(before)
    await bob.restart()
    expect((await bob.node.status()).roster.position).toBe(before)
    // The laptop whose key is missing can go itself.
    expect(await bob.node.remove({ name: 'carol' })).toMatchObject({ member_removed: true })
  })

  test('where the disk fails the roster is as before, in memory too, and the same call works later', async () => {
    const world = await running('frank')
    const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
    const kinds = await rosterKinds(bob)
    bob.disk.failNext('roster')
    expect((await refused(bob.node.remove({ name: 'frank' }))).message).toContain('Nothing was saved')
    expect(await rosterKinds(bob)).toEqual(kinds)
    expect(await epochs(bob)).toEqual(['workspace/0'])
    expect((await bob.node.members()).items.every(({ removed }) => !removed)).toBe(true)
    const { thread_id } = await handOff(bob, 'frank', 'still here')
    await arrives(world, frank, thread_id)
    bob.disk.repair()
    await bob.restart()
    await bob.node.remove({ name: 'frank' })
    expect(await rosterKinds(bob)).toEqual([...kinds, 'remove-member', 'rekey'])
  })
})

describe('a removed laptop', () => {
  test('that was away hears of it from whomever it meets: the roster up to its removal, and no more', async () => {
    const world = await running('frank', 'carol')
    const [bob, frank, carol] = [world.laptop('bob'), world.laptop('frank'), world.laptop('carol')]
    await frank.stop()
    await bob.node.invite({ name: 'dora' })
    const before = (await rosterKinds(bob)).length
    await bob.node.remove({ name: 'frank' })
    await bob.node.invite({ name: 'emil' })
    await world.until('carol knows', async () => (await rosterKinds(carol)).length === before + 3)
    await bob.stop()
    await handOff(carol, 'bob', 'not for frank')
    await frank.start()
    expect(await knows(world, frank)).toMatchObject(REMOVED)
    expect((await rosterKinds(frank)).slice(-2)).toEqual(['invite', 'remove-member'])
    expect(await frank.disk.rows('entry')).toEqual([])
    expect(frank.net.peers()).toEqual([])
  })

  test('writes nothing, and its human reads what came before', async () => {
    const world = await running('frank')
    const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
    const { thread_id } = await handOff(bob, 'frank', 'before')
    await arrives(world, frank, thread_id)
    const waiting = symbolOf(frank.node.listThreads({ wait_s: 50, status: ['completed'] }))
    await bob.node.remove({ name: 'frank' })
    expect(await waiting).toBe('unauthenticated')
    const calls = [
      frank.node.whoami(),
      frank.node.listTeammates({}),
      frank.node.getThread({ thread_id }),
      frank.node.accept({ thread_id }, SESSION),
      frank.node.sendMessage({ thread_id, message: says('hello') }, SESSION),
      handOff(frank, 'bob', 'hello'),
      frank.node.members(),
    ]
    expect(await Promise.all(calls.map(symbolOf))).toEqual(calls.map(() => 'unauthenticated'))
    expect(await frank.node.status()).toMatchObject({ node_state: 'removed', workspaces: ['acme'] })
    const { items } = await frank.node.listThreads({ after_removal: true })
    expect(items.map((item) => item.thread_id)).toEqual([thread_id])
    const shown = await frank.node.getThread({ thread_id, after_removal: true })
    expect(shown.entries[0]).toMatchObject({ mine: false, content: { untrusted: { summary: 'before' } } })
    await frank.restart()
    expect(await frank.node.listThreads({}).catch((error: unknown) => error)).toMatchObject(REMOVED)
    expect(await inboxItem(bob, thread_id)).toBeDefined()
    expect((await view(bob, thread_id)).participants).toContainEqual(expect.objectContaining({ removed: true }))
  })
})

describe('who is away at a removal', () => {
  test('acts by it at the next contact, and is named until then', async () => {
    const world = await running('frank', 'carol')
    const [bob, frank, carol] = [world.laptop('bob'), world.laptop('frank'), world.laptop('carol')]
    await carol.stop()
    expect(await bob.node.remove({ name: 'frank' })).toMatchObject({
      stops_now: ['bob/bob-laptop'],
      later: ['carol/carol-laptop'],
      unconfirmed: ['carol/carol-laptop'],
    })
    await knows(world, frank)
    await bob.restart()
    expect((await bob.node.status()).unconfirmed).toEqual(['carol/carol-laptop'])
    await carol.start()
    await world.until('carol has confirmed', async () => (await bob.node.status()).unconfirmed.length === 0)
    expect(carol.net.peers().map(({ device }) => device)).toEqual([bob.device])
    const { thread_id } = await handOff(carol, 'bob', 'after')
    await arrives(world, bob, thread_id)
  })
})
