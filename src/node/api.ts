/**
 * What a running node does for its front ends. Parameters and results are JSON, snake_case; the
 * local interface hands them through unchanged.
 *
 * Whatever came from a peer is {@link Untrusted}: it cannot be read as text without naming the one
 * function that wraps it for an agent, or shows it to a person.
 */
import type { ContinuityRecord, Intent, Outcome, ProposedAction, TurnedAway, Verdict } from '../../protocol/index.ts'
import type {
  AcceptParams,
  AcceptResult,
  AnnotateParams,
  AnnotateResult,
  AnnotationView,
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
  ResolveParams,
  ResolveResult,
  RevisionView,
  SaidResult,
  VerdictParams,
  VerdictResult,
} from './calls.ts'

export type * from './calls.ts'

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
export type Side = 'in' | 'out'
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
}

export interface ArtifactInput {
  type: 'file_diff' | 'file_ref' | 'test_command' | 'api_contract' | 'link' | 'file'
  [field: string]: unknown
}

/** An artifact's place in the index: facts that this node computed. */
export interface ArtifactFacts {
  artifact_id: string
  type: ArtifactInput['type']
  size: number
  sha256: string
  /** Entry that carries it. */
  entry_id: string
}
export type ArtifactListing = ArtifactFacts & {
  /** Names, paths, commands and addresses; long content is left to read_artifact. */
  content: Content<Record<string, string>>
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
  to: { handle: string; trust: Trust }
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
  participants: { handle: string; device: string; side: 'sender' | 'recipient' | 'reader' }[]
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
}

export interface InboxPage {
  items: InboxItem[]
  next_cursor?: string
  timed_out: boolean
}

export interface TeammateDevice {
  /** `member/device` */
  device: string
  peer_id: string
  reachable: boolean
  path?: string
  /** The bootstrap server that relays, where the path is relayed. */
  via?: string
  /** Why no better path is in use. */
  why_not_direct?: string
  round_trip_ms?: number
  last_seen?: Time
  /** Its clock minus ours, where that is more than a minute. */
  clock_skew_ms?: number
  /** Why the last attempt to reach it failed. */
  last_failure?: string
  removed: boolean
}

export interface Teammate {
  handle: string
  kind: 'person' | 'service'
  role: 'member' | 'reader'
  trust: Trust
  me: boolean
  devices: TeammateDevice[]
  reachable: boolean
  last_seen?: Time
  blocked: boolean
}

export interface WhoAmI {
  handle?: string
  member?: string
  device?: string
  peer_id: string
  workspaces: string[]
  role?: 'member' | 'reader'
  kind?: 'person' | 'service'
  owner: boolean
  /** `alone` until a workspace is made or joined. */
  node_state: 'ready' | 'alone'
  reachable_peers: number
}

export interface NodeStatus extends WhoAmI {
  pid: number
  version: string
  protocol: number
  started_at: Time
  addresses: string[]
  store_format: number
  /** Why nothing can be written; absent where it can. */
  store_failure?: { code: string; message: string }
  teammates: Teammate[]
  threads: number
  unread: number
  /** Entries that some device has not acknowledged yet. */
  outbox: number
  /** The same by device, with whoever keeps some of them for it. */
  waiting: { device: string; entries: number; stored_at: string[] }[]
  /** Sealed bodies that are kept here for others. */
  carried: { entries: number; bytes: number }
  /** Whether mailboxes at the bootstrap servers are used. */
  mailbox: boolean
  /** Another machine that runs with this device's key, in words. */
  twin?: string
  /** Refusals by name since the node started. */
  refused: Record<string, number>
  /** Refused entries that are kept as proof, newest first. */
  refused_entries: RefusedEntry[]
  /** Proven: the device signed two entries with one number in that thread. */
  forks: { device: string; thread_id: string }[]
  roster: { position: number; forked: boolean }
  bootstrap: BootstrapServer[]
  clock_ms: number
}

/** A bootstrap server that this node uses. */
export interface BootstrapServer {
  /** Host and port of its first address. */
  host: string
  peer_id: string
  addresses: string[]
  /** The team's owner for everybody, or the settings of this laptop. */
  named_by: 'team' | 'settings'
  connected: boolean
  /** It holds a place for this laptop, so that teammates reach it through the server. */
  relaying: boolean
  round_trip_ms?: number
  last_failure?: string
  /** Where mailboxes are used. */
  mailbox?: {
    /** Entries that were left there for others since the node started. */
    left: number
    /** Items of one's own there that wait for something else to come. */
    waiting: number
    /** What the server did not take last, for whom. */
    turned_away: { why: TurnedAway; device: string; at: Time }[]
  }
}

export interface RefusedEntry {
  /** The device that sent it, `member/device`. Whose words it is supposed to be is not known. */
  from: string
  /** Name of the rule's no. */
  refusal: string
  at: Time
  size: number
}

export interface PingedDevice {
  /** `member/device` */
  device: string
  round_trip_ms?: number
  path?: string
  via?: string
  why_not_direct?: string
  failure?: string
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
    role?: 'member' | 'reader' | undefined
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
  readArtifact(params: ArtifactParams): Promise<ArtifactSlice>
  exportThread(params: ExportParams): Promise<ExportPage>
  approve(params: VerdictParams, caller: Caller): Promise<VerdictResult>
  reject(params: VerdictParams, caller: Caller): Promise<VerdictResult>
  invite(params: InviteParams): Promise<InviteResult>
  listInvites(): Promise<{ items: InviteListing[] }>
  revokeInvite(params: { invite_id: string }): Promise<InviteListing>
  listBootstrap(): Promise<{ items: BootstrapServer[] }>
  /** Names bootstrap servers for the whole team; the owner's alone. */
  useBootstrap(params: { addresses: string[] }): Promise<{ items: BootstrapServer[] }>
  dropBootstrap(params: { address: string }): Promise<{ items: BootstrapServer[] }>
  join(params: JoinParams, signal?: AbortSignal): Promise<JoinResult>
  ping(params: { handle: string }, signal?: AbortSignal): Promise<{ items: PingedDevice[] }>
  /** Calls `listener` for each event until the returned function is called. */
  onEvent(listener: (event: NodeEvent) => void): () => void
}
