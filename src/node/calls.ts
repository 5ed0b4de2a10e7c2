/** What callers give to the node's calls, and what they get back; types alone. */
import type {
  ContinuityRecord,
  Intent,
  MemberKind,
  Outcome,
  ProposedAction,
  Role,
  Verdict,
} from '../../protocol/index.ts'
import type {
  ArtifactInput,
  ArtifactListing,
  Content,
  EntryView,
  Party,
  Scope,
  Side,
  Status,
  ThreadCommon,
  ThreadView,
  Time,
  Trust,
} from './api.ts'

/** Given by each front end with every call. */
export interface Caller {
  /** UUID of the front end's session: header relay-session. */
  session: string
  /** There where it came with a token: header authorization. */
  bound?: TokenSession | undefined
}

/** Read also where this device was removed: its human keeps what came before. Agents do not ask for it. */
export type AfterRemoval = boolean | undefined

export interface WriteMetadata {
  client_idempotency_key?: string | undefined
}
/** What all calls take that say something. */
export interface Saying {
  /** The human at the command line saw that it holds what looks like a secret, and sends it all the same. Never an agent's. */
  allow_secrets?: boolean | undefined
  metadata?: WriteMetadata | undefined
}
/** What all of them answer. */
export interface SaidResult extends ThreadCommon {
  /** For the author: advice, and what was noticed in the text. */
  warnings: string[]
}
export interface ProposedActionInput extends ProposedAction {}

export interface NewHandoffParams extends Saying {
  recipient: string
  intent: Intent
  /** Text parts are joined by a blank line: the summary. */
  message: { role?: string | undefined; parts: { type: 'text'; text: string }[] }
  artifacts?: ArtifactInput[] | undefined
  question?: string | undefined
  proposed_action?: ProposedActionInput | undefined
  record?: ContinuityRecord | undefined
  parent_thread_id?: string | undefined
}
export interface NewMessageParams extends Saying {
  thread_id: string
  message: { role?: string | undefined; parts: { type: 'text'; text: string }[] }
  payload?: unknown
  artifacts?: ArtifactInput[] | undefined
}
export interface HandoffResult extends SaidResult {
  message_id: string
  sequence_no: number
  revision_id: string
  artifact_ids: string[]
  similar: string[]
}
export interface MessageResult extends SaidResult {
  message_id: string
  sequence_no: number
  artifact_ids: string[]
}
export interface GetThreadParams {
  thread_id: string
  revision_id?: string | undefined
  annotations?: 'open' | 'all' | undefined
  /** A revision that the shown one is compared with. */
  compare_with?: string | undefined
  cursor?: string | undefined
  /** Move this member's read mark to what is returned. */
  mark_read?: boolean | undefined
  after_removal?: AfterRemoval
}
export interface ListThreadsParams {
  /** Default: pending and accepted; where something is looked for: all. */
  status?: Status[] | undefined
  side?: Side | undefined
  cursor?: string | undefined
  limit?: number | undefined
  wait_s?: number | undefined
  after_removal?: AfterRemoval
  /** Words to look for in all that this device can read. Where it is there, even empty, the answer is of search: best first, or newest first. */
  query?: string | undefined
  /** Handle of the teammate who sent or received it. */
  with?: string | undefined
  /** Newest activity at that time or later, or earlier: RFC 3339, or a date in UTC. */
  since?: Time | undefined
  until?: Time | undefined
}
export type MatchField =
  | 'summary'
  | 'objective'
  | 'record'
  | 'question'
  | 'proposed_action'
  | 'message'
  | 'result'
  | 'reason'
  | 'note'
  | 'annotation'
  | 'artifact_name'
  | 'artifact_text'
