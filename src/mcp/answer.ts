/** A tool's answer: the same facts as text for the agent and as data for its host. */
import { ANSWER_LENGTH_CHARS_MAX } from '../../protocol/index.ts'
import type { ErrorObject } from '../rpc/client.ts'
import { type NoPeerData, quote, type Wrapper } from './provenance.ts'

export interface Answer {
  content: [{ type: 'text'; text: string }]
  structuredContent: Record<string, unknown>
  isError?: true
}

/** Text that stands as it is: printable ASCII that does not begin like a JSON string. Anything else is shown as one. */
const PLAIN = /^[!#-~](?:[ -~]*[!-~])?$/

/** The answer for `value`, which holds a peer's words only in blocks of the wrapper. */
export function answer<T extends object>(wrapper: Wrapper, value: T & NoPeerData<T>): Answer {
  wrapper.assertWrapped(value)
  const structuredContent = JSON.parse(JSON.stringify(value)) as Record<string, unknown>
  return { content: [{ type: 'text', text: outline(value, wrapper).join('\n') }], structuredContent }
}

/** The longer of the two forms, in UTF-16 units. */
export function lengthOf({ content, structuredContent }: Answer): number {
  return Math.max(content[0].text.length, JSON.stringify(structuredContent).length)
}

export function fits(candidate: Answer): boolean {
  return lengthOf(candidate) <= ANSWER_LENGTH_CHARS_MAX
}

/** A refusal: the text begins with symbol and number, the data is the error object. */
export function errorAnswer(wrapper: Wrapper, error: ErrorObject): Answer {
  const whole = build(error.details)
  if (fits(whole)) return whole
  return build({ left_out: 'The details are too long for one answer.' })

  function build(details: Record<string, unknown>): Answer {
    const object = { ...error, details: wrapper.showDetails(details, {}) }
    const { structuredContent } = answer(wrapper, object)
    const { symbol, code, message, ...rest } = structuredContent
    const text = [`${String(symbol)} ${String(code)}: ${scalar(message)}`, ...outline(rest, wrapper)].join('\n')
    return { content: [{ type: 'text', text }], structuredContent, isError: true }
  }
}

/** Facts as indented lines, like YAML; blocks begin at the margin, so that their markers stand at the start of a line. */
function outline(value: unknown, wrapper: Wrapper, indent = ''): string[] {
  if (Array.isArray(value))
    return value.flatMap((item: unknown) => underDash(outline(item, wrapper, `${indent}  `), indent))
  if (!isObject(value)) return [`${indent}${scalar(value)}`]
  const read = wrapper.linesOf(value)
  // One's own words, in their form for reading.
  if (read) return [`${indent}own:`, ...read.map((line) => `${indent}  ${ownLine(line)}`)]
  return Object.entries(value).flatMap(([key, item]) => {
    if (item === undefined) return []
    const name = `${indent}${scalar(key)}:`
    if (key === 'untrusted' && isObject(item))
      return [name, ...(wrapper.linesOf(item) ?? String(item['block']).split('\n'))]
    if (!isObject(item)) return [`${name} ${scalar(item)}`]
    return isEmpty(item) ? [`${name} none`] : [name, ...outline(item, wrapper, `${indent}  `)]
  })
}

/** What it is indented by tells what it belongs to. */
function ownLine(line: string): string {
  const text = line.trimStart()
  return `${line.slice(0, line.length - text.length)}${text === '' ? '' : scalar(text)}`
}

function underDash(lines: string[], indent: string): string[] {
  const [first = '', ...rest] = lines
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest]
}

function scalar(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) && !value.includes('<<<') ? value : quote(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isEmpty(value: object): boolean {
  return Object.values(value).every((item) => item === undefined)
}
