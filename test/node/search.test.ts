/** What is searched, how it is found and ranked, and in which pages it comes. */
import { describe, expect, test } from 'vitest'
import { agreed, arrives, handOff, pair, plain, refused, says, SESSION, symbolOf, trio, viewOnce } from './world.ts'
import { allOf, find, idsOf, matchesOf, recordOf } from './searching.ts'

const DIFF = '@@ -1 +1 @@\n-def list_users():\n+def list_users(next_cursor=None):\n'
const SECRET_BYTES = Buffer.from([0, 1, 2, ...Buffer.from('hiddenword'), 0]).toString('base64')

/** A handoff from bob to frank in which every place holds a word of its own. */
async function everywhere() {
  const world = await pair()
  const { bob, frank } = world
  const record = recordOf('Objectiveword', {
    objective: { summary: 'Objectiveword', acceptance_criteria: ['criterionword'] },
    decisions: [{ summary: 'decisionword', rationale: 'rationaleword', status: 'accepted' }],
    open_questions: ['openquestionword'],
  })
  const { thread_id, revision_id } = await handOff(bob, 'frank', 'Summaryword of it', {
    intent: 'propose_action',
    proposed_action: { description: 'actionword', target_files: ['targets/file_name.sql'], rationale: 'because' },
    record,
    artifacts: [
      { type: 'file_diff', path: 'src/api/UsersController.py', diff: DIFF },
      { type: 'file', name: 'image.bin', media_type: 'application/octet-stream', base64: SECRET_BYTES },
      { type: 'test_command', command: 'pytest tests/commandword' },
    ],
  })
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await frank.node.sendMessage({ thread_id, message: says('messageword'), payload: { key: 'payloadword' } }, SESSION)
  await frank.node.annotate({ thread_id, revision_id, body: 'annotationword' }, SESSION)
  await frank.node.complete({ thread_id, result_summary: 'resultword', outcome: 'declined' }, SESSION)
  await agreed(world, thread_id, bob, frank)
  return { ...world, thread_id, revision_id }
}

describe('what is searched', () => {
  test('is all that the two sides wrote, each match with its field and some words around it', async () => {
    const { bob, frank, thread_id, revision_id } = await everywhere()
    const places = [
      ['summaryword', 'summary', 'Summaryword of it'],
      ['objectiveword', 'objective', 'Objectiveword'],
      ['criterionword', 'record', expect.stringContaining('criterionword')],
      ['decisionword', 'record', expect.stringContaining('decisionword')],
      ['rationaleword', 'record', expect.stringContaining('rationaleword')],
      ['openquestionword', 'record', expect.stringContaining('openquestionword')],
      ['actionword', 'proposed_action', expect.stringContaining('actionword')],
      ['file_name', 'proposed_action', expect.stringContaining('targets/file_name.sql')],
      ['messageword', 'message', 'messageword'],
      ['payloadword', 'message', '{"key":"payloadword"}'],
      ['annotationword', 'annotation', 'annotationword'],
      ['resultword', 'result', 'resultword'],
      ['UsersController', 'artifact_name', 'src/api/UsersController.py'],
      ['commandword', 'artifact_name', 'pytest tests/commandword'],
      ['list_users', 'artifact_text', expect.stringContaining('list_users')],
    ] as const
    for (const at of [bob, frank]) {
      for (const [query, field, text] of places) {
        const { items } = await find(at, query)
        expect(items, query).toMatchObject([{ thread_id, status: 'completed', found: { revision_id } }])
        const [match] = await matchesOf(at, query)
        expect(match, query).toMatchObject({ field, text, replaced: false })
      }
      expect(await idsOf(at, 'hiddenword')).toEqual([])
    }
    expect((await matchesOf(bob, 'UsersController'))[0]).toMatchObject({
      artifact_id: expect.stringMatching(/^art_/),
      revision_id,
      from: { handle: 'bob@acme' },
      excerpt: { own: expect.anything() },
    })
    expect((await matchesOf(bob, 'resultword'))[0]).toMatchObject({
      from: { handle: 'frank@acme' },
      excerpt: { untrusted: 'resultword' },
    })
  })

  test('of a record is what stands now; what was replaced is found as that, with its revision', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id, revision_id: first } = await handOff(bob, 'frank', 'a thing', {
      record: recordOf('Move to sqlite'),
      artifacts: [{ type: 'file_diff', path: 'a.py', diff: 'oldcontent' }],
    })
    await arrives(world, frank, thread_id)
    const { revision_id: second } = await frank.node.continueHandoff(
      {
        thread_id,
        expected_revision_id: first,
        record: recordOf('Move to postgres'),
        artifacts: [{ type: 'file_diff', path: 'a.py', diff: 'newcontent' }],
      },
      SESSION,
    )
    await agreed(world, thread_id, bob, frank)
    for (const at of [bob, frank]) {
      expect(await matchesOf(at, 'postgres')).toMatchObject([
        { field: 'objective', revision_id: second, replaced: false },
      ])
      expect(await matchesOf(at, 'sqlite')).toMatchObject([{ field: 'objective', revision_id: first, replaced: true }])
      expect(await matchesOf(at, 'newcontent')).toMatchObject([{ revision_id: second, replaced: false }])
      expect(await matchesOf(at, 'oldcontent')).toMatchObject([{ revision_id: first, replaced: true }])
      expect((await find(at, 'sqlite')).items[0]?.found?.revision_id).toBe(second)
    }
  })
})

