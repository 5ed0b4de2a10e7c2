/** A record in Markdown is the record: what was written comes back, and what is wrong is told by its line. */
import { readFileSync } from 'node:fs'
import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { type ContinuityRecord, CONSTRAINT_KINDS, DECISION_STATUSES } from '../../protocol/index.ts'
import { compactRecord, recordMarkdown } from '../../src/record/markdown.ts'
import { EMPTY_RECORD } from '../../src/node/record-shape.ts'
import { parseRecordMarkdown } from '../../src/record/parse.ts'

/** What Markdown, this grammar and JSON are made of, and any text between. */
const NASTY = fc.constantFrom(
  '# a',
  '## Decisions',
  '### Blocked',
  '- a',
  '  - Status: accepted',
  '- Claim: b',
  '* a',
  '+ a',
  '1. a',
  '> a',
  '| a | b |',
  '---',
  '===',
  '___',
  '```',
  '```text',
  '````',
  '~~~',
  '`a`',
  '<!-- a -->',
  '<b>a</b>',
  '[a]: b',
  '[ ] a',
  '![a](https://a.example)',
  '"',
  '"a"',
  '"a',
  '\\',
  '\\n',
  ':',
  'Claim:',
  'Status: x',
  '',
  ' ',
  '  a',
  'a  ',
  '\t',
  'a\tb',
  '\r',
  'a\r',
  '\u00a0',
  '\u2028',
  '\u200b',
  '\u202e',
  '\u0000',
  '\ufeff',
  '😀',
  '2. December',
  'a*b*c_d_',
  '&amp;',
  'ä',
)
const TEXT = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .array(fc.oneof(NASTY, fc.string({ maxLength: 12 })), { maxLength: 5 })
      .map((lines) => lines.join('\n')),
  },
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.lorem({ maxCount: 8 }),
)
const texts = fc.array(TEXT, { maxLength: 3 })
const RECORD: fc.Arbitrary<ContinuityRecord> = fc.record(
  {
    objective: fc.record({ summary: TEXT, acceptance_criteria: texts }),
    current_state: fc.record({ complete: texts, in_progress: texts, blocked: texts, unverified: texts }),
    decisions: fc.array(fc.record({ summary: TEXT, rationale: TEXT, status: fc.constantFrom(...DECISION_STATUSES) }), {
      maxLength: 3,
    }),
    evidence: fc.array(
      fc.record(
        { label: TEXT, claim: TEXT, uri: TEXT, artifact: TEXT, sha256: TEXT },
        { requiredKeys: ['label', 'claim'] },
      ),
      { maxLength: 3 },
    ),
    constraints: fc.array(fc.record({ kind: fc.constantFrom(...CONSTRAINT_KINDS), text: TEXT }), { maxLength: 3 }),
    next_action: fc.record(
      { summary: TEXT, verification: TEXT, due: TEXT },
      { requiredKeys: ['summary', 'verification'] },
    ),
    ownership: fc.record({ next_actor: TEXT, reviewers: texts }),
    open_questions: texts,
  },
  { noNullPrototype: true },
)

