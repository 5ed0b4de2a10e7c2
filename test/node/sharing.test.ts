/** Readers: whom a participant lets read a thread, what they can open, and what they can not do. */
import { describe, expect, test } from 'vitest'
import { itemsAt, withPost } from './mailboxes.ts'
import { message, opensAll, share } from './sharing.ts'
import {
  agreed,
  arrives,
  handOff,
  inboxItem,
  plain,
  refused,
  SESSION,
  stoppedAcme,
  symbolOf,
  textsOf,
  trio,
  uuid,
  view,
  viewOnce,
} from './world.ts'

/** A thread of bob and frank with a few words in it, which carol takes no part in. */
async function conversation() {
  const world = await trio()
  const { bob, frank } = world
  const artifacts = [{ type: 'file_diff', path: 'a.ts', diff: '-a\n+b\n' } as const]
  const { thread_id, artifact_ids } = await handOff(bob, 'frank', 'the beginning', { artifacts })
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await message(frank, thread_id, 'an answer')
  await agreed(world, thread_id, bob, frank)
  return { ...world, thread_id, artifact_id: artifact_ids[0] ?? '' }
}

describe('a reader', () => {
  test('reads all of it, also what came before, and what comes later; all three are told', async () => {
    const world = await conversation()
    const { bob, frank, carol, thread_id, artifact_id } = world
    expect(await symbolOf(view(carol, thread_id))).toBe('thread_not_found')
    expect(await share(bob, thread_id, 'carol@acme')).toMatchObject({
      thread_id,
      status: 'accepted',
      reader: 'carol@acme',
      devices: ['carol/carol-laptop'],
      warnings: [],
    })
    expect(await arrives(world, carol, thread_id)).toMatchObject({
      side: 'reader',
      sender: { handle: 'bob@acme' },
      recipient: 'frank@acme',
      unread_count: 2,
    })
    const read = await opensAll(world, carol, thread_id)
    expect(textsOf(read)).toEqual(['the beginning', 'an answer'])
    expect(read.entries.every(({ mine, content }) => !mine && content?.own === undefined)).toBe(true)
    const slice = await carol.node.readArtifact({ thread_id, artifact_id })
    expect(plain(slice.content)).toContain('+b')
    const found = await carol.node.listThreads({ query: 'beginning', side: 'reader' })
    expect(found.items.map((one) => one.thread_id)).toEqual([thread_id])
    const item = await inboxItem(carol, thread_id)
    expect(plain(item?.preview)).toBe('an answer')
    expect(item?.preview_from).toMatchObject({ handle: 'frank@acme', device: 'frank/frank-laptop' })

    await message(frank, thread_id, 'a later word')
    const all = await agreed(world, thread_id, bob, frank, carol)
    for (const [i, seen] of all.entries()) {
      expect(seen.readers).toMatchObject([
        { handle: 'carol@acme', me: i === 2, devices: ['carol/carol-laptop'], shared_by: 'bob@acme' },
      ])
      expect(seen.entries.find(({ kind }) => kind === 'share')).toMatchObject({ reader: 'carol@acme', body: 'none' })
      expect(seen.participants.map(({ side }) => side)).toEqual(['sender', 'recipient', 'reader'])
    }
    expect(textsOf(await opensAll(world, carol, thread_id))).toContain('a later word')
  })

  test('acknowledges and says nothing else: each call that writes is forbidden, and changes nothing', async () => {
    const world = await conversation()
    const { bob, carol, thread_id } = world
    await share(bob, thread_id, 'carol')
    await opensAll(world, carol, thread_id)
    await viewOnce(world, bob, thread_id, ({ delivery }) =>
      (delivery.delivered ?? []).some(({ device }) => device === 'carol/carol-laptop'),
    )
    const before = await view(carol, thread_id)
    const digest = 'ab'.repeat(32)
    const calls = [
      message(carol, thread_id, 'me too'),
      carol.node.accept({ thread_id }, SESSION),
      carol.node.complete({ thread_id, result_summary: 'done' }, SESSION),
      carol.node.cancel({ thread_id }, SESSION),
      carol.node.continueHandoff(
        { thread_id, expected_revision_id: before.revision_id, record: { open_questions: [] } },
        SESSION,
      ),
      carol.node.annotate({ thread_id, revision_id: before.revision_id, body: 'why?' }, SESSION),
      carol.node.resolve({ thread_id, annotation_id: 'ann_a', resolved_revision_id: before.revision_id }, SESSION),
      carol.node.approve({ thread_id, digest }, SESSION),
      carol.node.reject({ thread_id, digest }, SESSION),
    ]
    for (const error of await Promise.all(calls.map(refused))) {
      expect(error).toMatchObject({ symbol: 'forbidden', message: 'This thread was shared with you to read.' })
      expect(error.hint).not.toBe('')
    }
    for (const at of [bob, carol]) expect((await view(at, thread_id)).state_digest).toBe(before.state_digest)
  })

  test('cannot share it on', async () => {
    const world = await stoppedAcme('frank', 'carol', 'dave')
    const [bob, carol] = [world.laptop('bob'), world.laptop('carol')]
    for (const name of ['bob', 'frank', 'carol', 'dave']) await world.laptop(name).start()
    await world.connected()
    const { thread_id } = await handOff(bob, 'frank', 'a secret')
    await share(bob, thread_id, 'carol')
    await arrives(world, carol, thread_id)
    expect(await symbolOf(share(carol, thread_id, 'dave'))).toBe('forbidden')
    expect(await symbolOf(view(world.laptop('dave'), thread_id))).toBe('thread_not_found')
  })

  test('that was away reads it once it is back, also when it meets only one of the two', async () => {
    const world = await conversation()
    const { bob, frank, carol, thread_id } = world
    await carol.stop()
    await share(frank, thread_id, 'carol')
    await agreed(world, thread_id, bob, frank)
    await frank.stop()
    await carol.start()
    expect(textsOf(await opensAll(world, carol, thread_id))).toEqual(['the beginning', 'an answer'])
    expect((await view(carol, thread_id)).readers).toMatchObject([{ handle: 'carol@acme', shared_by: 'frank@acme' }])
  })

  test('still is one after a restart, and after its lists were made anew', async () => {
    const world = await conversation()
    const { bob, carol, thread_id } = world
    await share(bob, thread_id, 'carol')
    await opensAll(world, carol, thread_id)
    await carol.restart()
    expect(await inboxItem(carol, thread_id)).toMatchObject({ side: 'reader', unread_count: 2 })
    await carol.stop()
    await carol.start({ rebuild: true })
    expect(await inboxItem(carol, thread_id)).toMatchObject({ side: 'reader', unread_count: 2 })
    expect(textsOf(await opensAll(world, carol, thread_id))).toEqual(['the beginning', 'an answer'])
  })
})

