/** The one door of the protocol: whatever a node, a client or a second implementation needs is named here. */
export { authorize, devicesToCover, type Ground, type Missing } from './authorize.ts'
export {
  actionMac,
  artifactId,
  BODY_CONTENT_SIZE_BYTES_MAX,
  commitThreadKey,
  decodeAction,
  encodeAction,
  encodeBody,
  isBodyOf,
  openBody,
  openOlderKey,
  sealBody,
  sealOlderKey,
  unwrapThreadKey,
  type WrapPlace,
  wrapThreadKey,
} from './body.ts'
export { decodeCanonical, encodeCanonical, fromHex, type Hex, sameBytes, toHex, type Value } from './canonical.ts'
export { checkSigningKey, derive, hash, mac, prekeyPublic, type Purpose, sign, type SigningKey, signingKey, verify } from './crypto.ts'
export { type Status } from './effect.ts'
export { type Draft, type Entry, openEntry, parseEntry, signEntry, verifyEntry } from './entry.ts'
export {
  commitWorkspaceKey,
  epochOf,
  openEnvelope,
  type RosterWrapPlace,
  sealEnvelope,
  topicOf,
  unwrapWorkspaceKey,
  wrapWorkspaceKey,
} from './envelope.ts'
export {
  addNode,
  type Bits,
  emptyGraph,
  type Graph,
  hasBit,
  isBefore,
  isOfKind,
  type Node,
  type NodeOf,
  parentsOf,
  pastOf,
  type Side,
  sideIn,
  wholeSet,
} from './graph.ts'
export {
  checkOwner,
  encodeCode,
  type InviteCode,
  inviteKey,
  ownerProofKey,
  type OwnerStatement,
  parseCode,
  phraseWords,
  proveOwner,
  rendezvousTag,
  SECRET_BYTES,
} from './invite.ts'
export { encodeJoin, type JoinMessage, type JoinRefusal, JOIN_REFUSALS, parseJoin } from './join.ts'
export {
  type Artifact,
  ARTIFACT_TYPES,
  type BodyKind,
  type BodyOf,
  CONSTRAINT_KINDS,
  type ContinuityRecord,
  type CtlOf,
  DECISION_STATUSES,
  hasBody,
  type Header,
  type Intent,
  INTENTS,
  type Kind,
  KINDS,
  type Outcome,
  OUTCOMES,
  type ProposedAction,
  type Verdict,
  VERDICTS,
  type Wrapped,
} from './kinds.ts'
export * from './limits.ts'
export { openPrekey, type Prekey, type PrekeyFields, signPrekey } from './prekey.ts'
export { type Checked, pass, refuse, REFUSALS, type Refusal, type Refused } from './refusal.ts'
export {
  activeDevices,
  admitRosterEntry,
  chainTo,
  checkJoinProof,
  covers,
  currentRoster,
  descendsFrom,
  type Device,
  devicesOf,
  emptyRosterLog,
  type Invite,
  isForked,
  type JoinProof,
  type JoinStatement,
  type Member,
  memberByName,
  type Roster,
  type RosterLog,
  type RosterPoint,
  signJoin,
} from './roster.ts'
export {
  type MemberKind,
  NAME,
  parseRosterEntry,
  type Role,
  type RosterCtl,
  type RosterEntry,
  type RosterHeader,
  type RosterKind,
  signRosterEntry,
} from './roster-entry.ts'
export {
  bucketDigests,
  bucketOf,
  differingBuckets,
  encodeGossip,
  encodeSync,
  type GossipMessage,
  parseGossip,
  parseSync,
  prekeysDigest,
  SYNC_HEADS_COUNT_MAX,
  SYNC_IDS_COUNT_MAX,
  type SyncMessage,
  type SyncMessageOf,
} from './sync.ts'
export { ID_PREFIXES, type IdSort, parseTextId, peerIdText, textId } from './text-id.ts'
export { headsDigest, inOrder, receiptOf, recordHeads, reduce, stateDigest, type ThreadState, verdictOf } from './thread.ts'
