/**
 * Reads a record in Markdown: a small grammar of lines, since what a Markdown parser gives is no longer the text that
 * was written. Headings name the fields, lists hold their items, `- Label: text` the parts of an item.
 */
import { type ContinuityRecord, CONSTRAINT_KINDS, DECISION_STATUSES } from '../../protocol/index.ts'
import { fenceOf, isEndOf, type Line, readValue } from './text.ts'

export interface RecordFault {
  /** From 1. */
  line: number
  what: string
}

/** The fields whose headings stand there; each is whole. */
export type ReadRecord = { ok: true; fields: Partial<ContinuityRecord> } | { ok: false; faults: RecordFault[] }

/** An item of a list: its text or label and text, and the items below it. */
interface Item {
  readonly line: number
  readonly label: string | undefined
  readonly text: string
  readonly parts: readonly Item[]
}

/** What stands below one heading. */
interface Section {
  readonly line: number
  readonly text: string
  readonly items: readonly Item[]
}

const LISTS_BELOW: Readonly<Record<string, readonly string[]>> = {
  objective: ['acceptance criteria'],
  'current state': ['complete', 'in progress', 'blocked', 'unverified'],
}
const HEADINGS = [
  'objective',
  'current state',
  'decisions',
  'evidence',
  'constraints',
  'next action',
  'ownership',
  'open questions',
]
/** Under these headings a text may stand before the list. */
const WITH_TEXT = new Set(['objective', 'next action'])
/** Items of these sections begin with a label; in the others, an item may have such parts below it. */
const LABELS: Readonly<Record<string, readonly string[]>> = {
  constraints: CONSTRAINT_KINDS,
  'next action': ['Verification', 'Due'],
  ownership: ['Next actor', 'Reviewer'],
}
const PARTS: Readonly<Record<string, readonly string[]>> = {
  decisions: ['Rationale', 'Status'],
  evidence: ['Claim', 'Uri', 'Artifact', 'Sha256'],
}
const LABELLED = /^([A-Za-z][A-Za-z0-9 _]{0,30}):(?:\s+(.*))?$/
const ITEM = /^[-*+](?:\s+(.*))?$/

/** All that is wrong is told at once, in the order of its lines. */
export function parseRecordMarkdown(markdown: string): ReadRecord {
  const faults: RecordFault[] = []
  const lines = markdown
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((text, i): Line => ({ number: i + 1, text: text.replace(/\r$/, '') }))
  const sections = readSections(lines, faults)
  const fields = recordOf(sections, faults)
  return faults.length > 0 ? { ok: false, faults: faults.toSorted((a, b) => a.line - b.line) } : { ok: true, fields }
}

