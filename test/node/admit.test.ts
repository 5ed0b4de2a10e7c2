/** Taking in what peers send: any order, any number of times, and nothing that the rules refuse. */
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { REFUSED_KEPT_COUNT_MAX, SENDER_OPEN_THREADS_COUNT_MAX, signEntry } from '../../protocol/index.ts'
import { acme, begin, bob, frank as frankOfAnother } from '../cast.ts'
import type { SealedEntry } from './impostor.ts'
import {
  arrivalOn,
  bareHandoffs,
  digestOf,
  frank,
  mallory,
  proofsOn,
  type Receiver,
  receiver,
  restarted,
  sayMany,
} from './receiver.ts'

const countOf = ({ held }: Receiver, refusal: string): number => held.refusals.get(refusal) ?? 0

describe('entries that come in any order, some more than once', () => {
  const places = Array.from({ length: 8 }, (_, i) => i)
  const order = fc.tuple(fc.shuffledSubarray(places, { minLength: places.length }), fc.array(fc.nat(7)))

  property.prop([order], { numRuns: 20 })(
    'are all stored once, in an order where parents come first, and give the same state',
    async ([each, again]) => {
      const at = await receiver()
      const story = await at.story('first')
      const said = [story.first, ...sayMany(story, 7)]
      for (const i of [...each, ...again]) await at.take(said.slice(i, i + 1))
      expect(at.room.byId.size).toBe(0)
      const { graph } = await at.thread(story.create.id)
      // The last one is frank's own receipt.
      for (const { entry } of said) expect(graph.byId.has(entry.id)).toBe(true)
      const digest = await digestOf(at, story.create.id)
      at.held.threads.forget(story.create.id)
      expect(await digestOf(at, story.create.id)).toBe(digest)
      expect(await at.disk.rows('body')).toHaveLength(said.length)
    },
  )

  test('in one delivery, backwards, they are all there at its end', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const said = [story.first, ...sayMany(story, 5)]
    const { changed } = await at.take(said.toReversed())
    expect([...changed]).toEqual([story.create.id])
    expect((await at.thread(story.create.id)).graph.byKind.message).toHaveLength(5)
  })

  test('a second time they change nothing on disk', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const said = [story.first, ...sayMany(story, 3)]
    await at.take(said)
    const image = await at.disk.image()
    const { changed, said: acks } = await at.take([...said, ...said])
    expect([changed.size, acks.length]).toEqual([0, 0])
    expect(await at.disk.image()).toBe(image)
  })
})

describe('what the rules refuse', () => {
  test('is not stored, is counted by name, and is kept as proof of who sent what', async () => {
    const at = await receiver()
    const story = await at.story('first')
    await at.take([story.first])
    const arrival = await arrivalOn(at.disk)
    const own = story.seal(mallory, 'accept', { session: 'mine' })
    await at.take([own], bob.device)
    expect(countOf(at, 'wrong_side')).toBe(1)
    expect((await at.thread(story.create.id)).graph.byId.has(own.entry.id)).toBe(false)
    const proofs = await proofsOn(at.disk)
    const envelope = Buffer.from(own.entry.envelope).toString('hex')
    expect(proofs).toMatchObject([{ refusal: 'wrong_side', from: bob.device, envelope }])
    expect(await arrivalOn(at.disk)).toBe(arrival)
  })

  test('takes with it what builds on it, whether that comes later or was waiting for it', async () => {
    const at = await receiver()
    const story = await at.story('first')
    await at.take([story.first])
    const bad = story.seal(mallory, 'accept', { session: 'mine' })
    const naming = (seq: number) => {
      const { entry, body } = story.seal(mallory, 'message', { body: 'on it', artifacts: [] })
      return { entry: signEntry({ ...entry.header, seq, prev: bad.entry.id }, mallory.key), body }
    }
    const [before, after] = [naming(2), naming(2)]
    await at.take([before])
    expect([...at.room.byId.keys()]).toEqual([before.entry.id])
    await at.take([bad])
    expect(at.room.byId.size).toBe(0)
    await at.take([after])
    expect(countOf(at, 'parent_refused')).toBe(2)
    expect((await at.thread(story.create.id)).graph.byKind.message).toHaveLength(0)
  })

  test('with a wrong signature leaves no mark on the entry: the true one is taken in', async () => {
    const at = await receiver()
    const story = await at.story('first')
    const forged = signEntry(story.first.entry.header, frank.key)
    expect(forged.id).toBe(story.create.id)
    await at.takeBytes(forged.envelope)
    expect(countOf(at, 'bad_signature')).toBe(1)
    await at.take([story.first])
    expect((await at.thread(story.create.id)).graph.nodes.length).toBeGreaterThan(0)
  })

  test('fills a small ring on disk and no more, the oldest going first', async () => {
    const at = await receiver()
    const junk = Array.from({ length: REFUSED_KEPT_COUNT_MAX + 6 }, (_, i) => new Uint8Array([i]))
    for (const bytes of junk) await at.takeBytes(bytes)
    const kept = (await proofsOn(at.disk)).map(({ envelope }) => Number.parseInt(envelope, 16))
    expect(kept.toSorted((a, b) => a - b)).toEqual(junk.slice(6).map(([byte]) => byte))
  })

  test('is as it was after a restart, and its ring goes on where it was', async () => {
    const at = await receiver()
    await at.takeBytes(new Uint8Array([1]), new Uint8Array([2]))
    const again = await restarted(at)
    await again.takeBytes(new Uint8Array([3]))
    expect((await proofsOn(at.disk)).map(({ envelope }) => envelope)).toEqual(['01', '02', '03'])
  })
})

