/**
 * What is in an item of a mailbox, under its seal for the workspace: an entry with its body, a piece
 * of a body that does not fit, or what the reader may lack of roster and prekeys. Source: spec/mailbox.md.
 */
import * as z from 'zod'
import { fromHex, type Hex } from './canonical.ts'
import { mac } from './crypto.ts'
import { sealEnvelope } from './envelope.ts'
import { bytes, bytes32, uint } from './kinds.ts'
import { MAIL_PIECE_SIZE_BYTES_MAX, MAIL_PIECES_COUNT_MAX, MAIL_SIZE_BYTES_MAX } from './limits.ts'
import { messageCodec } from './message.ts'

const MAIL = {
  /** body: the sealed body; null where there is none, or where it comes in pieces. */
  entry: z.strictObject({ t: z.literal('entry'), envelope: bytes, body: z.nullable(bytes) }),
  /** Piece number `at`, from 0, of the `of` pieces that the sealed body of `entry` was cut into. */
  piece: z.strictObject({
    t: z.literal('piece'),
    th: bytes32,
    entry: bytes32,
    at: uint,
    of: z.number().int().min(1).max(MAIL_PIECES_COUNT_MAX),
    bytes,
  }),
  /** Roster entries, predecessors first, and prekey records. */
  workspace: z.strictObject({ t: z.literal('workspace'), roster: z.array(bytes), prekeys: z.array(bytes) }),
} as const

export type Mail = { [T in keyof typeof MAIL]: z.infer<(typeof MAIL)[T]> }[keyof typeof MAIL]

export const { encode: encodeMail, parse: parseMail } = messageCodec<Mail>(MAIL, {
  bytesMax: MAIL_SIZE_BYTES_MAX,
  depthMax: 3,
  mapKeysMax: 8,
})

/** The mail that carries an entry: one, or the entry and then its body in pieces. */
export function mailOf(entry: { id: Hex; thread: Hex; envelope: Uint8Array }, body: Uint8Array | null): Mail[] {
  const { id, thread, envelope } = entry
  const whole: Mail = { t: 'entry', envelope, body }
  if (body === null || encodeMail(whole).length <= MAIL_SIZE_BYTES_MAX) return [whole]
  const of = Math.ceil(body.length / MAIL_PIECE_SIZE_BYTES_MAX)
  const pieces = Array.from({ length: of }, (_, at): Mail => {
    const from = at * MAIL_PIECE_SIZE_BYTES_MAX
    return { t: 'piece', th: thread, entry: id, at, of, bytes: body.slice(from, from + MAIL_PIECE_SIZE_BYTES_MAX) }
  })
  return [{ t: 'entry', envelope, body: null }, ...pieces]
}

/**
 * The item for a mailbox: a workspace envelope of the epoch. The same mail under the same key is the
 * same item, so that what is put twice is kept once.
 */
export function sealMail(mail: Mail, { key, epoch }: { key: Uint8Array; epoch: number }): Uint8Array {
  const plain = encodeMail(mail)
  return sealEnvelope(plain, { key, epoch, salt: fromHex(mac(key, 'mail-salt', [epoch, plain])) })
}
