/**
 * How text of another person is shown: behind a bar on every line, with control characters, bidirectional
 * marks and escapes made visible, so that it can neither pose as this program's words nor drive the terminal.
 */
import { visible } from '../visible.ts'
import type { Content, Party, Untrusted } from '../node/api.ts'
import type { Printer } from './print.ts'

const BAR = '│ '

/** The one place where the command line reads what a peer wrote: whatever comes out goes through {@link printContent} or {@link oneLine}. */
export function openContent<T>(content: Content<T>): { value: T; foreign: boolean } {
  return content.untrusted === undefined
    ? { value: content.own, foreign: false }
    : { value: forPerson(content.untrusted), foreign: true }
}

function forPerson<T>(value: Untrusted<T>): T {
  return value as unknown as T
}

/** Text on one line, safe to print, cut to `max` characters. */
export function oneLine(text: string, max: number): string {
  const flat = visible(text.replaceAll(/\s+/g, ' ').trim())
  return flat.length > max ? `${flat.slice(0, max - 1)}…` : flat
}

/** Prints `text` line by line below an indent; behind the bar if it is another person's. */
export function printContent(printer: Printer, text: string, foreign: boolean, indent = '  '): void {
  for (const line of text.replace(/\r?\n$/, '').split(/\r?\n/)) {
    const safe = visible(line)
    printer.line(foreign ? `${indent}${printer.styled('cyan', BAR)}${safe}` : `${indent}${safe}`)
  }
}

/** `frank@acme (unverified)`, `ci@acme (service, unverified)` */
export function partyName(party: Pick<Party, 'handle' | 'trust'> & { kind?: 'person' | 'service' }): string {
  const { handle, trust, kind } = party
  const marks = [...(kind === 'service' ? [kind] : []), trust === 'changed' ? 'KEY CHANGED' : trust]
  return `${handle} (${marks.join(', ')})`
}

/** Any JSON value as indented lines, for people. */
export function outline(value: unknown, depth = 0): string[] {
  const indent = '  '.repeat(depth)
  if (Array.isArray(value)) return value.flatMap((item) => asItem(outline(item, depth + 1), indent))
  if (typeof value !== 'object' || value === null)
    return String(value)
      .split('\n')
      .map((line) => `${indent}${line}`)
  return Object.entries(value).flatMap(([key, inner]) => {
    if (inner === undefined || (Array.isArray(inner) && inner.length === 0)) return []
    const label = `${indent}${key.replaceAll('_', ' ')}:`
    const nested = outline(inner, depth + 1)
    return typeof inner !== 'object' && nested.length === 1
      ? [`${label} ${(nested[0] ?? '').trim()}`]
      : [label, ...nested]
  })
}

/** Puts the dash of a list before the first of an item's lines. */
function asItem(lines: string[], indent: string): string[] {
  return lines.map((line, index) => (index === 0 ? `${indent}- ${line.trimStart()}` : line))
}
