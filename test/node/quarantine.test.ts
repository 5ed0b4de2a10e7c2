/** Handoffs that a removed laptop began and that come too late are kept apart, until a person admits them. */
import { describe, expect, test } from 'vitest'
import { textId } from '../../protocol/index.ts'
import { frank2 as thief } from '../cast.ts'
import { entriesMessage, impersonate, type Impostor, sealedStory, type SealedStory, type Talk } from './impostor.ts'
import { idsOf } from './searching.ts'
import { laptops, kindsOn, running } from './shut-out-laptop.ts'
import {
  agreed,
  arrives,
  handOff,
  inboxItem,
  type Laptop,
  plain,
  SESSION,
  symbolOf,
  view,
  type World,
} from './world.ts'

interface Late {
  world: World
  bob: Laptop
  frank: Laptop
  carol: Laptop
  impostor: Impostor
  story: SealedStory
  /** A handoff that the thief signed for bob; its id in text. */
  late: string
  talk: Talk
}

/** frank2 was removed; carol has not heard of it and holds what the thief signed since; bob and frank are cut off from her. */
async function lateHandoff(): Promise<Late> {
  const world = await running('frank', 'frank2', 'carol')
  const [bob, frank, frank2, carol] = laptops(world, 'bob', 'frank', 'frank2', 'carol')
  await frank2.stop()
  for (const laptop of [bob, frank]) world.cut(laptop, carol)
  await bob.node.remove({ name: 'frank/frank2-laptop' })
  const impostor = await impersonate(world, frank2)
  const dice = frank2.system.dice
  const options = {
    workspace: impostor.workspace,
    disk: frank2.disk,
    from: thief,
    to: { ...thief, device: bob.device },
  }
  const story = await sealedStory({ ...options, body: { summary: 'pay the invoice', artifacts: [] }, dice })
  const talk = await impostor.meet(carol)
  await talk.say(entriesMessage(story.create.id, [story.first], [story.create.id]))
  await talk.hear('got')
  return { world, bob, frank, carol, impostor, story, late: textId('thread', story.create.id), talk }
}

describe('a handoff that a removed laptop began', () => {
  test('is stored and shown nowhere, not acknowledged and not sent on, and peers come to rest', async () => {
    const { world, bob, frank, carol, late } = await lateHandoff()
    await world.heal(bob, carol)
    await world.until('bob keeps it', async () => (await bob.node.status()).quarantined === 1)
    expect(await inboxItem(bob, late)).toBeUndefined()
    expect(await symbolOf(bob.node.getThread({ thread_id: late }))).toBe('thread_not_found')
    expect(await symbolOf(bob.node.accept({ thread_id: late }, SESSION))).toBe('thread_not_found')
    for (const query of ['invoice', '']) expect(await idsOf(bob, query)).toEqual([])
    expect(await bob.node.status()).toMatchObject({ threads: 0, unread: 0 })
    expect(await kindsOn(bob.disk)).toEqual(['create'])
    expect((await bob.node.listQuarantine()).items).toMatchObject([
      {
        thread_id: late,
        from: { handle: 'frank@acme', device: 'frank/frank2-laptop' },
        to: 'bob@acme',
        status: 'pending',
        preview: { untrusted: 'pay the invoice' },
      },
    ])
    // A handoff between the others goes its way beside it, and frank is never told of the late one.
    const { thread_id } = await handOff(bob, 'frank', 'something else')
    await arrives(world, frank, thread_id)
    for (let beacon = 0; beacon < 3; beacon++) world.clock.advance(10 * 60_000)
    await agreed(world, thread_id, bob, frank)
    expect((await frank.disk.rows('thread')).map(([id]) => textId('thread', id))).toEqual([thread_id])
    await bob.restart()
    expect(await inboxItem(bob, late)).toBeUndefined()
    expect((await bob.node.listQuarantine()).items).toHaveLength(1)
  })

  test('keeps nobody from being in sync: who lost a part of the store recovers beside a peer that keeps one apart', async () => {
    const { world, bob, frank, carol, late } = await lateHandoff()
    await world.heal(bob, carol)
    await world.until('bob keeps it', async () => (await bob.node.status()).quarantined === 1)
    const { thread_id } = await handOff(bob, 'frank', 'something else')
    await arrives(world, frank, thread_id)
    await agreed(world, thread_id, bob, frank)
    await frank.stop()
    await frank.start({ rebuild: true })
    world.clock.advance(20_000)
    await world.until('frank may write again', async () =>
      frank.node.accept({ thread_id }, SESSION).then(
        () => true,
        () => {
          world.clock.advance(5000)
          return false
        },
      ),
    )
    expect(await inboxItem(bob, late)).toBeUndefined()
  })

  test('is one like any other once a person admitted it: with the same digest everywhere', async () => {
    const { world, bob, frank, carol, late } = await lateHandoff()
    await world.heal(bob, carol)
    await world.until('bob keeps it', async () => (await bob.node.status()).quarantined === 1)
    expect(await symbolOf(bob.node.admitQuarantined({ thread_id: 'ho_other' }))).toBe('thread_not_found')
    expect(await bob.node.admitQuarantined({ thread_id: late })).toMatchObject({ thread_id: late })
    expect(await arrives(world, bob, late)).toMatchObject({ unread_count: 1, side: 'in' })
    expect(await idsOf(bob, 'invoice')).toEqual([late])
    expect(plain((await view(bob, late)).entries[0]?.content)).toMatchObject({ summary: 'pay the invoice' })
    await world.until('it is fenced', async () => (await kindsOn(bob.disk)).includes('fence'))
    expect((await bob.node.listQuarantine()).items).toEqual([])
    // It is sent on now, and who has it from bob keeps it apart in turn.
    await world.until('frank keeps it apart', async () => (await frank.node.status()).quarantined === 1)
    await frank.node.admitQuarantined({ thread_id: late })
    await bob.node.accept({ thread_id: late }, SESSION)
    expect((await agreed(world, late, bob))[0]).toMatchObject({ status: 'accepted' })
    await world.until('frank holds the same', async () => {
      const [atBob, atFrank] = [await kindsOn(bob.disk), await kindsOn(frank.disk)]
      return atBob.length === atFrank.length
    })
    await bob.restart()
    expect(await inboxItem(bob, late)).toMatchObject({ status: 'accepted' })
  })

  test('that was stored before the removal is known is none of these', async () => {
    const world = await running('frank', 'carol')
    const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
    const { thread_id } = await handOff(frank, 'bob', 'in time')
    await arrives(world, bob, thread_id)
    await bob.node.remove({ name: 'frank' })
    expect(await inboxItem(bob, thread_id)).toBeDefined()
    expect((await bob.node.status()).quarantined).toBe(0)
    await bob.stop()
    await bob.start({ rebuild: true })
    expect(await inboxItem(bob, thread_id)).toBeDefined()
    expect((await bob.node.status()).quarantined).toBe(0)
  })
})