describe('sharing is refused', () => {
  test.each([
    ['with nobody of that name', 'erin', 'recipient_not_found'],
    ['with oneself', 'bob', 'invalid_params'],
    ['with the other side', 'frank@acme', 'invalid_params'],
  ])('%s', async (_, reader, symbol) => {
    const { bob, thread_id } = await conversation()
    const before = await view(bob, thread_id)
    const error = await refused(share(bob, thread_id, reader))
    expect(error.symbol).toBe(symbol)
    expect(error.hint).not.toBe('')
    expect((await view(bob, thread_id)).state_digest).toBe(before.state_digest)
  })

  test('a second time, by either side, unless it is the same call again', async () => {
    const world = await conversation()
    const { bob, frank, thread_id } = world
    const key = uuid()
    const first = await share(bob, thread_id, 'carol', key)
    expect(await share(bob, thread_id, 'carol', key)).toEqual(first)
    expect(await refused(share(bob, thread_id, 'carol'))).toMatchObject({
      symbol: 'state_changed',
      details: { devices: ['carol/carol-laptop'] },
    })
    await viewOnce(world, frank, thread_id, ({ readers }) => readers.length === 1)
    expect(await symbolOf(share(frank, thread_id, 'carol'))).toBe('state_changed')
  })

  test('once the handoff is finished', async () => {
    const { bob, frank, thread_id, ...world } = await conversation()
    await frank.node.complete({ thread_id, result_summary: 'done' }, SESSION)
    await viewOnce(world, bob, thread_id, ({ status }) => status === 'completed')
    for (const at of [bob, frank]) expect(await symbolOf(share(at, thread_id, 'carol'))).toBe('thread_terminal')
  })

  test('to whoever takes no part, as if there were no such thread', async () => {
    const { carol, thread_id } = await conversation()
    expect(await symbolOf(share(carol, thread_id, 'frank'))).toBe('thread_not_found')
  })

  test('with a laptop whose encryption key is not here yet, with when it comes', async () => {
    const world = await stoppedAcme('frank', 'carol')
    const [bob, carol] = [world.laptop('bob'), world.laptop('carol')]
    const store = bob.disk.open()
    await store.batch([{ type: 'del', space: 'prekey', key: carol.device }])
    await store.close()
    await bob.start()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    expect(await refused(share(bob, thread_id, 'carol'))).toMatchObject({
      symbol: 'recipient_not_found',
      message: "The encryption key of carol's laptop is not here yet.",
    })
  })
})

