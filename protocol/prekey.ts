/** A device's encryption prekey: an X25519 key signed by the device key, replaced by the one with a higher counter. */
import * as z from 'zod'
import { decodeCanonical, encodeCanonical, fromHex, type Hex, type Value } from './canonical.ts'
import { checkPrekey, hash, sign, type SigningKey, verify } from './crypto.ts'
import { bytes32, bytesOf, uint } from './kinds.ts'
import { type Checked, pass, refuse } from './refusal.ts'

export interface Prekey {
  /** Names the record in wraps. */
  readonly id: Hex
  readonly ws: Hex
  readonly device: Hex
  readonly counter: number
  /** X25519 public key. */
  readonly x25519: Hex
  /** Ed25519 key that reads and empties this device's mailboxes. */
  readonly mailbox: Hex
  /** The device's clock, ms. */
  readonly created: number
  /** Canonical [ws, device, counter, x25519, mailbox, created, signature], as received. */
  readonly bytes: Uint8Array
}

const RECORD_SIZE_BYTES_MAX = 512
const shape = z.tuple([bytes32, bytes32, uint, bytes32, bytes32, uint, bytesOf(64)])

export type PrekeyFields = Pick<Prekey, 'ws' | 'device' | 'counter' | 'x25519' | 'mailbox' | 'created'>

function parts(fields: PrekeyFields): Value[] {
  const { ws, device, counter, x25519, mailbox, created } = fields
  return [fromHex(ws), fromHex(device), counter, fromHex(x25519), fromHex(mailbox), created]
}

export function signPrekey(fields: PrekeyFields, key: SigningKey): Prekey {
  const signed = parts(fields)
  return { ...fields, id: hash('prekey-id', signed), bytes: encodeCanonical([...signed, sign(key, 'prekey', signed)]) }
}

export function openPrekey(record: Uint8Array): Checked<Prekey> {
  const decoded = decodeCanonical(record, { bytesMax: RECORD_SIZE_BYTES_MAX })
  if (!decoded.ok) return decoded
  const checked = shape.safeParse(decoded.value)
  if (!checked.success) return refuse('schema', 'prekey')
  const [ws, device, counter, x25519, mailbox, created, signature] = checked.data
  const fields = { ws, device, counter, x25519, mailbox, created }
  const signed = parts(fields)
  if (!verify(device, fromHex(signature), 'prekey', signed)) return refuse('bad_signature')
  const weak = checkPrekey(x25519)
  if (!weak.ok) return weak
  return pass({ ...fields, id: hash('prekey-id', signed), bytes: record })
}
