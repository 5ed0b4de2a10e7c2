/**
 * The messages of /relay/sync/1 and of gossip: encode, parse. What to send when is the node's.
 *
 *     hello · roster · prekeys      who is in, as far as each side knows
 *     digests · threads             which threads differ
 *     vector → entries · ids        what of a thread the other side lacks
 *     want → bodies                 sealed bodies
 *     want-chunks → chunks          content of artifacts that lies outside of bodies
 *     carried                       sealed bodies that the sender keeps for others
 *     heads                         something new in a thread
 *     got                           one batch was taken in: send another
 */
import * as z from 'zod'
import { fromHex, type Hex } from './canonical.ts'
import { hash } from './crypto.ts'
import { bytes, bytes32, bytesOf, uint } from './kinds.ts'
import { FRAME_SIZE_BYTES_MAX, GOSSIP_SIZE_BYTES_MAX } from './limits.ts'
import { messageCodec } from './message.ts'

const BUCKETS_COUNT = 256
const BUCKET_DIGEST_BYTES = 8
export const SYNC_IDS_COUNT_MAX = 8192
export const SYNC_HEADS_COUNT_MAX = 256
export const SYNC_CHUNKS_COUNT_MAX = 32

const ids = z.array(bytes32).max(SYNC_IDS_COUNT_MAX)
const chunkIds = z.array(bytes32).min(1).max(SYNC_CHUNKS_COUNT_MAX)
const heads = z.array(bytes32).max(SYNC_HEADS_COUNT_MAX)

const MESSAGES = {
  /** prekeys: digest of the prekey records held; clock: the sender's clock, ms, to show a skew. */
  hello: z.strictObject({
    t: z.literal('hello'),
    v: uint,
    ws: bytes32,
    ros: z.tuple([uint, bytes32]),
    prekeys: bytes32,
    frame: uint,
    clock: uint,
  }),
  /** Roster entries in order. */
  roster: z.strictObject({ t: z.literal('roster'), entries: z.array(bytes) }),
  prekeys: z.strictObject({ t: z.literal('prekeys'), records: z.array(bytes) }),
  /** 256 digests of 8 bytes each: one for the threads whose id begins with that byte. */
  digests: z.strictObject({ t: z.literal('digests'), buckets: bytesOf(BUCKETS_COUNT * BUCKET_DIGEST_BYTES) }),
  /** [thread, digest of its heads] of the buckets that differ. */
  threads: z.strictObject({ t: z.literal('threads'), threads: z.array(z.tuple([bytes32, bytes32])) }),
  /** [device, number, entry]: all tips of each device's chain that the sender holds; it asks for what lies beyond. */
  vector: z.strictObject({ t: z.literal('vector'), th: bytes32, tips: z.array(z.tuple([bytes32, uint, bytes32])) }),
  /** [envelope, sealed body or null] in causal order; the last batch names the sender's heads. */
  entries: z.strictObject({
    t: z.literal('entries'),
    th: bytes32,
    items: z.array(z.tuple([bytes, z.nullable(bytes)])),
    heads: z.nullable(heads),
  }),
  /** All entries of a thread that the sender holds; it asks for the others. */
  ids: z.strictObject({ t: z.literal('ids'), th: bytes32, ids }),
  want: z.strictObject({ t: z.literal('want'), th: bytes32, ids }),
  bodies: z.strictObject({ t: z.literal('bodies'), th: bytes32, items: z.array(z.tuple([bytes32, bytes])) }),
  'want-chunks': z.strictObject({ t: z.literal('want-chunks'), th: bytes32, ids: chunkIds }),
  /** Of each chunk that was wanted, once: the sealed bytes, or null from a peer that does not give them. */
  chunks: z.strictObject({
    t: z.literal('chunks'),
    th: bytes32,
    items: z.array(z.tuple([bytes32, z.nullable(bytes)])).max(SYNC_CHUNKS_COUNT_MAX),
  }),
  /** Entries whose sealed body the sender keeps, in a thread that it takes no part in. */
  carried: z.strictObject({ t: z.literal('carried'), th: bytes32, ids }),
  heads: z.strictObject({ t: z.literal('heads'), th: bytes32, heads }),
  got: z.strictObject({ t: z.literal('got') }),
} as const

type MessageType = keyof typeof MESSAGES
export type SyncMessage = { [T in MessageType]: z.infer<(typeof MESSAGES)[T]> }[MessageType]
export type SyncMessageOf<T extends MessageType> = Extract<SyncMessage, { t: T }>

const FRAME_LIMITS = { bytesMax: FRAME_SIZE_BYTES_MAX, depthMax: 4, mapKeysMax: 8 }

/** One frame a message. */
export const { encode: encodeSync, parse: parseSync } = messageCodec<SyncMessage>(MESSAGES, FRAME_LIMITS)

/** The bucket of a thread: the first byte of its id. */
export function bucketOf(thread: Hex): number {
  return Number.parseInt(thread.slice(0, 2), 16)
}

/** The 256 digests over [thread, digest of its heads], as `digests` carries them. */
export function bucketDigests(threads: Iterable<readonly [thread: Hex, headsDigest: Hex]>): Hex {
  const buckets: (readonly [Hex, Hex])[][] = Array.from({ length: BUCKETS_COUNT }, () => [])
  for (const thread of threads) buckets[bucketOf(thread[0])]?.push(thread)
  return buckets.map(bucketDigest).join('')
}

/** The digest of one bucket, 8 bytes; `threads` in any order. */
export function bucketDigest(threads: readonly (readonly [thread: Hex, headsDigest: Hex])[]): Hex {
  if (threads.length === 0) return '00'.repeat(BUCKET_DIGEST_BYTES)
  const sorted = threads
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([thread, digest]) => [fromHex(thread), fromHex(digest)])
  return hash('bucket', sorted).slice(0, 2 * BUCKET_DIGEST_BYTES)
}

/** The buckets in which two sets of digests differ. */
export function differingBuckets(a: Hex, b: Hex): number[] {
  const width = 2 * BUCKET_DIGEST_BYTES
  const differing: number[] = []
  for (let bucket = 0; bucket < BUCKETS_COUNT; bucket++) {
    const at = bucket * width
    if (a.slice(at, at + width) !== b.slice(at, at + width)) differing.push(bucket)
  }
  return differing
}

/** Digest of the prekey records that a node holds. */
export function prekeysDigest(prekeyIds: Iterable<Hex>): Hex {
  return hash('prekeys', [[...prekeyIds].toSorted().map(fromHex)])
}

// Gossip: the plain text of a workspace envelope.

const GOSSIP = {
  entry: z.strictObject({ t: z.literal('entry'), envelope: bytes, body: z.nullable(bytes) }),
  /** Too large to push: pull. */
  hint: z.strictObject({ t: z.literal('hint'), th: bytes32, heads }),
} as const
export type GossipMessage = z.infer<(typeof GOSSIP)['entry']> | z.infer<(typeof GOSSIP)['hint']>

export const { encode: encodeGossip, parse: parseGossip } = messageCodec<GossipMessage>(GOSSIP, {
  ...FRAME_LIMITS,
  bytesMax: GOSSIP_SIZE_BYTES_MAX,
})
