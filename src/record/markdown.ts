/** A record as Markdown, for people and agents; `parse.ts` reads it back, and gives the very same record. */
import type { ContinuityRecord } from '../../protocol/index.ts'
import { valueLines } from './text.ts'

/** Its lines without empty lines and empty sections, for reading where room is short. They read back as the fields that they show. */
export function compactRecord(record: ContinuityRecord): string[] {
  const kept: string[][] = []
  for (const lines of blocksOf(record).slice(1).toReversed())
    if (levelOf(lines) < (kept[0] ? levelOf(kept[0]) : 0)) kept.unshift(lines)
    else if (levelOf(lines) === TEXT_LEVEL) kept.unshift(lines)
  return kept.flat()
}

const TEXT_LEVEL = 7

/** Of a heading, how many marks it begins with. */
function levelOf(lines: readonly string[]): number {
  return /^(#+) /.exec(lines[0] ?? '')?.[1]?.length ?? TEXT_LEVEL
}

/** Sections by their headings, in the order of the template. */
export function recordMarkdown(record: ContinuityRecord): string {
  return `${blocksOf(record)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

function blocksOf(record: ContinuityRecord): string[][] {
  const { objective, current_state: state, decisions, evidence, constraints, next_action: next, ownership } = record
  const blocks: string[][] = [
    ['# Record'],
    ['## Objective'],
    paragraph(objective.summary),
    ['### Acceptance criteria'],
    objective.acceptance_criteria.flatMap((text) => item(text)),
    ['## Current state'],
    ['### Complete'],
    state.complete.flatMap((text) => item(text)),
    ['### In progress'],
    state.in_progress.flatMap((text) => item(text)),
    ['### Blocked'],
    state.blocked.flatMap((text) => item(text)),
    ['### Unverified'],
    state.unverified.flatMap((text) => item(text)),
    ['## Decisions'],
    decisions.flatMap(({ summary, rationale, status }) => [
      ...item(summary),
      ...below(item(rationale, 'Rationale')),
      ...below(item(status, 'Status')),
    ]),
    ['## Evidence'],
    evidence.flatMap(({ label, claim, uri, artifact, sha256 }) => [
      ...item(label),
      ...below(item(claim, 'Claim')),
      ...below(optional(uri, 'Uri')),
      ...below(optional(artifact, 'Artifact')),
      ...below(optional(sha256, 'Sha256')),
    ]),
    ['## Constraints'],
    constraints.flatMap(({ kind, text }) => item(text, kind)),
    ['## Next action'],
    paragraph(next.summary),
    [...item(next.verification, 'Verification'), ...optional(next.due, 'Due')],
    ['## Ownership'],
    [...item(ownership.next_actor, 'Next actor'), ...ownership.reviewers.flatMap((text) => item(text, 'Reviewer'))],
    ['## Open questions'],
    record.open_questions.flatMap((text) => item(text)),
  ]
  return blocks.filter((lines) => lines.length > 0)
}

function paragraph(text: string): string[] {
  return text === '' ? [] : valueLines(text)
}

/** A value as an item of a list, all of its lines below its beginning. */
function item(text: string, label?: string): string[] {
  const lines = valueLines(text, label === undefined ? '' : `${label}: `)
  return lines.map((line, i) => (i === 0 ? `- ${line}` : line === '' ? '' : `  ${line}`))
}

function optional(text: string | undefined, label: string): string[] {
  return text === undefined ? [] : item(text, label)
}

function below(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`))
}
