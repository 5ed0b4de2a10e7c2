/** Who is asked for chunks: several peers of one thread, of which some lie, are slow or have nothing. */
import { describe, expect, test } from 'vitest'
import { CHUNK_SIZE_BYTES, type Chunked, type Hex, sealContent, textId } from '../../protocol/index.ts'
import { artifactTextId } from '../../src/node/artifacts.ts'
import { createFetching, type Fetching, type Source } from '../../src/node/fetching.ts'
import { emptyThread } from '../../src/node/threads.ts'
import { actor, begin, dice, seedOf } from '../cast.ts'
import { noise } from './attachments.ts'
import { entriesOn, entriesMessage, impersonate, sealedStory } from './impostor.ts'
import { receiver } from './receiver.ts'
import { arrives, handOff, refused, stoppedAcme, viewOnce } from './world.ts'

const CONTENT = noise('content', 6 * CHUNK_SIZE_BYTES)
const { chunked: DESCRIBED, sealed: SEALED } = sealContent(CONTENT, seedOf('artifact key'))
const IDS = DESCRIBED.ids

/** A peer that says what the test lets it say. */
interface Peer {
  readonly asked: Hex[]
  readonly source: Source
  /** Answers the first questions that are open, `count` of them. */
  give(count: number, sealed?: (id: Hex) => Uint8Array | null): Promise<void>
}

const trueChunk = (id: Hex): Uint8Array => SEALED[IDS.indexOf(id)] ?? new Uint8Array(0)

/** A node that holds a thread of two laptops beside its own. */
async function fetchingThread() {
  const { held, world } = await receiver()
  const story = begin({ senders: [actor('bob'), actor('bob2')] })
  const thread = { ...emptyThread(story.create.id), graph: story.graph }
  held.threads.adopt(thread)
  const fetching = createFetching(held)
  const peer = (name: string): Peer => {
    const asked: Hex[] = []
    const open: Hex[] = []
    const source = fetching.join(actor(name).device, (_, ids) => {
      asked.push(...ids)
      open.push(...ids)
    })
    return {
      asked,
      source,
      async give(count, sealed = trueChunk) {
        for (const id of open.splice(0, count)) await source.take(thread.id, [[id, sealed(id)]])
      },
    }
  }
  return { held, world, thread, fetching, peer }
}

