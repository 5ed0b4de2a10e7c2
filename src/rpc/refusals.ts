/** From a schema's findings to the error that a caller can act on: it names the field and the rule. */
import type * as z from 'zod'
import {
  ARTIFACT_SIZE_BYTES_MAX,
  ARTIFACTS_COUNT_MAX,
  BODY_SIZE_BYTES_MAX,
  type Intent,
  THREAD_ARTIFACTS_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import { ApiError } from '../node/api-error.ts'

/** A record has about so many fields that can all be wrong at once. */
const FINDINGS_COUNT_MAX = 24
const NAME_LENGTH_CHARS_MAX = 60

interface Finding {
  field: string
  rule: string
}

/**
 * The value as its schema has it.
 *
 * @throws ApiError invalid_params; details.findings lists {field, rule}
 */
export function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const findings = parsed.error.issues.flatMap((issue) => findingsOf(issue, value))
  throw invalidParams(findings.slice(0, FINDINGS_COUNT_MAX), Math.max(0, findings.length - FINDINGS_COUNT_MAX))
}

/** @param more how many there are beyond those that are named */
export function invalidParams(findings: Finding[], more = 0): ApiError {
  const named = findings.map(({ field, rule }) => `${field} ${rule}`)
  const message = [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
  return new ApiError('invalid_params', message, {
    hint: 'Correct what is named and call again.',
    details: { findings },
  })
}

function findingsOf(issue: z.core.$ZodIssue, root: unknown): Finding[] {
  const field = fieldName(issue.path)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ field: fieldName([...issue.path, key]), rule: 'is not a known field' }))
  }
  return [{ field, rule: ruleOf(issue, valueAt(root, issue.path) === undefined) }]
}

function ruleOf(issue: z.core.$ZodIssue, missing: boolean): string {
  switch (issue.code) {
    case 'invalid_type': {
      const wanted = `${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
      return missing ? `is required and must be ${wanted}` : `must be ${wanted}`
    }
    case 'invalid_value':
      return `${missing ? 'is required and ' : ''}must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`
    case 'too_big':
      return `must be at most ${String(issue.maximum)}${unitOf(issue.origin)}`
    case 'too_small':
      return `must be at least ${String(issue.minimum)}${unitOf(issue.origin)}`
    case 'invalid_format':
      return `must be ${issue.format}`
    default:
      return issue.message
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long'
  return origin === 'array' ? ' items long' : ''
}

function fieldName(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'params'
  const name = path.reduce<string>(
    (before, key) =>
      typeof key === 'number' ? `${before}[${key}]` : `${before}${before === '' ? '' : '.'}${String(key)}`,
    '',
  )
  return name.length > NAME_LENGTH_CHARS_MAX ? `${name.slice(0, NAME_LENGTH_CHARS_MAX).toWellFormed()}…` : name
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (isObject(value) ? Reflect.get(value, key) : undefined), root)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * What each intent must and must not carry.
 *
 * @throws ApiError invalid_intent_payload
 */
export function checkIntent(params: { intent: Intent; proposed_action?: unknown; question?: unknown }): void {
  const { intent } = params
  const has = params.proposed_action !== undefined
  if (intent === 'propose_action' && !has) {
    throw new ApiError('invalid_intent_payload', 'proposed_action is required with intent propose_action', {
      hint: 'Add proposed_action {description, target_files, rationale}, or use intent inform or ask_question.',
      details: { field: 'proposed_action', intent },
    })
  }
  if (intent !== 'propose_action' && has) {
    throw new ApiError('invalid_intent_payload', `proposed_action is not allowed with intent ${intent}`, {
      hint: 'Use intent propose_action, or leave proposed_action out.',
      details: { field: 'proposed_action', intent },
    })
  }
  if (intent !== 'ask_question' && params.question !== undefined) {
    throw new ApiError('invalid_intent_payload', `question is not allowed with intent ${intent}`, {
      hint: 'Use intent ask_question, or put the question into the summary.',
      details: { field: 'question', intent },
    })
  }
}

/**
 * Refuses what cannot be sent together, whatever its encoding: the UTF-8 bytes of all text, and the bytes that base64 stands for.
 * The content of artifacts need not fit into the body, so it has bounds of its own. What passes may still be refused by the
 * node, which measures the encoded body.
 *
 * @param content everything that would be said in one entry
 * @throws ApiError payload_too_large; details {field, limit, size} in bytes, or in items for a list of artifacts
 */
export function checkSize(content: { artifacts?: readonly unknown[] | undefined; [field: string]: unknown }): void {
  const count = content.artifacts?.length ?? 0
  if (count > ARTIFACTS_COUNT_MAX) {
    throw new ApiError('payload_too_large', `${count} artifacts; at most ${ARTIFACTS_COUNT_MAX} travel together`, {
      hint: 'Send the most important ones here and the rest with send_message.',
      details: { field: 'artifacts', limit: ARTIFACTS_COUNT_MAX, size: count },
    })
  }
  const { artifacts = [], ...text } = content
  const size = contentSize(text)
  if (size > BODY_SIZE_BYTES_MAX) throw tooLarge(Object.keys(text).join(', '), size, BODY_SIZE_BYTES_MAX)
  const sizes = artifacts.map(contentSize)
  for (const [i, held] of sizes.entries()) {
    // What is not content is labels, which have to fit into the body.
    const limit = ARTIFACT_SIZE_BYTES_MAX + BODY_SIZE_BYTES_MAX
    if (held > limit) throw tooLarge(`artifacts[${i}]`, held, ARTIFACT_SIZE_BYTES_MAX)
  }
  const total = sizes.reduce((sum, held) => sum + held, 0)
  const limit = THREAD_ARTIFACTS_SIZE_BYTES_MAX + BODY_SIZE_BYTES_MAX
  if (total > limit) throw tooLarge('artifacts', total, THREAD_ARTIFACTS_SIZE_BYTES_MAX)
}

export function tooLarge(field: string, size: number | undefined, limit: number): ApiError {
  const measured = size === undefined ? `more than ${limit}` : String(size)
  return new ApiError('payload_too_large', `${field}: ${measured} bytes; at most ${limit} bytes fit`, {
    hint: 'Shorten it, put long text into a file artifact, or name a commit with a file_ref artifact.',
    details: { field, limit, size: size ?? limit + 1 },
  })
}

function contentSize(root: unknown): number {
  let size = 0
  const waiting: unknown[] = [root]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') size += Buffer.byteLength(next)
    if (!isObject(next)) continue
    for (const [key, value] of Object.entries(next)) {
      if (key === 'base64' && typeof value === 'string') size += Math.floor((value.length * 3) / 4) - 2
      else if (value !== undefined && value !== null) waiting.push(value)
    }
  }
  return size
}
