/** The methods of the local interface: what each takes, what it gives back, and which part of the node answers it. */
import * as z from 'zod'
import { ApiError } from '../node/api-error.ts'
import type {
  AcceptParams,
  AcceptResult,
  AnnotateParams,
  AnnotateResult,
  ArtifactParams,
  ArtifactSlice,
  Caller,
  CancelParams,
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
  NewSession,
  NodeApi,
  NodeStatus,
  ResolveParams,
  ResolveResult,
  SaidResult,
  RoleParams,
  RoleResult,
  Scope,
  SessionListing,
  SessionParams,
  ShareParams,
  ShareResult,
  Teammate,
  ThreadView,
  TokenSession,
  VerdictParams,
  VerdictResult,
  WhoAmI,
} from '../node/api.ts'
import { parseList } from './list-params.ts'
import {
  address,
  addresses,
  annotate,
  anyParams,
  by,
  cancel,
  exportThread,
  getThread,
  invite,
  join,
  listTeammates,
  type NoParams,
  noParams,
  parseContinue,
  parseSend,
  parseUpdate,
  readArtifact,
  resolve,
  session,
  share,
  verdict,
} from './params.ts'
import { REMOVAL_METHODS, type RemovalMethods } from './removal-methods.ts'
import * as shapes from './shapes.ts'

/** Versions of this interface that this program speaks; it grows when a front end and a node of different age could misunderstand each other. */
export const INTERFACE_VERSIONS: VersionRange = { min: 1, max: 1 }

/** Above any call that could succeed: 32 MiB as base64, or as text of which a half is escaped. What is larger is not even read to its end. */
export const REQUEST_SIZE_BYTES_MAX = 64 * 1024 * 1024

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
type PingResult = Awaited<ReturnType<NodeApi['ping']>>

/** What a caller may do, beside what its member's role allows. */
export interface Access {
  scope: Scope
  /** There where it came with a token. */
  session?: TokenSession
}

/** Method → parameters and result, as they travel. */
export interface Methods extends RemovalMethods {
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
  'relay/whoami': { params: NoParams; result: WhoAmI & Access }
  'relay/status': { params: NoParams; result: NodeStatus }
  /** pid: only if this process is still the node. */
  'relay/stop': { params: { pid?: number | undefined }; result: { stopping: true; pid: number } }
  'relay/artifact': { params: ArtifactParams; result: ArtifactSlice }
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
  'relay/share': { params: ShareParams; result: ShareResult }
  'relay/role': { params: RoleParams; result: RoleResult }
  'relay/session-create': { params: SessionParams; result: NewSession }
  'relay/sessions': { params: NoParams; result: { items: SessionListing[] } }
  'relay/session-revoke': { params: { name: string }; result: SessionListing }
  'relay/ping': { params: { handle: string }; result: PingResult }
}
export type MethodName = keyof Methods

