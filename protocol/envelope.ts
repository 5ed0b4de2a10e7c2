/**
 * Sealing for the workspace: what travels by gossip and lies at carriers shows only its padded size.
 * The workspace key W of an epoch is wrapped in the roster to each device.
 */
import * as z from 'zod'
import { decodeCanonical, encodeCanonical, fromHex, type Hex, toHex, type Value } from './canonical.ts'
import { derive, openPadded, sealPadded, tagged, unwrapKey, wrapKey } from './crypto.ts'
import { bytes, bytesOf, uint, type Wrapped } from './kinds.ts'
import { BODY_SIZE_BYTES_MAX } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

/** Where W is wrapped. */
export interface RosterWrapPlace {
  /** Nonce of the roster's genesis. */
  readonly nonce: Hex
  readonly epoch: number
}

function wrapInfo(place: RosterWrapPlace, device: Hex, prekey: Hex): Value[] {
  return [fromHex(place.nonce), place.epoch, fromHex(device), fromHex(prekey)]
}

export async function wrapWorkspaceKey(
  key: Uint8Array,
  place: RosterWrapPlace,
  to: { device: Hex; prekey: Hex; x25519: Hex; ekm: Uint8Array },
): Promise<Wrapped> {
  const info = wrapInfo(place, to.device, to.prekey)
  const { enc, ct } = await wrapKey({ key, to: to.x25519, ekm: to.ekm, purpose: 'roster-wrap', info })
  return [to.device, to.prekey, enc, ct]
}

/** Opens a wrap of W and checks it against the roster's commitment. */
export async function unwrapWorkspaceKey(
  wrap: Wrapped,
  place: RosterWrapPlace,
  options: { seed: Uint8Array; commit: Hex },
): Promise<Checked<Uint8Array>> {
  const [device, prekey, enc, ct] = wrap
  const key = await unwrapKey({
    enc,
    ct,
    seed: options.seed,
    purpose: 'roster-wrap',
    info: wrapInfo(place, device, prekey),
  })
  if (!key.ok) return key
  return commitWorkspaceKey(key.value, place) === options.commit ? key : refuse('key_commitment')
}

export function commitWorkspaceKey(key: Uint8Array, place: RosterWrapPlace): Hex {
  return toHex(derive(key, fromHex(place.nonce), 'commit', [place.epoch]))
}

/** Gossip topic of an epoch: says nothing to whoever does not hold W. */
export function topicOf(key: Uint8Array, epoch: number): string {
  return `relay-node/${toHex(derive(key, new Uint8Array(0), 'topic', [epoch])).slice(0, 32)}`
}

const shape = z.tuple([uint, bytesOf(32), bytes])

/** Epoch and salt of a sealed envelope, readable by anyone. */
export function epochOf(envelope: Uint8Array): Checked<number> {
  const parsed = parse(envelope)
  return parsed.ok ? pass(parsed.value[0]) : parsed
}

function parse(envelope: Uint8Array): Checked<z.infer<typeof shape>> {
  const decoded = decodeCanonical(envelope, { bytesMax: BODY_SIZE_BYTES_MAX + 256 })
  if (!decoded.ok) return decoded
  const checked = shape.safeParse(decoded.value)
  return checked.success ? pass(checked.data) : refuse('schema', 'envelope')
}

/** Canonical [epoch, salt, ciphertext] of `plain`. `salt`: 32 fresh random bytes. */
export function sealEnvelope(
  plain: Uint8Array,
  options: { key: Uint8Array; epoch: number; salt: Uint8Array },
): Uint8Array {
  const { key, epoch, salt } = options
  return encodeCanonical([
    epoch,
    salt,
    sealPadded(derive(key, salt, 'envelope', [epoch]), plain, tagged('envelope', [epoch, salt])),
  ])
}

export function openEnvelope(envelope: Uint8Array, key: Uint8Array): Checked<Uint8Array> {
  const parsed = parse(envelope)
  if (!parsed.ok) return parsed
  const [epoch, salt, sealed] = parsed.value
  return openPadded(derive(key, fromHex(salt), 'envelope', [epoch]), sealed, tagged('envelope', [epoch, fromHex(salt)]))
}
