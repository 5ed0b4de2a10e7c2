/**
 * The closed union of what an entry says: the exact keys of every kind's public ctl and sealed body.
 *
 * The schemas are codecs between canonical values (bytes) and what the program holds (hex text).
 */
import * as z from 'zod'
import { fromHex, toHex } from './canonical.ts'
import {
  CHUNK_SIZE_BYTES,
  CHUNKS_COUNT_MAX,
  DEPS_COUNT_MAX,
  LACK_COUNT_MAX,
  OLDER_KEYS_COUNT_MAX,
  REVISE_BASE_COUNT_MAX,
  SIDE_DEVICES_COUNT_MAX,
} from './limits.ts'

/** Exactly `length` bytes, held as hex. */
export function bytesOf(length: number) {
  return z.codec(
    z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === length),
    z.string(),
    { decode: (bytes) => toHex(bytes), encode: (hex) => fromHex(hex) },
  )
}

/** SHA-256 ids and Ed25519 or X25519 keys. */
export const bytes32 = bytesOf(32)
/** Bytes of any length, held as they are. */
export const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array)
export const uint = z.int().min(0)

/** A key wrapped to one device: [device, id of its prekey record, HPKE enc, ciphertext]. */
export const wrapped = z.tuple([bytes32, bytes32, bytes32, bytesOf(48)])
export type Wrapped = z.infer<typeof wrapped>

export const INTENTS = ['inform', 'ask_question', 'propose_action'] as const
export const OUTCOMES = ['done', 'partial', 'declined'] as const
export const VERDICTS = ['approved', 'rejected'] as const
export type Intent = (typeof INTENTS)[number]
export type Outcome = (typeof OUTCOMES)[number]
export type Verdict = (typeof VERDICTS)[number]

const sideDevices = z.array(bytes32).min(1).max(SIDE_DEVICES_COUNT_MAX)
const noArguments = z.strictObject({})

/** The public arguments of each kind. */
export const CTL = {
  create: z.strictObject({
    to: bytes32,
    /** Sender devices, then recipient devices, each in rank order. */
    senders: sideDevices,
    recipients: sideDevices,
    intent: z.enum(INTENTS),
    /** MAC of the proposed action's bytes; null unless the intent is propose_action. */
    action: z.nullable(bytes32),
    parent: z.nullable(bytes32),
    nonce: bytes32,
    commit: bytes32,
    wraps: z.array(wrapped).max(2 * SIDE_DEVICES_COUNT_MAX),
  }),
  accept: noArguments,
  cancel: noArguments,
  complete: z.strictObject({ outcome: z.enum(OUTCOMES) }),
  message: noArguments,
  revise: z.strictObject({ base: z.array(bytes32).min(1).max(REVISE_BASE_COUNT_MAX) }),
  /** target: the entry that carries the revision or the artifact. */
  annotate: z.strictObject({ target: bytes32 }),
  resolve: z.strictObject({ annotation: bytes32, revision: bytes32 }),
  approve: z.strictObject({ action: bytes32, verdict: z.enum(VERDICTS) }),
  /** key: the create or wrap that introduced the key which is shared. */
  share: z.strictObject({
    reader: bytes32,
    devices: sideDevices,
    key: bytes32,
    wraps: z.array(wrapped).max(SIDE_DEVICES_COUNT_MAX),
  }),
  wrap: z.strictObject({
    commit: bytes32,
    wraps: z.array(wrapped).max(64),
    /** Older keys sealed under this one: [id of the create or wrap that introduced it, sealed key]. */
    older: z.array(z.tuple([bytes32, bytesOf(48)])).max(OLDER_KEYS_COUNT_MAX),
    adds: z.nullable(bytes32),
  }),
  ack: z.strictObject({ lack: z.array(bytes32).max(LACK_COUNT_MAX) }),
  fence: z.strictObject({ device: bytes32 }),
} as const

export type Kind = keyof typeof CTL
export const KINDS = Object.keys(CTL) as readonly Kind[]
export type CtlOf<K extends Kind> = z.infer<(typeof CTL)[K]>

// Bodies: sealed; they never decide anything.

const text = z.string()
const line = z.string().min(1)
const optionalText = z.optional(z.string())

/** Content that lies outside of the body, sealed in chunks under a key of its own: its size and SHA-256, and the chunks' ids in their order. */
export const chunked = z
  .strictObject({
    size: uint.min(1),
    sha256: bytes32,
    key: bytes32,
    ids: z.array(bytes32).max(CHUNKS_COUNT_MAX),
  })
  .refine(
    ({ size, ids }) => ids.length === Math.ceil(size / CHUNK_SIZE_BYTES),
    'another number of chunks than its size',
  )
export type Chunked = z.infer<typeof chunked>
const chunks = z.optional(chunked)

/** What an artifact holds stands in its body or in chunks, and not in both. */
function once<T extends z.ZodObject>(shape: T, field: string, atLeast: 0 | 1) {
  return shape.refine((value) => {
    const { [field]: inside, chunks: outside } = value as Record<string, unknown>
    const count = Number(inside !== undefined) + Number(outside !== undefined)
    return count <= 1 && count >= atLeast
  }, `either ${field} or chunks`)
}

