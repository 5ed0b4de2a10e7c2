/** The main job on two nodes: a handoff, its answer, its end, and what each side can say of the way in between. */
import { expect, test } from 'vitest'
import { agreed, arrives, handOff, inboxItem, pair, plain, says, SESSION, textsOf, view, viewOnce } from './world.ts'

const DIFF = '@@ -1 +1 @@\n-a\n+b\n'
const SUMMARY = 'Refactored /users. The answer is now paginated.'

test('bob hands off, frank reads, accepts, asks, gets his answer and completes: both show the same and it is final', async () => {
  const world = await pair()
  const { bob, frank } = world
  const sent = await handOff(bob, 'frank', SUMMARY, {
    artifacts: [
      { type: 'file_diff', path: 'src/api/users.py', diff: DIFF },
      { type: 'test_command', command: 'pytest tests/users/' },
    ],
  })
  expect(sent).toMatchObject({ status: 'pending', final: false, sequence_no: 1, similar: [], warnings: [] })
  expect(sent.waiting_for).toEqual(['frank/frank-laptop'])
  const id = sent.thread_id

  const item = await arrives(world, frank, id)
  expect(item).toMatchObject({ side: 'in', intent: 'inform', status: 'pending', unread_count: 1, age_s: 0 })
  expect(item.sender).toEqual({ handle: 'bob@acme', device: 'bob/bob-laptop', trust: 'unverified' })
  expect(plain(item.preview)).toBe(SUMMARY)

  const accepted = await frank.node.accept({ thread_id: id }, SESSION)
  expect(accepted).toMatchObject({ status: 'accepted', unread_count: 0, side: 'in' })
  expect(accepted.artifacts.map(({ type, size }) => [type, size])).toEqual([
    ['file_diff', DIFF.length],
    ['test_command', 'pytest tests/users/'.length],
  ])
  const question = await frank.node.sendMessage({ thread_id: id, message: says('Is next_cursor opaque?') }, SESSION)
  expect(question.sequence_no).toBe(2)

  await viewOnce(world, bob, id, (seen) => seen.entries.length === 3)
  const answer = await bob.node.sendMessage(
    { thread_id: id, message: says('Yes.'), payload: { opaque: true } },
    SESSION,
  )
  expect(answer.sequence_no).toBe(3)
  await viewOnce(world, frank, id, (seen) => seen.entries.length === 4)
  const completed = await frank.node.complete({ thread_id: id, result_summary: 'Client follows the cursor.' }, SESSION)
  expect(completed).toMatchObject({ status: 'completed', final: false, waiting_for: ['bob/bob-laptop'] })

  await viewOnce(world, bob, id, (seen) => seen.status === 'completed' && seen.final)
  await viewOnce(world, frank, id, (seen) => seen.final)
  const [atBob, atFrank] = await agreed(world, id, bob, frank)
  for (const seen of [atBob, atFrank]) {
    expect(seen && textsOf(seen)).toEqual([SUMMARY, 'Is next_cursor opaque?', 'Yes.', 'Client follows the cursor.'])
    const numbered = seen?.entries.filter(({ sequence_no }) => sequence_no !== undefined)
    expect(numbered?.map(({ kind, sequence_no }) => [kind, sequence_no])).toEqual([
      ['create', 1],
      ['message', 2],
      ['message', 3],
      ['complete', 4],
    ])
  }
  expect(plain(atFrank?.entries.findLast(({ kind }) => kind === 'message')?.content)?.payload).toEqual({ opaque: true })
})

test('what a peer wrote is marked as not to be trusted at the other side, and as own at its author', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', SUMMARY, {
    artifacts: [{ type: 'link', url: 'https://a.example' }],
  })
  const item = await arrives(world, frank, thread_id)
  expect(item.preview).toEqual({ untrusted: SUMMARY })
  expect((await inboxItem(bob, thread_id))?.preview).toEqual({ own: SUMMARY })
  const [atBob, atFrank] = await agreed(world, thread_id, bob, frank)
  expect(atBob?.entries[0]).toMatchObject({ mine: true, content: { own: { summary: SUMMARY } } })
  expect(atFrank?.entries[0]).toMatchObject({ mine: false, content: { untrusted: { summary: SUMMARY } } })
  expect(atFrank?.artifacts[0]?.content).toEqual({ untrusted: { url: 'https://a.example' } })
})

test('a text of several parts is one text with blank lines between them', async () => {
  const { bob } = await pair()
  const parts = [
    { type: 'text' as const, text: 'One.' },
    { type: 'text' as const, text: 'Two.' },
  ]
  const { thread_id } = await handOff(bob, 'frank', '', { message: { parts } })
  expect(textsOf(await view(bob, thread_id))).toEqual(['One.\n\nTwo.'])
})

test('a second handoff to the same person with the same text names the first as similar, while that is open', async () => {
  const { bob } = await pair()
  const first = await handOff(bob, 'frank', SUMMARY)
  expect((await handOff(bob, 'frank', SUMMARY)).similar).toEqual([first.thread_id])
  expect((await handOff(bob, 'frank', 'Something else')).similar).toEqual([])
  await bob.node.cancel({ thread_id: first.thread_id }, SESSION)
  expect((await handOff(bob, 'frank', SUMMARY)).similar).not.toContain(first.thread_id)
})

test('a handoff that goes on from another names it, on both sides', async () => {
  const world = await pair()
  const { bob, frank } = world
  const first = await handOff(bob, 'frank', SUMMARY)
  const next = await handOff(bob, 'frank', 'Next step', { parent_thread_id: first.thread_id })
  await arrives(world, frank, next.thread_id)
  for (const at of [bob, frank]) expect((await view(at, next.thread_id)).parent_thread_id).toBe(first.thread_id)
})

test('declined and partial are outcomes that both sides see', async () => {
  const world = await pair()
  const { bob, frank } = world
  for (const outcome of ['declined', 'partial'] as const) {
    const { thread_id } = await handOff(bob, 'frank', `to be ${outcome}`)
    await arrives(world, frank, thread_id)
    await frank.node.accept({ thread_id }, SESSION)
    await frank.node.complete({ thread_id, result_summary: 'No time.', outcome }, SESSION)
    const seen = await viewOnce(world, bob, thread_id, ({ status }) => status === 'completed')
    expect(seen.entries.at(-1)).toMatchObject({ kind: 'complete', outcome })
  }
})

test('two devices of one team see who is who: handles, devices, and that nobody compared keys yet', async () => {
  const { bob, frank } = await pair()
  expect(await bob.node.whoami()).toMatchObject({
    handle: 'bob@acme',
    owner: true,
    node_state: 'ready',
    reachable_peers: 1,
  })
  const { items } = await frank.node.listTeammates({})
  expect(items.map(({ handle, me, trust, reachable }) => ({ handle, me, trust, reachable }))).toEqual([
    { handle: 'bob@acme', me: false, trust: 'unverified', reachable: true },
    { handle: 'frank@acme', me: true, trust: 'verified', reachable: true },
  ])
  expect((await bob.node.ping({ handle: 'frank' })).items).toEqual([
    { device: 'frank/frank-laptop', round_trip_ms: 0, path: 'same network' },
  ])
})
