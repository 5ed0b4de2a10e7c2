/** What is looked at before it is signed: secrets, which an agent cannot send, paths of one laptop, and names of homes. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ArtifactInput, NewHandoffParams, NodeEvent } from '../../src/node/api.ts'
import { EMPTY_RECORD } from '../../src/node/record-shape.ts'
import { findSecrets } from '../../src/node/secrets.ts'
import { arrives, handOff, type Laptop, pair, refused, says, SESSION, symbolOf, uuid, view, viewOnce } from './world.ts'

// The real thing, counted.
vi.mock(import('../../src/node/secrets.ts'), async (original) => {
  const real = await original()
  return { ...real, findSecrets: vi.fn<typeof real.findSecrets>(real.findSecrets) }
})

const TOKEN = ['gh', 'p_', 'Zq3'.repeat(12)].join('')
const FOUND = (field: string) => ({ field, line: 1, rule: 'github' })
const EVIDENCE = { label: 'tests', claim: 'all pass' }
/** In parts, since no file of ours names a folder of a machine. */
const [HOMES, USERS] = [['/ho', 'me/'].join(''), ['/Us', 'ers/'].join('')]
const SELECTOR = { exact: 'one', prefix: '', suffix: '' }
const record = (change: object): NewHandoffParams['record'] => ({ ...EMPTY_RECORD, ...change })
const file = (bytes: Uint8Array): ArtifactInput => ({
  type: 'file',
  name: 'a.bin',
  media_type: 'application/octet-stream',
  base64: Buffer.from(bytes).toString('base64'),
})

async function accepted() {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id, revision_id } = await handOff(bob, 'frank', 'one', {
    intent: 'propose_action',
    proposed_action: { description: 'd', target_files: [], rationale: 'r' },
  })
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
  const { annotation_id } = await frank.node.annotate({ thread_id, revision_id, body: 'look' }, SESSION)
  const digest = (await view(frank, thread_id)).action?.digest ?? ''
  return { ...world, thread_id, revision_id, annotation_id, digest }
}

const HANDOFFS: [field: string, more: Partial<NewHandoffParams>][] = [
  ['summary', { message: says(TOKEN) }],
  ['question', { intent: 'ask_question', question: TOKEN }],
  [
    'proposed_action.suggested_diff',
    {
      intent: 'propose_action',
      proposed_action: { description: 'd', target_files: [], rationale: 'r', suggested_diff: TOKEN },
    },
  ],
  [
    'artifacts[1].diff',
    {
      artifacts: [
        { type: 'link', url: 'https://a.example' },
        { type: 'file_diff', path: 'a', diff: TOKEN },
      ],
    },
  ],
  ['artifacts[0].command', { artifacts: [{ type: 'test_command', command: `curl -H ${TOKEN}` }] }],
  ['artifacts[0].inline', { artifacts: [{ type: 'api_contract', inline: TOKEN }] }],
  ['artifacts[0].url', { artifacts: [{ type: 'link', url: `https://a.example/?t=${TOKEN}` }] }],
  ['artifacts[0].text', { artifacts: [{ type: 'file', name: 'a', media_type: 'text/plain', text: TOKEN }] }],
  [
    'record.decisions[0].rationale',
    { record: record({ decisions: [{ summary: 's', rationale: TOKEN, status: 'accepted' }] }) },
  ],
  ['record.open_questions[0]', { record: record({ open_questions: [TOKEN] }) }],
  [
    'record.evidence[0].claim',
    { record: record({ evidence: [{ label: 'l', claim: TOKEN, uri: 'https://a.example' }] }) },
  ],
]