function readSections(lines: readonly Line[], faults: RecordFault[]): Map<string, Section> {
  const sections = new Map<string, Section>()
  let name = ''
  let upper = ''
  let line = 1
  let own: Line[] = []
  let fence: string | undefined
  const close = (): void => {
    if (name !== '' && name !== UNKNOWN) sections.set(name, { line, ...readBelow(own, name, faults) })
    else if (name === '')
      for (const { number, text } of own) if (isContent(text)) faults.push({ line: number, what: BEFORE })
    own = []
  }
  for (const one of lines) {
    const heading = fence === undefined ? /^(#{1,6})\s+(.*?)\s*#*\s*$/.exec(one.text) : undefined
    if (heading) {
      close()
      ;({ name, upper } = placeOf(heading, upper, { line: one.number, sections, faults }))
      line = one.number
      continue
    }
    own.push(one)
    if (fence === undefined) fence = fenceOf(one.text.replace(/^\s*(?:[-*+]\s+)?/, ''))
    else if (isEndOf(fence, one.text)) fence = undefined
  }
  close()
  return sections
}

/** Where what stands below a heading is not looked at any more: the heading is the mistake. */
const UNKNOWN = '?'
const BEFORE = 'this stands under no heading; begin with ## Objective'

function placeOf(
  [, marks = '', title = '']: RegExpExecArray,
  upper: string,
  { line, sections, faults }: { line: number; sections: ReadonlyMap<string, Section>; faults: RecordFault[] },
): { name: string; upper: string } {
  const typed = title.toLowerCase()
  if (marks.length === 1) {
    if (line > 1 && sections.size > 0)
      faults.push({ line, what: 'a title stands at the beginning alone; fields have ##' })
    return { name: '', upper: '' }
  }
  const known = marks.length === 2 ? HEADINGS : marks.length === 3 ? (LISTS_BELOW[upper] ?? []) : []
  if (!known.includes(typed)) {
    const there = known.length > 0 ? known.map((one) => `${marks} ${capital(one)}`).join(', ') : 'none'
    faults.push({ line, what: `there is no such heading here; there are ${there}` })
    return { name: UNKNOWN, upper: marks.length === 2 ? '' : upper }
  }
  const name = marks.length === 2 ? typed : `${upper}/${typed}`
  if (sections.has(name)) faults.push({ line, what: `${capital(typed)} stands here for the second time` })
  return { name, upper: marks.length === 2 ? typed : upper }
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** Empty lines and comments hold nothing. */
function isContent(text: string): boolean {
  return text.trim() !== '' && !isComment(text)
}

function isComment(text: string): boolean {
  return /^\s*<!--.*-->\s*$/.test(text)
}

/** A text, and the list after it. */
function readBelow(lines: readonly Line[], name: string, faults: RecordFault[]): Omit<Section, 'line'> {
  const first = firstItem(lines)
  const before = withoutComments(lines.slice(0, first))
  const text = valueOf(before, faults)
  if (text !== '' && !WITH_TEXT.has(name)) {
    const line = before.find((one) => isContent(one.text))?.number ?? 0
    faults.push({ line, what: 'here stands a list: begin each item with "- "' })
  }
  const items = readItems(lines.slice(first), LABELS[name], faults).map((item) => ({
    ...item,
    parts: partsOf(item, PARTS[name], faults),
  }))
  return { text, items }
}

/** Within a block a comment is a part of the text. */
function withoutComments(lines: readonly Line[]): Line[] {
  let fence: string | undefined
  return lines.filter(({ text }) => {
    if (fence !== undefined) {
      if (isEndOf(fence, text)) fence = undefined
      return true
    }
    fence = fenceOf(text)
    return !isComment(text)
  })
}

/** Where the list begins: a block before it may hold lines that look like one. */
function firstItem(lines: readonly Line[]): number {
  let fence: string | undefined
  for (const [i, { text }] of lines.entries()) {
    if (fence !== undefined) {
      if (isEndOf(fence, text)) fence = undefined
    } else if (ITEM.test(text)) return i
    else fence = fenceOf(text)
  }
  return lines.length
}

interface RawItem extends Omit<Item, 'parts'> {
  readonly below: readonly Line[]
}

/** Items at the margin of `lines`, each with the lines that are indented below it. */
function readItems(lines: readonly Line[], labels: readonly string[] | undefined, faults: RecordFault[]): RawItem[] {
  const items: { first: Line; lines: Line[] }[] = []
  for (const line of lines) {
    if (ITEM.test(line.text)) {
      items.push({ first: line, lines: [] })
      continue
    }
    const last = items.at(-1)
    if (/^ {2,}|^\t|^\s*$/.test(line.text)) last?.lines.push({ ...line, text: line.text.replace(/^(?: {2}|\t)/, '') })
    else if (!isComment(line.text)) {
      faults.push({
        line: line.number,
        what: 'what belongs to an item is indented by two spaces; a new item begins with "- "',
      })
    }
  }
  return items.map(({ first, lines: below }) => readItem(first, below, { labels, faults }))
}

function readItem(
  first: Line,
  lines: readonly Line[],
  { labels, faults }: { labels: readonly string[] | undefined; faults: RecordFault[] },
): RawItem {
  const typed = ITEM.exec(first.text)?.[1] ?? ''
  const labelled = labels && LABELLED.exec(typed)
  const label = labelled?.[1]?.toLowerCase()
  if (labels && !labels.some((one) => one.toLowerCase() === label)) {
    const there = labels.map((one) => `"- ${one}: "`)
    faults.push({ line: first.number, what: `an item here begins with one of ${there.join(', ')}` })
  }
  const head: Line = { number: first.number, text: labelled ? (labelled[2] ?? '') : typed }
  const split = fenceOf(head.text) === undefined ? firstItem(lines) : endOfFence(head, lines)
  const text = valueOf([head, ...lines.slice(0, split)], faults)
  return { line: first.number, label, text, below: lines.slice(split) }
}

/** Of a block that begins in the item's own line. */
function endOfFence(head: Line, lines: readonly Line[]): number {
  const fence = fenceOf(head.text) ?? ''
  const end = lines.findIndex(({ text }) => isEndOf(fence, text))
  return end < 0 ? lines.length : end + 1 + firstItem(lines.slice(end + 1))
}

function partsOf({ below }: RawItem, labels: readonly string[] | undefined, faults: RecordFault[]): Item[] {
  if (!labels) {
    const line = below.find(({ text }) => isContent(text))?.number
    if (line !== undefined)
      faults.push({ line, what: 'items here have nothing below them; a longer text belongs between lines of ```' })
    return []
  }
  const parts = readItems(below, labels, faults)
  for (const part of parts) {
    const line = part.below.find(({ text }) => isContent(text))?.number
    if (line !== undefined) faults.push({ line, what: 'a longer text belongs between lines of ```' })
    const twice = parts.find((other) => other !== part && other.label === part.label)
    if (twice && part.line > twice.line)
      faults.push({ line: part.line, what: `${part.label ?? 'it'} stands here for the second time` })
  }
  return parts.map((part) => ({ ...part, parts: [] }))
}

function valueOf(lines: readonly Line[], faults: RecordFault[]): string {
  const read = readValue(lines)
  if (read.ok) return read.text
  faults.push({ line: read.line, what: read.what })
  return ''
}

function recordOf(sections: ReadonlyMap<string, Section>, faults: RecordFault[]): Partial<ContinuityRecord> {
  const find = (name: string): Section => sections.get(name) ?? { line: 0, text: '', items: [] }
  const list = (name: string): string[] => find(name).items.map(({ text }) => text)
  const part = ({ parts }: Pick<Item, 'parts'>, label: string): string | undefined =>
    parts.find((one) => one.label === label)?.text
  const optional = (name: string, text: string | undefined): Record<string, string> =>
    text === undefined ? {} : { [name]: text }
  const only = (name: string, label: string): string | undefined => {
    const [first, second] = find(name).items.filter((one) => one.label === label)
    if (second) faults.push({ line: second.line, what: `${capital(label)} stands here for the second time` })
    return first?.text
  }
  const statusOf = (item: Item): ContinuityRecord['decisions'][number]['status'] => {
    const typed = part(item, 'status')
    const status = DECISION_STATUSES.find((one) => one === typed)
    if (!status) {
      const line = item.parts.find((one) => one.label === 'status')?.line ?? item.line
      faults.push({ line, what: `a decision needs "- Status: " with one of ${DECISION_STATUSES.join(', ')} below it` })
    }
    return status ?? 'proposed'
  }
  const fields: ContinuityRecord = {
    objective: { summary: find('objective').text, acceptance_criteria: list('objective/acceptance criteria') },
    current_state: {
      complete: list('current state/complete'),
      in_progress: list('current state/in progress'),
      blocked: list('current state/blocked'),
      unverified: list('current state/unverified'),
    },
    decisions: find('decisions').items.map((item) => ({
      summary: item.text,
      rationale: part(item, 'rationale') ?? '',
      status: statusOf(item),
    })),
    evidence: find('evidence').items.map((item) => ({
      label: item.text,
      claim: part(item, 'claim') ?? '',
      ...optional('uri', part(item, 'uri')),
      ...optional('artifact', part(item, 'artifact')),
      ...optional('sha256', part(item, 'sha256')),
    })),
    constraints: find('constraints').items.map(({ label, text }) => ({
      kind: CONSTRAINT_KINDS.find((kind) => kind === label) ?? 'other',
      text,
    })),
    next_action: {
      summary: find('next action').text,
      verification: only('next action', 'verification') ?? '',
      ...optional('due', only('next action', 'due')),
    },
    ownership: {
      next_actor: only('ownership', 'next actor') ?? '',
      reviewers: find('ownership').items.flatMap(({ label, text }) => (label === 'reviewer' ? [text] : [])),
    },
    open_questions: list('open questions'),
  }
  const isThere = (name: string): boolean => sections.has(name.replaceAll('_', ' '))
  return Object.fromEntries(Object.entries(fields).filter(([name]) => isThere(name)))
}
