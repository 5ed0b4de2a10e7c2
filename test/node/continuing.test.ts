import { describe, expect, test } from 'vitest'
import type { ContinuityRecord } from '../../protocol/index.ts'
import type { ContinueParams, ContinueResult, ThreadView } from '../../src/node/api.ts'
import { EMPTY_RECORD } from '../../src/node/record-shape.ts'
import {
  agreed,
  arrives,
  handOff,
  type Laptop,
  pair,
  plain,
  refused,
  SESSION,
  symbolOf,
  trio,
  view,
  viewOnce,
} from './world.ts'

const RECORD: ContinuityRecord = {
  ...EMPTY_RECORD,
  objective: { summary: 'Paginate the users endpoint', acceptance_criteria: ['tests pass'] },
  current_state: { complete: ['server'], in_progress: [], blocked: [], unverified: [] },
  decisions: [{ summary: 'cursor, not offset', rationale: 'rows move', status: 'accepted' }],
  evidence: [{ label: 'tests', claim: '41 pass', uri: 'https://ci.example/41' }],
  next_action: { summary: 'Adapt the client to it', verification: 'npm test' },
  ownership: { next_actor: 'frank', reviewers: [] },
}
const DIFF = { type: 'file_diff' as const, path: 'src/users.py', diff: '@@ -1 +1 @@\n-a\n+b\n' }

function goOn(at: Laptop, seen: ThreadView, more: Partial<ContinueParams>): Promise<ContinueResult> {
  const { thread_id, revision_id } = seen
  return at.node.continueHandoff({ thread_id, expected_revision_id: revision_id, record: {}, ...more }, SESSION)
}

/** A handoff with a record and a diff from bob to frank, which both have. */
async function handed() {
  const world = await pair()
  const { bob, frank } = world
  const sent = await handOff(bob, 'frank', 'go on', { record: RECORD, artifacts: [DIFF] })
  await arrives(world, frank, sent.thread_id)
  const at = (laptop: Laptop): Promise<ThreadView> => view(laptop, sent.thread_id)
  return { world, bob, frank, id: sent.thread_id, first: sent.revision_id, at }
}

/** Both revised while they could not hear each other. */
async function forked() {
  const both = await handed()
  const { world, bob, frank, at, id } = both
  world.cut(bob, frank)
  const bobs = await goOn(bob, await at(bob), {
    record: { next_action: { summary: 'Adapt the web client to it', verification: 'npm test' } },
    note: 'web first',
  })
  const franks = await goOn(frank, await at(frank), {
    record: {
      next_action: { summary: 'Adapt the client to it today', verification: 'npm test' },
      ownership: { next_actor: 'bob', reviewers: [] },
    },
  })
  await world.heal(bob, frank)
  await agreed(world, id, bob, frank)
  return { ...both, bobs, franks }
}