describe('a secret is not signed', () => {
  test.each(HANDOFFS)('in a handoff: %s', async (field, more) => {
    const { bob } = await pair()
    const error = await refused(handOff(bob, 'frank', 'one', more))
    expect(error).toMatchObject({ symbol: 'secret_detected', details: { findings: [FOUND(field)] } })
    expect((await bob.node.status()).threads).toBe(0)
  })

  test('in bytes, whatever stands around it, and in characters of two bytes', async () => {
    const { bob } = await pair()
    const ascii = new TextEncoder().encode(TOKEN)
    const framed = Uint8Array.of(0xff, 0xe9, ...ascii, 0xe9, 0)
    const wide = Uint8Array.from([...ascii].flatMap((byte) => [byte, 0]))
    for (const bytes of [framed, wide]) {
      const error = await refused(handOff(bob, 'frank', 'one', { artifacts: [file(bytes)] }))
      expect(error.details['findings']).toMatchObject([{ field: 'artifacts[0].base64', rule: 'github' }])
    }
    await handOff(bob, 'frank', 'one', {
      artifacts: [file(Uint8Array.from({ length: 4096 }, (_, i) => (i * i) % 251))],
    })
  })

  test('in anything else that is said', async () => {
    const { bob, frank, thread_id, revision_id, annotation_id, digest } = await accepted()
    const pending = await handOff(bob, 'frank', 'two')
    const calls: [field: string, call: (more: { allow_secrets?: boolean }) => Promise<{ warnings: string[] }>][] = [
      ['body', (more) => bob.node.sendMessage({ thread_id, message: says(TOKEN), ...more }, SESSION)],
      [
        'payload',
        (more) =>
          bob.node.sendMessage({ thread_id, message: says('m'), payload: { [TOKEN]: [1, TOKEN] }, ...more }, SESSION),
      ],
      ['body', (more) => bob.node.annotate({ thread_id, revision_id, body: TOKEN, ...more }, SESSION)],
      [
        'note',
        (more) =>
          bob.node.resolve(
            { thread_id, annotation_id, resolved_revision_id: revision_id, note: TOKEN, ...more },
            SESSION,
          ),
      ],
      [
        'record.next_action.summary',
        (more) =>
          bob.node.continueHandoff(
            {
              thread_id,
              expected_revision_id: revision_id,
              record: { next_action: { summary: TOKEN, verification: '' } },
              ...more,
            },
            SESSION,
          ),
      ],
      ['reason', (more) => frank.node.reject({ thread_id, digest, reason: TOKEN, ...more }, SESSION)],
      [
        'result_summary',
        (more) => frank.node.complete({ thread_id, outcome: 'partial', result_summary: TOKEN, ...more }, SESSION),
      ],
      ['reason', (more) => bob.node.cancel({ thread_id: pending.thread_id, reason: TOKEN, ...more }, SESSION)],
    ]
    for (const [field, call] of calls) {
      const error = await refused(call({}))
      expect(error, field).toMatchObject({ symbol: 'secret_detected' })
      expect(error.details['findings']).toContainEqual({ field, line: expect.any(Number) as number, rule: 'github' })
      const { warnings } = await call({ allow_secrets: true })
      expect(warnings.join()).toContain(`${field}, line `)
    }
    const error = await refused(
      bob.node.annotate(
        {
          thread_id: pending.thread_id,
          revision_id: pending.revision_id,
          body: 'b',
          selector: { ...SELECTOR, exact: TOKEN },
        },
        SESSION,
      ),
    )
    expect(error.symbol).toBe('thread_terminal')
  })

  test('in a payload of many parts', async () => {
    const { bob } = await pair()
    const { thread_id } = await handOff(bob, 'frank', 'one')
    const many = Array.from({ length: 120_000 }, () => 0)
    const message = { thread_id, message: says('m') }
    expect(await bob.node.sendMessage({ ...message, payload: many }, SESSION)).toMatchObject({ warnings: [] })
    expect(await symbolOf(bob.node.sendMessage({ ...message, payload: [...many, TOKEN] }, SESSION))).toBe(
      'secret_detected',
    )
  })

  test('and its words are kept nowhere: not in the error, a log, an event, or on the disk', async () => {
    const { bob } = await pair()
    const logged: unknown[] = []
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      vi.spyOn(bob.system.log, level).mockImplementation((...words) => void logged.push(words))
    const events: NodeEvent[] = []
    bob.node.onEvent((event) => events.push(event))
    const metadata = { client_idempotency_key: uuid() }
    const error = await refused(handOff(bob, 'frank', TOKEN, { metadata }))
    const said = JSON.stringify([
      error.toObject('1'),
      error.message,
      error.hint,
      error.stack,
      String(error.cause),
      logged,
      events,
    ])
    expect(said).not.toContain(TOKEN.slice(0, 12))
    expect(await bob.disk.rows('receipt')).toEqual([])
    // The same call without it is a new one.
    expect(await handOff(bob, 'frank', 'now without', { metadata })).toMatchObject({ status: 'pending' })
  })
})

