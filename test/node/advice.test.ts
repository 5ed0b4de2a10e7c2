import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { artifactId, type ContinuityRecord, textId } from '../../protocol/index.ts'
import { adviceOn } from '../../src/node/advice.ts'
import { EMPTY_RECORD } from '../../src/node/record-shape.ts'

const LINK = { type: 'link' as const, url: 'https://ci.example/41', title: 'ci run' }
const GOOD: ContinuityRecord = {
  ...EMPTY_RECORD,
  objective: { summary: 'Paginate the users endpoint', acceptance_criteria: ['tests pass'] },
  current_state: { complete: ['the server answers in pages'], in_progress: [], blocked: [], unverified: [] },
  decisions: [{ summary: 'cursor, not offset', rationale: 'rows move', status: 'accepted' }],
  evidence: [{ label: 'tests', claim: '41 pass', artifact: 'ci run' }],
  next_action: { summary: 'Adapt the web client to the new answer', verification: 'npm test' },
}

test('a record that can be resumed gets no advice, also where it names an artifact by its id', () => {
  expect(adviceOn(GOOD, [LINK])).toEqual([])
  const byId = [{ label: 'tests', claim: '41 pass', artifact: textId('artifact', artifactId(LINK)) }]
  expect(adviceOn({ ...GOOD, evidence: byId }, [LINK])).toEqual([])
})

const evidence = (more: object): Partial<ContinuityRecord> => ({
  evidence: [{ label: 'tests', claim: '41 pass', ...more }],
})
const next = (summary: string, verification = 'npm test'): Partial<ContinuityRecord> => ({
  next_action: { summary, verification },
})
const state = (text: string): Partial<ContinuityRecord> => ({
  current_state: { ...GOOD.current_state, in_progress: [text] },
})

test.each<[string, Partial<ContinuityRecord>, string]>([
  ['no objective', { objective: { summary: ' ', acceptance_criteria: [] } }, 'objective.summary'],
  [
    'a transcript in place of an objective',
    { objective: { summary: 'User: a\nAssistant: b\nUser: c', acceptance_criteria: [] } },
    'objective.summary',
  ],
  [
    'a transcript in place of a state',
    state('User: go on\nAssistant: ok\nUser: now the tests'),
    'current_state.in_progress[0]',
  ],
  [
    'a transcript in Markdown',
    state('**User:** go on\n\n**Claude:** I will\n\n> **User**: now the tests'),
    'current_state.in_progress[0]',
  ],
  ['a state without end', state('and then '.repeat(600)), 'current_state.in_progress[0]'],
  [
    'a decision without a rationale',
    { decisions: [{ summary: 'x', rationale: '', status: 'accepted' }] },
    'decisions[0]',
  ],
  ['evidence that claims nothing', evidence({ claim: '', uri: 'https://ci.example' }), 'evidence[0]'],
  ['evidence that points to nothing', evidence({}), 'evidence[0]'],
  ['evidence by an artifact that is not there', evidence({ artifact: 'log.txt' }), 'evidence[0].artifact'],
  [
    'a hash of another content',
    evidence({ artifact: 'ci run', sha256: createHash('sha256').update('other').digest('hex') }),
    'evidence[0].sha256',
  ],
  ['a hash that is none', evidence({ uri: 'https://ci.example', sha256: 'abc' }), 'evidence[0].sha256'],
  ['claims without evidence', { evidence: [] }, 'current_state.complete'],
  ['an empty next action', next(''), 'next_action.summary'],
  ['a next action of two words', next('Fix it'), 'next_action.summary'],
  ['a next action that is a transcript', next('User: a b c\nAssistant: b\nUser: c'), 'next_action.summary'],
  ['a next action that nobody can verify', next('Adapt the web client', ''), 'next_action.verification'],
])('%s is advised on, by its field', (_, change, field) => {
  const advice = adviceOn({ ...GOOD, ...change }, [LINK])
  expect(advice).toHaveLength(1)
  expect(advice[0]).toMatch(new RegExp(`^${field.replaceAll(/[[\].]/g, '\\$&')} `))
})

const VAGUE = [
  'Continue.',
  'TBD',
  'n/a',
  'continue with the work',
  'Keep working on it',
  'Finish the remaining tasks',
  'Please continue where I left off',
  'Fix the bugs',
  'Do the rest of the work',
  'See above',
  'Take care of everything',
  'Handle the remaining issues.',
  'next steps',
]
const CLEAR = [
  'Adapt src/client/users.ts to follow next_cursor',
  'Finish the remaining work on src/api/users.ts',
  'Ask carol whether the migration may run on Friday',
  'Run the load test and compare it with run 41',
  'Fix the race in createOutbound that test/node/outbound.test.ts shows',
  'Delete the old endpoint once no client calls it',
  '修复用户接口的分页问题',
  'Die Tests der mobilen Anwendung anpassen',
  'Continue the rename until no file names the old module',
]

test('a next action is told from one that names nothing', () => {
  expect(VAGUE.filter((text) => adviceOn({ ...GOOD, ...next(text) }, [LINK]).length !== 1)).toEqual([])
  expect(CLEAR.filter((text) => adviceOn({ ...GOOD, ...next(text) }, [LINK]).length > 0)).toEqual([])
})

test('a hash of the content that is attached is fine, in either case of its letters', () => {
  const sha256 = createHash('sha256').update(LINK.url).digest('hex')
  expect(adviceOn({ ...GOOD, ...evidence({ artifact: 'ci run', sha256 }) }, [LINK])).toEqual([])
  expect(adviceOn({ ...GOOD, ...evidence({ artifact: 'ci run', sha256: sha256.toUpperCase() }) }, [LINK])).toEqual([])
})

test('the example gets no advice, and a record of nothing but mistakes a bounded number', () => {
  const example = JSON.parse(
    readFileSync(new URL('../../examples/record.json', import.meta.url), 'utf8'),
  ) as ContinuityRecord
  expect(adviceOn(example, [])).toEqual([])
  const decisions = Array.from({ length: 100 }, () => ({ summary: 's', rationale: '', status: 'accepted' as const }))
  const advice = adviceOn({ ...EMPTY_RECORD, decisions }, [])
  expect(advice).toHaveLength(17)
  expect(advice.at(-1)).toMatch(/^\d+ more/)
})
