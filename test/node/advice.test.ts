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
    'a transcript in place of a state',
    state('User: go on\nAssistant: ok\nUser: now the tests'),
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
  ['claims without evidence', { evidence: [] }, 'current_state.complete'],
  ['an empty next action', next(''), 'next_action.summary'],
  ['a vague next action', next('Continue.'), 'next_action.summary'],
  ['a next action of two words', next('Fix it'), 'next_action.summary'],
  ['a next action that nobody can verify', next('Adapt the web client', ''), 'next_action.verification'],
])('%s is advised on, by its field', (_, change, field) => {
  const advice = adviceOn({ ...GOOD, ...change }, [LINK])
  expect(advice).toHaveLength(1)
  expect(advice[0]).toMatch(new RegExp(`^${field.replaceAll(/[[\].]/g, '\\$&')} `))
})