test('the text of an artifact is searched as far as it is here, from its beginning on', async () => {
  const world = await pair()
  const { bob, frank } = world
  const text = `beginningword ${'filler '.repeat(60_000)} endword`
  const artifacts = [{ type: 'file' as const, name: 'long.txt', media_type: 'text/plain', text }]
  const { thread_id } = await handOff(bob, 'frank', 'a long one', { artifacts })
  await arrives(world, frank, thread_id)
  expect(await matchesOf(bob, 'beginningword')).toMatchObject([{ field: 'artifact_text' }])
  expect(await idsOf(bob, 'endword')).toEqual([])
  expect(await idsOf(frank, 'beginningword')).toEqual([])
  expect(await idsOf(frank, 'long.txt')).toEqual([thread_id])
  // Whoever accepts fetches what lies outside of the entry.
  await frank.node.accept({ thread_id }, SESSION)
  await world.until('all of it is here', async () =>
    (await frank.node.getThread({ thread_id })).artifacts.every(({ here }) => here),
  )
  expect(await idsOf(frank, 'beginningword')).toEqual([thread_id])
})

test('who may read along finds it, from the share on', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  const { thread_id } = await handOff(bob, 'frank', 'the xylophone')
  await arrives(world, frank, thread_id)
  expect(await idsOf(carol, 'xylophone')).toEqual([])
  await bob.node.share({ thread_id, reader: 'carol@acme' }, SESSION)
  await arrives(world, carol, thread_id)
  await world.until('she can read it', async () => (await idsOf(carol, 'xylophone')).includes(thread_id))
  expect(await matchesOf(carol, 'xylophone')).toMatchObject([
    { from: { handle: 'bob@acme' }, excerpt: { untrusted: 'the xylophone' } },
  ])
})

describe('words are found', () => {
  test.each([
    ['PAGINATION', 'whatever their case'],
    ['pagin', 'by their beginning'],
    ['pagniation', 'with letters swapped'],
    ['paginaton', 'with a letter missing'],
    ['nextCursor', 'in another style of identifier'],
    ['next-cursor', 'in another style of identifier'],
    ['cursor', 'as a part of an identifier'],
    ['users.py', 'as the name of a file'],
    ['api/users.py', 'as the end of a path'],
    ['9fceb02', 'as the beginning of a hash'],
    ['Strasse', 'without their diacritics'],
    ['naive', 'without their diacritics'],
    ['列表', 'in Chinese'],
    ['户', 'by one Chinese character'],
    ['ページ', 'in Japanese'],
    ['검색', 'in Korean by a beginning'],
    ['.*pagination.*', 'where a pattern is typed, as words'],
    ['(pagination|nothing)+?', 'where a pattern is typed, as words'],
    ['"pagination" AND', 'where operators are typed, as words'],
  ])('%s: %s', async (query) => {
    const { bob } = await pair()
    const text =
      'Pagination with next_cursor in src/api/users.py at 9fceb02d0ae598e95dc970b74767f19372d61af8, Straße, naïve, 用户列表, ページ送り, 검색어'
    const { thread_id } = await handOff(bob, 'frank', text)
    await handOff(bob, 'frank', 'something else')
    expect(await idsOf(bob, query)).toEqual([thread_id])
  })

  test('a word that is spelt right counts before one that only looks like it', async () => {
    const { bob } = await pair()
    const typo = await handOff(bob, 'frank', 'the pagenation of it')
    const right = await handOff(bob, 'frank', 'the pagination of it')
    expect((await idsOf(bob, 'pagination'))[0]).toBe(right.thread_id)
    expect((await idsOf(bob, 'pagenation'))[0]).toBe(typo.thread_id)
  })
})

