/** What misses a parent waits, within bounds. */
import { expect, test } from 'vitest'
import {
  PENDING_TURNS_COUNT_MAX,
  signEntry,
  WAITING_ENTRIES_COUNT_MAX,
  WAITING_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import { bob } from '../cast.ts'
import type { SealedEntry, SealedStory } from './impostor.ts'
import { frank, mallory, receiver, sayMany } from './receiver.ts'

test('an entry waits for a parent that another peer brings', async () => {
  const at = await receiver()
  const story = await at.story('first')
  const [next] = sayMany(story, 1)
  if (!next) throw new Error('one was said')
  const { missing } = await at.take([next])
  expect([...missing]).toEqual([[story.create.id, [story.create.id]]])
  await at.take([story.first], bob.device)
  expect((await at.thread(story.create.id)).graph.byId.has(next.entry.id)).toBe(true)
  expect(at.room.byId.size).toBe(0)
})

test('so many of one peer wait, then the oldest goes; what others sent stays', async () => {
  const at = await receiver()
  const [story, other] = [await at.story('mallory’s'), await at.story('by way of bob')]
  const [waiting] = sayMany(other, 1)
  if (!waiting) throw new Error('one was said')
  await at.take([waiting], bob.device)
  const said = chain(story, WAITING_ENTRIES_COUNT_MAX + 5)
  await at.take(said)
  expect(at.room.byId.size).toBe(WAITING_ENTRIES_COUNT_MAX + 1)
  expect(at.room.byId.has(waiting.entry.id)).toBe(true)
  expect(said.map(({ entry }) => at.room.byId.has(entry.id)).indexOf(true)).toBe(5)
  // What went may be offered again: nothing was lost but time. What a rule forbids stays out all the same.
  await at.take([story.first, ...said.slice(0, 5)])
  expect((await at.thread(story.create.id)).graph.byKind.message).toHaveLength(PENDING_TURNS_COUNT_MAX)
  expect(at.room.byId.size).toBe(1)
})

/** Entries that each build on the one before, as many as one likes: nobody has judged them. */
function chain(story: SealedStory, count: number): SealedEntry[] {
  const { header } = story.seal(mallory, 'message', { body: 'again', artifacts: [] }).entry
  let prev = story.create.id
  return Array.from({ length: count }, (_, i) => {
    const entry = signEntry({ ...header, seq: i + 1, prev }, mallory.key)
    prev = entry.id
    return { entry, body: null }
  })
}

test('so many bytes of one peer wait, bodies included', async () => {
  const at = await receiver()
  const story = await at.story('large')
  const said = sayMany(story, 20, 'x'.repeat(250 * 1024))
  await at.take(said)
  const waiting = [...at.room.byId.values()]
  const size = waiting.reduce((sum, { entry, body }) => sum + entry.envelope.length + (body?.length ?? 0), 0)
  expect(size).toBeLessThanOrEqual(WAITING_SIZE_BYTES_MAX)
  expect(waiting.length).toBe(15)
  expect(at.room.byId.has(said.at(-1)?.entry.id ?? '')).toBe(true)
})

test('the same entry sent again and again takes one place', async () => {
  const at = await receiver()
  const story = await at.story('first')
  const [next] = sayMany(story, 1)
  if (!next) throw new Error('one was said')
  for (let i = 0; i < 10; i++) await at.take([next, next])
  expect(at.room.byId.size).toBe(1)
})

test('what cites a roster entry that is not here waits for the roster, and says so', async () => {
  const at = await receiver()
  const story = await at.story('first')
  const { entry, body } = story.first
  const future = signEntry({ ...entry.header, ros: [entry.header.ros[0] + 1, 'ab'.repeat(32)] }, mallory.key)
  const { missingRoster, missing } = await at.take([{ entry: future, body }])
  expect([missingRoster, missing.size]).toEqual([true, 0])
  expect([...at.room.byId.keys()]).toEqual([future.id])
  expect(at.held.refusals.size).toBe(0)
})

test('a disk that fails while parents and children come together loses nothing that is offered again', async () => {
  const at = await receiver()
  const story = await at.story('first')
  const said = sayMany(story, 3)
  await at.take(said)
  at.disk.failNext('entry')
  await expect(at.take([story.first])).rejects.toMatchObject({ code: 'STORE_FULL' })
  expect((await at.thread(story.create.id)).graph.nodes).toHaveLength(0)
  expect(at.held.facts.size).toBe(0)
  await at.take([story.first, ...said])
  expect((await at.thread(story.create.id)).graph.byKind.message).toHaveLength(3)
  expect((await at.thread(story.create.id)).graph.byDevice.get(frank.device)).toHaveLength(1)
})
