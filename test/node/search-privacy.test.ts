/** Nobody finds anything of a thread that he takes no part in, though his laptop keeps it. */
import { expect, test } from 'vitest'
import { find, idsOf } from './searching.ts'
import { arrives, handOff, type Laptop, says, SESSION, trio } from './world.ts'

const WORD = 'xylophone'

test('a carrier and a third member find nothing of it, not by words, lists, counts or suggestions, and nothing of it is in their index', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  await frank.stop()
  const artifacts = [{ type: 'file' as const, name: `${WORD}.txt`, media_type: 'text/plain', text: WORD }]
  const { thread_id } = await handOff(bob, 'frank', `the ${WORD} of it`, { artifacts })
  await bob.node.sendMessage({ thread_id, message: says(WORD) }, SESSION)
  await world.until('carol carries both', async () => (await carol.disk.rows('carried')).length === 2)
  // A thread of carol's own: without it her index would be empty whatever the rules are.
  const own = await handOff(carol, 'bob', 'something of her own')
  await arrives(world, bob, own.thread_id)
  await frank.start()
  await arrives(world, frank, thread_id)

  for (const at of [bob, frank]) expect(await idsOf(at, WORD)).toEqual([thread_id])
  for (const query of [WORD, WORD.slice(0, 4), 'xylofone', thread_id, thread_id.slice(3)])
    expect(await find(carol, query), query).toEqual({ items: [], timed_out: false })
  for (const more of [
    {},
    { with: 'frank' },
    { with: 'bob' },
    { side: 'in' as const },
    { status: ['pending' as const] },
  ])
    expect((await idsOf(carol, '', more)).filter((id) => id !== own.thread_id)).toEqual([])

  const index = async (at: Laptop): Promise<string> =>
    (await at.disk.rows('search')).map(([key, value]) => `${key} ${Buffer.from(value).toString('latin1')}`).join('\n')
  expect(await idsOf(carol, 'something')).toEqual([own.thread_id])
  const [bobs, carols] = [await index(bob), await index(carol)]
  expect(bobs).toContain(WORD)
  expect(carols).toContain('something')
  expect(carols).not.toContain(WORD)
  // Her store holds both threads, and her index one of them.
  expect(await carol.disk.rows('thread')).toHaveLength(2)
  expect(carols.match(/^doc\//gm)).toHaveLength(1)
  expect((await handOff(carol, 'frank', `the ${WORD} of it`)).similar).toEqual([])
})
