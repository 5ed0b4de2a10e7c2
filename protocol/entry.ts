/**
 * An entry is one device's signed statement in a thread. Envelope = canonical [header bytes, signature].
 * The id leaves the signature out; bytes are kept, forwarded and verified as received.
 */
import * as z from 'zod'
import { decodeCanonical, encodeCanonical, type Hex, type Value } from './canonical.ts'
import { hash, sign, type SigningKey, verify } from './crypto.ts'
import { bytes, bytesOf, CTL, hasBody, type Header, headerShape, type Kind } from './kinds.ts'
import {
  BODY_SIZE_BYTES_MAX,
  AEAD_TAG_BYTES,
  HEADER_SIZE_BYTES_MAX,
  PADDED_SIZES_BYTES,
  PROTOCOL_VERSION,
} from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

/** An opened entry: its bytes have the one canonical form and the exact shape of its kind. */
export interface Entry {
  readonly id: Hex
  /** Id of its thread: that of the create. */
  readonly thread: Hex
  readonly header: Header
  /** Canonical [header bytes, signature], as received. */
  readonly envelope: Uint8Array
}

/** What an author states; protocol version, thread and body facts included. */
export type Draft = Header

const ENVELOPE_SIZE_BYTES_MAX = HEADER_SIZE_BYTES_MAX + 80

const envelopeShape = z.tuple([bytes, bytesOf(64)])

/** The canonical bytes of a header. */
export function encodeHeader(header: Header): Uint8Array {
  const ctl: Value = z.encode(CTL[header.kind] as z.ZodType<unknown, Value>, header.ctl)
  return encodeCanonical({ ...z.encode(headerShape, header), ctl })
}

/** Signs what `draft` states. The key is that of `draft.dev`; the caller has checked the rules. */
export function signEntry(draft: Draft, key: SigningKey): Entry {
  const header = encodeHeader(draft)
  const envelope = encodeCanonical([header, sign(key, 'entry', [header])])
  const id = hash('entry-id', [header])
  return { id, thread: draft.th ?? id, header: draft, envelope }
}

/** Rule S1: size, depth, canonical bytes, strict schema; then the signature of rule S2. */
export function openEntry(envelope: Uint8Array): Checked<Entry> {
  const parsed = parseEntry(envelope)
  if (!parsed.ok) return parsed
  return verifyEntry(parsed.value) ? parsed : refuse('bad_signature')
}

/** True if the entry's author device signed exactly these bytes. */
export function verifyEntry(entry: Entry): boolean {
  const outer = decodeCanonical(entry.envelope, { bytesMax: ENVELOPE_SIZE_BYTES_MAX })
  if (!outer.ok || !Array.isArray(outer.value)) return false
  const [header, signature] = outer.value as readonly Value[]
  return signature instanceof Uint8Array && verify(entry.header.dev, signature, 'entry', [header ?? null])
}

/** Rule S1 alone: for entries whose signature was checked before, as those in one's own store. */
export function parseEntry(envelope: Uint8Array): Checked<Entry> {
  const outer = decodeCanonical(envelope, { bytesMax: ENVELOPE_SIZE_BYTES_MAX })
  if (!outer.ok) return outer
  const pair = envelopeShape.safeParse(outer.value)
  if (!pair.success) return refuse('schema', 'envelope')
  const headerBytes = pair.data[0]
  const decoded = decodeCanonical(headerBytes, { bytesMax: HEADER_SIZE_BYTES_MAX })
  if (!decoded.ok) return decoded
  const checked = checkHeader(decoded.value)
  if (!checked.ok) return checked
  const id = hash('entry-id', [headerBytes])
  return pass({ id, thread: checked.value.th ?? id, header: checked.value, envelope })
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(CTL, kind)
}

function checkHeader(value: Value): Checked<Header> {
  const shape = headerShape.safeParse(value)
  if (!shape.success) {
    const version = typeof value === 'object' && value !== null && 'v' in value ? value.v : undefined
    if (typeof version === 'number' && version !== PROTOCOL_VERSION) return refuse('unknown_version', String(version))
    return refuse('schema', z.prettifyError(shape.error))
  }
  const header = shape.data
  if (header.v !== PROTOCOL_VERSION) return refuse('unknown_version', String(header.v))
  if (!isKind(header.kind)) return refuse('unknown_kind', header.kind)
  // To the schema of a kind without arguments, bytes without content are an object without keys.
  if (header.ctl instanceof Uint8Array) return refuse('schema', 'ctl is no map')
  const ctl = CTL[header.kind].safeParse(header.ctl)
  if (!ctl.success) return refuse('schema', z.prettifyError(ctl.error))
  if ((header.kind === 'create') !== (header.th === null)) return refuse('schema', 'th is null exactly in create')
  if ((header.seq === 0) !== (header.prev === null)) return refuse('schema', 'prev is null exactly where seq is 0')
  if (hasBody(header.kind) !== (header.body !== null)) return refuse('body_presence')
  if (header.body && (header.kind === 'create') !== (header.body.key === null))
    return refuse('schema', 'key is null exactly in create')
  if (header.body && !PADDED_SIZES_BYTES.some((size) => size + AEAD_TAG_BYTES === header.body?.n))
    return refuse('schema', `body of ${header.body.n} bytes, at most ${BODY_SIZE_BYTES_MAX + AEAD_TAG_BYTES}`)
  if (!isSortedSet(header.deps)) return refuse('lists_unsorted', 'deps')
  const checked = { ...header, ctl: ctl.data } as Header
  if (checked.kind === 'ack' && !isSortedSet(checked.ctl.lack)) return refuse('lists_unsorted', 'lack')
  if (checked.kind === 'revise' && !isSortedSet(checked.ctl.base)) return refuse('lists_unsorted', 'base')
  if (checked.kind === 'create' && (checked.ctl.intent === 'propose_action') !== (checked.ctl.action !== null))
    return refuse('action_presence')
  return pass(checked)
}

/** Sorted and without repeats: hex text sorts as its bytes do. */
function isSortedSet(ids: readonly Hex[]): boolean {
  return ids.every((id, i) => i === 0 || (ids[i - 1] ?? '') < id)
}
