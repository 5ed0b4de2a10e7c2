/** The continuity record as a flat form that can be merged: texts, single values, and lists of items of texts and values. */
import type { ContinuityRecord } from '../../protocol/index.ts'

/** One thing of a list, such as a decision; a plain string is an item with the one text `''`. */
export interface Item {
  readonly texts: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, string | undefined>>
}

export interface FlatRecord {
  readonly texts: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, string | undefined>>
  readonly lists: Readonly<Record<string, readonly Item[]>>
}

const strings = (texts: readonly string[]): Item[] => texts.map((text) => ({ texts: { '': text }, values: {} }))
const stringsOf = (items: readonly Item[] = []): string[] => items.map((item) => item.texts[''] ?? '')

/** Paths are those of the record, with a dot between its levels. */
export function flatten(record: ContinuityRecord): FlatRecord {
  const { objective, current_state: state, decisions, evidence, constraints, next_action: next, ownership } = record
  return {
    texts: {
      'objective.summary': objective.summary,
      'next_action.summary': next.summary,
      'next_action.verification': next.verification,
    },
    values: { 'next_action.due': next.due, 'ownership.next_actor': ownership.next_actor },
    lists: {
      'objective.acceptance_criteria': strings(objective.acceptance_criteria),
      'current_state.complete': strings(state.complete),
      'current_state.in_progress': strings(state.in_progress),
      'current_state.blocked': strings(state.blocked),
      'current_state.unverified': strings(state.unverified),
      decisions: decisions.map(({ summary, rationale, status }) => ({
        texts: { summary, rationale },
        values: { status },
      })),
      evidence: evidence.map(({ label, claim, uri, artifact, sha256 }) => ({
        texts: { label, claim },
        values: { uri, artifact, sha256 },
      })),
      constraints: constraints.map(({ kind, text }) => ({ texts: { text }, values: { kind } })),
      'ownership.reviewers': strings(ownership.reviewers),
      open_questions: strings(record.open_questions),
    },
  }
}

type Decision = ContinuityRecord['decisions'][number]
type Constraint = ContinuityRecord['constraints'][number]

/** The inverse of {@link flatten}. */
export function unflatten({ texts, values, lists }: FlatRecord): ContinuityRecord {
  const text = (path: string): string => texts[path] ?? ''
  const list = (path: string): string[] => stringsOf(lists[path])
  const due = values['next_action.due']
  return {
    objective: {
      summary: text('objective.summary'),
      acceptance_criteria: list('objective.acceptance_criteria'),
    },
    current_state: {
      complete: list('current_state.complete'),
      in_progress: list('current_state.in_progress'),
      blocked: list('current_state.blocked'),
      unverified: list('current_state.unverified'),
    },
    decisions: (lists['decisions'] ?? []).map((item) => ({
      summary: item.texts['summary'] ?? '',
      rationale: item.texts['rationale'] ?? '',
      status: (item.values['status'] ?? 'proposed') as Decision['status'],
    })),
    evidence: (lists['evidence'] ?? []).map((item) => ({
      label: item.texts['label'] ?? '',
      claim: item.texts['claim'] ?? '',
      ...withValue(item, 'uri'),
      ...withValue(item, 'artifact'),
      ...withValue(item, 'sha256'),
    })),
    constraints: (lists['constraints'] ?? []).map((item) => ({
      kind: (item.values['kind'] ?? 'other') as Constraint['kind'],
      text: item.texts['text'] ?? '',
    })),
    next_action: {
      summary: text('next_action.summary'),
      verification: text('next_action.verification'),
      ...(due === undefined ? {} : { due }),
    },
    ownership: { next_actor: values['ownership.next_actor'] ?? '', reviewers: list('ownership.reviewers') },
    open_questions: list('open_questions'),
  }
}

function withValue(item: Item, name: string): Record<string, string> {
  const value = item.values[name]
  return value === undefined ? {} : { [name]: value }
}

export const EMPTY_RECORD: ContinuityRecord = unflatten({ texts: {}, values: {}, lists: {} })

/** What differs between two records, field by field and item by item; nothing where they are the same. */
export function compareRecords(
  before: ContinuityRecord | undefined,
  after: ContinuityRecord | undefined,
): Difference[] {
  const [a, b] = [flatten(before ?? EMPTY_RECORD), flatten(after ?? EMPTY_RECORD)]
  const found: Difference[] = []
  const differ = (field: string, one: string | undefined, other: string | undefined): void => {
    if ((one ?? '') !== (other ?? '')) found.push({ field, before: one || null, after: other || null })
  }
  for (const field of Object.keys(a.texts)) differ(field, a.texts[field], b.texts[field])
  for (const field of Object.keys(a.values)) differ(field, a.values[field], b.values[field])
  for (const field of Object.keys(a.lists)) {
    const [gone, come] = [(a.lists[field] ?? []).map(itemText), (b.lists[field] ?? []).map(itemText)]
    for (const text of without(gone, come)) found.push({ field, before: text, after: null })
    for (const text of without(come, gone)) found.push({ field, before: null, after: text })
  }
  return found
}

export interface Difference {
  field: string
  before: string | null
  after: string | null
}

/** What an item says, in one line. */
export function itemText({ texts, values }: Item): string {
  return [...Object.values(texts), ...Object.values(values)].filter(Boolean).join(' · ')
}

/** Those of `texts` that are not among `others`, each as often as it is there. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return texts.filter((text) => {
    const at = left.indexOf(text)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Every text in a record or a part of one, in its order. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
