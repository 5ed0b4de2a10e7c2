/** An old copy of a laptop's store is put back: it may not sign again what it has signed. */
import { expect, test } from 'vitest'
import { ApiError } from '../../src/node/api-error.ts'
import type { Node } from '../../src/node/node.ts'
import { honestChecker } from './checkers/honest.ts'
import type { Defects, Laptop } from './laptop.ts'
import { rest } from './quiet.ts'
import { random } from './random.ts'
import { createWorld, type World } from './world.ts'

const SESSION = { session: 'one' }

interface Pair extends World {
  readonly bob: Laptop
  readonly frank: Laptop
  /** A thread in which frank has acknowledged and accepted, of which his old disk knows nothing. */
  readonly thread: string
}

function node({ name, node: running }: Laptop): Node {
  if (!running) throw new Error(`${name} is not running`)
  return running
}

/** What `task` comes to once time has passed. */
async function after<T>(world: World, ms: number, task: Promise<T>): Promise<T | ApiError> {
  const done = task.catch((error: unknown) => {
    if (error instanceof ApiError) return error
    throw error
  })
  await world.clock.pass(ms)
  return done
}

const hand = (from: Laptop, to: string, text: string) =>
  node(from).sendHandoff(
    { recipient: `${to}@acme`, intent: 'inform', message: { parts: [{ type: 'text', text }] } },
    SESSION,
  )
const say = (from: Laptop, thread_id: string, text: string) =>
  node(from).sendMessage({ thread_id, message: { parts: [{ type: 'text', text }] } }, SESSION)

/** frank accepted, then an old copy of his disk was put back while he is alone. */
async function restoredFrank(options: { withThread: boolean; defects?: Defects }): Promise<Pair> {
  const { defects = {} } = options
  const world = await createWorld({
    random: random('old disk'),
    honest: 2,
    defects,
    checkers: (scene) => [honestChecker(scene)],
  })
  const [bob, frank] = world.laptops
  if (!bob || !frank) throw new Error('there are two')
  for (const laptop of [bob, frank]) await after(world, 1000, laptop.start())
  if (!options.withThread) await frank.backUp()
  const sent = await after(world, 1000, hand(bob, 'frank', 'look at this'))
  if (sent instanceof ApiError) throw sent
  if (options.withThread) await frank.backUp()
  await after(world, 1000, node(frank).accept({ thread_id: sent.thread_id }, SESSION))
  await after(world, 2000, frank.stop())
  world.cut(bob, frank)
  await frank.restore()
  await after(world, 1000, frank.start())
  return { ...world, bob, frank, thread: sent.thread_id }
}

async function three(story: string): Promise<{ world: World; bob: Laptop; frank: Laptop; carol: Laptop }> {
  const world = await createWorld({
    random: random(story),
    honest: 3,
    defects: {},
    checkers: (scene) => [honestChecker(scene)],
  })
  const [bob, frank, carol] = world.laptops
  if (!bob || !frank || !carol) throw new Error('there are three')
  return { world, bob, frank, carol }
}

async function heal({ heal: join, bob, frank, clock }: Pair): Promise<void> {
  join(bob, frank)
  await clock.pass(60_000)
}

test('a thread of which it may have lost something is not written until a peer was met, then it goes on', async () => {
  const world = await restoredFrank({ withThread: true })
  const { frank, bob, thread, scene } = world
  expect(await after(world, 1000, say(frank, thread, 'too early'))).toMatchObject({ symbol: 'state_changed' })
  await heal(world)
  expect(await after(world, 1000, node(frank).getThread({ thread_id: thread }))).toMatchObject({ status: 'accepted' })
  expect(await after(world, 1000, say(frank, thread, 'here I am'))).toMatchObject({ status: 'accepted' })
  expect(await after(world, 1000, say(bob, thread, 'welcome back'))).toMatchObject({ delivery: { stored_here: true } })
  expect(bob.holder.held).toEqual(frank.holder.held)
  expect(scene.violation).toBeUndefined()
})