/** A typed attachment. What a peer put in one is shown, never run, applied or fetched. */
export const artifact = z.discriminatedUnion('type', [
  once(
    z.strictObject({
      type: z.literal('file_diff'),
      path: line,
      diff: optionalText,
      chunks,
      /** Id of the repository's first commit. */
      repo: optionalText,
      base_commit: optionalText,
    }),
    'diff',
    1,
  ),
  z.strictObject({ type: z.literal('file_ref'), path: line, git_sha: optionalText, lines: optionalText }),
  z.strictObject({ type: z.literal('test_command'), command: line, cwd: optionalText }),
  once(
    z.strictObject({ type: z.literal('api_contract'), schema_url: optionalText, inline: optionalText, chunks }),
    'inline',
    0,
  ),
  z.strictObject({ type: z.literal('link'), url: line, title: optionalText }),
  once(
    z.strictObject({ type: z.literal('file'), name: line, media_type: line, bytes: z.optional(bytes), chunks }),
    'bytes',
    1,
  ),
])
export type Artifact = z.infer<typeof artifact>
export const ARTIFACT_TYPES = ['file_diff', 'file_ref', 'test_command', 'api_contract', 'link', 'file'] as const

export const CONSTRAINT_KINDS = [
  'permission',
  'safety',
  'deadline',
  'budget',
  'dependency',
  'exclusion',
  'other',
] as const
export const DECISION_STATUSES = ['proposed', 'accepted', 'rejected', 'superseded'] as const

/** The Handoff Continuity Record: what another person or agent needs to resume the work. */
export const record = z.strictObject({
  objective: z.strictObject({ summary: text, acceptance_criteria: z.array(text) }),
  current_state: z.strictObject({
    complete: z.array(text),
    in_progress: z.array(text),
    blocked: z.array(text),
    unverified: z.array(text),
  }),
  decisions: z.array(z.strictObject({ summary: text, rationale: text, status: z.enum(DECISION_STATUSES) })),
  evidence: z.array(
    z.strictObject({ label: text, claim: text, uri: optionalText, artifact: optionalText, sha256: optionalText }),
  ),
  constraints: z.array(z.strictObject({ kind: z.enum(CONSTRAINT_KINDS), text })),
  next_action: z.strictObject({ summary: text, verification: text, due: optionalText }),
  ownership: z.strictObject({ next_actor: text, reviewers: z.array(text) }),
  open_questions: z.array(text),
})
export type ContinuityRecord = z.infer<typeof record>

/** What the sender asks the recipient's human to approve. */
export const proposedAction = z.strictObject({
  description: line,
  target_files: z.array(line),
  rationale: line,
  suggested_diff: optionalText,
  base_commit: optionalText,
})
export type ProposedAction = z.infer<typeof proposedAction>

const artifacts = z.array(artifact)
/** A quotation with its surroundings (W3C Web Annotation, TextQuoteSelector). */
const selector = z.strictObject({ exact: line, prefix: text, suffix: text })

/** The sealed part of each kind; null where it has none. */
export const BODY = {
  create: z.strictObject({
    summary: line,
    artifacts,
    record: z.optional(record),
    question: optionalText,
    /** Canonical bytes of a proposed action: what ctl.action is the MAC of. */
    proposed_action: z.optional(bytes),
  }),
  accept: z.strictObject({ session: text }),
  cancel: z.strictObject({ reason: text }),
  complete: z.strictObject({ result_summary: text, artifacts }),
  /** payload: JSON text. */
  message: z.strictObject({ body: text, payload: optionalText, artifacts }),
  revise: z.strictObject({ record, artifacts, note: text }),
  annotate: z.strictObject({
    text: line,
    artifact: z.optional(bytes32),
    selector: z.optional(selector),
    assignee: z.optional(bytes32),
  }),
  resolve: z.strictObject({ note: text }),
  approve: z.strictObject({ reason: text }),
  share: null,
  wrap: null,
  ack: null,
  fence: null,
} as const satisfies Record<Kind, z.ZodType | null>

/** Kinds that have a body. */
export type BodyKind = { [K in Kind]: (typeof BODY)[K] extends null ? never : K }[Kind]
export type BodyOf<K extends BodyKind> = z.infer<(typeof BODY)[K]>

export function hasBody(kind: Kind): kind is BodyKind {
  return BODY[kind] !== null
}

const bodyFacts = z.strictObject({ h: bytes32, n: uint, key: z.nullable(bytes32), iv: bytes32 })

/** The part of the header that all kinds share. `kind` and `ctl` are checked together by {@link CTL}. */
export const headerShape = z.strictObject({
  v: uint,
  ws: bytes32,
  th: z.nullable(bytes32),
  dev: bytes32,
  seq: uint,
  prev: z.nullable(bytes32),
  deps: z.array(bytes32).max(DEPS_COUNT_MAX),
  ros: z.tuple([uint, bytes32]),
  kind: z.string(),
  ctl: z.unknown(),
  body: z.nullable(bodyFacts),
  ts: uint,
})
type HeaderShape = z.infer<typeof headerShape>

/** What an entry says in public, with ctl as its kind has it. */
export type Header = { [K in Kind]: Omit<HeaderShape, 'kind' | 'ctl'> & { kind: K; ctl: CtlOf<K> } }[Kind]
