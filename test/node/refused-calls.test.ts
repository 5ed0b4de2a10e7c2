/** What a call is refused with, and which refusal is told where several would fit. */
import { describe, expect, test } from 'vitest'
import { BODY_CONTENT_SIZE_BYTES_MAX, PENDING_TURNS_COUNT_MAX, THREAD_TURNS_COUNT_MAX } from '../../protocol/index.ts'
import type { ArtifactInput } from '../../src/node/api.ts'
import {
  arrives,
  founder,
  handOff,
  type Laptop,
  pair,
  refused,
  says,
  SESSION,
  stoppedAcme,
  symbolOf,
  trio,
  uuid,
  view,
  viewOnce,
} from './world.ts'

const ACTION = { description: 'Drop it', target_files: ['a.sql'], rationale: 'It is empty.' }
const UNKNOWN = 'ho_aaaaaaaaaaaaaaaaaaaaaaaaaa'
const message = (at: Laptop, thread_id: string, text: string, session = SESSION) =>
  at.node.sendMessage({ thread_id, message: says(text) }, session)
const complete = (at: Laptop, thread_id: string) => at.node.complete({ thread_id, result_summary: 'r' }, SESSION)

async function completedThread() {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await complete(frank, thread_id)
  await viewOnce(world, bob, thread_id, ({ status }) => status === 'completed')
  return { ...world, thread_id }
}

describe('a handoff is refused', () => {
  test('without a workspace, whatever is asked', async () => {
    const world = await founder()
    const alone = await world.stranger('frank')
    await alone.start()
    expect(await alone.node.whoami()).toMatchObject({ node_state: 'alone', workspaces: [], owner: false })
    const calls = [
      handOff(alone, 'bob', 'hello'),
      message(alone, UNKNOWN, 'hello'),
      alone.node.getThread({ thread_id: UNKNOWN }),
      alone.node.listThreads({}),
      alone.node.listTeammates({}),
      alone.node.invite({ name: 'carol' }),
      alone.node.readArtifact({ thread_id: UNKNOWN, artifact_id: 'art_a' }),
    ]
    for (const symbol of await Promise.all(calls.map(symbolOf))) expect(symbol).toBe('unauthenticated')
  })

  test('to nobody of that name, with the names there are; being offline is no reason', async () => {
    const { bob, frank } = await pair()
    await frank.stop()
    for (const to of ['dave@acme', 'frank@elsewhere', 'frank@acme@acme', '']) {
      const call = bob.node.sendHandoff({ recipient: to, intent: 'inform', message: says('x') }, SESSION)
      expect(await refused(call)).toMatchObject({ symbol: 'recipient_not_found', details: { handles: ['frank@acme'] } })
    }
    for (const to of ['frank', ' Frank@ACME ']) {
      await bob.node.sendHandoff({ recipient: to, intent: 'inform', message: says(to) }, SESSION)
    }
  })

  test('in a workspace with nobody else in it, with what to do first', async () => {
    const { bob } = await founder()
    const error = await refused(handOff(bob, 'frank', 'hello'))
    expect(error).toMatchObject({ symbol: 'recipient_not_found', details: { handles: [] } })
    expect(error.hint).toContain('relay-node invite')
  })

  test('to oneself, and with nothing in it', async () => {
    const { bob } = await pair()
    expect(await symbolOf(handOff(bob, 'bob', 'note to self'))).toBe('invalid_params')
    expect(await symbolOf(handOff(bob, 'frank', ' \n '))).toBe('invalid_params')
  })

  test('where intent and contents do not fit each other', async () => {
    const { bob } = await pair()
    const calls = [
      handOff(bob, 'frank', 'x', { intent: 'propose_action' }),
      handOff(bob, 'frank', 'x', { proposed_action: ACTION }),
      handOff(bob, 'frank', 'x', { question: 'why?' }),
    ]
    for (const symbol of await Promise.all(calls.map(symbolOf))) expect(symbol).toBe('invalid_intent_payload')
    await handOff(bob, 'frank', 'x', { intent: 'ask_question', question: 'why?' })
  })

  test('where it is too large for one body, with the limit and its size', async () => {
    const { bob } = await pair()
    const error = await refused(handOff(bob, 'frank', 'x'.repeat(1024 * 1024)))
    expect(error).toMatchObject({ symbol: 'payload_too_large', details: { limit: BODY_CONTENT_SIZE_BYTES_MAX } })
    expect(error.details['size']).toBeGreaterThan(1024 * 1024)
    expect((await bob.node.listThreads({})).items).toEqual([])
  })

  test('with an artifact of no type or without what its type needs', async () => {
    const { bob } = await pair()
    const artifacts = [
      { type: 'virus', path: 'a' },
      { type: 'file_diff', path: 'a' },
      { type: 'file_diff', path: 1, diff: '' },
      { type: 'file_diff', path: '', diff: '' },
      { type: 'link' },
      { type: 'file', name: 'a', media_type: 'text/plain' },
      { type: 'file', name: 'a', media_type: 'text/plain', text: 'a', base64: 'YQ==' },
      // Not of the alphabet, bits or a character left over, padding within, too much of it.
      ...['no base64!', 'a-b_', 'YWJ\njYWJj', 'YR==', 'YWJjZ', 'YQ==YQ==', 'YWJj==='].map((base64) => ({
        type: 'file',
        name: 'a',
        media_type: 'text/plain',
        base64,
      })),
    ] as unknown as ArtifactInput[]
    for (const artifact of artifacts)
      expect(await symbolOf(handOff(bob, 'frank', 'x', { artifacts: [artifact] })), JSON.stringify(artifact)).toBe(
        'invalid_params',
      )
  })

  test('where the proposed action or the record is not of its shape', async () => {
    const { bob } = await pair()
    const action = { ...ACTION, description: '' }
    const call = handOff(bob, 'frank', 'x', { intent: 'propose_action', proposed_action: action })
    expect(await symbolOf(call)).toBe('invalid_params')
    const record = {} as unknown as NonNullable<Parameters<typeof handOff>[3]>['record']
    expect(await symbolOf(handOff(bob, 'frank', 'x', { record }))).toBe('invalid_params')
  })

  test('as a continuation of a thread that is not there', async () => {
    const { bob } = await pair()
    expect(await symbolOf(handOff(bob, 'frank', 'x', { parent_thread_id: UNKNOWN }))).toBe('thread_not_found')
  })
})

