import { fc, test as prop } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { ContinuityRecord } from '../../protocol/index.ts'
import { mergeRecords } from '../../src/node/document.ts'
import { EMPTY_RECORD, flatten, unflatten } from '../../src/node/record-shape.ts'

const BASE: ContinuityRecord = {
  ...EMPTY_RECORD,
  objective: { summary: 'Paginate the users endpoint', acceptance_criteria: ['tests pass', 'docs are updated'] },
  current_state: { complete: ['server'], in_progress: ['client'], blocked: [], unverified: ['iOS'] },
  decisions: [
    { summary: 'cursor, not offset', rationale: 'rows move', status: 'proposed' },
    { summary: 'page size of fifty', rationale: 'fits a screen', status: 'accepted' },
  ],
  next_action: { summary: 'Adapt the client to the new answer', verification: 'npm test' },
  ownership: { next_actor: 'frank', reviewers: ['carol'] },
}

function changed(change: (record: ContinuityRecord) => void): ContinuityRecord {
  const record = structuredClone(BASE)
  change(record)
  return record
}

describe('what one side changed is taken', () => {
  const one = changed((record) => {
    record.objective.summary = 'Paginate the users and teams endpoint'
    record.current_state.complete.push('client')
    record.current_state.in_progress = []
    record.decisions[0] = { summary: 'cursor, not offset', rationale: 'rows move', status: 'accepted' }
    record.next_action.due = 'Friday'
  })

  test.each([
    ['first', [one, BASE]],
    ['last', [BASE, one]],
    ['alone', [one]],
    ['by both', [one, one]],
  ])('%s', (_, heads) => {
    expect(mergeRecords(BASE, heads)).toEqual({ record: one, conflicts: [] })
  })
})

describe('what two sides changed in different places comes together', () => {
  test('words of one text', () => {
    const merged = mergeRecords(BASE, [
      changed((record) => (record.next_action.summary = 'Adapt the web client to the new answer')),
      changed((record) => (record.next_action.summary = 'Adapt the client to the paginated answer')),
    ])
    expect(merged.record.next_action.summary).toBe('Adapt the web client to the paginated answer')
    expect(merged.conflicts).toEqual([])
  })

  test('items of one list, a new one at the same place among them', () => {
    const merged = mergeRecords(BASE, [
      changed((record) => record.objective.acceptance_criteria.push('no slower than before')),
      changed((record) => record.objective.acceptance_criteria.push('old clients go on working')),
      changed((record) => void record.objective.acceptance_criteria.shift()),
    ])
    expect(merged.record.objective.acceptance_criteria).toEqual([
      'docs are updated',
      'no slower than before',
      'old clients go on working',
    ])
    expect(merged.conflicts).toEqual([])
  })

  test('two fields of one item', () => {
    const merged = mergeRecords(BASE, [
      changed((record) => ((record.decisions[0] as { status: string }).status = 'accepted')),
      changed((record) => ((record.decisions[0] as { rationale: string }).rationale = 'rows move between pages')),
    ])
    expect(merged.record.decisions[0]).toEqual({
      summary: 'cursor, not offset',
      rationale: 'rows move between pages',
      status: 'accepted',
    })
    expect(merged.conflicts).toEqual([])
  })

  test('the same new item stands once', () => {
    const more = changed((record) => record.open_questions.push('How many users?'))
    expect(mergeRecords(BASE, [more, more, BASE]).record.open_questions).toEqual(['How many users?'])
  })
})

