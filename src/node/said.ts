/** What a caller says, as the body that will carry it. All of this depends on the call alone, and is checked before anything else is. */
import {
  BODY_CONTENT_SIZE_BYTES_MAX,
  type BodyKind,
  type BodyOf,
  type ContinuityRecord,
  decodeAction,
  encodeAction,
  encodeBody,
  type Hex,
  INTENTS,
  type ProposedAction,
  THREAD_ARTIFACTS_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { AnnotateParams, CompleteParams, ContinueParams, NewHandoffParams, NewMessageParams } from './api.ts'
import { contentInBody, type Outside, toArtifacts, withoutContent } from './artifacts.ts'

/** What is said in a body, and the content of artifacts that it has no room for. */
export interface Said<K extends BodyKind> {
  readonly body: BodyOf<K>
  readonly outside: Outside
}
type Carrying = 'create' | 'message' | 'complete' | 'revise'

/** Each of these throws ApiError invalid_params, invalid_intent_payload or payload_too_large. */
export function handoffBody(params: NewHandoffParams): Said<'create'> {
  const summary = textOf(params.message)
  if (summary.trim() === '') {
    throw new ApiError('invalid_params', 'The summary is empty.', {
      hint: 'Say in a few sentences what the other side has to know or do.',
    })
  }
  checkIntent(params)
  const { question, record, proposed_action: action } = params
  return saying('create', {
    summary,
    artifacts: toArtifacts(params.artifacts),
    ...(record ? { record } : {}),
    ...(question === undefined ? {} : { question }),
    ...(action ? { proposed_action: actionBytes(action) } : {}),
  })
}

export function messageBody(params: NewMessageParams): Said<'message'> {
  const body = textOf(params.message)
  if (body.trim() === '') {
    throw new ApiError('invalid_params', 'The message is empty.', { hint: 'Say something, or read with view_thread.' })
  }
  const payload = params.payload === undefined ? {} : { payload: JSON.stringify(params.payload) }
  return saying('message', { body, ...payload, artifacts: toArtifacts(params.artifacts) })
}

export function resultBody(params: CompleteParams): Said<'complete'> {
  return saying('complete', { result_summary: params.result_summary, artifacts: toArtifacts(params.artifacts) })
}

export function reasonBody(kind: 'cancel' | 'approve', params: { reason?: string | undefined }): { reason: string } {
  return fitting(kind, { reason: params.reason ?? '' })
}

/** The whole of a revision: its record, and the artifacts that it adds to those it takes over. */
export function revisionBody(params: ContinueParams, record: ContinuityRecord): Said<'revise'> {
  return saying('revise', { record, artifacts: toArtifacts(params.artifacts), note: params.note ?? '' })
}

export function annotationBody(
  params: AnnotateParams,
  { artifact, assignee }: { artifact: Hex | undefined; assignee: Hex | undefined },
): BodyOf<'annotate'> {
  const { selector } = params
  return fitting('annotate', {
    text: params.body,
    ...(artifact === undefined ? {} : { artifact }),
    ...(selector
      ? { selector: { exact: selector.exact, prefix: selector.prefix ?? '', suffix: selector.suffix ?? '' } }
      : {}),
    ...(assignee === undefined ? {} : { assignee }),
  })
}

export function noteBody(params: { note?: string | undefined }): BodyOf<'resolve'> {
  return fitting('resolve', { note: params.note ?? '' })
}

function textOf(message: NewHandoffParams['message']): string {
  return message.parts.map((part) => part.text).join('\n\n')
}

function checkIntent(params: NewHandoffParams): void {
  const { intent } = params
  if (!INTENTS.includes(intent)) {
    throw new ApiError('invalid_params', `There is no intent ${intent}; there are ${INTENTS.join(', ')}.`)
  }
  if ((intent === 'propose_action') !== (params.proposed_action !== undefined)) {
    throw new ApiError('invalid_intent_payload', 'proposed_action stands exactly with intent propose_action.', {
      hint: 'Give proposed_action {description, target_files, rationale}, or take intent inform or ask_question.',
    })
  }
  if (params.question !== undefined && intent !== 'ask_question') {
    throw new ApiError('invalid_intent_payload', 'question stands only with intent ask_question.', {
      hint: 'Take intent ask_question, or put it into the summary.',
    })
  }
}

/** The bytes that an approval binds. What its recipient could not read is not sent to be approved. */
function actionBytes(action: ProposedAction): Uint8Array {
  const bytes = encodeAction(action)
  const read = decodeAction(bytes)
  if (!read.ok) throw misshapen('proposed_action', read.detail ?? read.refusal)
  return bytes
}

/** The smallest content that is taken out of a body: what describes it there takes about as much. */
const OUTSIDE_SIZE_BYTES_MIN = 256
const NOTHING = new Uint8Array(0)

/** The body, with as much of its artifacts' content as there is room for: the largest ones lie outside of it. */
function saying<K extends Carrying>(kind: K, body: BodyOf<K>): Said<K> {
  const artifacts = [...body.artifacts]
  const contents = artifacts.map((artifact) => contentInBody(artifact) ?? NOTHING)
  let inside = contents.reduce((sum, { length }) => sum + length, 0)
  if (inside > THREAD_ARTIFACTS_SIZE_BYTES_MAX) throw tooMuch(inside)
  const outside = new Map<number, Uint8Array>()
  const movable = [...contents.entries()]
    .filter(([, { length }]) => length >= OUTSIDE_SIZE_BYTES_MIN)
    .toSorted(([, a], [, b]) => b.length - a.length)
  for (;;) {
    // What is far too large is not encoded to be measured.
    const size = inside > BODY_CONTENT_SIZE_BYTES_MAX ? inside : sizeIn(kind, { ...body, artifacts })
    if (size <= BODY_CONTENT_SIZE_BYTES_MAX) return { body: { ...body, artifacts }, outside }
    const [at, content] = movable.shift() ?? []
    const artifact = at === undefined ? undefined : artifacts[at]
    if (at === undefined || !content || !artifact) throw tooLarge(size)
    outside.set(at, content)
    artifacts[at] = withoutContent(artifact, content)
    inside -= content.length
  }
}

/** The body, if it has the shape of its kind and fits into one entry. */
function fitting<K extends BodyKind>(kind: K, body: BodyOf<K>): BodyOf<K> {
  const size = sizeIn(kind, body)
  if (size > BODY_CONTENT_SIZE_BYTES_MAX) throw tooLarge(size)
  return body
}

function sizeIn<K extends BodyKind>(kind: K, body: BodyOf<K>): number {
  try {
    return encodeBody(kind, body).length
  } catch (error) {
    throw misshapen(kind, error instanceof Error ? error.message : String(error))
  }
}

function misshapen(what: string, why: string): ApiError {
  return new ApiError('invalid_params', `This ${what} is not of its shape: ${why}`, {
    hint: 'Correct what is named and call again.',
  })
}

function tooLarge(size: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `This is ${size} bytes when encoded, without the content of its artifacts; the text of one entry may be ${BODY_CONTENT_SIZE_BYTES_MAX}.`,
    {
      hint: 'Shorten it, put long text into a file artifact, or split it over several messages.',
      details: { limit: BODY_CONTENT_SIZE_BYTES_MAX, size: size },
    },
  )
}

/** More content than a thread may hold: of one call, or with what is there already. */
export function tooMuch(size: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `The artifacts of this thread would hold ${size} bytes together; at most ${THREAD_ARTIFACTS_SIZE_BYTES_MAX} go into one thread.`,
    {
      hint: 'Name a commit with a file_ref, send a link, or hand off anew with parent_thread_id.',
      details: { limit: THREAD_ARTIFACTS_SIZE_BYTES_MAX, size },
    },
  )
}
