/** Files that hold a record or a proposed action: of the right shape, or refused with all that is wrong in them. */
import type * as z from 'zod'
import type { ContinuityRecord, ProposedAction } from '../../protocol/index.ts'
import type { RecordChanges } from '../node/api.ts'
import { EMPTY_RECORD } from '../node/record-shape.ts'
import { parseRecordMarkdown, type RecordFault } from '../record/parse.ts'
import { ApiError, check } from '../rpc/client.ts'
import { proposedAction, record, recordChanges } from '../rpc/shapes.ts'
import { UsageError } from './failure.ts'
import { readNamedFile, utf8 } from './input.ts'

/** A whole record, in JSON or Markdown; in Markdown a section that is not there is empty. */
export function readWholeRecord(path: string): ContinuityRecord {
  const text = readText(path)
  if (isJson(text)) return readShape(path, text, { shape: record, name: 'a record', hint: RECORD_HINT })
  return { ...EMPTY_RECORD, ...readMarkdown(path, text) }
}

/** The fields of a record that stand in the file, each whole. */
export function readRecordChanges(path: string): RecordChanges {
  const text = readText(path)
  if (isJson(text)) return readShape(path, text, { shape: recordChanges, name: 'a record', hint: RECORD_HINT })
  return readMarkdown(path, text)
}

export function readAction(path: string): ProposedAction {
  return readShape(path, readText(path), { shape: proposedAction, name: 'a proposed action', hint: ACTION_HINT })
}

function readText(path: string): string {
  const text = utf8(readNamedFile(path))
  if (text === undefined) throw new UsageError(`${path} is not text in UTF-8.`, RECORD_HINT)
  return text.replace(/^\uFEFF/, '')
}

/** No line of a record in Markdown begins like this. */
function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text)
}

interface Wanted<T> {
  shape: z.ZodType<T>
  name: string
  hint: string
}

function readShape<T>(path: string, text: string, { shape, name, hint }: Wanted<T>): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const where = /line \d+ column \d+/.exec(String(error))?.[0]
    throw new UsageError(`${path} is not JSON${where === undefined ? '' : `: ${where}`}.`, hint)
  }
  try {
    return check(shape, value)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new UsageError(`${path} is not ${name}: ${error.message}.`, hint)
  }
}

function readMarkdown(path: string, text: string): Partial<ContinuityRecord> {
  const read = parseRecordMarkdown(text)
  if (read.ok) return read.fields
  throw new UsageError(`${path} is not a record: ${inWords(read.faults).join('; ')}.`, RECORD_HINT)
}

/** One fault of many lines is told once, with the first and the last of them. */
function inWords(faults: readonly RecordFault[]): string[] {
  const lines = Map.groupBy(faults, ({ what }) => what)
  return [...lines].map(([what, all]) => {
    const numbers = all.map(({ line }) => line)
    const [first = 0, last = first] = [numbers[0], numbers.at(-1)]
    if (numbers.length <= LINES_TOLD_COUNT_MAX)
      return `${numbers.length === 1 ? 'line' : 'lines'} ${numbers.join(', ')}: ${what}`
    return `${numbers.length} lines from ${first} to ${last}: ${what}`
  })
}

const LINES_TOLD_COUNT_MAX = 5

const RECORD_HINT =
  'It is JSON with objective, current_state, decisions, evidence, constraints, next_action, ownership and open_questions, or Markdown with a heading for each; examples/record.json and examples/record.md are there to begin with, and relay-node show ID --record --markdown writes that of a handoff.'

const ACTION_HINT =
  'It is JSON: {"description", "target_files", "rationale"} and, if you like, "suggested_diff" and "base_commit".'
