/** The methods of the local interface: what each takes, what it gives back, and which part of the node answers it. */
import * as z from 'zod'
import { ARTIFACT_READ_BYTES_MAX, INBOX_PAGE_COUNT_MAX, INBOX_WAIT_S_MAX } from '../../protocol/index.ts'
import { ApiError } from '../node/api-error.ts'
import type {
  AcceptParams,
  AcceptResult,
  AnnotateParams,
  AnnotateResult,
  ArtifactParams,
  ArtifactSlice,
  CancelParams,
  Caller,
  CompleteParams,
  ContinueParams,
  ContinueResult,
  ExportPage,
  ExportParams,
  GetThreadParams,
  HandoffResult,
  InboxPage,
  InviteListing,
  InviteParams,
  InviteResult,
  JoinParams,
  JoinResult,
  ListThreadsParams,
  MessageResult,
  NewHandoffParams,
  NewMessageParams,
  NodeApi,
  NodeStatus,
  ResolveParams,
  ResolveResult,
  SaidResult,
  Teammate,
  ThreadView,
  VerdictParams,
  VerdictResult,
  WhoAmI,
  WriteMetadata,
} from '../node/api.ts'
import { check, checkIntent, checkSize, invalidParams } from './refusals.ts'
import * as shapes from './shapes.ts'

/** Versions of this interface that this program speaks; it grows when a front end and a node of different age could misunderstand each other. */
export const INTERFACE_VERSIONS: VersionRange = { min: 1, max: 1 }

/** Far above any call that could succeed: what is larger is not even read to its end. */
export const REQUEST_SIZE_BYTES_MAX = 12 * 1024 * 1024

export interface VersionRange {
  min: number
  max: number
}

/** Who answers. Fields are only ever added: a front end of any age reads it. */
export interface Hello {
  name: 'relay-node'
  /** Of the program, like 0.1.0. */
  version: string
  pid: number
  interface: VersionRange
  /** Seconds since the node began to listen. */
  uptime_s: number
}

/** Accepting and completing are one method on the wire, told apart by the status that is asked for. */
export type AcceptUpdate = AcceptParams & { status: 'accepted' }
export type CompleteUpdate = CompleteParams & { status: 'completed' }
type BootstrapListing = Awaited<ReturnType<NodeApi['listBootstrap']>>
type NoParams = Record<string, never>
type PingResult = Awaited<ReturnType<NodeApi['ping']>>

/** Method → parameters and result, as they travel. */
export interface Methods {
  'message/send': { params: NewHandoffParams | NewMessageParams; result: HandoffResult | MessageResult }
  'tasks/get': { params: GetThreadParams; result: ThreadView }
  'tasks/list': { params: ListThreadsParams; result: InboxPage }
  'tasks/update': { params: AcceptUpdate | CompleteUpdate; result: AcceptResult | SaidResult }
  'tasks/cancel': { params: CancelParams; result: SaidResult }
  'agents/list': {
    params: { role?: 'member' | 'reader' | undefined; cursor?: string | undefined }
    result: { items: Teammate[]; next_cursor?: string }
  }
  'relay/hello': { params: Record<string, unknown>; result: Hello }
  'relay/whoami': { params: NoParams; result: WhoAmI }
  'relay/status': { params: NoParams; result: NodeStatus }
  /** pid: only if this process is still the node. */
  'relay/stop': { params: { pid?: number | undefined }; result: { stopping: true; pid: number } }
  'relay/artifact': { params: ArtifactParams; result: ArtifactSlice }
  /** Bytes of the proof of a handoff; what they hold is a peer's, and is opened where it is written into files. */
  'relay/export': { params: ExportParams; result: ExportPage }
  'relay/continue': { params: ContinueParams; result: ContinueResult }
  'relay/annotate': { params: AnnotateParams; result: AnnotateResult }
  'relay/resolve': { params: ResolveParams; result: ResolveResult }
  'relay/invite': { params: InviteParams; result: InviteResult }
  'relay/invites': { params: NoParams; result: { items: InviteListing[] } }
  'relay/invite-revoke': { params: { invite_id: string }; result: InviteListing }
  'relay/bootstrap': { params: NoParams; result: BootstrapListing }
  'relay/bootstrap-use': { params: { addresses: string[] }; result: BootstrapListing }
  'relay/bootstrap-drop': { params: { address: string }; result: BootstrapListing }
  'relay/join': { params: JoinParams; result: JoinResult }
  'relay/approve': { params: VerdictParams; result: VerdictResult }
  'relay/reject': { params: VerdictParams; result: VerdictResult }
  'relay/ping': { params: { handle: string }; result: PingResult }
}
export type MethodName = keyof Methods