/** Where something that was looked for stands. */
export interface MatchView {
  field: MatchField
  entry_id: string
  /** The revision that says so, or that carries the artifact. */
  revision_id?: string
  artifact_id?: string
  /** A later revision has something else in its place. */
  replaced: boolean
  from: Party
  /** Some words around it. */
  excerpt: Content<string>
}
export interface FoundView {
  /** The current revision. */
  revision_id: string
  /** The higher the better, within one search; 0 where no words are looked for. */
  score: number
  /** Why it was found, the weightiest first. */
  matches: MatchView[]
}
export interface AcceptParams {
  thread_id: string
  expected_revision_id?: string | undefined
  metadata?: WriteMetadata | undefined
}
/** The whole thread, and what a receiver has to check before working on it. */
export type AcceptResult = ThreadView & { checklist: string[] }
export interface CompleteParams extends Saying {
  thread_id: string
  result_summary: string
  outcome?: Outcome | undefined
  artifacts?: ArtifactInput[] | undefined
}
/** Whole fields of the record that are to be replaced; what is left out stays. */
export type RecordChanges = { [F in keyof ContinuityRecord]?: ContinuityRecord[F] | undefined }
export interface ContinueParams extends Saying {
  thread_id: string
  /** The revision that was read, or all heads of a fork. */
  expected_revision_id: string | string[]
  record: RecordChanges
  /** One of a name that is there replaces that one; what is not named stays. */
  artifacts?: ArtifactInput[] | undefined
  note?: string | undefined
  /** Annotations that this revision settles. */
  resolves?: string[] | undefined
}
export interface ContinueResult extends SaidResult {
  revision_id: string
  /** The revisions that it replaces. */
  parents: string[]
  artifact_ids: string[]
  /** Annotations that it resolved. */
  resolved: string[]
}
/** A quotation with what stands around it. */
export interface Selector {
  exact: string
  prefix?: string | undefined
  suffix?: string | undefined
}
export interface AnnotateParams extends Saying {
  thread_id: string
  revision_id: string
  body: string
  artifact_id?: string | undefined
  selector?: Selector | undefined
  /** A participant's handle. It grants nothing. */
  assignee?: string | undefined
}
export interface AnnotateResult extends SaidResult {
  annotation_id: string
}
export interface ResolveParams extends Saying {
  thread_id: string
  annotation_id: string
  resolved_revision_id: string
  note?: string | undefined
}
export interface ResolveResult extends SaidResult {
  annotation: AnnotationView
}
export interface CancelParams extends Saying {
  thread_id: string
  reason?: string | undefined
}
export interface VerdictParams extends Saying {
  thread_id: string
  /** Full digest of the proposed action, hex. */
  digest: string
  reason?: string | undefined
}
export interface VerdictResult extends SaidResult {
  verdict: Verdict
}
export interface ShareParams {
  thread_id: string
  /** Handle of the member who may read it. */
  reader: string
  metadata?: WriteMetadata | undefined
}
export interface ShareResult extends ThreadCommon {
  reader: string
  /** `member/device` of each laptop that can read it from now on. */
  devices: string[]
  warnings: string[]
}
export interface SessionParams {
  scope: Scope
  /** Default: the first free one of session-1, session-2 … */
  name?: string | undefined
  /** Default: 30 days. */
  expires_s?: number | undefined
}
/** A session that was just made. The token is shown here and never again. */
export interface NewSession {
  name: string
  scope: Scope
  token: string
  created_at: Time
  expires_at: Time
}
export interface SessionListing {
  name: string
  scope: Scope
  state: 'active' | 'expired' | 'revoked'
  created_at: Time
  expires_at: Time
  /** To the minute. */
  last_used_at?: Time
}
/** What a token binds a front end to. */
export interface TokenSession {
  name: string
  scope: Scope
  expires_at: Time
}
export interface RoleParams {
  handle: string
  role: Role
}
export interface RoleResult {
  handle: string
  trust: Trust
  kind?: 'service'
  role: Role
  /** False if it was so before. */
  changed: boolean
  /** Handoffs of this member that are open; a reader can move none of them on. */
  open_handoffs: number
}
export interface InviteParams {
  name: string
  /** Default: member. */
  role?: Role | undefined
  /** Default: person. */
  kind?: MemberKind | undefined
  expires_s?: number | undefined
  standalone?: boolean | undefined
}
export interface InviteResult {
  invite_id: string
  /** The code to hand over by a channel that both trust. */
  code: string
  /** The same secret as twelve words; absent for a standalone code. */
  words?: string[]
  handle: string
  role: Role
  kind: MemberKind
  expires_at: Time
}
export interface InviteListing {
  invite_id: string
  handle: string
  role: Role
  kind: MemberKind
  expires_at: Time
  state: 'open' | 'used' | 'expired' | 'withdrawn'
}
export interface JoinParams {
  code: string
  /** There where a service joins: the scope that it is to have. Without it a person joins. */
  service?: Scope | undefined
  /** Bootstrap servers to look for the inviter at, beside those of the settings. */
  bootstrap?: string[] | undefined
}
export interface JoinResult {
  handle: string
  workspace: string
  role: Role
  kind: MemberKind
  inviter: string
  trust: Trust
}

/** One revision of the record; what it says is read one at a time. */
export interface RevisionView {
  revision_id: string
  from: Party
  mine: boolean
  /** The author's clock; a claim. */
  sent_at: Time
  received_at: Time
  /** The revisions that it replaced. */
  parents: string[]
  /** No later revision names it. */
  head: boolean
  late: boolean
  cut: boolean
  body: EntryView['body']
  note?: Content<string>
}

/** Where heads of a fork differ in what cannot be merged: the value of each, in the order of `shows`. */
export interface ConflictView {
  field: string
  values: (string | null)[]
}

/** What a comparison found: null where it is not there. */
export interface RecordChange {
  field: string
  before: string | null
  after: string | null
}

/** The record as it stands: of one revision, or merged from the heads of a fork. The merge is a reading aid and settles nothing. */
export interface RecordView {
  /** The revision that is shown, or the heads that were merged. */
  shows: string[]
  merged: boolean
  /** What the merged heads both build on. */
  base_revision_id?: string
  content?: Content<ContinuityRecord>
  conflicts?: Content<ConflictView[]>
  /** What the revision carries and took over. */
  artifacts: ArtifactListing[]
  compared?: { with: string; changes: Content<RecordChange[]> }
}

export interface AnnotationView {
  annotation_id: string
  from: Party
  mine: boolean
  sent_at: Time
  received_at: Time
  /** The revision that it is about, or the entry that carries the artifact. */
  revision_id?: string
  entry_id: string
  artifact_id?: string
  /** Handle of a participant. */
  assignee?: string
  open: boolean
  resolved_by?: { revision_id: string; from: Party; received_at: Time; note?: Content<string> }
  late: boolean
  cut: boolean
  body: EntryView['body']
  content?: Content<{ text: string; selector?: Selector }>
}
