/** What the methods of the local interface take: the shape of each one's parameters. */
import * as z from 'zod'
import { ARTIFACT_READ_BYTES_MAX } from '../../protocol/index.ts'
import type {
  AnnotateParams,
  ArtifactParams,
  CancelParams,
  ContinueParams,
  ExportParams,
  GetThreadParams,
  InviteParams,
  JoinParams,
  NewHandoffParams,
  NewMessageParams,
  ResolveParams,
  SessionParams,
  ShareParams,
  VerdictParams,
  WriteMetadata,
} from '../node/api.ts'
import { check, checkIntent, checkSize, invalidParams } from './refusals.ts'
import type { AcceptUpdate, CompleteUpdate, Methods } from './schema.ts'
import * as shapes from './shapes.ts'

const metadata: z.ZodType<WriteMetadata | undefined> = z
  .strictObject({
    client_idempotency_key: z
      .string()
      .min(1)
      .max(128)
      .refine((key) => key.isWellFormed())
      .optional(),
  })
  .optional()

/** What all calls take that say something. */
const saying = { allow_secrets: z.boolean().optional(), metadata }

const message = z
  .strictObject({
    role: shapes.id.optional(),
    parts: z.array(z.strictObject({ type: z.literal('text'), text: shapes.text })).min(1),
  })
  .refine((value) => value.parts.some((part) => part.text.trim() !== ''), 'must have a part with text in it')

const newHandoff: z.ZodType<NewHandoffParams> = z.strictObject({
  recipient: shapes.id,
  intent: shapes.intent,
  message,
  artifacts: shapes.artifacts.optional(),
  question: shapes.filledText.optional(),
  proposed_action: shapes.proposedAction.optional(),
  record: shapes.record.optional(),
  parent_thread_id: shapes.id.optional(),
  ...saying,
})

const newMessage: z.ZodType<NewMessageParams> = z.strictObject({
  thread_id: shapes.id,
  message,
  payload: shapes.payload.optional(),
  artifacts: shapes.artifacts.optional(),
  ...saying,
})

export const getThread: z.ZodType<GetThreadParams> = z.strictObject({
  thread_id: shapes.id,
  revision_id: shapes.id.optional(),
  annotations: shapes.annotations.optional(),
  compare_with: shapes.id.optional(),
  cursor: shapes.cursor.optional(),
  mark_read: z.boolean().optional(),
  after_removal: z.boolean().optional(),
})

const accept: z.ZodType<AcceptUpdate> = z.strictObject({
  status: z.literal('accepted'),
  thread_id: shapes.id,
  expected_revision_id: shapes.id.optional(),
  metadata,
})

const complete: z.ZodType<CompleteUpdate> = z.strictObject({
  status: z.literal('completed'),
  thread_id: shapes.id,
  result_summary: shapes.filledText,
  outcome: shapes.outcome.optional(),
  artifacts: shapes.artifacts.optional(),
  ...saying,
})

export const cancel: z.ZodType<CancelParams> = z.strictObject({
  thread_id: shapes.id,
  reason: shapes.text.optional(),
  ...saying,
})

export const readArtifact: z.ZodType<ArtifactParams> = z.strictObject({
  thread_id: shapes.id,
  artifact_id: shapes.id,
  offset: z.int().min(0).optional(),
  max_bytes: z.int().min(1).max(ARTIFACT_READ_BYTES_MAX).optional(),
  after_removal: z.boolean().optional(),
})

const continueHandoff: z.ZodType<ContinueParams> = z.strictObject({
  thread_id: shapes.id,
  expected_revision_id: shapes.expectedRevisions,
  record: shapes.recordChanges,
  artifacts: shapes.artifacts.optional(),
  note: shapes.text.optional(),
  resolves: shapes.annotationIds.optional(),
  ...saying,
})

export const annotate: z.ZodType<AnnotateParams> = z.strictObject({
  thread_id: shapes.id,
  revision_id: shapes.id,
  body: shapes.filledText,
  artifact_id: shapes.id.optional(),
  selector: shapes.selector.optional(),
  assignee: shapes.id.optional(),
  ...saying,
})