test('being named in it gives no access: not an assignee, not a mention', async () => {
  const world = await conversation()
  const { bob, frank, carol, thread_id } = world
  const { revision_id, state_digest } = await view(bob, thread_id)
  const assigned = bob.node.annotate({ thread_id, revision_id, body: 'carol, look', assignee: 'carol@acme' }, SESSION)
  expect(await symbolOf(assigned)).toBe('not_a_participant')
  expect((await view(bob, thread_id)).state_digest).toBe(state_digest)
  await message(bob, thread_id, 'carol@acme should see this')
  await agreed(world, thread_id, bob, frank)
  await world.until('carol’s laptop holds the headers', () => carol.node.memory().threads === 1)
  expect(await inboxItem(carol, thread_id)).toBeUndefined()
  expect(await symbolOf(view(carol, thread_id))).toBe('thread_not_found')
  expect((await view(bob, thread_id)).readers).toEqual([])
})

test('nothing is assigned to a reader, who could do nothing about it', async () => {
  const { bob, thread_id } = await conversation()
  await share(bob, thread_id, 'carol@acme')
  const { revision_id } = await view(bob, thread_id)
  const assigned = bob.node.annotate({ thread_id, revision_id, body: 'carol, look', assignee: 'carol@acme' }, SESSION)
  await expect(assigned).rejects.toMatchObject({
    symbol: 'not_a_participant',
    details: { participants: ['bob@acme', 'frank@acme'] },
  })
})

test.each([1, 40])(
  'a reader who is never there with the two gets all of it from its mailbox, after %i messages',
  async (count) => {
    const { world, post, start, bob, frank, carol } = await withPost()
    await start(bob)
    await start(frank)
    const { thread_id } = await handOff(bob, 'frank', 'the beginning')
    await arrives(world, frank, thread_id)
    const said = Array.from({ length: count }, (_, i) => `${i} ${'x'.repeat(2000)}`)
    for (const text of said) await message(bob, thread_id, text)
    await agreed(world, thread_id, bob, frank)
    await share(bob, thread_id, 'carol')
    await agreed(world, thread_id, bob, frank)
    await world.until('it lies in carol’s mailbox', () => itemsAt(post) >= count + 2)
    await bob.stop()
    await frank.stop()
    await start(carol)
    await arrives(world, carol, thread_id)
    expect(textsOf(await opensAll(world, carol, thread_id))).toEqual(['the beginning', ...said])
  },
)
