/** One entry of the workspace's roster: bytes, id and signature. What it may say, and when, is roster.ts. */
import * as z from 'zod'
import { decodeCanonical, encodeCanonical, type Hex, type Value } from './canonical.ts'
import { hash, sign, type SigningKey, verify } from './crypto.ts'
import { bytes, bytes32, bytesOf, uint, wrapped } from './kinds.ts'
import {
  ADDRESS_SIZE_BYTES_MAX,
  BOOTSTRAP_ADDRESSES_COUNT_MAX,
  NAME_LENGTH_CHARS_MAX,
  PROTOCOL_VERSION,
  ROSTER_ENTRY_SIZE_BYTES_MAX,
} from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

/** Names of workspaces, members and devices: what stands in a handle. */
export const NAME = new RegExp(`^[a-z0-9][a-z0-9-]{0,${NAME_LENGTH_CHARS_MAX - 1}}$`)
const name = z.string().regex(NAME)

export const ROLES = ['member', 'reader'] as const
export const MEMBER_KINDS = ['person', 'service'] as const
export type Role = (typeof ROLES)[number]
export type MemberKind = (typeof MEMBER_KINDS)[number]
const role = z.enum(ROLES)
const memberKind = z.enum(MEMBER_KINDS)
/** Counted in bytes of UTF-8: what a character is differs from language to language. */
const address = z.string().refine((text) => new TextEncoder().encode(text).length <= ADDRESS_SIZE_BYTES_MAX)
/** The workspace key of an epoch, wrapped to each device; commit binds it. */
const keyed = { commit: bytes32, wraps: z.array(wrapped).max(128) }

export const ROSTER_CTL = {
  /** name: the workspace; member, device, device_name: its owner; successor: hash of the offline key that may hand over. */
  genesis: z.strictObject({
    name,
    member: name,
    device: bytes32,
    device_name: name,
    successor: bytes32,
    nonce: bytes32,
    ...keyed,
  }),
  'add-member': z.strictObject({ name, role, kind: memberKind, invite: z.nullable(bytes32) }),
  /** wraps: the current workspace key for this device. The signatures are those of a join proof. */
  'add-device': z.strictObject({
    member: bytes32,
    device: bytes32,
    name,
    prekey: bytes32,
    invite: z.nullable(bytes32),
    invite_signature: z.nullable(bytesOf(64)),
    device_signature: bytesOf(64),
    wraps: z.array(wrapped).length(1),
  }),
  'remove-device': z.strictObject({ device: bytes32 }),
  'remove-member': z.strictObject({ member: bytes32 }),
  'set-role': z.strictObject({ member: bytes32, role }),
  /** key: Ed25519 key made from the invite's secret; expires: the owner's clock, ms; kept by the owner's node, no rule. */
  invite: z.strictObject({ key: bytes32, name, role, kind: memberKind, expires: uint }),
  'revoke-invite': z.strictObject({ invite: bytes32 }),
  rekey: z.strictObject({ epoch: uint, ...keyed }),
  'set-bootstrap': z.strictObject({
    addresses: z.array(address).max(BOOTSTRAP_ADDRESSES_COUNT_MAX),
  }),
  /** Signed by the successor key. device: the new owner; successor: hash of the next offline key. */
  handover: z.strictObject({ key: bytes32, device: bytes32, successor: bytes32 }),
} as const

export type RosterKind = keyof typeof ROSTER_CTL
export type RosterCtl<K extends RosterKind> = z.infer<(typeof ROSTER_CTL)[K]>

const shape = z.strictObject({
  v: uint,
  ws: z.nullable(bytes32),
  n: uint,
  prev: z.nullable(bytes32),
  kind: z.string(),
  ctl: z.unknown(),
  ts: uint,
})
type Shape = z.infer<typeof shape>

export type RosterHeader = {
  [K in RosterKind]: Omit<Shape, 'kind' | 'ctl'> & { kind: K; ctl: RosterCtl<K> }
}[RosterKind]

export interface RosterEntry {
  readonly id: Hex
  readonly header: RosterHeader
  /** Canonical [header bytes, signature], as received. */
  readonly envelope: Uint8Array
}

export function signRosterEntry(header: RosterHeader, key: SigningKey): RosterEntry {
  const ctl: Value = z.encode(ROSTER_CTL[header.kind] as z.ZodType<unknown, Value>, header.ctl)
  const headerBytes = encodeCanonical({ ...z.encode(shape, header), ctl })
  const envelope = encodeCanonical([headerBytes, sign(key, 'roster', [headerBytes])])
  return { id: hash('roster-id', [headerBytes]), header, envelope }
}

const envelopeShape = z.tuple([bytes, bytesOf(64)])
const SHAPE_LIMITS = { depthMax: 6, mapKeysMax: 16 }

function isRosterKind(kind: string): kind is RosterKind {
  return Object.hasOwn(ROSTER_CTL, kind)
}

/** Size, canonical bytes and schema. Who had to sign is known only with the roster before it: {@link isSignedBy}. */
export function parseRosterEntry(envelope: Uint8Array): Checked<RosterEntry> {
  const outer = decodeCanonical(envelope, { bytesMax: ROSTER_ENTRY_SIZE_BYTES_MAX, ...SHAPE_LIMITS })
  if (!outer.ok) return outer
  const pair = envelopeShape.safeParse(outer.value)
  if (!pair.success) return refuse('schema', 'envelope')
  const decoded = decodeCanonical(pair.data[0], { bytesMax: ROSTER_ENTRY_SIZE_BYTES_MAX, ...SHAPE_LIMITS })
  if (!decoded.ok) return decoded
  const checked = shape.safeParse(decoded.value)
  if (!checked.success) return refuse('schema', z.prettifyError(checked.error))
  const header = checked.data
  if (header.v !== PROTOCOL_VERSION) return refuse('unknown_version', String(header.v))
  if (!isRosterKind(header.kind)) return refuse('unknown_kind', header.kind)
  const ctl = ROSTER_CTL[header.kind].safeParse(header.ctl)
  if (!ctl.success) return refuse('schema', z.prettifyError(ctl.error))
  const isGenesis = header.kind === 'genesis'
  if (isGenesis !== (header.ws === null) || isGenesis !== (header.prev === null) || isGenesis !== (header.n === 0))
    return refuse('schema', 'ws and prev are null, and n is 0, exactly in genesis')
  return pass({ id: hash('roster-id', [pair.data[0]]), header: { ...header, ctl: ctl.data } as RosterHeader, envelope })
}

export function isSignedBy(entry: RosterEntry, device: Hex): boolean {
  const outer = decodeCanonical(entry.envelope, { bytesMax: ROSTER_ENTRY_SIZE_BYTES_MAX, ...SHAPE_LIMITS })
  if (!outer.ok || !Array.isArray(outer.value)) return false
  const [headerBytes, signature] = outer.value as readonly Value[]
  return signature instanceof Uint8Array && verify(device, signature, 'roster', [headerBytes ?? null])
}
