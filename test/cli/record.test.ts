/** The record on the command line, and handoffs written into a folder: two laptops, real nodes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ContinuityRecord } from '../../protocol/index.ts'
import { recordMarkdown } from '../../src/record/markdown.ts'
import { pair, untilThread } from './pair.ts'

const example = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
const RECORD = example('record.json')
const record = JSON.parse(readFileSync(RECORD, 'utf8')) as ContinuityRecord

const { bob, frank, watch, meet, handOff, close } = pair()
beforeAll(async () => void (await meet()))
afterAll(close)

function file(name: string, text: string): string {
  const path = join(bob.home.home, name)
  writeFileSync(path, text)
  return path
}

test('a record is sent in Markdown or JSON, shown in either, and goes on from the revision that was read', async () => {
  const id = await handOff(`--summary x --record ${example('record.md')}`)
  const shown = await frank.run(`show ${id} --record --json`)
  const { revisions, ...rest } = shown.json()
  expect(rest).toEqual({ thread_id: id, forked: false, record })
  const [revision] = revisions as string[]

  // What a peer wrote goes into a file as it is, and stands behind a bar for people to read.
  const markdown = await frank.run(`show ${id} --record --markdown`)
  expect(markdown).toMatchObject({ code: 0, stdout: recordMarkdown(record), stderr: '' })
  const plain = await frank.run(`show ${id} --record`)
  expect(plain.stdout).toContain('│   summary: Paginate GET /users')
  expect(plain.stdout).toContain(`relay-node continue ${id} --record FILE --expect ${revision}`)

  const next = join(frank.home.home, 'next.md')
  writeFileSync(next, '## Open questions\n\n- Who tells the users?\n')
  const continued = await frank.run(`continue ${id} --record ${next} --expect ${revision} --note "one more" --json`)
  expect(continued).toMatchObject({ code: 0, stderr: '' })
  expect(continued.json()).toMatchObject({ thread_id: id, parents: [revision], warnings: [] })
  const after = await frank.run(`show ${id} --record --json`)
  expect(after.json()['record']).toEqual({ ...record, open_questions: ['Who tells the users?'] })
  expect((await frank.run(`show ${id} --record --revision ${revision} --json`)).json()['record']).toEqual(record)

  const late = await frank.run(`continue ${id} --record ${next} --expect ${revision}`)
  expect(late).toMatchObject({ code: 1, stdout: '' })
  expect(late.stderr).toContain('moved on since that revision')
  const advised = file('advised.md', '## Next action\n\nContinue.\n')
  const current = String(continued.json()['revision_id'])
  await untilThread(watch.bob, id, ({ revision_id }) => revision_id === current)
  const warned = await bob.run(`continue ${id} --record ${advised} --expect ${current}`)
  expect(warned.stdout).toContain('next_action.summary is vague')
})

test('all that is wrong in a record is told at once, by field or by line, and nothing is sent', async () => {
  const broken = JSON.stringify({
    ...record,
    decisions: [{ summary: 'a', rationale: 'b', status: 'maybe' }],
    next_action: undefined,
    owner: 'frank',
    open_questions: 'none',
  })
  const cases: [name: string, text: string, told: string[]][] = [
    [
      'broken.json',
      broken,
      [
        'decisions[0].status must be one of proposed, accepted, rejected, superseded',
        'next_action is required and must be an object',
        'open_questions must be an array',
        'owner is not a known field',
      ],
    ],
    ['cut.json', '{\n"objective" 1}', ['cut.json is not JSON: line 2 column']],
    [
      'broken.md',
      '# Record\n\n## Objektive\n\nx\n\n## Decisions\n\n- a\n  - Status: maybe\n',
      ['line 3: there is no such heading here', 'line 10: a decision needs "- Status: "'],
    ],
    // As a person pastes it who took what is for a terminal.
    [
      'shown.md',
      'objective:\n  summary: x\n'.repeat(20),
      ['is not a record: 40 lines from 1 to 40: this stands under no heading; begin with ## Objective.'],
    ],
    ['two.md', 'a\n\nb\n', ['lines 1, 3: this stands under no heading']],
  ]
  for (const [name, text, told] of cases) {
    const ran = await bob.run(`send frank --summary x --record ${file(name, text)}`)
    expect(ran, name).toMatchObject({ code: 2, stdout: '' })
    for (const words of told) expect(ran.stderr).toContain(words)
    expect(ran.stderr).toContain('examples/record.md')
  }
  const id = await handOff('--summary "no record"')
  const wrong: [args: string, code: number, told: string][] = [
    [`show ${id} --record`, 1, 'no record in it'],
    [`show ${id} --markdown`, 2, 'go with --record'],
    [`continue ${id} --expect rev_a`, 2, '--record is missing'],
    [`continue ${id} --record ${RECORD}`, 2, '--expect is missing'],
    [`continue ${id} --record ${RECORD} --expect rev_aaaa`, 1, 'moved on'],
  ]
  for (const [args, code, told] of wrong) {
    const ran = await bob.run(args)
    expect(ran, args).toMatchObject({ code, stdout: '' })
    expect(ran.stderr).toContain(told)
  }
})

test('a handoff is exported into a new folder, which passes its check without a node, until something in it is changed', async () => {
  const bytes = Uint8Array.from({ length: 600 }, (_, i) => i % 256)
  const attachment = join(bob.home.home, 'all-bytes.bin')
  writeFileSync(attachment, bytes)
  const id = await handOff(`--summary "to be kept" --file ${attachment} --record ${RECORD}`)
  await frank.run(`accept ${id}`)
  await frank.run(`complete ${id} --result "kept"`)
  await untilThread(watch.bob, id, ({ status }) => status === 'completed')

  const folder = join(bob.home.home, 'kept')
  const exported = await bob.run(`export ${id.slice(0, 12)} -o ${folder} --json`)
  expect(exported).toMatchObject({ code: 0, stderr: '' })
  expect(exported.json()).toMatchObject({
    thread_id: id,
    folder,
    missing: [],
    files: ['README.md', 'artifacts/001-all-bytes.bin', 'manifest.json', 'proof/roster.cbor', 'proof/thread.cbor'],
  })
  expect(new Uint8Array(readFileSync(join(folder, 'artifacts/001-all-bytes.bin')))).toEqual(bytes)
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain('Paginate GET /users')
  const again = await bob.run(`export ${id} --output ${folder}`)
  expect(again).toMatchObject({ code: 1, stdout: '' })
  expect(again.stderr).toContain('it exists already')

  const anywhere = { env: { RELAY_NODE_HOME: join(bob.home.home, 'nobody') } }
  const checked = await bob.run(`export verify ${folder}`, anywhere)
  expect(checked).toMatchObject({ code: 0, stderr: '' })
  expect(checked.stdout).toContain('Every file in it is what its proof says.')
  expect(checked.stdout).toContain('completed')
  expect(existsSync(join(bob.home.home, 'nobody'))).toBe(false)
  const status = await watch.frank.call('relay/status', {})
  expect(checked.stdout).toContain(`workspace acme, ${status.roster.workspace_id}`)
  expect(checked.stdout).toContain(`frank/frank-xps  ${status.peer_id}`)
  const { state_digest } = await watch.frank.call('tasks/get', { thread_id: id })
  expect((await bob.run(`export verify ${folder} --json`, anywhere)).json()).toMatchObject({
    ok: true,
    thread: { thread_id: id, status: 'completed', state_digest, from: 'bob@acme', to: 'frank@acme' },
  })

  writeFileSync(join(folder, 'artifacts/001-all-bytes.bin'), bytes.toReversed())
  writeFileSync(join(folder, 'more.txt'), '')
  const changed = await bob.run(`export verify ${folder} --json`, anywhere)
  expect(changed).toMatchObject({ code: 1 })
  expect(changed.json()['faults']).toEqual([
    { path: 'artifacts/001-all-bytes.bin', what: 'it is not what the proof says' },
    { path: 'more.txt', what: 'it is no part of the export' },
  ])
  expect(await bob.run(`export verify ${join(folder, 'nothing')}`)).toMatchObject({ code: 2 })
  expect(await bob.run('export ho_aaaa')).toMatchObject({ code: 1 })
})