describe('what nobody can decide is a conflict with the value of each', () => {
  test('a single value', () => {
    const merged = mergeRecords(BASE, [
      changed((record) => (record.ownership.next_actor = 'carol')),
      changed((record) => (record.ownership.next_actor = 'bob')),
      BASE,
    ])
    expect(merged.conflicts).toEqual([{ field: 'ownership.next_actor', values: ['carol', 'bob', 'frank'] }])
    expect(merged.record.ownership.next_actor).toBe('carol')
  })

  test('a value of an item, in the place that it has in the merged list', () => {
    const merged = mergeRecords(BASE, [
      changed((record) => {
        record.decisions.unshift({ summary: 'no totals', rationale: 'slow', status: 'accepted' })
        record.decisions[2] = { summary: 'page size of fifty', rationale: 'fits a screen', status: 'rejected' }
      }),
      changed((record) => ((record.decisions[1] as { status: string }).status = 'superseded')),
    ])
    expect(merged.record.decisions.map(({ summary }) => summary)).toEqual([
      'no totals',
      'cursor, not offset',
      'page size of fifty',
    ])
    expect(merged.conflicts).toEqual([{ field: 'decisions[2].status', values: ['rejected', 'superseded'] }])
  })

  test('words that both replaced: both stand in the merge, and each whole text in the conflict', () => {
    const texts = ['Adapt the client to the old answer', 'Adapt the client to the last answer']
    const merged = mergeRecords(
      BASE,
      texts.map((summary) => changed((record) => (record.next_action.summary = summary))),
    )
    expect(merged.conflicts).toEqual([{ field: 'next_action.summary', values: texts }])
    for (const word of ['old', 'last']) expect(merged.record.next_action.summary).toContain(word)
  })

  test('words that one put where another took the words around out', () => {
    const merged = mergeRecords(
      changed((record) => (record.objective.summary = 'client page')),
      [
        changed((record) => (record.objective.summary = 'client')),
        changed((record) => (record.objective.summary = 'add add page')),
      ],
    )
    expect(merged.conflicts).toEqual([{ field: 'objective.summary', values: ['client', 'add add page'] }])
  })

  test('an item that one changed and another took out stays', () => {
    const merged = mergeRecords(BASE, [
      changed((record) => void record.decisions.shift()),
      changed((record) => ((record.decisions[0] as { rationale: string }).rationale = 'rows move while one reads')),
    ])
    expect(merged.record.decisions[0]?.rationale).toBe('rows move while one reads')
    expect(merged.conflicts).toEqual([
      { field: 'decisions[0]', values: [null, 'cursor, not offset · rows move while one reads · proposed'] },
    ])
  })
})

test('an item that one took out and nobody changed is gone', () => {
  const merged = mergeRecords(BASE, [changed((record) => void record.decisions.shift()), BASE])
  expect(merged.record.decisions).toEqual(BASE.decisions.slice(1))
  expect(merged.conflicts).toEqual([])
})

test('without a common base everything of each is there', () => {
  const merged = mergeRecords(undefined, [BASE, changed((record) => (record.current_state.complete = ['database']))])
  expect(merged.record.current_state.complete).toEqual(['server', 'database'])
  expect(merged.record.decisions).toEqual(BASE.decisions)
})

test('long texts that have nothing in common are merged as a whole', () => {
  const long = (word: string): string => Array.from({ length: 20_000 }, (_, i) => `${word}${i}`).join(' ')
  const heads = ['a', 'b'].map((word) => changed((record) => (record.objective.summary = long(word))))
  const merged = mergeRecords(BASE, heads)
  expect(merged.conflicts.map(({ field }) => field)).toEqual(['objective.summary'])
  const [one = '', other = ''] = heads.map(({ objective }) => objective.summary)
  expect(merged.record.objective.summary).toBe(`${one} ${other}`)
})

// Any edits of any fields.

