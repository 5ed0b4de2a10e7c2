/**
 * What a running node does for its front ends. Parameters and results are JSON, snake_case; the
 * local interface hands them through unchanged.
 *
 * Whatever came from a peer is {@link Untrusted}: it cannot be read as text without naming the one
 * function that wraps it for an agent, or shows it to a person.
 */
import type { ContinuityRecord, Intent, Outcome, ProposedAction, Role, Verdict } from '../../protocol/index.ts'
import type { ArtifactListing, ArtifactParams, ArtifactSlice } from './artifact-calls.ts'
import type {
  AcceptParams,
  AcceptResult,
  AnnotateParams,
  AnnotateResult,
  AnnotationView,
  Caller,
  CancelParams,
  CompleteParams,
  ContinueParams,
  ContinueResult,
  FoundView,
  GetThreadParams,
  HandoffResult,
  InviteListing,
  InviteParams,
  InviteResult,
  JoinParams,
  JoinResult,
  ListThreadsParams,
  MessageResult,
  NewHandoffParams,
  NewMessageParams,
  RecordView,
  NewSession,
  ResolveParams,
  ResolveResult,
  RevisionView,
  SaidResult,
  SessionListing,
  SessionParams,
  TokenSession,
  RoleParams,
  RoleResult,
  ShareParams,
  ShareResult,
  VerdictParams,
  VerdictResult,
} from './calls.ts'
import type { ExportPage, ExportParams } from './export-calls.ts'
import type { BootstrapServer, NodeStatus, PingedDevice, Teammate, WhoAmI } from './node-status.ts'
import type { MemberListing, QuarantinedThread, RemovalResult } from './removal-calls.ts'

export type * from './artifact-calls.ts'
export type * from './calls.ts'
export type * from './export-calls.ts'
export type * from './node-status.ts'
export type * from './removal-calls.ts'

declare const fromPeer: unique symbol
/** Data from another person's node. On the wire it is plain JSON. */
export interface Untrusted<T> {
  readonly [fromPeer]: T
}
/** Content by this node's own member, or a peer's. Exactly one of the two keys is there. */
export type Content<T> = { own: T; untrusted?: never } | { own?: never; untrusted: Untrusted<T> }

/** For whoever builds a result. */
export function untrusted<T>(value: T): Untrusted<T> {
  return value as unknown as Untrusted<T>
}

export type Status = 'pending' | 'accepted' | 'completed' | 'cancelled'
/** reader: shared with this node's member, to read. */
export type Side = 'in' | 'out' | 'reader'
/** read: nothing that is said in a handoff, and nothing that decides anything. */
export type Scope = 'read' | 'write'
export type Trust = 'verified' | 'unverified' | 'changed'
/** RFC 3339, UTC. */
export type Time = string

/** What was observed about transport; each fact is absent until observed. */
export interface Delivery {
  stored_here: boolean
  carriers?: { name: string; at: Time }[]
  delivered?: { device: string; at: Time }[]
  accepted?: { device: string; at: Time }
}

/** Stands in every answer on a thread. */
export interface ThreadCommon {
  thread_id: string
  status: Status
  /** No later entry can change the status. */
  final: boolean
  /** Devices (`member/device`) whose word is missing until it is final. */
  waiting_for: string[]
  delivery: Delivery
}

/** Who, as pinned in the roster of this node: verified facts. */
export interface Party {
  handle: string
  /** `member/device` */
  device: string
  trust: Trust
  /** Only of a service: no person is behind it. */
  kind?: 'service'
}

/** Who may read a thread without taking part in it. */
export interface ReaderView {
  handle: string
  trust: Trust
  kind?: 'service'
  /** It is this node's own member. */
  me: boolean
  /** `member/device` of each laptop that it was shared with. */
  devices: string[]
  /** Who shared it first, and when that arrived here. */
  shared_by: string
  shared_at: Time
}

export interface EntryView {
  entry_id: string
  /** msg_… of a message; absent for other kinds. */
  message_id?: string
  kind:
    | 'create'
    | 'accept'
    | 'cancel'
    | 'complete'
    | 'message'
    | 'revise'
    | 'annotate'
    | 'resolve'
    | 'approve'
    | 'share'
  from: Party
  /** True if a device of this node's own member wrote it. */
  mine: boolean
  sequence_no?: number
  /** Like 3′: a second entry with the same number, written at once on another device of that side. */
  sequence_mark?: string
  /** The author's clock; a claim. */
  sent_at: Time
  received_at: Time
  late: boolean
  cut: boolean
  void: boolean
  outcome?: Outcome
  verdict?: Verdict
  /** Of a share: handle of whoever may read since then. */
  reader?: string
  /** missing: not here yet. unreadable: it does not open or is not of its kind's shape. */
  body: 'ok' | 'missing' | 'unreadable' | 'none'
  content?: Content<EntryContent>
  artifacts?: ArtifactListing[]
}

/** The readable part of a body, by kind. */
export interface EntryContent {
  summary?: string
  record?: ContinuityRecord
  question?: string
  proposed_action?: ProposedAction
  body?: string
  payload?: unknown
  result_summary?: string
  reason?: string
  note?: string
  text?: string
}

export interface ActionView {
  /** MAC of the exact bytes of the proposed action, hex: what an approval binds to. */
  digest: string
  /** none: nobody has answered. */
  verdict: Verdict | 'none'
  /** The proposed action here is not the one that the handoff's header names. */
  mismatch: boolean
}