test('what stands in the summary or the objective counts before messages, and those before the text of artifacts', async () => {
  const { bob } = await pair()
  const diff = 'okapi '.repeat(200)
  const inText = await handOff(bob, 'frank', 'one', { artifacts: [{ type: 'file_diff', path: 'a', diff }] })
  const inMessage = await handOff(bob, 'frank', 'two')
  await bob.node.sendMessage({ thread_id: inMessage.thread_id, message: says('okapi '.repeat(50)) }, SESSION)
  const inObjective = await handOff(bob, 'frank', `three ${'and more words '.repeat(100)}`, {
    record: recordOf('an okapi'),
  })
  const inSummary = await handOff(bob, 'frank', `${'so many words '.repeat(100)} okapi`)
  await handOff(bob, 'frank', 'none of it')
  const { items } = await find(bob, 'okapi')
  const scores = items.map(({ found }) => found?.score ?? 0)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  const order = items.map(({ thread_id }) => thread_id)
  expect(new Set(order.slice(0, 2))).toEqual(new Set([inObjective.thread_id, inSummary.thread_id]))
  expect(order.slice(2)).toEqual([inMessage.thread_id, inText.thread_id])
})

test('a handoff that holds little of what another one holds is left out', async () => {
  const { bob } = await pair()
  for (let i = 0; i < 10; i++) await handOff(bob, 'frank', `users number ${i}`)
  const { thread_id } = await handOff(bob, 'frank', 'the okapi of the users')
  expect(await idsOf(bob, 'users okapi')).toEqual([thread_id])
  expect(await idsOf(bob, 'okapi nowhere')).toEqual([thread_id])
  expect(await idsOf(bob, 'users')).toHaveLength(11)
})

describe('filters', () => {
  test('on status, side, teammate and time go by what is so now', async () => {
    const world = await trio()
    const { bob, frank, clock } = world
    const first = await handOff(bob, 'frank', 'alpha report')
    clock.advance(86_400_000)
    const second = await handOff(bob, 'carol', 'beta report')
    const third = await handOff(frank, 'bob', 'gamma report')
    await arrives(world, bob, third.thread_id)
    const ids = (more: Parameters<typeof find>[2]) => idsOf(bob, 'report', more).then((found) => new Set(found))
    const [one, two, three] = [first, second, third].map(({ thread_id }) => thread_id)
    expect(await ids({})).toEqual(new Set([one, two, three]))
    expect(await ids({ side: 'in' })).toEqual(new Set([three]))
    expect(await ids({ side: 'out' })).toEqual(new Set([one, two]))
    expect(await ids({ with: 'frank' })).toEqual(new Set([one, three]))
    expect(await ids({ with: 'Carol@acme' })).toEqual(new Set([two]))
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    expect(await ids({ since: day })).toEqual(new Set([two, three]))
    expect(await ids({ until: new Date(clock.now() - 1000).toISOString() })).toEqual(new Set([one]))
    expect(await ids({ since: day, until: day })).toEqual(new Set([two, three]))
    await bob.node.cancel({ thread_id: second.thread_id }, SESSION)
    expect(await ids({ status: ['cancelled'] })).toEqual(new Set([two]))
    expect(await ids({ status: ['pending'] })).toEqual(new Set([one, three]))
    expect((await refused(find(bob, 'report', { with: 'nobody' }))).symbol).toBe('recipient_not_found')
    expect((await refused(find(bob, 'report', { since: 'yesterday' }))).message).toBe('since is no time.')
  })

  test('without words list by newest activity', async () => {
    const world = await pair()
    const { bob } = world
    const threads = []
    for (const text of ['one', 'two', 'three']) threads.push((await handOff(bob, 'frank', text)).thread_id)
    const [one = '', two, three] = threads
    await bob.node.sendMessage({ thread_id: one, message: says('news') }, SESSION)
    expect(await idsOf(bob, '')).toEqual([one, three, two])
    expect(await idsOf(bob, '  ')).toEqual([one, three, two])
    const { items } = await bob.node.listThreads({ with: 'frank' })
    expect(items.map(({ thread_id }) => thread_id)).toEqual([one, three, two])
    expect(items[0]).toMatchObject({ preview: { own: 'news' }, found: { score: 0, matches: [] } })
  })
})

