/**
 * How one text of a record stands in Markdown, so that it comes back as it was:
 *
 *     plain    lines that begin no block of Markdown, the first one right where the value begins
 *     quoted   a JSON string on one line; also for what cannot be seen
 *     fenced   a fenced code block, longer than any fence in the text
 */
import { visible } from '../visible.ts'

/** What begins a block of Markdown, or one of the other two forms. */
const BLOCK = /^(?:[#>|<"=+*-]|_{3}|~{3}|`{3}|\d{1,9}[.)](?:\s|$)|\[[^\]]*\]:)/

function isPlainLine(line: string): boolean {
  return line !== '' && line.trim() === line && !BLOCK.test(line)
}

/** The lines of a value that begins after `before`, which is a label and its space, or nothing. */
export function valueLines(text: string, before = ''): string[] {
  const lines = text.split('\n')
  const [first = '', ...rest] = lines
  const isLabelled = before !== ''
  if (isLabelled && text === '') return [before.trimEnd()]
  const isSeen = visible(text) === text
  // What a label stands before begins no block, but for one in a fence.
  const beginsPlain = isLabelled
    ? first !== '' && first.trim() === first && !first.startsWith('"') && fenceOf(first) === undefined
    : isPlainLine(first)
  const goesOnPlain = rest.every((line) => line === '' || isPlainLine(line)) && lines.at(-1) !== ''
  if (isSeen && beginsPlain && goesOnPlain && !text.includes('\t')) return [`${before}${first}`, ...rest]
  if (lines.length === 1 || !isSeen) return [`${before}${quoted(text)}`]
  const fence = '`'.repeat(Math.max(3, 1 + longestRun(text)))
  const block = [`${fence}text`, ...lines, fence]
  return isLabelled ? [before.trimEnd(), ...block] : block
}

function quoted(text: string): string {
  return visible(JSON.stringify(text)).replaceAll('\t', String.raw`\t`)
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
}

/** One line of a file. */
export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
}

export type ReadText = { ok: true; text: string } | { ok: false; line: number; what: string }

const FENCE = /^(`{3,}|~{3,})[^`]*$/

/** The text that such lines stand for; `lines` are those of one value alone, without what they are indented by. */
export function readValue(lines: readonly Line[]): ReadText {
  const last = lines.findLastIndex(({ text }) => text.trim() !== '')
  const begin = lines.findIndex(({ text }) => text.trim() !== '')
  const [first, ...rest] = lines.slice(Math.max(0, begin), last + 1)
  if (!first) return { ok: true, text: '' }
  const opening = FENCE.exec(first.text.trim())
  if (opening) return readFence(first, rest, opening[1] ?? '')
  if (first.text.trim().startsWith('"')) return readQuoted(first, rest)
  for (const { number, text } of rest) {
    const block = BLOCK.exec(text.trim())
    if (block) {
      return {
        ok: false,
        line: number,
        what: `a text that goes on with "${block[0].trim()}" belongs between lines of \`\`\``,
      }
    }
  }
  return { ok: true, text: [first, ...rest].map(({ text }) => text.trim()).join('\n') }
}

function readFence(first: Line, rest: readonly Line[], fence: string): ReadText {
  const end = rest.findIndex(({ text }) => isEndOf(fence, text))
  if (end < 0) return { ok: false, line: first.number, what: `the block that begins here has no end: ${fence}` }
  const after = rest[end + 1]
  if (after)
    return { ok: false, line: after.number, what: 'nothing follows a block: one value is one text or one block' }
  return {
    ok: true,
    text: rest
      .slice(0, end)
      .map(({ text }) => text)
      .join('\n'),
  }
}

export function isEndOf(fence: string, text: string): boolean {
  const line = text.trim()
  return line.length >= fence.length && line === (fence[0] ?? '').repeat(line.length)
}

function readQuoted(first: Line, rest: readonly Line[]): ReadText {
  const [after] = rest
  if (after) return { ok: false, line: after.number, what: 'nothing follows a text in quotation marks' }
  try {
    const value: unknown = JSON.parse(first.text.trim())
    if (typeof value === 'string' && value.isWellFormed()) return { ok: true, text: value }
  } catch {
    // Told below.
  }
  return { ok: false, line: first.number, what: 'a text that begins with a quotation mark has to be a JSON string' }
}

/** Whether a line opens a block; the lines up to its end are its own, whatever stands in them. */
export function fenceOf(text: string): string | undefined {
  return FENCE.exec(text.trim())?.[1]
}
