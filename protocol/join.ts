/**
 * The messages of /relay/join/1, in order:
 *
 *     joiner → owner   ask      the invite's key, the joiner's device, a fresh nonce
 *     owner → joiner   offer    the workspace, proved with the invite's secret for this joiner, and as what it takes it in
 *     joiner → owner   claim    the joiner's keys, signed with the invite's key and its own
 *     owner → joiner   welcome  the roster with the joiner in it (the last part says so)
 *
 * or `refused` in place of offer or welcome.
 */
import * as z from 'zod'
import { bytes, bytes32, bytesOf, uint } from './kinds.ts'
import { FRAME_SIZE_BYTES_MAX } from './limits.ts'
import { messageCodec } from './message.ts'
import { MEMBER_KINDS, NAME, ROLES } from './roster-entry.ts'

export const JOIN_REFUSALS = ['unknown', 'expired', 'used', 'withdrawn', 'busy', 'proof', 'version'] as const
export type JoinRefusal = (typeof JOIN_REFUSALS)[number]

const MESSAGES = {
  ask: z.strictObject({ t: z.literal('ask'), v: uint, key: bytes32, device: bytes32, nonce: bytes32 }),
  offer: z.strictObject({
    t: z.literal('offer'),
    ws: bytes32,
    invite: bytes32,
    role: z.enum(ROLES),
    kind: z.enum(MEMBER_KINDS),
    owner: bytes32,
    proof: bytes32,
  }),
  claim: z.strictObject({
    t: z.literal('claim'),
    device_name: z.string().regex(NAME),
    prekey: bytes,
    invite_signature: bytesOf(64),
    device_signature: bytesOf(64),
  }),
  welcome: z.strictObject({
    t: z.literal('welcome'),
    roster: z.array(bytes),
    prekeys: z.array(bytes),
    last: z.boolean(),
  }),
  refused: z.strictObject({ t: z.literal('refused'), reason: z.enum(JOIN_REFUSALS) }),
} as const

type MessageType = keyof typeof MESSAGES
export type JoinMessage = { [T in MessageType]: z.infer<(typeof MESSAGES)[T]> }[MessageType]

export const { encode: encodeJoin, parse: parseJoin } = messageCodec<JoinMessage>(MESSAGES, {
  bytesMax: FRAME_SIZE_BYTES_MAX,
  depthMax: 4,
  mapKeysMax: 8,
})
