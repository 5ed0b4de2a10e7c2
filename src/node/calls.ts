/** What callers give to the node's calls, and what they get back; types alone. */
import type { ContinuityRecord, Intent, Outcome, ProposedAction, Verdict } from '../../protocol/index.ts'
import type { ArtifactInput, Content, Party, Side, Status, ThreadCommon, ThreadView, Time, Trust } from './api.ts'

/** Given by each front end with every call. */
export interface Caller {
  /** UUID of the front end's session: header relay-session. */
  session: string
}

export interface WriteMetadata {
  client_idempotency_key?: string | undefined
}
export interface ProposedActionInput extends ProposedAction {}

export interface NewHandoffParams {
  recipient: string
  intent: Intent
  /** Text parts are joined by a blank line: the summary. */
  message: { role?: string | undefined; parts: { type: 'text'; text: string }[] }
  artifacts?: ArtifactInput[] | undefined
  question?: string | undefined
  proposed_action?: ProposedActionInput | undefined
  record?: ContinuityRecord | undefined
  parent_thread_id?: string | undefined
  metadata?: WriteMetadata | undefined
}
export interface NewMessageParams {
  thread_id: string
  message: { role?: string | undefined; parts: { type: 'text'; text: string }[] }
  payload?: unknown
  artifacts?: ArtifactInput[] | undefined
  metadata?: WriteMetadata | undefined
}
export interface HandoffResult extends ThreadCommon {
  message_id: string
  sequence_no: number
  revision_id: string
  artifact_ids: string[]
  similar: string[]
  warnings: string[]
}
export interface MessageResult extends ThreadCommon {
  message_id: string
  sequence_no: number
  artifact_ids: string[]
}
export interface GetThreadParams {
  thread_id: string
  revision_id?: string | undefined
  annotations?: 'open' | 'all' | undefined
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
export interface CompleteParams {
  thread_id: string
  result_summary: string
  outcome?: Outcome | undefined
  artifacts?: ArtifactInput[] | undefined
  metadata?: WriteMetadata | undefined
}
export interface CancelParams {
  thread_id: string
  reason?: string | undefined
  metadata?: WriteMetadata | undefined
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
export interface VerdictParams {
  thread_id: string
  /** Full digest of the proposed action, hex. */
  digest: string
  reason?: string | undefined
  metadata?: WriteMetadata | undefined
}
export interface VerdictResult extends ThreadCommon {
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
