/** The index follows from the entries: however it came about, the same is found, and what is lost of it is made anew. */
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { encodeCanonical, signingKey, textId } from '../../protocol/index.ts'
import { openHeld } from '../../src/node/held.ts'
import { createSearch } from '../../src/node/search.ts'
import { createIndex, type Index } from '../../src/node/search-index.ts'
import { search, wordsSought } from '../../src/node/search-query.ts'
import { readDocs } from '../../src/node/search-rows.ts'
import { WEIGHED, type Weighed } from '../../src/node/search-text.ts'
import { type Store, StoreError, type Write } from '../../src/store/store.ts'
import { seedOf } from '../cast.ts'
import { allOf, find, idsOf, recordOf } from './searching.ts'
import { handOff, type Laptop, pair, says, SESSION } from './world.ts'

const WORDS = ['alpha', 'alphabet', 'beta', 'betas', 'gamma_ray', 'delta']

interface Doc {
  thread: number
  sort: Weighed
  words: string[]
}
const docs = fc.array(
  fc.record({
    thread: fc.nat(9),
    sort: fc.constantFrom(...WEIGHED),
    words: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 30 }),
  }),
  { minLength: 1, maxLength: 40 },
)

async function found(index: Index, query: string): Promise<Map<string, number>> {
  const look = { isReadable: () => true, pause: async () => undefined }
  const { hits } = await search(index, wordsSought(query), look)
  return new Map(hits.map(({ thread, score }) => [thread, score]))
}

function indexOf(texts: readonly Doc[]): Index {
  const index = createIndex(1)
  for (const { thread, sort, words } of texts) index.put(String(thread), index.pack(new Map([[sort, words]])))
  return index
}

property.prop([docs, fc.array(fc.nat(), { maxLength: 40 })])(
  'an index into which threads came and changed in any order finds what one finds that saw their last state alone, with the same scores',
  async (texts, order) => {
    const last = new Map(texts.map((doc) => [doc.thread, doc]))
    const others = [...last.values()].toSorted((a, b) => (order[a.thread] ?? 0) - (order[b.thread] ?? 0))
    const [grown, made] = [indexOf(texts), indexOf(others)]
    for (const query of [...WORDS, 'alpha beta', 'gamma delta alpah'])
      expect(await found(grown, query)).toEqual(await found(made, query))
  },
)

/** Everything that any of the queries finds. */
async function everything(at: Laptop): Promise<unknown[]> {
  const answers = []
  for (const query of ['alpha', 'beta', 'gamma', 'alpah delta', 'alphabet betas', '']) {
    const items = await allOf(at, { query, limit: 3 })
    answers.push(items.map(({ thread_id, status, found: why }) => ({ thread_id, status, why })))
  }
  return answers
}

async function lose(at: Laptop, isLost: (key: string) => boolean = () => true): Promise<void> {
  const keys = (await at.disk.rows('search')).map(([key]) => key).filter(isLost)
  await at.disk.write(keys.map((key): Write => ({ type: 'del', space: 'search', key })))
}

const steps = fc.array(
  fc.record({
    do: fc.constantFrom('send', 'message', 'revise', 'cut', 'heal', 'look', 'restart'),
    words: fc.shuffledSubarray(WORDS, { minLength: 1 }),
  }),
  { minLength: 5, maxLength: 15 },
)

property.prop([steps], { numRuns: 12 })(
  'what both sides find is the same, however it reached them, and the same when the index is made anew',
  async (story) => {
    const world = await pair()
    const { bob, frank } = world
    const threads: string[] = []
    let isCut = false
    for (const { do: what, words } of story) {
      const text = words.join(' ')
      const thread_id = threads.at(-1)
      if (what === 'send') threads.push((await handOff(bob, 'frank', text)).thread_id)
      else if (what === 'message' && thread_id) await bob.node.sendMessage({ thread_id, message: says(text) }, SESSION)
      else if (what === 'revise' && thread_id) {
        const { revision_id } = await bob.node.getThread({ thread_id })
        await bob.node.continueHandoff(
          { thread_id, expected_revision_id: revision_id, record: recordOf(text) },
          SESSION,
        )
      } else if (what === 'look') await idsOf(frank, text)
      else if (what === 'restart') await frank.restart()
      else if (what === 'cut') {
        world.cut(bob, frank)
        isCut = true
      } else if (what === 'heal' && isCut) {
        await world.heal(bob, frank)
        isCut = false
      }
    }
    if (isCut) await world.heal(bob, frank)
    for (const thread_id of threads) {
      await world.until('frank holds what bob holds', async () => {
        // A connection that broke while they were in sync is tried again after some time.
        world.clock.advance(5000)
        const [here, there] = await Promise.all(
          [bob, frank].map((at) => at.node.getThread({ thread_id }).catch(() => undefined)),
        )
        return here?.state_digest === there?.state_digest && there?.entries.every(({ body }) => body !== 'missing')
      })
    }
    const grown = await everything(frank)
    const scores = (of: unknown[]): unknown =>
      JSON.parse(JSON.stringify(of, (key, value: unknown) => (key === 'matches' ? undefined : value)))
    const byThread = (of: unknown[]): unknown =>
      (scores(of) as { thread_id: string }[][]).map((list) =>
        list.toSorted((a, b) => (a.thread_id < b.thread_id ? -1 : 1)),
      )
    expect(byThread(await everything(bob))).toEqual(byThread(grown))
    await frank.restart()
    expect(await everything(frank)).toEqual(grown)
    await frank.stop()
    await lose(frank)
    await frank.start()
    expect(await everything(frank)).toEqual(grown)
  },
)