export interface ThreadView extends ThreadCommon {
  intent: Intent
  side: Side
  from: Party
  to: { handle: string; trust: Trust; kind?: 'service' }
  created_at: Time
  parent_thread_id?: string
  revision_id: string
  /** Several revisions are heads: nobody has settled them yet. */
  forked: boolean
  revisions: RevisionView[]
  /** There where some revision carries a record. */
  record?: RecordView
  annotations: AnnotationView[]
  action?: ActionView
  /** Several accepts or completes count; the lead is named. */
  lead?: { accepted?: string; completed?: string }
  conflicting: boolean
  repudiated: boolean
  /** Devices that signed two entries with one number. */
  forks: string[]
  unread_count: number
  entries: EntryView[]
  artifacts: ArtifactListing[]
  /** SHA-256 over ids, status, lead, void, cut and late: equal on every peer that holds the same entries. */
  state_digest: string
  /** Devices of the thread and, per device, the number of its newest entry here. */
  readers: ReaderView[]
  participants: {
    handle: string
    device: string
    side: 'sender' | 'recipient' | 'reader'
    /** It was removed from the workspace. */
    removed: boolean
    /** The other side has signed that nothing counts which it wrote without that being known. */
    fenced: boolean
  }[]
  next_cursor?: string
}

export interface InboxItem {
  thread_id: string
  intent: Intent
  side: Side
  sender: Party
  recipient: string
  status: Status
  final: boolean
  unread_count: number
  created_at: Time
  updated_at: Time
  age_s: number
  /** At most 240 characters of the newest readable text. */
  preview?: Content<string>
  /** There where something is searched. */
  found?: FoundView
  /** Who wrote what the preview shows. */
  preview_from?: Party
}

export interface InboxPage {
  items: InboxItem[]
  next_cursor?: string
  timed_out: boolean
  /** Of a search: so many threads could not be looked at yet, since they are still being indexed. */
  indexing?: { missing: number }
}

/** Something happened that a front end may want to look at. `cursor` grows with local arrival order. */
export interface NodeEvent {
  type: 'inbox' | 'thread' | 'status'
  thread_id?: string
  cursor: string
}

/** Every method may throw ApiError; nothing else leaves the node. */
export interface NodeApi {
  whoami(): Promise<WhoAmI>
  status(): Promise<NodeStatus>
  listTeammates(params: {
    role?: Role | undefined
    cursor?: string | undefined
  }): Promise<{ items: Teammate[]; next_cursor?: string }>
  sendHandoff(params: NewHandoffParams, caller: Caller): Promise<HandoffResult>
  sendMessage(params: NewMessageParams, caller: Caller): Promise<MessageResult>
  getThread(params: GetThreadParams): Promise<ThreadView>
  listThreads(params: ListThreadsParams, signal?: AbortSignal): Promise<InboxPage>
  accept(params: AcceptParams, caller: Caller): Promise<AcceptResult>
  complete(params: CompleteParams, caller: Caller): Promise<SaidResult>
  cancel(params: CancelParams, caller: Caller): Promise<SaidResult>
  continueHandoff(params: ContinueParams, caller: Caller): Promise<ContinueResult>
  annotate(params: AnnotateParams, caller: Caller): Promise<AnnotateResult>
  resolve(params: ResolveParams, caller: Caller): Promise<ResolveResult>
  /** Fetches what this part needs and is not here; ends early, without it, when `signal` is aborted. */
  readArtifact(params: ArtifactParams, signal?: AbortSignal): Promise<ArtifactSlice>
  /** The proof of a thread that this device takes part in, in pages. */
  exportThread(params: ExportParams): Promise<ExportPage>
  approve(params: VerdictParams, caller: Caller): Promise<VerdictResult>
  reject(params: VerdictParams, caller: Caller): Promise<VerdictResult>
  /** Lets a third member read a thread. A human's alone. */
  share(params: ShareParams, caller: Caller): Promise<ShareResult>
  /** Gives a member another role; the owner's alone. */
  setRole(params: RoleParams): Promise<RoleResult>
  createSession(params: SessionParams): Promise<NewSession>
  listSessions(): Promise<{ items: SessionListing[] }>
  revokeSession(params: { name: string }): Promise<SessionListing>
  /** Whom a session token binds. */
  authenticate(token: string): TokenSession
  invite(params: InviteParams): Promise<InviteResult>
  listInvites(): Promise<{ items: InviteListing[] }>
  revokeInvite(params: { invite_id: string }): Promise<InviteListing>
  members(): Promise<{ items: MemberListing[] }>
  /** Shuts out a member, or one laptop: `frank`, `frank/frank-xps`; the owner's alone. */
  remove(params: { name: string }): Promise<RemovalResult>
  listQuarantine(): Promise<{ items: QuarantinedThread[] }>
  admitQuarantined(params: { thread_id: string }): Promise<QuarantinedThread>
  listBootstrap(): Promise<{ items: BootstrapServer[] }>
  /** Names bootstrap servers for the whole team; the owner's alone. */
  useBootstrap(params: { addresses: string[] }): Promise<{ items: BootstrapServer[] }>
  dropBootstrap(params: { address: string }): Promise<{ items: BootstrapServer[] }>
  join(params: JoinParams, signal?: AbortSignal): Promise<JoinResult>
  ping(params: { handle: string }, signal?: AbortSignal): Promise<{ items: PingedDevice[] }>
  /** Calls `listener` for each event until the returned function is called. */
  onEvent(listener: (event: NodeEvent) => void): () => void
}
