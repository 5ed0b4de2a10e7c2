/** What people and agents are told of delivery, of bootstrap servers and of a copied key: each only when it was observed. */
import { describe, expect, test } from 'vitest'
import { textId } from '../../protocol/index.ts'
import { emptyStory } from '../cast.ts'
import { entriesMessage, entriesOn, impersonate } from './impostor.ts'
import { withPost } from './mailboxes.ts'
import { arrives, handOff, pair, refused, stoppedAcme, symbolOf, trio, view, viewOnce } from './world.ts'

describe('four different answers', () => {
  test('nobody of that name', async () => {
    const { bob } = await pair()
    const error = await refused(handOff(bob, 'dave', 'who?'))
    expect(error.symbol).toBe('recipient_not_found')
    expect(error.toObject('r').http_status).toBe(404)
    expect(error.details).toMatchObject({ handles: ['frank@acme'] })
  })

  test('somebody who is away: that is no error, it is queued and said to be', async () => {
    const { bob, frank, until } = await pair()
    await frank.stop()
    await until('bob notices', async () => !(await bob.node.listTeammates({})).items[1]?.reachable)
    const sent = await handOff(bob, 'frank', 'for later')
    expect(sent).toMatchObject({ status: 'pending', delivery: { stored_here: true } })
    const status = await bob.node.status()
    expect(status.waiting).toEqual([{ device: 'frank/frank-laptop', entries: 1, stored_at: [] }])
    expect(status.teammates.find(({ me }) => !me)).toMatchObject({ reachable: false, blocked: false })
    const pinged = await bob.node.ping({ handle: 'frank' })
    expect(pinged.items).toMatchObject([{ device: 'frank/frank-laptop', failure: expect.any(String) as string }])
  })

  test('somebody unknown is not pinged', async () => {
    const { bob } = await pair()
    expect(await symbolOf(bob.node.ping({ handle: 'dave' }))).toBe('recipient_not_found')
  })

  test('one who is not in the thread is told as if there were none', async () => {
    const { bob, carol } = await trio()
    const { thread_id } = await handOff(bob, 'frank', 'not for carol')
    expect(await symbolOf(view(carol, thread_id))).toBe('thread_not_found')
  })
})

test('what waits is told by device, with everybody who keeps it: a teammate, and a mailbox', async () => {
  const { world, start, bob, carol } = await withPost()
  await start(bob)
  await start(carol)
  await world.connected()
  const { thread_id } = await handOff(bob, 'frank', 'kept twice')
  const { delivery } = await viewOnce(world, bob, thread_id, (seen) => seen.delivery.carriers?.length === 2)
  const names = ['carol/carol-laptop', expect.stringMatching(/^mailbox at /) as string]
  expect(delivery.carriers?.map(({ name }) => name).toSorted()).toEqual(names)
  const status = await bob.node.status()
  expect(status.waiting).toMatchObject([{ device: 'frank/frank-laptop', entries: 1 }])
  expect(status.waiting[0]?.stored_at.toSorted()).toEqual(names)
  expect(status).toMatchObject({
    mailbox: true,
    bootstrap: [{ connected: true, mailbox: { left: 1, turned_away: [] } }],
  })
  expect((await carol.node.status()).carried).toEqual({ entries: 1, bytes: 272 })
})

describe('an entry that is signed with this laptop’s key and was never written here', () => {
  test('means that another machine has the key, which is remembered over a restart', async () => {
    const world = await stoppedAcme('frank', 'mallory')
    const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
    await bob.start()
    await frank.start()
    await world.connected()
    const { thread_id } = await handOff(bob, 'frank', 'one key, two machines')
    await arrives(world, frank, thread_id)
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
    expect(await bob.node.status()).not.toHaveProperty('twin')
    const mallory = await impersonate(world, world.laptop('mallory'))
    const story = emptyStory(mallory.workspace, [], [])
    const past = (await entriesOn(bob.disk)).map((entry) => story.add(entry))
    const twin = { ...mallory.workspace.owner }
    const said = story.draft(twin, 'message', {}, { past })
    const talk = await mallory.meet(bob)
    await talk.say(entriesMessage(past[0]?.id ?? '', [{ entry: said, body: null }], [said.id]))
    const words = await world.until('bob notices', async () => (await bob.node.status()).twin)
    expect(words).toContain('another machine runs with this key')
    expect(words).toContain(textId('thread', past[0]?.id ?? ''))
    await bob.restart()
    expect((await bob.node.status()).twin).toBe(words)
  })

  test('is expected while a part of the store is lost, and no alarm', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'lost and found')
    await arrives(world, frank, thread_id)
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
    await bob.stop()
    const entries = await bob.disk.rows('entry')
    await bob.disk.write(entries.map(([key]) => ({ type: 'del', space: 'entry', key })))
    await bob.start({ rebuild: true })
    await viewOnce(world, bob, thread_id, (seen) => seen.entries.length === 1)
    expect(await bob.node.status()).not.toHaveProperty('twin')
  })
})