/** bob with some indexed handoffs. */
async function indexed() {
  const world = await pair()
  const { bob } = world
  const ids: string[] = []
  for (const text of ['alpha one', 'alpha two', 'alpha three']) ids.push((await handOff(bob, 'frank', text)).thread_id)
  expect(await idsOf(bob, 'alpha')).toHaveLength(3)
  return { ...world, ids, before: await everything(bob) }
}

describe('the index on disk', () => {
  test('is written with the search that needed it, and is what the next start uses', async () => {
    const { bob, before } = await indexed()
    const rows = await bob.disk.rows('search')
    expect(rows.map(([key]) => key.replace(/\/.*/, ''))).toEqual(['doc', 'doc', 'doc', 'form', 'term'])
    await bob.restart()
    expect(await everything(bob)).toEqual(before)
    expect(await bob.disk.rows('search')).toEqual(rows)
  })

  test('loses the row of a thread with each change of it, in the batch of the change', async () => {
    const { bob, ids } = await indexed()
    await bob.node.sendMessage({ thread_id: ids[0] ?? '', message: says('newword') }, SESSION)
    const docsLeft = async () => (await bob.disk.rows('search')).filter(([key]) => key.startsWith('doc/')).length
    expect(await docsLeft()).toBe(2)
    // As after a power cut: nothing was indexed in between.
    const image = await bob.disk.copy()
    expect((await image.rows('search')).filter(([key]) => key.startsWith('doc/'))).toHaveLength(2)
    await bob.restart()
    expect(await idsOf(bob, 'newword')).toEqual([ids[0]])
    expect(await docsLeft()).toBe(3)
  })

  test.each<[string, (at: Laptop) => Promise<void>]>([
    ['is gone', lose],
    ['lacks its form', (at) => lose(at, (key) => key === 'form')],
    ['lacks its terms', (at) => lose(at, (key) => key.startsWith('term/'))],
    ['lacks some threads', (at) => lose(at, (key) => key.startsWith('doc/') && key < 'doc/8')],
    ['has terms of another number', (at) => put(at, 'term/000000', new TextEncoder().encode('one\ntwo'))],
    ['has a form that does not decode', (at) => put(at, 'form', new Uint8Array([0xff, 0xff]))],
    ['has a form that is none', (at) => put(at, 'form', encodeCanonical({ a: 1 }))],
    ['is of another version', (at) => put(at, 'form', encodeCanonical([0, at.device, 7, 1]))],
    ['is of another device', (at) => put(at, 'form', encodeCanonical([1, '00'.repeat(32), 7, 1]))],
    [
      'has threads of another generation',
      async (at) => {
        const rows = await at.disk.rows('search')
        for (const [key, value] of rows)
          if (key.startsWith('doc/'))
            await put(
              at,
              key,
              Uint8Array.from(value, (byte, i) => (i < 4 ? byte ^ 1 : byte)),
            )
      },
    ],
    [
      'has threads that are cut short',
      async (at) => {
        for (const [key, value] of await at.disk.rows('search'))
          if (key.startsWith('doc/')) await put(at, key, value.slice(0, 7))
      },
    ],
  ])('that %s is made anew', async (_, damage) => {
    const { bob, before } = await indexed()
    await bob.stop()
    await damage(bob)
    await bob.start()
    expect(await everything(bob)).toEqual(before)
    await bob.restart()
    expect(await everything(bob)).toEqual(before)
  })

  test('is made anew with all other lists', async () => {
    const { bob, before } = await indexed()
    await bob.stop()
    await bob.start({ rebuild: true })
    expect(await everything(bob)).toEqual(before)
  })

  test('that cannot be written is kept in memory: a search answers on a full disk', async () => {
    const { bob, ids } = await indexed()
    await bob.node.sendMessage({ thread_id: ids[0] ?? '', message: says('newword') }, SESSION)
    bob.disk.failForever()
    expect(await idsOf(bob, 'newword')).toEqual([ids[0]])
    expect(await idsOf(bob, 'alpha')).toHaveLength(3)
    bob.disk.repair()
  })
})