const word = fc.constantFrom('add', 'page', 'users', 'cursor', 'client', 'server', 'test', 'fast', '…', '𝒳')
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '))
const texts = fc.array(text, { maxLength: 4 })
const optional = { requiredKeys: [] as never[] }
const anyRecord: fc.Arbitrary<ContinuityRecord> = fc
  .record({
    objective: fc.record({ summary: text, acceptance_criteria: texts }),
    current_state: fc.record({ complete: texts, in_progress: texts, blocked: texts, unverified: texts }),
    decisions: fc.array(
      fc.record({
        summary: text,
        rationale: text,
        status: fc.constantFrom('proposed' as const, 'accepted' as const, 'rejected' as const),
      }),
      { maxLength: 4 },
    ),
    evidence: fc.array(
      fc
        .tuple(
          fc.record({ label: text, claim: text }),
          fc.record({ uri: text, sha256: text, artifact: text }, optional),
        )
        .map(([needed, more]) => ({ ...needed, ...more })),
      { maxLength: 3 },
    ),
    constraints: fc.array(fc.record({ kind: fc.constantFrom('safety' as const, 'other' as const), text }), {
      maxLength: 3,
    }),
    next_action: fc
      .tuple(fc.record({ summary: text, verification: text }), fc.record({ due: text }, optional))
      .map(([needed, more]) => ({ ...needed, ...more })),
    ownership: fc.record({ next_actor: text, reviewers: texts }),
    open_questions: texts,
  })
  .map((record) => record as ContinuityRecord)

/** Some fields of another record in place of one's own, so that heads share much with their base. */
const partsOf = (base: ContinuityRecord): fc.Arbitrary<ContinuityRecord> =>
  fc.tuple(anyRecord, fc.subarray(Object.keys(base) as (keyof ContinuityRecord)[])).map(([other, fields]) => ({
    ...base,
    ...Object.fromEntries(fields.map((field) => [field, other[field]])),
  }))

const story = anyRecord.chain((base) =>
  fc.tuple(fc.constant(base), fc.array(partsOf(base), { minLength: 2, maxLength: 4 })),
)

/** Every word that a record says, with its field. */
function wordsOf(record: ContinuityRecord): string[] {
  const { texts: own, values, lists } = flatten(record)
  const split = (field: string, said: string | undefined): string[] =>
    (said ?? '').split(' ').flatMap((one) => (one === '' ? [] : `${field}: ${one}`))
  return [
    ...Object.entries(own).flatMap(([field, said]) => split(field, said)),
    ...Object.entries(values).flatMap(([field, said]) => split(field, said)),
    ...Object.entries(lists).flatMap(([field, items]) =>
      items.flatMap((item) =>
        [...Object.values(item.texts), ...Object.values(item.values)].flatMap((said) => split(field, said)),
      ),
    ),
  ]
}

describe('whatever 2 to 4 sides change', () => {
  prop.prop([story])('the merge is the same each time, and of the right shape', ([base, heads]) => {
    const merged = mergeRecords(base, heads)
    expect(mergeRecords(structuredClone(base), structuredClone(heads))).toEqual(merged)
    expect(unflatten(flatten(merged.record))).toEqual(merged.record)
  })

  prop.prop([story])('every word that somebody added is in the merge or in a conflict', ([base, heads]) => {
    const { record, conflicts } = mergeRecords(base, heads)
    const had = new Set(wordsOf(base))
    const shown = new Set([
      ...wordsOf(record),
      ...conflicts.flatMap(({ field, values }) =>
        values.flatMap((value) => (value ?? '').split(/ |·/).map((one) => `${field.replace(/\[.*/, '')}: ${one}`)),
      ),
    ])
    const added = heads.flatMap(wordsOf).filter((one) => !had.has(one))
    expect(added.filter((one) => !shown.has(one))).toEqual([])
  })

  prop.prop([anyRecord, fc.nat(3)])('sides that agree make no conflict', (base, count) => {
    const heads = Array.from({ length: count + 1 }, () => base)
    expect(mergeRecords(base, heads)).toEqual({ record: base, conflicts: [] })
  })

  prop.prop([anyRecord.chain((base) => fc.tuple(fc.constant(base), partsOf(base), fc.nat(3)))])(
    'what one of them changed, and no other, is what all get',
    ([base, head, at]) => {
      const heads = [base, base, base]
      heads.splice(at, 0, head)
      expect(mergeRecords(base, heads)).toEqual({ record: head, conflicts: [] })
    },
  )
})