const wellFormed = (record: ContinuityRecord): ContinuityRecord =>
  JSON.parse(JSON.stringify(record), (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  ) as ContinuityRecord

describe('a record in Markdown', () => {
  propertyTest.prop([RECORD], { numRuns: 2000 })('comes back as it was, whatever its texts are', (drawn) => {
    const record = wellFormed(drawn)
    expect(parseRecordMarkdown(recordMarkdown(record))).toEqual({ ok: true, fields: record })
  })

  propertyTest.prop([RECORD], { numRuns: 300 })('comes back from a file with the line ends of Windows', (drawn) => {
    const record = wellFormed(drawn)
    const markdown = `\uFEFF${recordMarkdown(record).replaceAll('\n', '\r\n')}`
    expect(parseRecordMarkdown(markdown)).toEqual({ ok: true, fields: record })
  })

  propertyTest.prop([RECORD], { numRuns: 500 })('reads back in its short form, less what is empty', (drawn) => {
    const record = wellFormed(drawn)
    const read = parseRecordMarkdown(compactRecord(record).join('\n'))
    expect(read).toMatchObject({ ok: true })
    const fields = read.ok ? read.fields : {}
    expect({ ...EMPTY_RECORD, ...fields }).toEqual(record)
  })

  test('is the example that stands beside the one in JSON', () => {
    const read = (name: string): string => readFileSync(new URL(`../../examples/${name}`, import.meta.url), 'utf8')
    const record = JSON.parse(read('record.json')) as ContinuityRecord
    expect(parseRecordMarkdown(read('record.md'))).toEqual({ ok: true, fields: record })
    const rendered = recordMarkdown(record)
    expect(read('record.md').replaceAll(/<!--.*-->\n+/g, '')).toBe(rendered)
  })

  test('is easy to write by hand: parts may be left out, texts go on over lines, comments say what they like', () => {
    const markdown = `
<!-- for frank -->
## Next action
Adapt the client
to follow the cursor.

Then tell carol.
* Verification: npm test
  and look at the page
<!-- no due date -->

## decisions ##

- cursor, not offset

  rows move
  - Status: accepted
  - Rationale: they move
- no cache
  - status: proposed
## Open questions
- \`\`\`sh
  ls -l

  # why?
  \`\`\`
-
- one
`
    expect(parseRecordMarkdown(markdown)).toEqual({
      ok: true,
      fields: {
        next_action: {
          summary: 'Adapt the client\nto follow the cursor.\n\nThen tell carol.',
          verification: 'npm test\nand look at the page',
        },
        decisions: [
          { summary: 'cursor, not offset\n\nrows move', rationale: 'they move', status: 'accepted' },
          { summary: 'no cache', rationale: '', status: 'proposed' },
        ],
        open_questions: ['ls -l\n\n# why?', '', 'one'],
      },
    })
    expect(parseRecordMarkdown('')).toEqual({ ok: true, fields: {} })
  })
})

const WRONG: [name: string, markdown: string, faults: [line: number, what: RegExp][]][] = [
  ['text before the first heading', 'Hello\n## Objective\nx', [[1, /under no heading/]]],
  ['an unknown heading', '## Objective\nx\n## Plans\n- y', [[3, /there are ## Objective, ## Current state/]]],
  ['an unknown list', '## Current state\n### Done\n- y', [[2, /### Complete, ### In progress/]]],
  ['a list below the wrong heading', '## Decisions\n### Complete\n- y', [[2, /there are none/]]],
  ['a field that stands twice', '## Objective\nx\n## Objective\ny', [[3, /second time/]]],
  ['text where a list is', '## Open questions\nWhy?', [[2, /begin each item/]]],
  ['a line that is indented too little', '## Open questions\n- a\n b', [[3, /indented by two/]]],
  ['a list in an item', '## Open questions\n- a\n  - b', [[3, /nothing below/]]],
  [
    'a decision without a status',
    '## Decisions\n- a\n  - Rationale: b',
    [[2, /proposed, accepted, rejected, superseded/]],
  ],
  ['an unknown status', '## Decisions\n- a\n  - Status: maybe', [[3, /proposed, accepted/]]],
  ['an unknown part', '## Evidence\n- a\n  - Proof: b', [[3, /"- Claim: ", "- Uri: "/]]],
  ['a part that stands twice', '## Evidence\n- a\n  - Claim: b\n  - Claim: c', [[4, /second time/]]],
  ['an unknown kind', '## Constraints\n- money: b', [[2, /"- permission: "/]]],
  ['two next actors', '## Ownership\n- Next actor: a\n- Next actor: b', [[3, /second time/]]],
  ['a block without an end', '## Objective\n```text\na\n## Decisions\n', [[2, /no end/]]],
  ['something after a block', '## Objective\n```\na\n```\nb', [[5, /nothing follows a block/]]],
  ['a broken string', '## Objective\n"a', [[2, /JSON string/]]],
  ['a quotation of a part', '## Objective\n"a" and b', [[2, /JSON string/]]],
  [
    'half of a character',
    String.raw`## Objective
"\ud800"`,
    [[2, /JSON string/]],
  ],
  ['a heading in a text', '## Objective\na\n> b', [[3, /between lines of ```/]]],
  [
    'several at once, by line',
    '## Evidence\n- a\n  - Proof: b\n## Plans\n## Constraints\n- money: c',
    [
      [3, /Claim/],
      [4, /no such heading/],
      [6, /permission/],
    ],
  ],
]

describe('what is wrong in a record', () => {
  test.each(WRONG)('is told by its line: %s', (_name, markdown, faults) => {
    const read = parseRecordMarkdown(markdown)
    expect(read).toMatchObject({ ok: false })
    const told = read.ok ? [] : read.faults
    expect(told.map(({ line }) => line)).toEqual(faults.map(([line]) => line))
    for (const [i, [, what]] of faults.entries()) expect(told[i]?.what).toMatch(what)
  })

  propertyTest.prop(
    [
      fc.array(fc.oneof(NASTY, fc.constantFrom('## Objective', '## Evidence', '## Ownership', '- a', '  - Claim: b')), {
        maxLength: 30,
      }),
    ],
    { numRuns: 2000 },
  )('is told, whatever is given: nothing is thrown and no line is beyond the end', (lines) => {
    const read = parseRecordMarkdown(lines.join('\n'))
    if (!read.ok)
      for (const { line } of read.faults) expect(line).toBeLessThanOrEqual(lines.join('\n').split('\n').length)
  })
})
