/**
 * Thread keys and sealed bodies. Bodies never decide anything: one that is missing, does not open
 * or is not of its kind's shape is shown as such and changes no state.
 */
import * as z from 'zod'
import { decodeCanonical, encodeCanonical, fromHex, type Hex, toHex, type Value } from './canonical.ts'
import {
  derive,
  hash,
  mac,
  openKey,
  openPadded,
  paddedSize,
  sealKey,
  sealPadded,
  tagged,
  unwrapKey,
  wrapKey,
} from './crypto.ts'
import { type Draft, encodeHeader, type Entry } from './entry.ts'
import { BODY, type BodyKind, type BodyOf, proposedAction, type ProposedAction, type Wrapped } from './kinds.ts'
import { AEAD_TAG_BYTES, BODY_SIZE_BYTES_MAX } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

/** Where a thread key is wrapped: what the HPKE info binds. */
export interface WrapPlace {
  readonly ws: Hex
  /** Nonce of the thread's create. */
  readonly nonce: Hex
  readonly author: Hex
}

function wrapInfo(place: WrapPlace, device: Hex, prekey: Hex): Value[] {
  return [place.ws, place.nonce, place.author, device, prekey].map(fromHex)
}

/** Wraps a thread key to one device's prekey. `ekm`: 32 fresh random bytes. */
export async function wrapThreadKey(
  key: Uint8Array,
  place: WrapPlace,
  to: { device: Hex; prekey: Hex; x25519: Hex; ekm: Uint8Array },
): Promise<Wrapped> {
  const { enc, ct } = await wrapKey({
    key,
    to: to.x25519,
    ekm: to.ekm,
    purpose: 'wrap',
    info: wrapInfo(place, to.device, to.prekey),
  })
  return [to.device, to.prekey, enc, ct]
}

/** Opens a wrap with the seed of the prekey that it names. */
export function unwrapThreadKey(wrap: Wrapped, place: WrapPlace, seed: Uint8Array): Promise<Checked<Uint8Array>> {
  const [device, prekey, enc, ct] = wrap
  return unwrapKey({ enc, ct, seed, purpose: 'wrap', info: wrapInfo(place, device, prekey) })
}

/** What binds a thread key to the create or wrap that introduces it, so that one ciphertext never opens two ways. */
export function commitThreadKey(key: Uint8Array, options: { nonce: Hex; ws: Hex; device: Hex; prev: Hex | null }): Hex {
  const { nonce, ws, device, prev } = options
  return toHex(
    derive(key, fromHex(nonce), 'commit', [fromHex(ws), fromHex(device), prev === null ? null : fromHex(prev)]),
  )
}

/** Seals an older thread key under a newer one. */
export function sealOlderKey(newer: Uint8Array, older: Uint8Array, olderId: Hex): Hex {
  return toHex(sealKey(derive(newer, fromHex(olderId), 'older', []), older, tagged('older', [fromHex(olderId)])))
}

export function openOlderKey(newer: Uint8Array, sealed: Hex, olderId: Hex): Checked<Uint8Array> {
  return openKey(derive(newer, fromHex(olderId), 'older', []), fromHex(sealed), tagged('older', [fromHex(olderId)]))
}

const ZERO_HASH = '00'.repeat(32)

function bodyKey(key: Uint8Array, header: Draft, iv: Hex): Uint8Array {
  const { ws, th, dev, seq, prev, body } = header
  return derive(key, fromHex(iv), 'body', [
    fromHex(ws),
    th === null ? null : fromHex(th),
    body === null || body.key === null ? null : fromHex(body.key),
    fromHex(dev),
    seq,
    prev === null ? null : fromHex(prev),
  ])
}

function bodyAad(header: Draft): Uint8Array {
  return tagged('aad', [encodeHeader(header.body ? { ...header, body: { ...header.body, h: ZERO_HASH } } : header)])
}

/** Canonical bytes of a body, without the keys that are undefined. Its length decides whether it fits. */
export function encodeBody<K extends BodyKind>(kind: K, body: BodyOf<K>): Uint8Array {
  return encodeCanonical(z.encode(BODY[kind] as unknown as z.ZodType<unknown, Value>, withoutUndefined(body)))
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, withoutUndefined(inner)]])),
  )
}

