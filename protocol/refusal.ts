/** Every named no of the protocol. A rule never throws because of what a peer sent: it refuses. */

/** Name and meaning of every refusal. */
export const REFUSALS = {
  // Bytes (S1)
  oversize: 'larger than its limit',
  too_deep: 'nested deeper than its limit',
  too_many_keys: 'a map with more keys than its limit',
  not_canonical: 'not the one canonical encoding of its value',
  unknown_version: 'a protocol version this node does not know',
  unknown_kind: 'a kind that this version does not have',
  schema: 'not the exact shape of its kind',
  body_presence: 'a body where its kind has none, or none where its kind has one',
  // Signature and roster (S2, S6)
  bad_signature: 'the signature is not by the author device over these bytes',
  weak_key: 'a key that is not canonically encoded, not of prime order or of small order',
  device_not_enrolled: 'the author device is not enrolled at the roster point it cites',
  device_removed: 'the author device is removed at the roster point it cites',
  roster_position: 'the number of its roster point does not belong to its id',
  roster_went_back: 'cites a roster point older than that of its parents',
  // Graph (S3, S4, S5)
  missing_create: 'its past does not hold exactly the one create of its thread',
  version_mismatch: 'another protocol version than its thread',
  workspace_mismatch: 'of another workspace than its thread or its receiver',
  thread_mismatch: 'a parent belongs to another thread',
  parent_refused: 'builds on a refused entry',
  redundant_parent: 'names a dep that is prev, or lies in the past of prev or of another dep',
  chain_broken: 'prev is not the same device’s entry numbered one less',
  own_fork: 'builds on its own fork: its past does not hold exactly seq entries of its device',
  // Sides (S7)
  author_not_listed: 'create does not list its author as a sender device',
  foreign_device: 'lists a device that is not enrolled under the member it is listed for',
  repeated_device: 'names a device twice, or one that already has a side',
  same_member: 'sender and recipient, or reader and participant, are the same member',
  unknown_member: 'names a member that is not in the roster point it cites',
  no_side: 'the author device has no side in the thread',
  wrong_side: 'this kind is not for the author’s side',
  reader_only: 'the author may only read and acknowledge',
  // State and arguments (S8, S9)
  wrong_state: 'not allowed in the state of its past',
  action_presence: 'action stands exactly with intent propose_action',
  action_differs: 'approve names another action than create, or create proposes none',
  approval_missing: 'completes a proposed action as done without an approval that stands',
  base_not_heads: 'base is not exactly the record heads of its past',
  lists_unsorted: 'a list that has to be sorted and without repeats is not',
  target_missing: 'names an entry that is not of the right kind in its past',
  wrap_cover: 'wraps not exactly the devices it has to cover',
  fence_target: 'fences what is not a removed device of the other side',
  // Counts (S10)
  turns_exceeded: 'more turns than one device may take in a thread',
  pending_turns_exceeded: 'more turns than a sender device may take while pending',
  wraps_exceeded: 'more wraps than one device may write in a thread',
  fence_repeated: 'a second fence of the same device by the same author',
  ack_without_news: 'acknowledges nothing new',
  lack_not_in_past: 'lacks an entry that is not in its past',
  lack_changes_exceeded: 'more changes of lack without news than its limit',
  // Roster
  roster_chain: 'not the next entry of this roster',
  roster_author: 'not signed by the owner device',
  roster_state: 'not allowed in the state of the roster before it',
  roster_proof: 'the joiner’s proof does not hold',
  // Sealed things and messages
  wrap_unopenable: 'a wrapped key that does not open',
  key_commitment: 'the key is not the one that was committed to',
  seal_broken: 'sealed bytes that do not open under their key',
  chunk: 'a chunk that is not the one that was named, or not of the size of its place',
  padding: 'not one of the padded sizes, or padded with other than zeros',
  message: 'a message that the sync protocol does not know',
  code: 'not an invite code',
} as const

export type Refusal = keyof typeof REFUSALS

export interface Refused {
  readonly ok: false
  readonly refusal: Refusal
  /** What exactly was wrong, for a log or a person; never needed to decide anything. */
  readonly detail?: string
}

export type Checked<T> = { readonly ok: true; readonly value: T } | Refused

export function pass<T>(value: T): Checked<T> {
  return { ok: true, value }
}

export function refuse(refusal: Refusal, detail?: string): Refused {
  return detail === undefined ? { ok: false, refusal } : { ok: false, refusal, detail }
}