describe('junk', () => {
  property.prop([fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 10 })], { numRuns: 30 })(
    'is counted and never thrown',
    async (envelopes) => {
      const at = await receiver()
      const { refused } = await at.takeBytes(...envelopes)
      expect(refused).toBe(envelopes.length)
      expect([...at.held.refusals.values()].reduce((a, b) => a + b)).toBe(envelopes.length)
      expect(await at.disk.rows('entry')).toHaveLength(0)
    },
  )

  property.prop(
    [
      fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.integer({ min: 1, max: 255 })), {
        minLength: 1,
        maxLength: 4,
      }),
    ],
    {
      numRuns: 60,
    },
  )('made of a true entry by changing bytes is never taken in, and never thrown', async (changes) => {
    const at = await receiver()
    const story = await at.story('first')
    const bytes = new Uint8Array(story.first.entry.envelope)
    for (const [where, xor] of changes) {
      const i = Math.floor(where * bytes.length)
      bytes[i] = (bytes[i] ?? 0) ^ xor
    }
    if (Buffer.compare(bytes, story.first.entry.envelope) === 0) return
    await at.takeBytes(bytes)
    expect(await at.disk.rows('entry')).toHaveLength(0)
    expect(at.room.byId.size).toBe(0)
  })
})

describe('what is none of this node’s business', () => {
  test('entries of another workspace are ignored: not stored, not waiting, not counted', async () => {
    const at = await receiver()
    const foreign = begin({ workspace: acme(), senders: [bob], recipients: [frankOfAnother] })
    const said = foreign.say(bob, 'message')
    await at.takeBytes(said.envelope, foreign.create.envelope)
    expect([at.room.byId.size, at.held.refusals.size, (await at.disk.rows('entry')).length]).toEqual([0, 0, 0])
  })

  test('more open handoffs of one sender than anyone can read are not taken in, in one delivery or in many', async () => {
    for (const perDelivery of [1, 20, 60]) {
      const at = await receiver()
      const all = [...bareHandoffs(at.workspace, SENDER_OPEN_THREADS_COUNT_MAX + 10)]
      for (let i = 0; i < all.length; i += perDelivery) await at.take(all.slice(i, i + perDelivery))
      expect(at.held.facts.size, `${perDelivery} a delivery`).toBe(SENDER_OPEN_THREADS_COUNT_MAX)
    }
  })

  test('one that was ended makes room for another, which was not forgotten as refused', async () => {
    const at = await receiver()
    const story = await at.story('the first')
    await at.take([story.first])
    const all = [...bareHandoffs(at.workspace, SENDER_OPEN_THREADS_COUNT_MAX)]
    await at.take(all)
    const last = all.at(-1) as SealedEntry
    expect(at.held.facts.has(last.entry.id)).toBe(false)
    await at.take([story.seal(mallory, 'cancel', { reason: '' })])
    await at.take([last])
    expect(at.held.facts.has(last.entry.id)).toBe(true)
  })
})