/** Lets everything run that can run without anyone's help. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function fetchAll(fetching: Fetching, thread: Hex, chunked: Chunked = DESCRIBED) {
  const result = fetching.fetch(thread, chunked.ids)
  await settled()
  return result
}

describe('chunks that somebody waits for', () => {
  test('are asked of a peer a few at a time, each of one peer', async () => {
    const { thread, fetching, peer } = await fetchingThread()
    const [one, two] = [peer('bob'), peer('bob2')]
    const result = fetchAll(fetching, thread.id)
    await settled()
    expect(one.asked).toEqual(IDS.slice(0, 4))
    expect(two.asked).toEqual(IDS.slice(4))
    await one.give(4)
    await two.give(2)
    expect(await result).toBe('here')
    expect([...one.asked, ...two.asked].toSorted()).toEqual([...IDS].toSorted())
    expect([...thread.chunks].toSorted()).toEqual([...IDS].toSorted())
  })

  test('come from the next one where one has none of them, and of nobody where nobody has', async () => {
    const { thread, fetching, peer } = await fetchingThread()
    const [one, two] = [peer('bob'), peer('bob2')]
    const result = fetchAll(fetching, thread.id)
    await settled()
    await one.give(4, () => null)
    await two.give(6)
    await two.give(6)
    expect(await result).toBe('here')
    const none = sealContent(noise('other', 10), seedOf('k')).chunked
    const other = fetchAll(fetching, thread.id, none)
    await settled()
    for (const asked of [one, two]) await asked.give(1, () => null)
    expect(await other).toBe('nobody has it')
    // Whoever reads again asks again.
    const again = fetchAll(fetching, thread.id, none)
    await settled()
    for (const asked of [one, two]) await asked.give(1, () => null)
    expect(await again).toBe('nobody has it')
    expect(one.asked.filter((id) => id === none.ids[0])).toHaveLength(2)
  })

  test('that a peer sends wrong are counted, not kept, and never asked of it again', async () => {
    const { held, thread, fetching, peer } = await fetchingThread()
    const liar = peer('bob')
    const result = fetchAll(fetching, thread.id)
    await settled()
    await liar.give(4, (id) => trueChunk(IDS[(IDS.indexOf(id) + 1) % IDS.length] ?? id))
    await liar.give(2, () => new Uint8Array(100))
    expect(await result).toBe('nobody has it')
    expect(held.refusals.get('chunk')).toBe(liar.asked.length)
    expect(thread.chunks.size).toBe(0)
    // In a new conversation it is the same peer.
    liar.source.leave()
    const again = peer('bob')
    const honest = peer('bob2')
    const second = fetchAll(fetching, thread.id)
    await settled()
    await again.give(1)
    await honest.give(4)
    await honest.give(2)
    expect(await second).toBe('here')
    // All but the one that it was not asked for before.
    expect(liar.asked).toEqual(IDS.slice(0, 5))
    expect(again.asked).toEqual(IDS.slice(5))
  })

  test('of a slow peer are asked of others after ten seconds; what it gives in the end is taken, and it is asked again', async () => {
    const { world, thread, fetching, peer } = await fetchingThread()
    const slow = peer('bob')
    const result = fetchAll(fetching, thread.id)
    await settled()
    expect(slow.asked).toHaveLength(4)
    const quick = peer('bob2')
    await settled()
    expect(quick.asked).toEqual(IDS.slice(4))
    await quick.give(2)
    world.clock.advance(10_000)
    expect(quick.asked.toSorted()).toEqual([...IDS].toSorted())
    await slow.give(1)
    expect(thread.chunks).toContain(IDS[0])
    await quick.give(4)
    expect(await result).toBe('here')
    expect(slow.asked).toHaveLength(4)
  })

  test('are waited for as long as some come, and then the reader is told', async () => {
    const { world, thread, fetching, peer } = await fetchingThread()
    const slow = peer('bob')
    let told: string | undefined
    const result = fetching.fetch(thread.id, IDS)
    void result.then((how) => (told = how))
    await settled()
    for (let i = 0; i < 3; i++) {
      world.clock.advance(9_000)
      await slow.give(1)
    }
    world.clock.advance(19_000)
    await settled()
    expect(told).toBeUndefined()
    world.clock.advance(1_000)
    expect(await result).toBe('late')
    // What is under way still counts, and the next reader needs less.
    await slow.give(1)
    expect(thread.chunks.size).toBe(4)
    const rest = fetching.fetch(thread.id, IDS)
    await settled()
    await slow.give(4)
    expect(await rest).toBe('here')
  })

  test('are let go when the reader gives up, or has given up before', async () => {
    const { thread, fetching, peer } = await fetchingThread()
    const one = peer('bob')
    const hungUp = new AbortController()
    const result = fetching.fetch(thread.id, IDS, hungUp.signal)
    await settled()
    hungUp.abort()
    expect(await result).toBe('given up')
    await one.give(4)
    expect(await fetching.fetch(thread.id, IDS.slice(4), AbortSignal.abort())).toBe('given up')
    expect(one.asked).toHaveLength(4)
  })

  test('come before those that are fetched because they were accepted', async () => {
    const { held, thread, fetching, peer } = await fetchingThread()
    held.wanted.byThread.set(thread.id, new Set(IDS))
    const one = peer('bob')
    await settled()
    expect(one.asked).toEqual(IDS.slice(0, 4))
    const last = fetching.fetch(thread.id, IDS.slice(5))
    await settled()
    await one.give(1)
    expect(one.asked[4]).toBe(IDS[5])
    await one.give(5)
    await one.give(5)
    expect(await last).toBe('here')
    expect(held.wanted.byThread.size).toBe(0)
  })

  test('are asked of nobody who takes no part in the thread', async () => {
    const { thread, fetching, peer } = await fetchingThread()
    const stranger = peer('mallory')
    expect(await fetchAll(fetching, thread.id)).toBe('nobody has it')
    expect(stranger.asked).toEqual([])
  })
})

test('what a peer sends unasked is not kept', async () => {
  const { thread, fetching, peer } = await fetchingThread()
  const one = peer('bob')
  await one.source.take(thread.id, [[IDS[0] ?? '', trueChunk(IDS[0] ?? '')]])
  expect(thread.chunks.size).toBe(0)
  expect(fetching.isConnected(actor('bob').device)).toBe(true)
  one.source.leave()
  expect(fetching.isConnected(actor('bob').device)).toBe(false)
})

/** bob's handoff to frank with one large file, and mallory, who is in the workspace and not in the thread. */
async function withOutsider() {
  const world = await stoppedAcme('frank', 'mallory')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  await bob.start()
  const mallory = await impersonate(world, world.laptop('mallory'))
  return { world, bob, frank, mallory }
}