describe('a revision', () => {
  test('replaces the fields that are given, keeps the others, and is read by the other side', async () => {
    const { bob, frank, at, id, first, world } = await handed()
    const complete = { ...RECORD.current_state, complete: ['server', 'client'] }
    const done = await goOn(frank, await at(frank), { record: { current_state: complete }, note: 'client is done' })
    expect(done.parents).toEqual([first])
    const seen = await viewOnce(world, bob, id, (now) => now.revision_id === done.revision_id)
    expect(plain(seen.record?.content)).toEqual({ ...RECORD, current_state: complete })
    expect(seen.revisions.map(({ revision_id, head, mine }) => [revision_id, head, mine])).toEqual([
      [first, false, true],
      [done.revision_id, true, false],
    ])
    expect(plain(seen.revisions[1]?.note)).toBe('client is done')
    expect(seen.forked).toBe(false)
  })

  test('stays readable after the next one, and the two can be compared', async () => {
    const { bob, frank, at, id, first } = await handed()
    await goOn(frank, await at(frank), { record: { open_questions: ['How many users?'], decisions: [] } })
    const seen = await frank.node.getThread({ thread_id: id, compare_with: first })
    expect(plain(seen.record?.compared?.changes)).toEqual([
      { field: 'decisions', before: 'cursor, not offset · rows move · accepted', after: null },
      { field: 'open_questions', before: null, after: 'How many users?' },
    ])
    const old = await bob.node.getThread({ thread_id: id, revision_id: first })
    expect(old.record?.shows).toEqual([first])
    expect(plain(old.record?.content)).toEqual(RECORD)
  })

  test('takes over the artifacts; one of the same name replaces', async () => {
    const { bob, frank, at } = await handed()
    const [was] = (await at(bob)).record?.artifacts ?? []
    await goOn(frank, await at(frank), { artifacts: [{ type: 'link', url: 'https://ci.example/42', title: 'run' }] })
    const both = (await at(frank)).record?.artifacts ?? []
    expect(both.map(({ type }) => type)).toEqual(['file_diff', 'link'])
    expect(both[0]?.artifact_id).toBe(was?.artifact_id)
    await goOn(frank, await at(frank), { artifacts: [{ ...DIFF, diff: '@@ -1 +1 @@\n-a\n+c\n' }] })
    const replaced = (await at(frank)).record?.artifacts ?? []
    expect(replaced.map(({ type }) => type)).toEqual(['link', 'file_diff'])
    expect(replaced[1]?.artifact_id).not.toBe(was?.artifact_id)
    // What was replaced can still be read by its id.
    expect(
      (await frank.node.readArtifact({ thread_id: (await at(frank)).thread_id, artifact_id: was?.artifact_id ?? '' }))
        .size,
    ).toBe(DIFF.diff.length)
  })

  test('may begin where the handoff carried no record', async () => {
    const world = await pair()
    const sent = await handOff(world.bob, 'frank', 'no record')
    expect((await view(world.bob, sent.thread_id)).record).toBeUndefined()
    await goOn(world.bob, await view(world.bob, sent.thread_id), { record: { open_questions: ['Who?'] } })
    const seen = await view(world.bob, sent.thread_id)
    expect(plain(seen.record?.content)).toEqual({ ...EMPTY_RECORD, open_questions: ['Who?'] })
  })
})

describe('nothing is written', () => {
  test('over a revision that the caller has not read', async () => {
    const { frank, at, id } = await handed()
    const read = await at(frank)
    const done = await goOn(frank, read, { note: 'newer' })
    const error = await refused(goOn(frank, read, { note: 'stale' }))
    expect(error.symbol).toBe('stale_revision')
    expect(error.details).toEqual({ current: [done.revision_id] })
    expect((await view(frank, id)).revisions).toHaveLength(2)
  })

  test('where the thread has ended, or is somebody else’s', async () => {
    const world = await trio()
    const sent = await handOff(world.bob, 'frank', 'short', { record: RECORD })
    const read = await view(world.bob, sent.thread_id)
    await world.bob.node.cancel({ thread_id: sent.thread_id }, SESSION)
    expect(await symbolOf(goOn(world.bob, read, { note: 'late' }))).toBe('thread_terminal')
    expect(await symbolOf(goOn(world.carol, read, { note: 'mine' }))).toBe('thread_not_found')
  })
})

describe('two laptops that revise without knowing of each other', () => {
  test('see one and the same fork, merged, with what cannot be merged by the value of each', async () => {
    const { bob, frank, at, first, bobs, franks } = await forked()
    const [ofBob, ofFrank] = [await at(bob), await at(frank)]
    for (const seen of [ofBob, ofFrank]) {
      expect(seen.forked).toBe(true)
      expect(seen.record).toMatchObject({ merged: true, base_revision_id: first })
      expect(seen.record?.shows.toSorted()).toEqual([bobs.revision_id, franks.revision_id].toSorted())
      const merged = plain(seen.record?.content)
      expect(merged?.next_action.summary).toBe('Adapt the web client to it today')
      expect(merged?.ownership.next_actor).toBe('bob')
      expect(seen.record?.conflicts).toBeUndefined()
    }
    expect(plain(ofBob.record?.content)).toEqual(plain(ofFrank.record?.content))
    expect(ofBob.record?.shows).toEqual(ofFrank.record?.shows)
  })

  test('a write that names one head is stale; one that names both settles it', async () => {
    const { bob, frank, at, id, bobs, franks, world } = await forked()
    const heads = [bobs.revision_id, franks.revision_id]
    for (const head of heads)
      expect(await symbolOf(goOn(bob, await at(bob), { expected_revision_id: head }))).toBe('stale_revision')
    const settled = await goOn(bob, await at(bob), { expected_revision_id: heads, note: 'both' })
    expect(settled.parents.toSorted()).toEqual(heads.toSorted())
    const seen = await viewOnce(world, frank, id, (now) => !now.forked)
    expect(seen.revision_id).toBe(settled.revision_id)
    expect(plain(seen.record?.content)?.next_action.summary).toBe('Adapt the web client to it today')
  })
})

