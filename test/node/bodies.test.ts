/** Sealed bodies: they come with their entry or later, and one that does not open decides nothing. */
import { describe, expect, test } from 'vitest'
import { DEPS_COUNT_MAX, hash, signEntry, textId } from '../../protocol/index.ts'
import { admitBodies } from '../../src/node/admit.ts'
import { openContent } from '../../src/node/contents.ts'
import { type Actor, actor, dice } from '../cast.ts'
import { entriesMessage, impersonate, type SealedEntry, sealedStory, type SealedStory } from './impostor.ts'
import { bareHandoffs, mallory, receiver, sayMany } from './receiver.ts'
import { plain, stoppedAcme, view, viewOnce } from './world.ts'

const bare = ({ entry }: SealedEntry): SealedEntry => ({ entry, body: null })

describe('a body', () => {
  test('that comes after its entry is kept and opened; receipts wait for it', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const { id } = story.create
    expect((await at.take([bare(story.first)])).said).toHaveLength(0)
    const thread = await at.thread(id)
    expect(await openContent(at.held, thread, story.create)).toEqual({ state: 'missing' })
    const { changed, said } = await admitBodies(at.held, id, [[id, story.first.body ?? new Uint8Array()]])
    expect([changed.size, said.length]).toEqual([1, 1])
    expect(await openContent(at.held, await at.thread(id), story.create)).toMatchObject({
      state: 'ok',
      body: { summary: 'first' },
    })
    expect((await at.thread(id)).row?.preview).toMatchObject({ text: 'first', mine: false })
  })

  test('that does not fit the hash in the header is not kept, with its entry or later', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const { id } = story.create
    const wrong = new Uint8Array(story.first.body ?? []).fill(1, 0, 1)
    await at.take([{ entry: story.create, body: wrong }])
    await admitBodies(at.held, id, [[id, wrong]])
    await at.take([{ entry: story.create, body: wrong }])
    expect(await at.disk.rows('body')).toHaveLength(0)
    await admitBodies(at.held, id, [[id, story.first.body ?? new Uint8Array()]])
    expect(await at.disk.rows('body')).toHaveLength(1)
  })

  test('of an entry that is not here, or of another thread, is not kept', async () => {
    const at = await receiver()
    const [story, other] = [await at.story('first'), await at.story('other')]
    await at.take([bare(story.first), bare(other.first)])
    await admitBodies(at.held, story.create.id, [
      [other.create.id, other.first.body ?? new Uint8Array()],
      ['ab'.repeat(32), new Uint8Array(272)],
    ])
    expect(await at.disk.rows('body')).toHaveLength(0)
  })

  test('comes again with an entry that is known: then it is taken', async () => {
    const at = await receiver()
    const story = await at.story('first')
    await at.take([bare(story.first)])
    const { changed } = await at.take([story.first])
    expect([...changed]).toEqual([story.create.id])
    expect(await at.disk.rows('body')).toHaveLength(1)
  })
})

describe('a receipt names what it lacks', () => {
  const lackOf = async (at: Awaited<ReturnType<typeof receiver>>, id: string) => {
    const ack = (await at.thread(id)).graph.byKind.ack.at(-1)
    return ack?.entry.header.ctl.lack
  }

  test('a body whose key was not wrapped so that it opens', async () => {
    const at = await receiver()
    const [first] = bareHandoffs(at.workspace, 1)
    const header = first?.entry.header
    if (!header?.body) throw new Error('a create has a body')
    const body = new Uint8Array(header.body.n)
    const entry = signEntry({ ...header, body: { ...header.body, h: hash('ciphertext', [body]) } }, mallory.key)
    await at.take([{ entry, body }])
    expect(await openContent(at.held, await at.thread(entry.id), entry)).toMatchObject({ state: 'unreadable' })
    expect(await lackOf(at, entry.id)).toEqual([entry.id])
  })

  test('a body that does not open under its key, and not one that opens and has another shape', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const broken = tampered(story, mallory)
    story.add(broken.entry)
    const misshapen = story.seal(mallory, 'message', new TextEncoder().encode('no canonical bytes'))
    story.add(misshapen.entry)
    await at.take([story.first, broken, misshapen])
    const { id } = story.create
    const thread = await at.thread(id)
    expect(await openContent(at.held, thread, broken.entry)).toMatchObject({ why: 'seal_broken' })
    expect(await openContent(at.held, thread, misshapen.entry)).toMatchObject({ state: 'unreadable' })
    expect(await lackOf(at, id)).toEqual([broken.entry.id])
    const more = sayMany(story, 1)
    await at.take(more)
    expect(await lackOf(at, id), 'what is lacking stays lacking').toEqual([broken.entry.id])
  })

  test('of what it names only: a peer that forks makes more heads than one receipt can name', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const heads = Array.from({ length: DEPS_COUNT_MAX + 8 }, () => tampered(story, mallory))
    const { said } = await at.take([story.first, ...heads])
    expect(said).toHaveLength(1)
    expect((await at.thread(story.create.id)).graph.byKind.message).toHaveLength(heads.length)
    expect(await lackOf(at, story.create.id)).toHaveLength(DEPS_COUNT_MAX)
  })
})

