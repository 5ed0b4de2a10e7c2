/** The inbox: what counts as unread, waiting for news, and pages. */
import { expect, test } from 'vitest'
import {
  arrives,
  handOff,
  inboxItem,
  type Laptop,
  pair,
  plain,
  refused,
  says,
  SESSION,
  symbolOf,
  trio,
  view,
} from './world.ts'

const message = (at: Laptop, thread_id: string, text: string) =>
  at.node.sendMessage({ thread_id, message: says(text) }, SESSION)

test('unread counts what others said since the read mark; reading without a mark leaves it', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await message(bob, thread_id, 'two')
  await world.until('both are unread', async () => (await inboxItem(frank, thread_id))?.unread_count === 2)
  expect((await view(frank, thread_id)).unread_count).toBe(2)
  expect((await inboxItem(frank, thread_id))?.unread_count).toBe(2)

  await frank.node.getThread({ thread_id, mark_read: true })
  expect((await inboxItem(frank, thread_id))?.unread_count).toBe(0)
  await message(bob, thread_id, 'three')
  await world.until('the third is unread', async () => (await inboxItem(frank, thread_id))?.unread_count === 1)
  expect(plain((await inboxItem(frank, thread_id))?.preview)).toBe('three')
})

test('accepting reads; one’s own words and receipts are never unread', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await message(frank, thread_id, 'mine')
  expect((await inboxItem(frank, thread_id))?.unread_count).toBe(0)
  await world.until('it is unread at bob', async () => (await inboxItem(bob, thread_id))?.unread_count === 1)
  await frank.node.complete({ thread_id, result_summary: 'done' }, SESSION)
  await world.until('the result too', async () => (await inboxItem(bob, thread_id))?.unread_count === 2)
})

test('a mark that is set with a page moves to the end of that page and no further', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'first')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  const large = 'x'.repeat(200 * 1024)
  for (const text of ['a', 'b', 'c']) await message(bob, thread_id, text + large)
  await world.until('all are here', async () => (await inboxItem(frank, thread_id))?.unread_count === 3)
  let cursor: string | undefined
  const unread: (number | undefined)[] = []
  const seen: string[] = []
  do {
    const page = await frank.node.getThread({ thread_id, cursor, mark_read: true })
    seen.push(
      ...page.entries.filter(({ kind }) => kind === 'message').map((entry) => plain(entry.content)?.body?.[0] ?? ''),
    )
    unread.push((await inboxItem(frank, thread_id))?.unread_count)
    cursor = page.next_cursor
  } while (cursor !== undefined)
  expect(seen).toEqual(['a', 'b', 'c'])
  expect(unread.at(-1)).toBe(0)
  expect(unread).toEqual([2, 1, 0].slice(-unread.length))
  expect(unread.length).toBeGreaterThan(1)
})

test('waiting returns at once where something is unread', async () => {
  const world = await pair()
  const { thread_id } = await handOff(world.bob, 'frank', 'one')
  await arrives(world, world.frank, thread_id)
  const page = await world.frank.node.listThreads({ wait_s: 50 })
  expect(page).toMatchObject({ timed_out: false, items: [{ thread_id, unread_count: 1 }] })
})

test('waiting ends at the first arrival, and not at what oneself does', async () => {
  const world = await pair()
  const { bob, frank } = world
  const own = await handOff(frank, 'bob', 'mine')
  const waiting = frank.node.listThreads({ wait_s: 50 })
  await world.until('it waits', () => world.clock.isAwaited(50_000))
  await message(frank, own.thread_id, 'still mine')
  const { thread_id } = await handOff(bob, 'frank', 'one')
  const page = await waiting
  expect(page.timed_out).toBe(false)
  expect(page.items.find((item) => item.unread_count > 0)?.thread_id).toBe(thread_id)
})