describe('annotations', () => {
  test('on a revision, with a quotation and somebody to look at it, are open until a revision resolves them', async () => {
    const { bob, frank, at, id, first, world } = await handed()
    const { annotation_id } = await frank.node.annotate(
      {
        thread_id: id,
        revision_id: first,
        body: 'which tests?',
        selector: { exact: '41 pass' },
        assignee: 'bob@acme',
      },
      SESSION,
    )
    const seen = await viewOnce(world, bob, id, (now) => now.annotations.length === 1)
    expect(seen.annotations[0]).toMatchObject({ annotation_id, revision_id: first, open: true, assignee: 'bob@acme' })
    expect(plain(seen.annotations[0]?.content)).toEqual({
      text: 'which tests?',
      selector: { exact: '41 pass', prefix: '', suffix: '' },
    })
    const done = await goOn(bob, await at(bob), {
      record: { evidence: [{ label: 'tests', claim: '41 of tests/users pass', uri: 'https://ci.example/41' }] },
      resolves: [annotation_id],
    })
    expect(done.resolved).toEqual([annotation_id])
    await viewOnce(world, frank, id, (now) => now.annotations.length === 0)
    const all = await frank.node.getThread({ thread_id: id, annotations: 'all' })
    expect(all.annotations[0]).toMatchObject({ open: false, resolved_by: { revision_id: done.revision_id } })
  })

  test('on an artifact; and each is resolved once', async () => {
    const { frank, at, id, first } = await handed()
    const [artifact] = (await at(frank)).record?.artifacts ?? []
    const { annotation_id } = await frank.node.annotate(
      {
        thread_id: id,
        revision_id: first,
        body: 'why b?',
        artifact_id: artifact?.artifact_id,
        selector: { exact: '+b' },
      },
      SESSION,
    )
    expect((await at(frank)).annotations[0]?.artifact_id).toBe(artifact?.artifact_id)
    const settle = () =>
      frank.node.resolve({ thread_id: id, annotation_id, resolved_revision_id: first, note: 'seen' }, SESSION)
    const { annotation } = await settle()
    expect(annotation).toMatchObject({ annotation_id, open: false, resolved_by: { revision_id: first } })
    expect(plain(annotation.resolved_by?.note)).toBe('seen')
    expect(await symbolOf(settle())).toBe('state_changed')
  })

  test.each([
    ['assigned to somebody who takes no part', { assignee: 'carol@acme' }, 'not_a_participant'],
    ['that quotes what does not stand there', { selector: { exact: 'forty-two pass' } }, 'invalid_params'],
    ['on a revision that is none', { revision_id: 'rev_aaaaaaaaaaaaaaaaaaaaaaaaaa' }, 'invalid_params'],
    ['on an artifact that is none', { artifact_id: 'art_aaaaaaaaaaaaaaaaaaaaaaaaaa' }, 'artifact_not_found'],
  ])('one %s is refused, and grants nothing', async (_, more, symbol) => {
    const world = await trio()
    const { bob, carol } = world
    const sent = await handOff(bob, 'frank', 'go on', { record: RECORD })
    const params = { thread_id: sent.thread_id, revision_id: sent.revision_id, body: 'look', ...more }
    expect(await symbolOf(bob.node.annotate(params, SESSION))).toBe(symbol)
    expect(await symbolOf(carol.node.getThread({ thread_id: sent.thread_id }))).toBe('thread_not_found')
  })
})
