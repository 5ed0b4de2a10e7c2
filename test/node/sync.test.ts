/** Two nodes that meet end up with the same, and what has not changed costs next to nothing. */
import { describe, expect, test } from 'vitest'
import { encodeSync } from '../../protocol/index.ts'
import { emptyStory } from '../cast.ts'
import { entriesMessage, entriesOn, impersonate } from './impostor.ts'
import { agreed, arrives, handOff, pair, plain, says, SESSION, stoppedAcme, view, viewOnce } from './world.ts'

test('two nodes with different halves of a history converge', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'shared')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await agreed(world, thread_id, bob, frank)
  world.cut(bob, frank)
  const say = (at: typeof bob, text: string) => at.node.sendMessage({ thread_id, message: says(text) }, SESSION)
  for (let i = 0; i < 5; i++) await Promise.all([say(bob, `bob ${i}`), say(frank, `frank ${i}`)])
  const alone = [await handOff(bob, 'frank', 'bob’s own'), await handOff(frank, 'bob', 'frank’s own')]
  await world.heal(bob, frank)
  for (const id of [thread_id, ...alone.map((handoff) => handoff.thread_id)]) {
    const [atBob, atFrank] = await agreed(world, id, bob, frank)
    expect(atFrank?.entries.map(({ entry_id }) => entry_id).toSorted()).toEqual(
      atBob?.entries.map(({ entry_id }) => entry_id).toSorted(),
    )
  }
})

test('a hundred entries and more that were missed come after a cut, and one receipt answers them', async () => {
  const world = await pair()
  const { bob, frank } = world
  world.cut(bob, frank)
  const ids: string[] = []
  for (let i = 0; i < 20; i++) {
    const { thread_id } = await handOff(bob, 'frank', `thread ${i}`)
    for (let j = 0; j < 5; j++) {
      await bob.node.sendMessage({ thread_id, message: says(`${j}`) }, { session: `${i} ${j}` })
      world.clock.advance(1000)
    }
    ids.push(thread_id)
  }
  await world.heal(bob, frank)
  for (const id of ids) await agreed(world, id, bob, frank)
  expect((await frank.node.status()).unread).toBe(120)
  expect((await bob.node.status()).outbox).toBe(0)
  expect(await frank.disk.rows('entry')).toHaveLength(140)
})

test('large bodies in many entries arrive, in both directions at once', async () => {
  const world = await pair()
  const { bob, frank } = world
  const large = 'x'.repeat(255 * 1024)
  world.cut(bob, frank)
  const sent: string[] = []
  for (let i = 0; i < 8; i++) {
    sent.push((await handOff(bob, 'frank', large)).thread_id)
    sent.push((await handOff(frank, 'bob', large)).thread_id)
  }
  await world.heal(bob, frank)
  for (const id of sent) {
    for (const at of [bob, frank]) {
      const seen = await viewOnce(world, at, id, ({ entries }) => entries[0]?.body === 'ok')
      expect(plain(seen.entries[0]?.content)?.summary).toBe(large)
    }
  }
})

test('both branches of a forked device reach everyone, and everyone names it', async () => {
  const world = await stoppedAcme('frank', 'carol', 'mallory')
  const [bob, frank, carol] = [world.laptop('bob'), world.laptop('frank'), world.laptop('carol')]
  for (const laptop of [bob, frank, carol]) await laptop.start()
  await world.connected()
  const { thread_id } = await handOff(bob, 'mallory', 'for mallory')
  await world.until('carol holds it', async () => (await carol.disk.rows('entry')).length === 1)
  const mallory = await impersonate(world, world.laptop('mallory'))
  const story = emptyStory(mallory.workspace, [], [])
  const [talkToBob, talkToFrank] = [await mallory.meet(bob), await mallory.meet(frank)]
  const [create] = await entriesOn(bob.disk)
  if (!create) throw new Error('bob holds what he sent')
  const past = [story.add(create)]
  // To bob it acknowledges, to frank it accepts: two entries with the number 0.
  const [toBob, toFrank] = [story.draft(mallory, 'ack', {}, { past }), story.draft(mallory, 'message', {}, { past })]
  await talkToBob.say(entriesMessage(create.id, [{ entry: toBob, body: null }]))
  await talkToFrank.say(entriesMessage(create.id, [{ entry: toFrank, body: null }]))
  for (const laptop of [bob, frank, carol])
    await world.until(`${laptop.name} holds both`, async () => {
      // Whoever was not told is told by the next beacon.
      world.clock.advance(10 * 60_000)
      const held = new Set((await entriesOn(laptop.disk)).map(({ id }) => id))
      return held.has(toBob.id) && held.has(toFrank.id)
    })
  expect((await view(bob, thread_id)).forks).toEqual(['mallory/mallory-laptop'])
})

describe('where nothing is new', () => {
  /** What bob says to a peer that holds the same as he, and how large it is. */
  async function exchange(threads: number): Promise<{ said: string[]; bytes: number }> {
    const world = await stoppedAcme('frank', 'mallory')
    const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
    const mallory = await impersonate(world, world.laptop('mallory'))
    await bob.start()
    for (let i = 0; i < threads; i++) {
      await bob.node.sendHandoff({ recipient: 'frank', intent: 'inform', message: says(`${i}`) }, { session: `${i}` })
    }
    expect(frank.running).toBe(false)
    const talk = await mallory.meet(bob)
    await talk.say(mallory.hello())
    const { buckets } = await talk.hear('digests')
    await talk.say({ t: 'digests', buckets })
    await talk.catchUp()
    // The last answer was to the question that made sure nothing else would come.
    const said = talk.heard.slice(0, -1)
    const bytes = said.reduce((sum, message) => sum + encodeSync(message).length, 0)
    return { said: said.map(({ t }) => t), bytes }
  }

  test('one exchange of a hello and 256 digests is all, for 10 threads as for 300', async () => {
    const [few, many] = [await exchange(10), await exchange(300)]
    expect(few.said).toEqual(['hello', 'digests'])
    expect(many.said).toEqual(few.said)
    expect(many.bytes).toBe(few.bytes)
    expect(2 * many.bytes).toBeLessThan(16 * 1024)
  })
})