describe('pages', () => {
  test.each(['page', ''])('give each result once, whatever comes and changes meanwhile: "%s"', async (query) => {
    const { bob } = await pair()
    const before: string[] = []
    for (let i = 0; i < 12; i++) before.push((await handOff(bob, 'frank', `page ${i}`)).thread_id)
    let more = 0
    const found = await allOf(bob, { query, limit: 5 }, async () => {
      await handOff(bob, 'frank', `page that is new ${more++}`)
      await bob.node.sendMessage({ thread_id: before[more] ?? '', message: says('page page page') }, SESSION)
    })
    expect(found.map(({ thread_id }) => thread_id).toSorted()).toEqual(before.toSorted())
    expect(more).toBe(2)
    expect(await idsOf(bob, query)).toHaveLength(14)
  })

  test('leave out what no longer fits the filters', async () => {
    const { bob } = await pair()
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.push((await handOff(bob, 'frank', `page ${i}`)).thread_id)
    const first = await find(bob, 'page', { status: ['pending'], limit: 2 })
    const rest = ids.filter((id) => !first.items.some(({ thread_id }) => thread_id === id))
    await bob.node.cancel({ thread_id: rest[0] ?? '' }, SESSION)
    const second = await find(bob, 'page', { status: ['pending'], limit: 2, cursor: first.next_cursor })
    expect(second.items.map(({ thread_id }) => thread_id)).toEqual([rest[1]])
    expect(second.next_cursor).toBeUndefined()
  })

  test('a cursor that this node does not know, or of another question, is refused', async () => {
    const { bob } = await pair()
    for (let i = 0; i < 3; i++) await handOff(bob, 'frank', `page ${i}`)
    const { next_cursor: cursor } = await find(bob, 'page', { limit: 1 })
    expect(await symbolOf(find(bob, 'other', { limit: 1, cursor }))).toBe('invalid_params')
    for (const wrong of ['1', 'x', '00'.repeat(8) + '.1'])
      expect(await symbolOf(find(bob, 'page', { cursor: wrong }))).toBe('invalid_params')
    await bob.restart()
    expect((await refused(find(bob, 'page', { limit: 1, cursor }))).hint).toContain('restarted')
  })
})

describe('a query that cannot be looked for', () => {
  test.each([
    ['that is far too long', 'x'.repeat(10_000), '10000 characters long; at most 500'],
    ['of signs alone', '.*?+()[] -- 🙂', 'no letter and no digit'],
    ['of too many words', Array.from({ length: 40 }, (_, i) => `w${i}`).join(' '), '40 words; at most 32'],
  ])('%s is refused with what to do', async (_, query, message) => {
    const { bob } = await pair()
    const error = await refused(find(bob, query))
    expect(error).toMatchObject({ symbol: 'invalid_params', message: expect.stringContaining(message) })
    expect(error.hint).not.toBe('')
  })
})

test('an excerpt is short, and holds what was looked for', async () => {
  const { bob } = await pair()
  const text = `${'before 𝕏𝕐 '.repeat(200)}the needle, and near it the haystack. ${'after 🙂 '.repeat(200)} needle`
  await handOff(bob, 'frank', text)
  const [match] = await matchesOf(bob, 'haystack needle')
  expect(match?.text).toMatch(/^….*the needle, and near it the haystack\. .*…$/s)
  expect(match?.text?.length).toBeLessThan(200)
  expect(match?.text?.isWellFormed()).toBe(true)
})

test('a search sees what this node has just written, and what has just come', async () => {
  const world = await pair()
  const { bob, frank } = world
  for (let i = 0; i < 5; i++) {
    const { thread_id } = await handOff(bob, 'frank', `fresh${i} words`)
    expect(await idsOf(bob, `fresh${i}`)).toEqual([thread_id])
    await bob.node.sendMessage({ thread_id, message: says(`later${i}`) }, SESSION)
    expect(await idsOf(bob, `later${i}`)).toEqual([thread_id])
    await arrives(world, frank, thread_id)
    await viewOnce(
      world,
      frank,
      thread_id,
      ({ entries }) => entries.length > 1 && entries.every(({ body }) => body !== 'missing'),
    )
    expect(await idsOf(frank, `later${i}`)).toEqual([thread_id])
  }
  expect(plain((await find(frank, 'later3')).items[0]?.preview)).toBe('later3')
})
