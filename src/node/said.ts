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
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { AnnotateParams, CompleteParams, ContinueParams, NewHandoffParams, NewMessageParams } from './api.ts'
import { toArtifact } from './artifacts.ts'

/** Each of these throws ApiError invalid_params, invalid_intent_payload or payload_too_large. */
export function handoffBody(params: NewHandoffParams): BodyOf<'create'> {
  const summary = textOf(params.message)
  if (summary.trim() === '') {
    throw new ApiError('invalid_params', 'The summary is empty.', {
      hint: 'Say in a few sentences what the other side has to know or do.',
    })
  }
  checkIntent(params)
  const { question, record, proposed_action: action } = params
  return fitting('create', {
    summary,
    artifacts: (params.artifacts ?? []).map(toArtifact),
    ...(record ? { record } : {}),
    ...(question === undefined ? {} : { question }),
    ...(action ? { proposed_action: actionBytes(action) } : {}),
  })
}

export function messageBody(params: NewMessageParams): BodyOf<'message'> {
  const body = textOf(params.message)
  if (body.trim() === '') {
    throw new ApiError('invalid_params', 'The message is empty.', { hint: 'Say something, or read with view_thread.' })
  }
  const payload = params.payload === undefined ? {} : { payload: JSON.stringify(params.payload) }
  return fitting('message', { body, ...payload, artifacts: (params.artifacts ?? []).map(toArtifact) })
}

export function resultBody(params: CompleteParams): BodyOf<'complete'> {
  const artifacts = (params.artifacts ?? []).map(toArtifact)
  return fitting('complete', { result_summary: params.result_summary, artifacts })
}

export function reasonBody(kind: 'cancel' | 'approve', params: { reason?: string | undefined }): { reason: string } {
  return fitting(kind, { reason: params.reason ?? '' })
}

/** The whole of a revision: its record, and the artifacts that it adds to those it takes over. */
export function revisionBody(params: ContinueParams, record: ContinuityRecord): BodyOf<'revise'> {
  const artifacts = (params.artifacts ?? []).map(toArtifact)
  return fitting('revise', { record, artifacts, note: params.note ?? '' })
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

/** The body, if it has the shape of its kind and fits into one entry. */
function fitting<K extends BodyKind>(kind: K, body: BodyOf<K>): BodyOf<K> {
  let size: number
  try {
    size = encodeBody(kind, body).length
  } catch (error) {
    throw misshapen(kind, error instanceof Error ? error.message : String(error))
  }
  if (size > BODY_CONTENT_SIZE_BYTES_MAX) throw tooLarge(size)
  return body
}

function misshapen(what: string, why: string): ApiError {
  return new ApiError('invalid_params', `This ${what} is not of its shape: ${why}`, {
    hint: 'Correct what is named and call again.',
  })
}

function tooLarge(size: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `This is ${size} bytes when encoded; text and artifacts of one entry together may be ${BODY_CONTENT_SIZE_BYTES_MAX}.`,
    {
      hint: 'Shorten it, send a link or a file_ref instead of the content, or split it over several messages.',
      details: { limit: BODY_CONTENT_SIZE_BYTES_MAX, size: size },
    },
  )
}
