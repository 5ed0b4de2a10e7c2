/** What callers give to the node's calls, and what they get back; types alone. */
import type { ContinuityRecord, Intent, Outcome, ProposedAction, Verdict } from '../../protocol/index.ts'
import type {
  ArtifactInput,
  ArtifactListing,
  Content,
  EntryView,
  Party,
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
}

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
}
export interface ListThreadsParams {
  status?: Status[] | undefined
  side?: Side | undefined
  cursor?: string | undefined
  limit?: number | undefined
  wait_s?: number | undefined
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
export interface ArtifactParams {
  thread_id: string
  artifact_id: string
  offset?: number | undefined
  max_bytes?: number | undefined
}
export type ArtifactSlice = {
  thread_id: string
  artifact_id: string
  type: ArtifactInput['type']
  from: Party
  entry_id: string
  offset: number
  size: number
  sha256: string
  truncated: boolean
  next_offset?: number
  /** text where the slice is UTF-8, else base64. */
  encoding: 'utf8' | 'base64'
  content: Content<string>
}
export interface ExportParams {
  thread_id: string
  cursor?: string | undefined
}
/** A piece of the proof of a handoff. Bytes are base64 (RFC 4648, section 4). */
export interface ExportPage {
  thread_id: string
  /** Hex; shows which action the handoff proposes. Absent where it proposes none, or its key is not here. */
  action_key?: string
  /** As received, parents before children. body: sealed, where it is here; key: opens this body and no other. */
  entries: { envelope: string; body?: string; key?: string }[]
  /** The roster entries that the thread's entries rest on, from genesis on; after all entries. */
  roster: string[]
  next_cursor?: string
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
export interface InviteParams {
  name: string
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
  expires_at: Time
}
export interface InviteListing {
  invite_id: string
  handle: string
  expires_at: Time
  state: 'open' | 'used' | 'expired' | 'withdrawn'
}
export interface JoinParams {
  code: string
  /** Bootstrap servers to look for the inviter at, beside those of the settings. */
  bootstrap?: string[] | undefined
}
export interface JoinResult {
  handle: string
  workspace: string
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