/** The largest canonical body: four bytes of the padded size hold its length. */
export const BODY_CONTENT_SIZE_BYTES_MAX = BODY_SIZE_BYTES_MAX - 4

/**
 * Seals `plain` for the entry that `header` states and gives the header with its body facts. `iv`
 * is 32 fresh random bytes; `keyId` names the create or wrap that introduced the key, null in create.
 */
export function sealBody(
  header: Draft,
  plain: Uint8Array,
  options: { key: Uint8Array; keyId: Hex | null; iv: Uint8Array },
): { header: Draft; sealed: Uint8Array } {
  const iv = toHex(options.iv)
  const facts = { h: ZERO_HASH, n: (paddedSize(plain.length) ?? 0) + AEAD_TAG_BYTES, key: options.keyId, iv }
  const draft: Draft = { ...header, body: facts }
  const sealed = sealPadded(bodyKey(options.key, draft, iv), plain, bodyAad(draft))
  return { header: { ...draft, body: { ...facts, h: hash('ciphertext', [sealed]) } }, sealed }
}

/** True if `sealed` is the ciphertext that the entry's header names. */
export function isBodyOf(entry: Entry, sealed: Uint8Array): boolean {
  const facts = entry.header.body
  return facts !== null && sealed.length === facts.n && hash('ciphertext', [sealed]) === facts.h
}

/**
 * The key of the body of `entry`, made from the thread key that sealed it. It opens this body and no other, so a body can
 * be shown without giving the thread away. undefined where the entry has no body.
 */
export function bodyKeyOf(entry: Entry, key: Uint8Array): Uint8Array | undefined {
  const { header } = entry
  return header.body ? bodyKey(key, header, header.body.iv) : undefined
}

/** Opens the body of an entry; refused where it does not open or is not of the kind's exact shape. */
export function openBody<K extends BodyKind>(
  entry: Entry,
  kind: K,
  sealed: Uint8Array,
  key: Uint8Array,
): Checked<BodyOf<K>> {
  const own = bodyKeyOf(entry, key)
  return own ? openBodyUnder(entry, kind, sealed, own) : refuse('body_presence')
}

/** The same with the body's own key, as {@link bodyKeyOf} gives it. */
export function openBodyUnder<K extends BodyKind>(
  entry: Entry,
  kind: K,
  sealed: Uint8Array,
  own: Uint8Array,
): Checked<BodyOf<K>> {
  const plain = openPadded(own, sealed, bodyAad(entry.header))
  if (!plain.ok) return plain
  const decoded = decodeCanonical(plain.value, { bytesMax: BODY_SIZE_BYTES_MAX })
  if (!decoded.ok) return decoded
  const checked = BODY[kind].safeParse(decoded.value)
  return checked.success ? pass(checked.data as BodyOf<K>) : refuse('schema', z.prettifyError(checked.error))
}

/** Canonical bytes of a proposed action: what a create's body carries and {@link actionMac} binds. */
export function encodeAction(action: ProposedAction): Uint8Array {
  return encodeCanonical(withoutUndefined(action) as Value)
}

export function decodeAction(bytes: Uint8Array): Checked<ProposedAction> {
  const decoded = decodeCanonical(bytes, { bytesMax: BODY_SIZE_BYTES_MAX })
  if (!decoded.ok) return decoded
  const checked = proposedAction.safeParse(decoded.value)
  return checked.success ? pass(checked.data) : refuse('schema', z.prettifyError(checked.error))
}

/** The key of create's ctl.action, made from the thread key: it opens nothing, and shows which action was meant. */
export function actionKey(key: Uint8Array, nonce: Hex): Uint8Array {
  return derive(key, fromHex(nonce), 'action-key', [])
}

/** What create's ctl.action holds: peers can compare it and cannot guess it. */
export function actionMac(key: Uint8Array, nonce: Hex, action: Uint8Array): Hex {
  return actionMacUnder(actionKey(key, nonce), action)
}

export function actionMacUnder(own: Uint8Array, action: Uint8Array): Hex {
  return mac(own, 'action', [action])
}