export const resolve: z.ZodType<ResolveParams> = z.strictObject({
  thread_id: shapes.id,
  annotation_id: shapes.id,
  resolved_revision_id: shapes.id,
  note: shapes.text.optional(),
  ...saying,
})

export const exportThread: z.ZodType<ExportParams> = z.strictObject({
  thread_id: shapes.id,
  cursor: shapes.cursor.optional(),
  after_removal: z.boolean().optional(),
})

export const verdict: z.ZodType<VerdictParams> = z.strictObject({
  thread_id: shapes.id,
  digest: z.string().refine((value) => /^[0-9a-f]{64}$/.test(value), 'must be the full digest: 64 characters 0-9 a-f'),
  reason: shapes.text.optional(),
  ...saying,
})

export const share: z.ZodType<ShareParams> = z.strictObject({ thread_id: shapes.id, reader: shapes.id, metadata })

export const invite: z.ZodType<InviteParams> = z.strictObject({
  name: shapes.id,
  expires_s: z.int().min(1).optional(),
  standalone: z.boolean().optional(),
  role: shapes.role.optional(),
  kind: shapes.memberKind.optional(),
})

const SESSION_S_MAX = 366 * 24 * 60 * 60
export const session: z.ZodType<SessionParams> = z.strictObject({
  scope: shapes.scope,
  name: shapes.id.optional(),
  expires_s: z.int().min(1).max(SESSION_S_MAX).optional(),
})

export const listTeammates: z.ZodType<Methods['agents/list']['params']> = z.strictObject({
  role: shapes.role.optional(),
  cursor: shapes.cursor.optional(),
})
/** More than an address may have, so that the node says what is wrong with one that is too long. */
const ADDRESS_LENGTH_CHARS_MAX = 2000
export const address = shapes.filledText.max(ADDRESS_LENGTH_CHARS_MAX)
export const addresses = z.array(address).min(1).max(64)
const CODE_LENGTH_CHARS_MAX = 2000
export const join: z.ZodType<JoinParams> = z.strictObject({
  code: shapes.filledText.max(CODE_LENGTH_CHARS_MAX),
  service: shapes.scope.optional(),
  bootstrap: addresses.optional(),
})
export type NoParams = Record<string, never>
export const noParams: z.ZodType<NoParams> = z.strictObject({})
/** The one lenient method: a front end from the future must be able to ask an old node how old it is. */
export const anyParams = z.record(z.string(), z.unknown())

export function by<T>(schema: z.ZodType<T>): (params: unknown) => T {
  return (params) => check(schema, params)
}

function has(params: unknown, field: string): boolean {
  return typeof params === 'object' && params !== null && Object.hasOwn(params, field)
}

export function parseSend(params: unknown): NewHandoffParams | NewMessageParams {
  if (has(params, 'recipient') && has(params, 'thread_id')) {
    throw invalidParams([
      { field: 'recipient', rule: 'and thread_id exclude each other: a new handoff, or a message in one' },
    ])
  }
  if (has(params, 'thread_id')) {
    const parsed = check(newMessage, params)
    checkSize({ message: parsed.message.parts, payload: parsed.payload, artifacts: parsed.artifacts })
    return parsed
  }
  if (!has(params, 'recipient')) {
    throw invalidParams([{ field: 'recipient', rule: '(for a new handoff) or thread_id (for a message) is required' }])
  }
  const parsed = check(newHandoff, params)
  checkIntent(parsed)
  const { question, proposed_action, record, artifacts } = parsed
  checkSize({ message: parsed.message.parts, artifacts, question, proposed_action, record })
  return parsed
}

export function parseUpdate(params: unknown): AcceptUpdate | CompleteUpdate {
  const { status } = check(z.looseObject({ status: z.enum(['accepted', 'completed']) }), params)
  if (status === 'accepted') return check(accept, params)
  const parsed = check(complete, params)
  checkSize({ result_summary: parsed.result_summary, artifacts: parsed.artifacts })
  return parsed
}

export function parseContinue(params: unknown): ContinueParams {
  const parsed = check(continueHandoff, params)
  checkSize({ record: parsed.record, artifacts: parsed.artifacts, note: parsed.note })
  return parsed
}