async function put(at: Laptop, key: string, value: Uint8Array): Promise<void> {
  await at.disk.write([{ type: 'put', space: 'search', key, value }])
}

test('a rotten row is as good as none, and does not hide the others', async () => {
  const { bob } = await indexed()
  const good = bob.disk.open()
  const rows = (await bob.disk.rows('search')).filter(([key]) => key.startsWith('doc/'))
  const threads = rows.map(([key]) => key.slice('doc/'.length))
  const generation = new Uint32Array(new Uint8Array(rows[0]?.[1] ?? []).buffer)[0] ?? 0
  const rotten: Store = {
    ...good,
    async getMany(space, keys) {
      if (keys.includes(`doc/${threads[1]}`)) throw new StoreError('STORE_CORRUPT', 'checksum mismatch')
      return good.getMany(space, keys)
    },
  }
  const read: string[] = []
  for await (const [thread] of readDocs(rotten, generation, threads)) read.push(thread)
  expect(read).toEqual([threads[0], threads[2]])
})

test('a handoff of which a part is damaged on disk does not hide the others', async () => {
  const { bob, ids } = await indexed()
  const broken = (await bob.node.getThread({ thread_id: ids[1] ?? '' })).entries[0]?.entry_id ?? ''
  await bob.stop()
  await lose(bob)
  const store = bob.disk.open()
  const rotten: Store = {
    ...store,
    async get(space, key) {
      if (space === 'body' && textId('entry', key) === broken)
        throw new StoreError('STORE_CORRUPT', 'checksum mismatch')
      return store.get(space, key)
    },
  }
  const held = await openHeld({ store: rotten, system: bob.system, key: signingKey(seedOf('device', 'bob')) })
  const searching = createSearch(held)
  const { items } = await searching.list({ query: 'alpha' })
  expect(items.map(({ thread_id }) => thread_id)).toEqual([ids[2], ids[0]])
  expect((await searching.list({ query: '' })).items).toHaveLength(3)
  await searching.stop()
  // Once it can be read again, it is found again.
  await bob.start()
  expect(await idsOf(bob, 'alpha')).toHaveLength(3)
})

test('a search that would take long answers with what there is, says how much is missing, and later finds the rest', async () => {
  const world = await pair()
  const { bob, clock } = world
  for (let i = 0; i < 5; i++) await handOff(bob, 'frank', `alpha ${i}`)
  await bob.stop()
  const store = bob.disk.open()
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const slow: Store = {
    ...store,
    async *range(space, range) {
      if (space === 'entry') {
        waiting++
        await gate.promise
      }
      yield* store.range(space, range)
    },
  }
  const held = await openHeld({ store: slow, system: bob.system, key: signingKey(seedOf('device', 'bob')) })
  const searching = createSearch(held)
  const first = searching.list({ query: 'alpha' })
  await world.until('it waits for its patience to end', () => waiting > 0 && clock.isAwaited(1000))
  clock.advance(1000)
  expect(await first).toEqual({ items: [], timed_out: false, indexing: { missing: 5 } })
  gate.resolve()
  const second = await searching.list({ query: 'alpha' })
  expect(second.items).toHaveLength(5)
  expect(second.indexing).toBeUndefined()
  await searching.stop()
})

test('many changes are indexed without being asked for', async () => {
  const world = await pair()
  const { bob } = world
  const sessions = Array.from({ length: 2 }, (_, i) => ({ session: `${i}`.repeat(8) + '-0d5b-4d0e-9a3e-6f3a1c1d2b10' }))
  for (let i = 0; i < 64; i++) {
    const params = { recipient: 'frank@acme', intent: 'inform' as const, message: says(`alpha ${i}`) }
    await bob.node.sendHandoff(params, sessions[i % 2] ?? SESSION)
  }
  await world.until('they are on disk', async () => (await bob.disk.rows('search')).length >= 64)
  expect((await find(bob, 'alpha', { limit: 100 })).items).toHaveLength(64)
})
