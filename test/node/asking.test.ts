import { expect, test } from 'vitest'
import { createAsking } from '../../src/node/asking.ts'
import { testClock } from './clock.ts'
import { overheard } from './overheard.ts'
import { handOff, stoppedAcme } from './world.ts'

const thread = (n: number): string => n.toString(16).padStart(64, '0')

function setUp(count: number) {
  const clock = testClock()
  const asking = createAsking(clock)
  const woken: number[] = []
  const askers = Array.from({ length: count }, (_, i) => asking.join(() => woken.push(i)))
  return { clock, woken, askers }
}

test('a thread is asked of one peer at a time, and whoever found it taken is woken when the answer is here', () => {
  const { woken, askers } = setUp(3)
  const [one, two, three] = askers
  expect(one?.claim(thread(1))).toBe(true)
  expect(two?.claim(thread(1))).toBe(false)
  expect(three?.claim(thread(2))).toBe(true)
  one?.release(thread(1))
  expect(woken).toEqual([1])
  expect(two?.claim(thread(1))).toBe(true)
})

test('of a peer that does not answer the thread is taken back, and so it is of one that leaves', () => {
  const { clock, woken, askers } = setUp(2)
  const [silent, other] = askers
  silent?.claim(thread(1))
  expect(other?.claim(thread(1))).toBe(false)
  clock.advance(10_000)
  expect(woken).toEqual([1])
  expect(other?.claim(thread(1))).toBe(true)
  expect(silent?.claim(thread(1))).toBe(false)
  other?.leave()
  expect(woken).toEqual([1, 0])
  expect(silent?.claim(thread(1))).toBe(true)
})

test('an answer that comes after its time takes nothing from whoever was asked meanwhile', () => {
  const { clock, askers } = setUp(3)
  const [late, other, third] = askers
  late?.claim(thread(1))
  other?.claim(thread(1))
  clock.advance(10_000)
  expect(other?.claim(thread(1))).toBe(true)
  late?.release(thread(1))
  expect(third?.claim(thread(1))).toBe(false)
})

test('three peers at a time are told what is here; the next one when one of them has caught us up, left or kept silent', () => {
  const { clock, askers } = setUp(6)
  const told: number[] = []
  askers.forEach((asker, i) => asker.catchUp(() => told.push(i)))
  expect(told).toEqual([0, 1, 2])
  askers[1]?.caughtUp()
  expect(told).toEqual([0, 1, 2, 3])
  askers[0]?.leave()
  expect(told).toEqual([0, 1, 2, 3, 4])
  clock.advance(10_000)
  expect(told).toEqual([0, 1, 2, 3, 4, 5])
})

test('whoever is told again while it waits is told once, and in its turn at once', () => {
  const { askers } = setUp(4)
  const told: string[] = []
  const tell = (i: number, what: string) => askers[i]?.catchUp(() => told.push(`${i} ${what}`))
  for (let i = 0; i < 4; i++) tell(i, 'first')
  tell(3, 'second')
  tell(0, 'second')
  expect(told).toEqual(['0 first', '1 first', '2 first', '0 second'])
  askers[2]?.caughtUp()
  expect(told.at(-1)).toBe('3 second')
  expect(told.length).toBe(5)
})

test('a laptop that comes back is sent each thing about once, however many hold it', async () => {
  const world = await stoppedAcme('frank', 'carol', 'dave', 'erin')
  const [bob, ...others] = ['bob', 'frank', 'carol', 'dave'].map((name) => world.laptop(name))
  const erin = world.laptop('erin')
  if (!bob) throw new Error('bob is there')
  for (const laptop of [bob, ...others]) await laptop.start()
  await world.connected()
  const count = 40
  for (let i = 0; i < count; i++) await handOff(bob, 'frank', `number ${i}`)
  await world.until('all hold all of it', () =>
    [bob, ...others].every(({ node }) => node.memory().threads === count && node.memory().outbox === 0),
  )
  const came: string[] = []
  await erin.start({ through: (net) => overheard(net, (message) => came.push(message.t)) })
  await world.until('erin holds all of it', () => erin.node.memory().threads === count)
  const batches = came.filter((t) => t === 'entries').length
  expect(batches).toBeGreaterThanOrEqual(count)
  expect(batches).toBeLessThan(1.5 * count)
})