test('a thread that the old copy does not know comes back whole before a receipt is signed', async () => {
  const world = await restoredFrank({ withThread: false })
  const { frank, bob, thread, scene } = world
  await heal(world)
  expect(await after(world, 1000, say(frank, thread, 'here I am'))).toMatchObject({ status: 'accepted' })
  expect(bob.holder.held).toEqual(frank.holder.held)
  expect(scene.violation).toBeUndefined()
})

test('a thread that the old copy does not know is not acknowledged while only others know of it', async () => {
  const { world, bob, frank, carol } = await three('a third one knows')
  for (const laptop of [bob, carol]) await after(world, 1000, laptop.start())
  await frank.backUp()
  const sent = await after(world, 1000, hand(bob, 'frank', 'look at this'))
  if (sent instanceof ApiError) throw sent
  await after(world, 2000, carol.stop())
  await after(world, 1000, frank.start())
  await after(world, 2000, frank.stop())
  expect(bob.holder.held.size).toBe(2)
  world.cut(bob, frank)
  await frank.restore()
  // carol has the handoff from bob, and never heard of the receipt.
  world.cut(bob, carol)
  for (const laptop of [carol, frank]) await after(world, 1000, laptop.start())
  await world.clock.pass(60_000)
  expect(frank.holder.held.size).toBe(1)
  await heal({ ...world, bob, frank, thread: sent.thread_id })
  expect(frank.holder.held).toEqual(bob.holder.held)
  expect(world.scene.violation).toBeUndefined()
})

test('a thread is not written because a reader, who takes no part in it, was met', async () => {
  const { world, bob, frank, carol } = await three('a reader is met')
  for (const laptop of world.laptops) await after(world, 1000, laptop.start())
  const sent = await after(world, 1000, hand(bob, 'frank', 'look at this'))
  if (sent instanceof ApiError) throw sent
  const { thread_id } = sent
  expect(await after(world, 2000, node(bob).share({ thread_id, reader: 'carol@acme' }, SESSION))).toMatchObject({
    reader: 'carol@acme',
  })
  await after(world, 2000, carol.stop())
  await frank.backUp()
  expect(await after(world, 1000, node(frank).accept({ thread_id }, SESSION))).toMatchObject({ status: 'accepted' })
  await after(world, 2000, frank.stop())
  world.cut(bob, frank)
  await frank.restore()
  // carol reads the thread, and never heard that it was accepted.
  world.cut(bob, carol)
  for (const laptop of [carol, frank]) await after(world, 1000, laptop.start())
  await world.clock.pass(60_000)
  expect(await after(world, 1000, say(frank, thread_id, 'too early'))).toMatchObject({ symbol: 'state_changed' })
  await heal({ ...world, bob, frank, thread: thread_id })
  expect(await after(world, 1000, say(frank, thread_id, 'here I am'))).toMatchObject({ status: 'accepted' })
  expect(world.scene.violation).toBeUndefined()
})

test('what begins after the loss is written at once', async () => {
  const world = await restoredFrank({ withThread: true })
  const sent = await after(world, 1000, hand(world.frank, 'bob', 'something new'))
  if (sent instanceof ApiError) throw sent
  expect(await after(world, 1000, say(world.frank, sent.thread_id, 'and more'))).toMatchObject({ status: 'pending' })
})

test('that it has to recover survives further restarts', async () => {
  const world = await restoredFrank({ withThread: true })
  const { frank, thread } = world
  frank.crash()
  await rest()
  await after(world, 1000, frank.start())
  expect(await after(world, 1000, say(frank, thread, 'too early'))).toMatchObject({ symbol: 'state_changed' })
})

test('without the mark outside of the store the device forks', async () => {
  const world = await restoredFrank({ withThread: true, defects: { noStartMark: true } })
  const { frank, thread, scene } = world
  expect(await after(world, 1000, say(frank, thread, 'too early'))).toMatchObject({ status: 'pending' })
  await heal(world)
  expect(scene.violation).toMatchObject({ checker: 'honest' })
})