describe('the search', () => {
  test('is made before the turn, and not again where a call is repeated', async () => {
    const { bob } = await pair()
    vi.mocked(findSecrets).mockClear()
    const once = { metadata: { client_idempotency_key: uuid() } }
    const first = await handOff(bob, 'frank', 'one', once)
    expect(await handOff(bob, 'frank', 'one', once)).toEqual(first)
    expect(await symbolOf(handOff(bob, 'frank', TOKEN, once))).toBe('duplicate_idempotency_key')
    expect(findSecrets).toHaveBeenCalledTimes(1)
  })

  test('keeps nobody else from writing while it takes its time', async () => {
    const { bob } = await pair()
    const search = Promise.withResolvers<Awaited<ReturnType<typeof findSecrets>>>()
    onTestFinished(() => void vi.mocked(findSecrets).mockReset())
    vi.mocked(findSecrets).mockImplementation(async (texts) =>
      texts.some(({ text }) => text === 'slow') ? search.promise : [],
    )
    const slow = handOff(bob, 'frank', 'slow')
    await handOff(bob, 'frank', 'fast')
    expect((await bob.node.status()).threads).toBe(1)
    search.resolve([])
    await slow
    expect((await bob.node.status()).threads).toBe(2)
  })

  test('is the last of the checks', async () => {
    const { bob } = await pair()
    const caller = { session: uuid() }
    const { thread_id } = await bob.node.sendHandoff(
      { recipient: 'frank', intent: 'inform', message: says('x') },
      caller,
    )
    for (let i = 1; i < 60; i++) await bob.node.sendMessage({ thread_id, message: says(String(i)) }, caller)
    const tired = (more: object) => bob.node.sendMessage({ thread_id, message: says(TOKEN), ...more }, caller)
    expect(await symbolOf(tired({}))).toBe('rate_limited')
    expect(await symbolOf(handOff(bob, 'nobody', TOKEN))).toBe('recipient_not_found')
    expect(await symbolOf(bob.node.sendMessage({ thread_id, message: says(TOKEN) }, SESSION))).toBe('secret_detected')
  })
})

const PATHS: [path: string, why: RegExp][] = [
  ['/etc/hosts', /laptop alone/],
  ['~/notes.md', /laptop alone/],
  ['~bob/notes.md', /laptop alone/],
  ['C:\\code\\a.ts', /laptop alone/],
  ['c:/code/a.ts', /laptop alone/],
  ['\\\\server\\share\\a.ts', /laptop alone/],
  ['%USERPROFILE%\\a.ts', /laptop alone/],
  ['$HOME/a.ts', /laptop alone/],
  ['../other/a.ts', /with \.\./],
  ['src/../../a.ts', /with \.\./],
  ['src\\..\\..\\a.ts', /with \.\./],
  ['..', /with \.\./],
  ['a\nb', /control/],
]
const GOOD_PATHS = ['src/a.ts', './a.ts', 'a..b/c...ts', '.github/workflows/a.yml', 'a~b', 'Ünïcode/ä.ts', 'c.ts']

async function refusedField(bob: Laptop, more: Partial<NewHandoffParams>): Promise<{ field: unknown; text: string }> {
  const error = await refused(handOff(bob, 'frank', 'one', more))
  expect(error.symbol).toBe('invalid_params')
  expect(error.hint).not.toBe('')
  return { field: error.details['field'], text: error.message }
}