/** What a method may reach: the node, and the process around it. */
export interface Host {
  api: NodeApi
  hello(): Hello
  /** Ends the node once this call is answered. */
  stop(): { stopping: true; pid: number }
}

export interface Call<P> {
  params: P
  caller: Caller
  /** Aborted when the caller hangs up. */
  signal: AbortSignal
}

interface Method<M extends MethodName> {
  /** @throws ApiError invalid_params, invalid_intent_payload or payload_too_large */
  parse(params: unknown): Methods[M]['params']
  run(host: Host, call: Call<Methods[M]['params']>): Promise<Methods[M]['result']>
}

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

const getThread: z.ZodType<GetThreadParams> = z.strictObject({
  thread_id: shapes.id,
  revision_id: shapes.id.optional(),
  annotations: shapes.annotations.optional(),
  compare_with: shapes.id.optional(),
  cursor: shapes.cursor.optional(),
  mark_read: z.boolean().optional(),
})

const listThreads: z.ZodType<ListThreadsParams> = z.strictObject({
  status: z.array(shapes.status).optional(),
  side: shapes.side.optional(),
  cursor: shapes.cursor.optional(),
  limit: z.int().min(1).max(INBOX_PAGE_COUNT_MAX).optional(),
  wait_s: z.number().min(0).max(INBOX_WAIT_S_MAX).optional(),
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

const cancel: z.ZodType<CancelParams> = z.strictObject({
  thread_id: shapes.id,
  reason: shapes.text.optional(),
  ...saying,
})

const readArtifact: z.ZodType<ArtifactParams> = z.strictObject({
  thread_id: shapes.id,
  artifact_id: shapes.id,
  offset: z.int().min(0).optional(),
  max_bytes: z.int().min(1).max(ARTIFACT_READ_BYTES_MAX).optional(),
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

const annotate: z.ZodType<AnnotateParams> = z.strictObject({
  thread_id: shapes.id,
  revision_id: shapes.id,
  body: shapes.filledText,
  artifact_id: shapes.id.optional(),
  selector: shapes.selector.optional(),
  assignee: shapes.id.optional(),
  ...saying,
})

const resolve: z.ZodType<ResolveParams> = z.strictObject({
  thread_id: shapes.id,
  annotation_id: shapes.id,
  resolved_revision_id: shapes.id,
  note: shapes.text.optional(),
  ...saying,
})

const exportThread: z.ZodType<ExportParams> = z.strictObject({ thread_id: shapes.id, cursor: shapes.cursor.optional() })

const verdict: z.ZodType<VerdictParams> = z.strictObject({
  thread_id: shapes.id,
  digest: z.string().refine((value) => /^[0-9a-f]{64}$/.test(value), 'must be the full digest: 64 characters 0-9 a-f'),
  reason: shapes.text.optional(),
  ...saying,
})

const invite: z.ZodType<InviteParams> = z.strictObject({
  name: shapes.id,
  expires_s: z.int().min(1).optional(),
  standalone: z.boolean().optional(),
})

const listTeammates: z.ZodType<Methods['agents/list']['params']> = z.strictObject({
  role: shapes.role.optional(),
  cursor: shapes.cursor.optional(),
})
/** More than an address may have, so that the node says what is wrong with one that is too long. */
const ADDRESS_LENGTH_CHARS_MAX = 2000
const addresses = z.array(shapes.filledText.max(ADDRESS_LENGTH_CHARS_MAX)).min(1).max(64)
const noParams: z.ZodType<NoParams> = z.strictObject({})
/** The one lenient method: a front end from the future must be able to ask an old node how old it is. */
const anyParams = z.record(z.string(), z.unknown())

function by<T>(schema: z.ZodType<T>): (params: unknown) => T {
  return (params) => check(schema, params)
}

function has(params: unknown, field: string): boolean {
  return typeof params === 'object' && params !== null && Object.hasOwn(params, field)
}

function parseSend(params: unknown): NewHandoffParams | NewMessageParams {
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

function parseUpdate(params: unknown): AcceptUpdate | CompleteUpdate {
  const { status } = check(z.looseObject({ status: z.enum(['accepted', 'completed']) }), params)
  if (status === 'accepted') return check(accept, params)
  const parsed = check(complete, params)
  checkSize({ result_summary: parsed.result_summary, artifacts: parsed.artifacts })
  return parsed
}

function parseContinue(params: unknown): ContinueParams {
  const parsed = check(continueHandoff, params)
  checkSize({ record: parsed.record, artifacts: parsed.artifacts, note: parsed.note })
  return parsed
}

async function stop(
  host: Host,
  { params }: Call<{ pid?: number | undefined }>,
): Promise<{ stopping: true; pid: number }> {
  const { pid } = host.hello()
  if (params.pid === undefined || params.pid === pid) return host.stop()
  throw new ApiError('state_changed', `The node is another process by now (pid ${pid}).`, {
    hint: 'Ask relay/hello who it is.',
    details: { pid },
  })
}

/** The table. Parsing is whole before anything of the node is asked. */
export const METHODS: { readonly [M in MethodName]: Method<M> } = {
  'message/send': {
    parse: parseSend,
    run: ({ api }, { params, caller }) =>
      'recipient' in params ? api.sendHandoff(params, caller) : api.sendMessage(params, caller),
  },
  'tasks/get': { parse: by(getThread), run: ({ api }, { params }) => api.getThread(params) },
  'tasks/list': { parse: by(listThreads), run: ({ api }, { params, signal }) => api.listThreads(params, signal) },
  'tasks/update': {
    parse: parseUpdate,
    run: ({ api }, { params, caller }) => {
      const { thread_id, metadata } = params
      if (params.status === 'accepted') {
        return api.accept({ thread_id, expected_revision_id: params.expected_revision_id, metadata }, caller)
      }
      const { result_summary, outcome, artifacts, allow_secrets } = params
      return api.complete({ thread_id, result_summary, outcome, artifacts, allow_secrets, metadata }, caller)
    },
  },
  'tasks/cancel': { parse: by(cancel), run: ({ api }, { params, caller }) => api.cancel(params, caller) },
  'agents/list': { parse: by(listTeammates), run: ({ api }, { params }) => api.listTeammates(params) },
  'relay/hello': { parse: by(anyParams), run: async (host) => host.hello() },
  'relay/whoami': { parse: by(noParams), run: ({ api }) => api.whoami() },
  'relay/status': { parse: by(noParams), run: ({ api }) => api.status() },
  'relay/stop': { parse: by(z.strictObject({ pid: z.int().optional() })), run: stop },
  'relay/artifact': { parse: by(readArtifact), run: ({ api }, { params }) => api.readArtifact(params) },
  'relay/export': { parse: by(exportThread), run: ({ api }, { params }) => api.exportThread(params) },
  'relay/continue': {
    parse: parseContinue,
    run: ({ api }, { params, caller }) => api.continueHandoff(params, caller),
  },
  'relay/annotate': { parse: by(annotate), run: ({ api }, { params, caller }) => api.annotate(params, caller) },
  'relay/resolve': { parse: by(resolve), run: ({ api }, { params, caller }) => api.resolve(params, caller) },
  'relay/invite': { parse: by(invite), run: ({ api }, { params }) => api.invite(params) },
  'relay/invites': { parse: by(noParams), run: ({ api }) => api.listInvites() },
  'relay/invite-revoke': {
    parse: by(z.strictObject({ invite_id: shapes.id })),
    run: ({ api }, { params }) => api.revokeInvite(params),
  },
  'relay/bootstrap': { parse: by(noParams), run: ({ api }) => api.listBootstrap() },
  'relay/bootstrap-use': {
    parse: by(z.strictObject({ addresses })),
    run: ({ api }, { params }) => api.useBootstrap(params),
  },
  'relay/bootstrap-drop': {
    parse: by(z.strictObject({ address: shapes.filledText.max(ADDRESS_LENGTH_CHARS_MAX) })),
    run: ({ api }, { params }) => api.dropBootstrap(params),
  },
  'relay/join': {
    parse: by(z.strictObject({ code: shapes.filledText.max(2000), bootstrap: addresses.optional() })),
    run: ({ api }, { params, signal }) => api.join(params, signal),
  },
  'relay/approve': { parse: by(verdict), run: ({ api }, { params, caller }) => api.approve(params, caller) },
  'relay/reject': { parse: by(verdict), run: ({ api }, { params, caller }) => api.reject(params, caller) },
  'relay/ping': {
    parse: by(z.strictObject({ handle: shapes.id })),
    run: ({ api }, { params, signal }) => api.ping(params, signal),
  },
}

export function isMethod(name: string): name is MethodName {
  return Object.hasOwn(METHODS, name)
}

/** Runs one call. A method's parameters and its runner belong together, which only the generic parameter says. */
export async function runMethod<M extends MethodName>(
  name: M,
  host: Host,
  call: Call<unknown>,
): Promise<Methods[M]['result']> {
  const method: Method<M> = METHODS[name]
  return method.run(host, { ...call, params: method.parse(call.params) })
}
