/** Values and messages that several tests try. */
import { fc } from '@fast-check/vitest'
import {
  bucketDigests,
  CBOR_DEPTH_MAX,
  FRAME_SIZE_BYTES_MAX,
  type GossipMessage,
  type Mail,
  type MailboxMessage,
  type SyncMessage,
  type Value,
} from '../../protocol/index.ts'

/** Values of the format. A map whose `/` and `bytes` are one value is a link to the encoder; no schema has such keys. */
const key = fc.string({ maxLength: 8 }).filter((text) => text !== '/' && text.isWellFormed())
export const VALUES: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: CBOR_DEPTH_MAX - 1, depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger().map((n) => n + 0),
    fc.string({ unit: 'grapheme' }),
    fc.uint8Array({ maxLength: 40 }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value

export const ID = 'ab'.repeat(32)
const BYTES = Uint8Array.of(1, 2, 3)

export const SYNC_MESSAGES: readonly SyncMessage[] = [
  { t: 'hello', v: 1, ws: ID, ros: [3, ID], prekeys: ID, frame: FRAME_SIZE_BYTES_MAX, clock: 0 },
  { t: 'roster', entries: [BYTES] },
  { t: 'prekeys', records: [BYTES] },
  { t: 'digests', buckets: bucketDigests([[ID, ID]]) },
  { t: 'threads', threads: [[ID, ID]] },
  { t: 'vector', th: ID, tips: [[ID, 7, ID]] },
  {
    t: 'entries',
    th: ID,
    items: [
      [BYTES, null],
      [BYTES, BYTES],
    ],
    heads: [ID],
  },
  { t: 'entries', th: ID, items: [], heads: null },
  { t: 'ids', th: ID, ids: [ID] },
  { t: 'want', th: ID, ids: [] },
  { t: 'bodies', th: ID, items: [[ID, BYTES]] },
  { t: 'want-chunks', th: ID, ids: [ID] },
  {
    t: 'chunks',
    th: ID,
    items: [
      [ID, BYTES],
      [ID, null],
    ],
  },
  { t: 'carried', th: ID, ids: [ID] },
  { t: 'heads', th: ID, heads: [ID] },
  { t: 'got' },
]

export const GOSSIP_MESSAGES: readonly GossipMessage[] = [
  { t: 'entry', envelope: BYTES, body: null },
  { t: 'entry', envelope: BYTES, body: BYTES },
  { t: 'hint', th: ID, heads: [ID] },
]

const SIGNATURE = 'cd'.repeat(64)
const KEYS = { writer: ID, reader: ID }

export const MAILBOX_MESSAGES: readonly MailboxMessage[] = [
  { t: 'welcome', v: 1, nonce: ID, ttl: 1_000 },
  { t: 'put', ...KEYS, ttl: 1_000, item: BYTES, sig: SIGNATURE },
  { t: 'stored', id: ID },
  { t: 'turned-away', id: ID, why: 'server_full' },
  { t: 'open', ...KEYS, sig: SIGNATURE },
  { t: 'items', mailbox: ID, items: [[ID, BYTES]], more: true },
  { t: 'drop', mailbox: ID, ids: [ID, ID] },
  { t: 'dropped', mailbox: ID, ids: [] },
]

export const MAIL: readonly Mail[] = [
  { t: 'entry', envelope: BYTES, body: null },
  { t: 'entry', envelope: BYTES, body: BYTES },
  { t: 'piece', th: ID, entry: ID, at: 0, of: 5, bytes: BYTES },
  { t: 'workspace', roster: [BYTES], prekeys: [BYTES] },
]