/** What a method may reach: the node, and the process around it. */
export interface Host {
  api: NodeApi
  /** read: nobody writes by way of this node. */
  scope: Scope
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

/**
 * What a call changes, which decides who may make it (access.ts): nothing; this member's own read
 * mark; what is said in handoffs; this laptop, its process and who may use it; or what a human
 * decides: who is in the workspace, who may read, what is approved.
 */
export type Change = 'nothing' | 'read mark' | 'handoffs' | 'laptop' | 'human'

export interface Method<M extends MethodName> {
  /** Of a method whose parameters decide it: what it changes with these. */
  changes: Change | ((params: Methods[M]['params']) => Change)
  /** @throws ApiError invalid_params, invalid_intent_payload or payload_too_large */
  parse(params: unknown): Methods[M]['params']
  run(host: Host, call: Call<Methods[M]['params']>): Promise<Methods[M]['result']>
}

async function whoami({ api, scope }: Host, { caller }: Call<NoParams>): Promise<WhoAmI & Access> {
  const me = await api.whoami()
  const { bound } = caller
  const reads = scope === 'read' || bound?.scope === 'read' || me.role === 'reader'
  return { ...me, scope: reads ? 'read' : 'write', ...(bound ? { session: bound } : {}) }
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

/** Sending what looks like a secret is a human's to decide. */
function says(params: object): Change {
  return 'allow_secrets' in params && params.allow_secrets === true ? 'human' : 'handoffs'
}

/** The table. Parsing is whole before anything of the node is asked. */
export const METHODS: { readonly [M in MethodName]: Method<M> } = {
  'message/send': {
    changes: says,
    parse: parseSend,
    run: ({ api }, { params, caller }) =>
      'recipient' in params ? api.sendHandoff(params, caller) : api.sendMessage(params, caller),
  },
  'tasks/get': {
    changes: ({ mark_read: marks }) => (marks === true ? 'read mark' : 'nothing'),
    parse: by(getThread),
    run: ({ api }, { params }) => api.getThread(params),
  },
  'tasks/list': {
    changes: 'nothing',
    parse: parseList,
    run: ({ api }, { params, signal }) => api.listThreads(params, signal),
  },
  'tasks/update': {
    changes: says,
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
  'tasks/cancel': {
    changes: says,
    parse: by(cancel),
    run: ({ api }, { params, caller }) => api.cancel(params, caller),
  },
  'agents/list': {
    changes: 'nothing',
    parse: by(listTeammates),
    run: ({ api }, { params }) => api.listTeammates(params),
  },
  'relay/hello': {
    changes: 'nothing',
    parse: by(anyParams),
    run: async (host) => host.hello(),
  },
  'relay/whoami': {
    changes: 'nothing',
    parse: by(noParams),
    run: whoami,
  },
  'relay/status': {
    changes: 'nothing',
    parse: by(noParams),
    run: ({ api }) => api.status(),
  },
  'relay/stop': {
    changes: 'laptop',
    parse: by(z.strictObject({ pid: z.int().optional() })),
    run: stop,
  },
  'relay/artifact': {
    changes: 'nothing',
    parse: by(readArtifact),
    run: ({ api }, { params, signal }) => api.readArtifact(params, signal),
  },
  'relay/export': {
    changes: 'nothing',
    parse: by(exportThread),
    run: ({ api }, { params }) => api.exportThread(params),
  },
  'relay/continue': {
    changes: says,
    parse: parseContinue,
    run: ({ api }, { params, caller }) => api.continueHandoff(params, caller),
  },
  'relay/annotate': {
    changes: says,
    parse: by(annotate),
    run: ({ api }, { params, caller }) => api.annotate(params, caller),
  },
  'relay/resolve': {
    changes: says,
    parse: by(resolve),
    run: ({ api }, { params, caller }) => api.resolve(params, caller),
  },
  'relay/invite': {
    changes: 'human',
    parse: by(invite),
    run: ({ api }, { params }) => api.invite(params),
  },
  'relay/invites': {
    changes: 'nothing',
    parse: by(noParams),
    run: ({ api }) => api.listInvites(),
  },
  'relay/invite-revoke': {
    changes: 'human',

    parse: by(z.strictObject({ invite_id: shapes.id })),
    run: ({ api }, { params }) => api.revokeInvite(params),
  },
  ...REMOVAL_METHODS,
  'relay/bootstrap': {
    changes: 'nothing',
    parse: by(noParams),
    run: ({ api }) => api.listBootstrap(),
  },
  'relay/bootstrap-use': {
    changes: 'human',

    parse: by(z.strictObject({ addresses })),
    run: ({ api }, { params }) => api.useBootstrap(params),
  },
  'relay/bootstrap-drop': {
    changes: 'human',

    parse: by(z.strictObject({ address })),
    run: ({ api }, { params }) => api.dropBootstrap(params),
  },
  'relay/join': {
    changes: 'laptop',

    parse: by(join),
    run: ({ api }, { params, signal }) => api.join(params, signal),
  },
  'relay/approve': {
    changes: 'human',
    parse: by(verdict),
    run: ({ api }, { params, caller }) => api.approve(params, caller),
  },
  'relay/reject': {
    changes: 'human',
    parse: by(verdict),
    run: ({ api }, { params, caller }) => api.reject(params, caller),
  },
  'relay/share': {
    changes: 'human',
    parse: by(share),
    run: ({ api }, { params, caller }) => api.share(params, caller),
  },
  'relay/role': {
    changes: 'human',
    parse: by(z.strictObject({ handle: shapes.id, role: shapes.role })),
    run: ({ api }, { params }) => api.setRole(params),
  },
  'relay/session-create': {
    changes: 'laptop',
    parse: by(session),
    run: ({ api }, { params }) => api.createSession(params),
  },
  'relay/sessions': { changes: 'nothing', parse: by(noParams), run: ({ api }) => api.listSessions() },
  'relay/session-revoke': {
    changes: 'laptop',
    parse: by(z.strictObject({ name: shapes.id })),
    run: ({ api }, { params }) => api.revokeSession(params),
  },
  'relay/ping': {
    changes: 'nothing',

    parse: by(z.strictObject({ handle: shapes.id })),
    run: ({ api }, { params, signal }) => api.ping(params, signal),
  },
}

export function isMethod(name: string): name is MethodName {
  return Object.hasOwn(METHODS, name)
}

/** A call before it was looked at. */
export interface RawCall {
  params: unknown
  /** Whoever calls, if it may make such a change. Throws ApiError unauthenticated or forbidden. */
  admit(name: MethodName, change: Change): Promise<Caller>
  signal: AbortSignal
}

/** Runs one call: schema, then credential, then the node. A method's parameters and its runner belong together, which only the generic parameter says. */
export async function runMethod<M extends MethodName>(
  name: M,
  host: Host,
  { params: raw, admit, signal }: RawCall,
): Promise<Methods[M]['result']> {
  const method: Method<M> = METHODS[name]
  const params = method.parse(raw)
  const { changes } = method
  const caller = await admit(name, typeof changes === 'function' ? changes(params) : changes)
  return method.run(host, { params, caller, signal })
}