test('unreadable bodies are shown as such and change no state; the sender sees that they were not delivered', async () => {
  const world = await stoppedAcme('frank', 'mallory')
  const [atFrank, laptop] = [world.laptop('frank'), world.laptop('mallory')]
  await atFrank.start()
  const peer = await impersonate(world, laptop)
  const story = await sealedStory({
    workspace: peer.workspace,
    disk: laptop.disk,
    from: peer,
    to: actor('frank'),
    body: { summary: 'readable', artifacts: [] },
    dice: dice('unreadable'),
  })
  const broken = tampered(story, peer)
  story.add(broken.entry)
  const talk = await peer.meet(atFrank)
  await talk.say(entriesMessage(story.create.id, [story.first, broken], [broken.entry.id]))
  const id = textId('thread', story.create.id)
  const seen = await viewOnce(world, atFrank, id, ({ entries }) => entries.length === 2)
  expect(seen.entries.map(({ body, content }) => [body, plain(content)])).toEqual([
    ['ok', { summary: 'readable' }],
    ['unreadable', undefined],
  ])
  expect(seen).toMatchObject({ status: 'pending', unread_count: 2, artifacts: [] })
  expect((await view(atFrank, id)).entries[1]?.sequence_no).toBe(3)
})

/** A message whose header names the hash of bytes that open under no key. */
function tampered(story: SealedStory, who: Actor): SealedEntry {
  const { entry } = story.seal(who, 'message', { body: 'never to be read', artifacts: [] })
  const junk = new Uint8Array(entry.header.body?.n ?? 0).fill(7)
  return story.withBody(who, entry.header, junk)
}

test('a key that is not the one which the header commits to opens nothing: one ciphertext never opens two ways', async () => {
  const at = await receiver()
  const story = await at.story('first', () => ({ commit: 'ab'.repeat(32) }))
  await at.take([story.first])
  const thread = await at.thread(story.create.id)
  expect(thread.keys.size).toBe(0)
  expect(await openContent(at.held, thread, story.create)).toMatchObject({ state: 'unreadable' })
  expect(thread.row?.preview).toBeNull()
})

test('what came in a delivery that its peer never ended is acknowledged when the peer says again that it is there', async () => {
  const world = await stoppedAcme('frank', 'mallory')
  const bob = world.laptop('bob')
  await bob.start()
  const peer = await impersonate(world, world.laptop('mallory'))
  const talk = await peer.meet(bob)
  const story = await sealedStory({
    workspace: peer.workspace,
    disk: bob.disk,
    from: mallory,
    to: actor('bob'),
    dice: dice('never ended'),
    body: { summary: 'there is more', artifacts: [] },
  })
  const { id } = story.create
  const receipts = (): number => talk.heard.filter((message) => message.t === 'heads' && message.th === id).length
  await talk.say(entriesMessage(id, [story.first]))
  await talk.hear('got')
  expect(receipts()).toBe(0)
  await talk.say({ t: 'heads', th: id, heads: [id] })
  await talk.hear('heads')
  expect(receipts()).toBe(1)
})
