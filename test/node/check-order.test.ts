/**
 * The one order of checks: schema, credential, idempotency, recipient, participant, terminal, side,
 * transition, revision, rate. Each case breaks two rules at once; the earlier one is told.
 */
import { expect, test } from 'vitest'
import type { Caller } from '../../src/node/api.ts'
import type { ApiSymbol } from '../../src/node/api-error.ts'
import { arrives, founder, handOff, type Laptop, pair, says, SESSION, symbolOf, uuid, viewOnce } from './world.ts'

const UNKNOWN = 'ho_aaaaaaaaaaaaaaaaaaaaaaaaaa'
const STALE = 'rev_aaaaaaaaaaaaaaaaaaaaaaaaaa'
const ACTION = { description: 'Drop it', target_files: ['a.sql'], rationale: 'It is empty.' }
const HUGE = 'x'.repeat(300 * 1024)

/** A caller who may write nothing more this minute. */
async function exhausted(at: Laptop): Promise<Caller> {
  const caller = { session: uuid() }
  const { thread_id } = await at.node.sendHandoff(
    { recipient: 'frank@acme', intent: 'inform', message: says('to use up the minute') },
    caller,
  )
  for (let i = 0; i < 59; i++) await at.node.sendMessage({ thread_id, message: says(String(i)) }, caller)
  return caller
}

async function threads() {
  const world = await pair()
  const { bob, frank } = world
  const made = async (text: string, more = {}): Promise<string> => {
    const { thread_id } = await handOff(bob, 'frank', text, more)
    await arrives(world, frank, thread_id)
    return thread_id
  }
  const pending = await made('pending')
  const accepted = await made('accepted', { intent: 'propose_action', proposed_action: ACTION })
  await frank.node.accept({ thread_id: accepted }, SESSION)
  const done = await made('done')
  await frank.node.accept({ thread_id: done }, SESSION)
  await frank.node.complete({ thread_id: done, result_summary: 'r' }, SESSION)
  await viewOnce(world, bob, accepted, ({ status }) => status === 'accepted')
  await viewOnce(world, bob, done, ({ status }) => status === 'completed')
  return { world, bob, frank, pending, accepted, done }
}

const accept = (at: Laptop, thread_id: string, more = {}) => at.node.accept({ thread_id, ...more }, SESSION)
const complete = (at: Laptop, thread_id: string, result_summary = 'r') =>
  at.node.complete({ thread_id, result_summary }, SESSION)
const message = (at: Laptop, thread_id: string, text: string, caller = SESSION) =>
  at.node.sendMessage({ thread_id, message: says(text) }, caller)

test('of two broken rules the earlier one in the order is told', async () => {
  const { bob, frank, pending, accepted, done } = await threads()
  const [tired, tiredFrank] = [await exhausted(bob), { session: uuid() }]
  const cases: [told: ApiSymbol, over: string, call: Promise<unknown>][] = [
    ['invalid_params', 'recipient: the summary is empty', handOff(bob, 'nobody', '')],
    ['invalid_intent_payload', 'recipient', handOff(bob, 'nobody', 'x', { intent: 'propose_action' })],
    ['payload_too_large', 'recipient', handOff(bob, 'nobody', HUGE)],
    ['payload_too_large', 'participant', message(bob, UNKNOWN, HUGE)],
    ['payload_too_large', 'terminal', message(bob, done, HUGE)],
    ['payload_too_large', 'transition', complete(frank, pending, HUGE)],
    ['invalid_params', 'participant: the message is empty', message(bob, UNKNOWN, '')],
    ['invalid_params', 'terminal: the message is empty', message(bob, done, '')],
    ['recipient_not_found', 'participant', handOff(bob, 'nobody', 'x', { parent_thread_id: UNKNOWN })],
    ['thread_terminal', 'side', accept(bob, done)],
    ['thread_terminal', 'side', frank.node.cancel({ thread_id: done }, SESSION)],
    ['thread_terminal', 'revision', accept(frank, done, { expected_revision_id: STALE })],
    ['not_authorized_transition', 'transition', accept(bob, accepted)],
    ['not_authorized_transition', 'transition', complete(bob, pending)],
    ['not_authorized_transition', 'transition', frank.node.cancel({ thread_id: accepted }, SESSION)],
    ['not_authorized_transition', 'revision', accept(bob, pending, { expected_revision_id: STALE })],
    ['state_changed', 'revision', accept(frank, accepted, { expected_revision_id: STALE })],
    ['approval_required', 'rate', frank.node.complete({ thread_id: accepted, result_summary: 'r' }, tiredFrank)],
    [
      'recipient_not_found',
      'rate',
      bob.node.sendHandoff({ recipient: 'nobody', intent: 'inform', message: says('x') }, tired),
    ],
    ['thread_not_found', 'rate', message(bob, UNKNOWN, 'x', tired)],
    ['thread_terminal', 'rate', message(bob, done, 'x', tired)],
    ['state_changed', 'rate', bob.node.cancel({ thread_id: accepted }, tired)],
    ['rate_limited', 'nothing', bob.node.cancel({ thread_id: pending }, tired)],
  ]
  const told = await Promise.all(cases.map(async ([, over, call]) => [await symbolOf(call), over]))
  expect(told).toEqual(cases.map(([symbol, over]) => [symbol, over]))
})

test('the schema comes before the credential', async () => {
  const world = await founder()
  const alone = await world.stranger('frank')
  await alone.start()
  expect(await symbolOf(handOff(alone, 'bob', '', {}))).toBe('invalid_params')
  expect(await symbolOf(handOff(alone, 'bob', 'x', { intent: 'propose_action' }))).toBe('invalid_intent_payload')
  expect(await symbolOf(message(alone, UNKNOWN, HUGE))).toBe('payload_too_large')
  expect(await symbolOf(handOff(alone, 'bob', 'x'))).toBe('unauthenticated')
})

test('idempotency comes before all that depends on others: the first answer is given again, whatever has changed', async () => {
  const { world, bob, frank, pending } = await threads()
  const key = { metadata: { client_idempotency_key: uuid() } }
  const said = () => bob.node.sendMessage({ thread_id: pending, message: says('once'), ...key }, SESSION)
  const first = await said()
  await viewOnce(world, frank, pending, ({ entries }) => entries.length === 2)
  await accept(frank, pending)
  await complete(frank, pending)
  await viewOnce(world, bob, pending, ({ status }) => status === 'completed')
  expect(await said()).toEqual(first)
  const other = bob.node.sendMessage({ thread_id: pending, message: says('twice'), ...key }, SESSION)
  expect(await symbolOf(other)).toBe('duplicate_idempotency_key')
  const tooLarge = bob.node.sendMessage({ thread_id: pending, message: says(HUGE), ...key }, SESSION)
  expect(await symbolOf(tooLarge)).toBe('payload_too_large')
})