describe('a path', () => {
  const places: [field: string, at: (path: string) => Partial<NewHandoffParams>][] = [
    ['artifacts[0].path', (path) => ({ artifacts: [{ type: 'file_diff', path, diff: '' }] })],
    ['artifacts[0].path', (path) => ({ artifacts: [{ type: 'file_ref', path }] })],
    [
      'artifacts[0].name',
      (path) => ({ artifacts: [{ type: 'file', name: path, media_type: 'text/plain', text: '' }] }),
    ],
    ['artifacts[0].cwd', (path) => ({ artifacts: [{ type: 'test_command', command: 'make', cwd: path }] })],
    [
      'proposed_action.target_files[1]',
      (path) => ({
        intent: 'propose_action',
        proposed_action: { description: 'd', rationale: 'r', target_files: ['a', path] },
      }),
    ],
  ]

  test('leads from the root of the repository, in every field that is one', async () => {
    const { bob } = await pair()
    for (const [field, at] of places) {
      for (const [path, why] of PATHS) {
        const told = await refusedField(bob, at(path))
        expect(told, `${field} ${path}`).toEqual({ field, text: expect.stringMatching(why) as string })
        if (path !== '..') expect(told.text).not.toContain(path)
      }
    }
    for (const path of GOOD_PATHS)
      for (const [, at] of places) {
        const call = bob.node.sendHandoff(
          { recipient: 'frank', intent: 'inform', message: says('x'), ...at(path) },
          { session: uuid() },
        )
        expect(await call, path).toMatchObject({ warnings: [] })
      }
  })

  test('of one laptop is no address of evidence or of a link', async () => {
    const { bob } = await pair()
    for (const uri of [`file://${HOMES}bob/log.txt`, 'FILE:log.txt', '/var/log/a', 'C:\\log.txt', '~/log']) {
      expect(await refusedField(bob, { record: record({ evidence: [{ ...EVIDENCE, uri }] }) })).toMatchObject({
        field: 'record.evidence[0].uri',
      })
      expect(await refusedField(bob, { artifacts: [{ type: 'link', url: uri }] })).toMatchObject({
        field: 'artifacts[0].url',
      })
      expect(await refusedField(bob, { artifacts: [{ type: 'api_contract', schema_url: uri }] })).toMatchObject({
        field: 'artifacts[0].schema_url',
      })
    }
    const fine = {
      record: record({
        evidence: [
          { ...EVIDENCE, uri: 'https://ci.example/41' },
          { ...EVIDENCE, uri: 'docs/log.md' },
        ],
      }),
    }
    await handOff(bob, 'frank', 'one', fine)
  })

  test('that names a home in a text is told to the author and sent', async () => {
    const { bob } = await pair()
    const homes = [
      `see ${HOMES}bob/code/a.ts`,
      `in ${USERS}bob`,
      'C:\\Users\\Bob Smith\\a',
      'c:/users/bob',
      'at ~bob/a',
    ]
    for (const text of homes) {
      const { warnings } = await handOff(bob, 'frank', text)
      expect(warnings, text).toEqual([expect.stringMatching(/^summary names a home folder: /)])
      expect(warnings.join()).not.toContain('bob')
    }
    const none = [
      `${HOMES}user/a`,
      `${USERS}Shared/a`,
      'https://example.com/home/page',
      'a~b/c',
      '/homework/bob',
      '~/a',
      'GET /users/bob',
    ]
    for (const text of none) expect(await handOff(bob, 'frank', text), text).toMatchObject({ warnings: [] })
    const many = record({ open_questions: Array.from({ length: 6 }, () => `${HOMES}bob`) })
    const { warnings } = await handOff(bob, 'frank', 'one', { record: many })
    expect(warnings.filter((warning) => warning.includes('home folder'))).toHaveLength(5)
  })
})
