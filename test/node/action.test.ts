/** A proposed action: completing it as done takes a human's approval of exactly these bytes. */
import { describe, expect, test } from 'vitest'
import { actionMac, encodeAction } from '../../protocol/index.ts'
import { actor, dice } from '../cast.ts'
import { entriesMessage, impersonate, sealedStory } from './impostor.ts'
import {
  arrives,
  handOff,
  type Laptop,
  pair,
  plain,
  refused,
  SESSION,
  stoppedAcme,
  symbolOf,
  view,
  viewOnce,
  type World,
} from './world.ts'

const ACTION = { description: 'Drop the table users', target_files: ['db/001.sql'], rationale: 'It is empty.' }

async function proposed(world: World, bob: Laptop, frank: Laptop): Promise<{ id: string; digest: string }> {
  const sent = await handOff(bob, 'frank', 'Please', { intent: 'propose_action', proposed_action: ACTION })
  await arrives(world, frank, sent.thread_id)
  const { action } = await view(frank, sent.thread_id)
  return { id: sent.thread_id, digest: action?.digest ?? '' }
}

const complete = (at: Laptop, thread_id: string, outcome?: 'done' | 'partial' | 'declined') =>
  at.node.complete({ thread_id, result_summary: 'result', outcome }, SESSION)

test('the recipient sees the action, that nobody has answered, and the digest that an answer binds', async () => {
  const world = await pair()
  const { id, digest } = await proposed(world, world.bob, world.frank)
  for (const at of [world.bob, world.frank]) {
    const seen = await view(at, id)
    expect(seen.action).toEqual({ digest, verdict: 'none', mismatch: false })
    expect(plain(seen.entries[0]?.content)?.proposed_action).toEqual(ACTION)
  }
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
})

test('accepted is not approved: completing as done says what a human has to run, partial and declined are free', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { id, digest } = await proposed(world, bob, frank)
  await frank.node.accept({ thread_id: id }, SESSION)
  const error = await refused(complete(frank, id))
  expect(error).toMatchObject({
    symbol: 'approval_required',
    details: { verdict: 'none', run: `relay-node approve ${id}` },
  })
  expect(await frank.node.approve({ thread_id: id, digest }, SESSION)).toMatchObject({
    verdict: 'approved',
    status: 'accepted',
  })
  await complete(frank, id)
  await viewOnce(world, bob, id, ({ status, action }) => status === 'completed' && action?.verdict === 'approved')

  const second = await proposed(world, bob, frank)
  await frank.node.accept({ thread_id: second.id }, SESSION)
  await complete(frank, second.id, 'declined')
})

test('a rejection blocks until a later approval names it', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { id, digest } = await proposed(world, bob, frank)
  await frank.node.accept({ thread_id: id }, SESSION)
  await frank.node.approve({ thread_id: id, digest }, SESSION)
  const no = await frank.node.reject({ thread_id: id, digest, reason: 'not on a Friday' }, SESSION)
  expect(no.verdict).toBe('rejected')
  expect(await refused(complete(frank, id))).toMatchObject({
    symbol: 'approval_required',
    details: { verdict: 'rejected' },
  })
  await viewOnce(world, bob, id, ({ action }) => action?.verdict === 'rejected')
  await frank.node.approve({ thread_id: id, digest: digest.toUpperCase() }, SESSION)
  await complete(frank, id)
  const seen = await viewOnce(world, bob, id, ({ status }) => status === 'completed')
  expect(seen.entries.flatMap(({ verdict }) => verdict ?? [])).toEqual(['approved', 'rejected', 'approved'])
})

describe('an approval is refused', () => {
  test('while the handoff is pending', async () => {
    const world = await pair()
    const { id, digest } = await proposed(world, world.bob, world.frank)
    expect(await symbolOf(world.frank.node.approve({ thread_id: id, digest }, SESSION))).toBe('invalid_transition')
  })

  test('from the sender, for another digest, and after the end', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { id, digest } = await proposed(world, bob, frank)
    await frank.node.accept({ thread_id: id }, SESSION)
    await viewOnce(world, bob, id, ({ status }) => status === 'accepted')
    expect(await symbolOf(bob.node.approve({ thread_id: id, digest }, SESSION))).toBe('not_authorized_transition')
    const other = digest.replace(/^./, (first) => (first === '0' ? '1' : '0'))
    expect(await symbolOf(frank.node.approve({ thread_id: id, digest: other }, SESSION))).toBe('invalid_params')
    await complete(frank, id, 'declined')
    expect(await symbolOf(frank.node.reject({ thread_id: id, digest }, SESSION))).toBe('thread_terminal')
  })

  test('where no action is proposed', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'nothing to approve')
    await arrives(world, frank, thread_id)
    await frank.node.accept({ thread_id }, SESSION)
    const digest = '00'.repeat(32)
    expect(await symbolOf(frank.node.approve({ thread_id, digest }, SESSION))).toBe('invalid_params')
    await complete(frank, thread_id)
  })
})

test('an action in the body that is not the one named in public is shown as a mismatch, and nothing of it can be approved', async () => {
  const world = await stoppedAcme('frank', 'mallory')
  const [frank, laptop] = [world.laptop('frank'), world.laptop('mallory')]
  await frank.start()
  const mallory = await impersonate(world, laptop)
  const harmless = encodeAction({ ...ACTION, description: 'Add an index' })
  const story = await sealedStory({
    workspace: mallory.workspace,
    disk: laptop.disk,
    from: mallory,
    to: actor('frank'),
    dice: dice('mismatch'),
    body: { summary: 'Please', artifacts: [], proposed_action: encodeAction(ACTION) },
    ctl: (key, nonce) => ({ intent: 'propose_action', action: actionMac(key, nonce, harmless) }),
  })
  const talk = await mallory.meet(frank)
  await talk.say(entriesMessage(story.create.id, [story.first]))
  const { items } = await world.until('it is there', async () => {
    const page = await frank.node.listThreads({})
    return page.items.length > 0 && page
  })
  const id = items[0]?.thread_id ?? ''
  const seen = await view(frank, id)
  const digest = story.create.header.kind === 'create' ? story.create.header.ctl.action : null
  expect(seen.action).toEqual({ digest, verdict: 'none', mismatch: true })
  expect(plain(seen.entries[0]?.content)).toEqual({ summary: 'Please' })
  await frank.node.accept({ thread_id: id }, SESSION)
  for (const decide of [frank.node.approve, frank.node.reject])
    expect(await symbolOf(decide({ thread_id: id, digest: digest ?? '' }, SESSION))).toBe('verification_failed')
  expect(await symbolOf(complete(frank, id))).toBe('approval_required')
  await complete(frank, id, 'declined')
})