test('a teammate who takes no part in the thread gets no chunk of it, and cannot tell whether there is one', async () => {
  const { bob, mallory } = await withOutsider()
  const base64 = CONTENT.toString('base64')
  await handOff(bob, 'frank', 'for frank', {
    artifacts: [{ type: 'file', name: 'a', media_type: 'text/plain', base64 }],
  })
  const [create] = await entriesOn(bob.disk)
  const ids = (await bob.disk.rows('chunk')).map(([key]) => key.split('/')[1] ?? '')
  const talk = await mallory.meet(bob)
  await talk.say({ t: 'want-chunks', th: create?.id ?? '', ids })
  await talk.say({ t: 'want-chunks', th: 'ab'.repeat(32), ids })
  for (const th of [create?.id, 'ab'.repeat(32)])
    expect(await talk.hear('chunks')).toEqual({ t: 'chunks', th, items: ids.map((id) => [id, null]) })
})

describe('a publisher', () => {
  /** mallory's handoff to frank, whose artifact is described as the test likes. */
  async function published(chunks: Chunked) {
    const world = await stoppedAcme('frank', 'mallory')
    const frank = world.laptop('frank')
    const mallory = await impersonate(world, world.laptop('mallory'))
    await frank.start()
    const talk = await mallory.meet(frank)
    const { workspace } = mallory
    const artifact = { type: 'file' as const, name: 'a', media_type: 'text/plain', chunks }
    const body = { summary: 'read this', artifacts: [artifact] }
    const people = { from: mallory, to: actor('frank'), dice: dice('published') }
    const { first } = await sealedStory({ workspace, disk: frank.disk, ...people, body })
    await talk.say(entriesMessage(first.entry.id, [first], [first.entry.id]))
    const thread_id = textId('thread', first.entry.id)
    await arrives(world, frank, thread_id)
    const seen = await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts.length === 1)
    /** Answers what frank asks for, as long as he does. */
    const give = async (sealed: readonly Uint8Array[]): Promise<void> => {
      const { th, ids } = await talk.hear('want-chunks')
      for (const id of ids) await talk.say({ t: 'chunks', th, items: [[id, sealed[chunks.ids.indexOf(id)] ?? null]] })
    }
    return { world, frank, talk, thread_id, listing: seen.artifacts[0], artifact_id: artifactTextId(artifact), give }
  }

  const verification = {
    symbol: 'verification_failed',
    details: { published_by: 'mallory/mallory-laptop' },
  }

  test('whose content has another SHA-256 than was said is named when it is read', async () => {
    const { chunked, sealed } = sealContent(noise('true', 1000), seedOf('k'))
    const { frank, thread_id, artifact_id, give } = await published({ ...chunked, sha256: 'ab'.repeat(32) })
    const call = refused(frank.node.readArtifact({ thread_id, artifact_id }))
    await give(sealed)
    const error = await call
    expect(error).toMatchObject(verification)
    expect(error.message).toContain('mallory/mallory-laptop')
    expect(error.hint).toContain('mallory')
  })

  test('whose chunks do not open, or hold another number of bytes than was said, is named as well', async () => {
    const { chunked, sealed } = sealContent(noise('true', 1000), seedOf('k'))
    for (const wrong of [{ key: 'cd'.repeat(32) }, { size: 999 }]) {
      const { frank, thread_id, artifact_id, give } = await published({ ...chunked, ...wrong })
      const call = refused(frank.node.readArtifact({ thread_id, artifact_id }))
      await give(sealed)
      expect(await call).toMatchObject(verification)
    }
  })

  test('of more than 8 MiB is listed with its size, and nothing of it is fetched', async () => {
    const size = 9 * 1024 * 1024
    const ids = Array.from({ length: Math.ceil(size / CHUNK_SIZE_BYTES) }, (_, i) => i.toString(16).padStart(64, '0'))
    const hash = 'ab'.repeat(32)
    const { frank, talk, thread_id, listing, artifact_id } = await published({ size, sha256: hash, key: hash, ids })
    expect(listing).toMatchObject({ artifact_id, size, here: false, sha256: hash })
    const error = await refused(frank.node.readArtifact({ thread_id, artifact_id }))
    expect(error).toMatchObject({ symbol: 'payload_too_large', details: { size, limit: 8 * 1024 * 1024 } })
    await frank.node.accept({ thread_id }, { session: 's' })
    expect(await frank.disk.rows('wanted')).toEqual([])
    expect(talk.heard.filter(({ t }) => t === 'want-chunks')).toEqual([])
  })
})