describe('in a thread', () => {
  test('an id with a typo is not found, one that fits several is ambiguous, a beginning that fits one is enough', async () => {
    const world = await pair()
    const { bob } = world
    const { thread_id } = await handOff(bob, 'frank', 'one')
    const typo = thread_id.slice(0, -1) + (thread_id.endsWith('a') ? 'b' : 'a')
    for (const id of [typo, UNKNOWN, 'ho_', '', 'msg_aaaa', `${thread_id}a`, 'ho_0!'])
      expect(await symbolOf(bob.node.getThread({ thread_id: id })), id).toBe('thread_not_found')
    expect((await view(bob, thread_id.slice(0, 12))).thread_id).toBe(thread_id)
    expect((await view(bob, thread_id.slice(3).toUpperCase())).thread_id).toBe(thread_id)
    const ids = [thread_id]
    // Of 33 ids two begin alike.
    for (let i = 0; i < 32; i++) ids.push((await handOff(bob, 'frank', String(i), {})).thread_id)
    const beginnings = ids.map((id) => id.slice(0, 4))
    const twice = beginnings.find((text, i) => beginnings.indexOf(text) !== i) ?? ''
    expect(await symbolOf(bob.node.getThread({ thread_id: twice }))).toBe('invalid_params')
  })

  test('every write on a completed thread is terminal, for both sides and for the wrong side too', async () => {
    const { bob, frank, thread_id } = await completedThread()
    for (const at of [bob, frank]) {
      const calls = [
        message(at, thread_id, 'x'),
        at.node.accept({ thread_id }, SESSION),
        complete(at, thread_id),
        at.node.cancel({ thread_id }, SESSION),
        at.node.approve({ thread_id, digest: '00'.repeat(32) }, SESSION),
      ]
      for (const symbol of await Promise.all(calls.map(symbolOf))) expect(symbol).toBe('thread_terminal')
    }
  })

  test('only the recipient accepts and completes, only the sender cancels, whatever the state', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'one')
    await arrives(world, frank, thread_id)
    const wrongSide = [
      () => bob.node.accept({ thread_id }, SESSION),
      () => complete(bob, thread_id),
      () => frank.node.cancel({ thread_id }, SESSION),
    ]
    for (const call of wrongSide) expect(await symbolOf(call())).toBe('not_authorized_transition')
    expect(await symbolOf(complete(frank, thread_id))).toBe('invalid_transition')
    await frank.node.accept({ thread_id }, SESSION)
    await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
    for (const call of wrongSide) expect(await symbolOf(call())).toBe('not_authorized_transition')
    expect(await symbolOf(frank.node.accept({ thread_id }, SESSION))).toBe('state_changed')
    expect(await symbolOf(bob.node.cancel({ thread_id }, SESSION))).toBe('state_changed')
  })

  test('an accept that expects another revision is told the current one', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id, revision_id } = await handOff(bob, 'frank', 'one')
    await arrives(world, frank, thread_id)
    const call = (expected_revision_id: string) => frank.node.accept({ thread_id, expected_revision_id }, SESSION)
    const error = await refused(call('rev_aaaaaaaaaaaaaaaaaaaaaaaaaa'))
    expect(error).toMatchObject({ symbol: 'stale_revision', details: { current: [revision_id] } })
    expect(await call(revision_id)).toMatchObject({ status: 'accepted', revision_id })
    expect(await symbolOf(frank.node.getThread({ thread_id, revision_id: 'rev_aaaa' }))).toBe('invalid_params')
    expect((await frank.node.getThread({ thread_id, revision_id })).thread_id).toBe(thread_id)
  })

  test('an artifact that is not there is not found', async () => {
    const { bob } = await pair()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    expect(await symbolOf(bob.node.readArtifact({ thread_id, artifact_id: 'art_aaaa' }))).toBe('artifact_not_found')
  })

  test('a session that writes too much has to wait, others and reading do not', async () => {
    const { bob, clock } = await pair()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    for (let i = 1; i < 60; i++) {
      await message(bob, thread_id, String(i))
      clock.advance(500)
    }
    const error = await refused(message(bob, thread_id, 'too much'))
    expect(error).toMatchObject({ symbol: 'rate_limited', details: { retry_after: 31 } })
    await message(bob, thread_id, 'another', { session: uuid() })
    await view(bob, thread_id)
    clock.advance(31_000)
    await message(bob, thread_id, 'later')
  })

  test('a sender who says too much while nobody has accepted is stopped, and may go on afterwards', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'one')
    for (let i = 0; i < PENDING_TURNS_COUNT_MAX; i++) await message(bob, thread_id, String(i), { session: uuid() })
    expect(await symbolOf(message(bob, thread_id, 'too much', { session: uuid() }))).toBe('rate_limited')
    await arrives(world, frank, thread_id)
    await frank.node.accept({ thread_id }, SESSION)
    await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
    await message(bob, thread_id, 'now it goes on', { session: uuid() })
  })

  test('after a hundred messages a human has to look', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'one')
    await arrives(world, frank, thread_id)
    await frank.node.accept({ thread_id }, SESSION)
    for (let i = 0; i < THREAD_TURNS_COUNT_MAX; i++) await message(frank, thread_id, String(i), { session: uuid() })
    const error = await refused(message(frank, thread_id, 'one more', { session: uuid() }))
    expect(error).toMatchObject({ symbol: 'rate_limited', details: { turns: 100, limit: 100 } })
    await complete(frank, thread_id)
  })
})

test('only the owner invites, a member who is there already and a name that is none are refused', async () => {
  const { bob, frank } = await trio()
  expect(await symbolOf(frank.node.invite({ name: 'dave' }))).toBe('forbidden')
  expect(await symbolOf(frank.node.revokeInvite({ invite_id: 'inv_aaaa' }))).toBe('forbidden')
  expect(await symbolOf(bob.node.invite({ name: 'carol' }))).toBe('invalid_params')
  for (const name of ['', 'a b', '-a', 'ä', 'a'.repeat(33), 'a@acme'])
    expect(await symbolOf(bob.node.invite({ name })), name).toBe('invalid_params')
  expect(await symbolOf(bob.node.revokeInvite({ invite_id: 'inv_aaaa' }))).toBe('invalid_params')
})

test('a handoff works while no network exists at all', async () => {
  const world = await stoppedAcme('frank')
  const bob = world.laptop('bob')
  await bob.start()
  expect(await handOff(bob, 'frank', 'alone on a train')).toMatchObject({ delivery: { stored_here: true } })
})