test('waiting for one side or one status is not ended by another', async () => {
  const world = await pair()
  const { bob, frank, clock } = world
  const waiting = frank.node.listThreads({ wait_s: 20, side: 'out' })
  await world.until('it waits', () => clock.isAwaited(20_000))
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await arrives(world, frank, thread_id)
  clock.advance(20_000)
  expect(await waiting).toEqual({ items: [], timed_out: true })
})

test('waiting ends when its time is over, with what there is', async () => {
  const { frank, clock, until } = await pair()
  const waiting = frank.node.listThreads({ wait_s: 30 })
  await until('it waits', () => clock.isAwaited(30_000))
  clock.advance(29_000)
  const early = await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, 'still waiting'))])
  expect(early).toBe('still waiting')
  clock.advance(1000)
  expect(await waiting).toEqual({ items: [], timed_out: true })
})

test('waiting ends when nobody waits any more, whether that was so before or comes later', async () => {
  const { frank, clock, until } = await pair()
  const controller = new AbortController()
  const waiting = frank.node.listThreads({ wait_s: 50 }, controller.signal)
  await until('it waits', () => clock.isAwaited(50_000))
  controller.abort()
  expect(await waiting).toMatchObject({ timed_out: true })
  expect(await frank.node.listThreads({ wait_s: 50 }, controller.signal)).toMatchObject({ timed_out: true })
})

test('pages go from the newest news back, each thread once', async () => {
  const { bob } = await pair()
  const ids: string[] = []
  for (const text of ['a', 'b', 'c', 'd', 'e']) ids.push((await handOff(bob, 'frank', text)).thread_id)
  await message(bob, ids[1] ?? '', 'b again')
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await bob.node.listThreads({ limit: 2, cursor })
    expect(page.items.length).toBeLessThanOrEqual(2)
    seen.push(...page.items.map((item) => item.thread_id))
    cursor = page.next_cursor
  } while (cursor !== undefined)
  expect(seen).toEqual([1, 4, 3, 2, 0].map((i) => ids[i]))
})

test('closed threads are listed where they are asked for, by status and by side', async () => {
  const { bob } = await pair()
  const open = await handOff(bob, 'frank', 'open')
  const closed = await handOff(bob, 'frank', 'closed')
  await bob.node.cancel({ thread_id: closed.thread_id }, SESSION)
  const listed = async (params: object) => (await bob.node.listThreads(params)).items.map((item) => item.thread_id)
  expect(await listed({})).toEqual([open.thread_id])
  expect(await listed({ status: ['cancelled'] })).toEqual([closed.thread_id])
  expect(await listed({ side: 'in' })).toEqual([])
  expect(await listed({ side: 'out', status: ['pending', 'cancelled'] })).toEqual([closed.thread_id, open.thread_id])
})

test('a cursor that is none is refused; one into the void gives an empty page', async () => {
  const { bob } = await pair()
  expect(await symbolOf(bob.node.listThreads({ cursor: 'x' }))).toBe('invalid_params')
  expect(await bob.node.listThreads({ cursor: '0' })).toEqual({ items: [], timed_out: false })
})

test('whoever takes no part gets the same answer as for a thread that does not exist, and lists nothing', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  const { thread_id } = await handOff(bob, 'frank', 'for frank alone')
  await arrives(world, frank, thread_id)
  await world.until('the header is at carol’s', async () => (await carol.disk.rows('entry')).length > 0)
  const [notHers, unknown] = await Promise.all([
    refused(carol.node.getThread({ thread_id })),
    refused(carol.node.getThread({ thread_id: 'ho_aaaaaaaaaaaaaaaaaaaaaaaaaa' })),
  ])
  expect(notHers).toMatchObject({ symbol: 'thread_not_found', message: unknown.message, hint: unknown.hint })
  expect((await carol.node.listThreads({})).items).toEqual([])
  expect(await carol.node.status()).toMatchObject({ threads: 0, unread: 0 })
  expect(await carol.disk.image()).not.toContain(Buffer.from('for frank alone').toString('hex'))
})
