/**
 * The messages of /relay/mailbox/1 between a device and a bootstrap server that keeps sealed items
 * for devices that are away: encode, parse, and the signatures that let one in.
 *
 *     server → device   welcome                      a nonce, and what it takes
 *     device → server   put → stored | turned-away   one item into somebody's mailbox
 *     device → server   open → items …               read one's own, and be told what is new
 *     device → server   drop → dropped               these are safe here
 *
 * A mailbox is named by the hash of two public keys: the one that may write to it, made from the
 * workspace key, so that every member can and no stranger; and the one that may read and empty it,
 * which only its device has. So a server needs no list of who may do what, nobody can take a
 * mailbox before its owner, and the name says nothing about workspace or member.
 */
import * as z from 'zod'
import { fromHex, type Hex, toHex } from './canonical.ts'
import { derive, hash, sign, type SigningKey, signingKey, verify } from './crypto.ts'
import { bytes, bytes32, bytesOf, uint } from './kinds.ts'
import { FRAME_SIZE_BYTES_MAX, MAILBOX_ITEM_SIZE_BYTES_MAX, MAILBOX_ITEMS_COUNT_MAX } from './limits.ts'
import { messageCodec } from './message.ts'

/** What a mailbox is addressed by: its two public keys, hex. */
export interface MailboxAddress {
  readonly writer: Hex
  readonly reader: Hex
}

/** The key that may write to a device's mailbox in an epoch; every member of the workspace can make it. */
export function mailboxWriteKey(workspaceKey: Uint8Array, epoch: number, device: Hex): SigningKey {
  return signingKey(derive(workspaceKey, new Uint8Array(0), 'mailbox-write', [epoch, fromHex(device)]))
}

/** The name of a mailbox, 32 bytes in hex. */
export function mailboxId({ writer, reader }: MailboxAddress): Hex {
  return hash('mailbox-id', [fromHex(writer), fromHex(reader)])
}

/** The name of an item: what is put twice is kept once. */
export function mailboxItemId(mailbox: Hex, item: Uint8Array): Hex {
  return hash('mailbox-item', [fromHex(mailbox), item])
}

/** Why a server does not keep an item. */
export const TURNED_AWAY_REASONS = ['mailbox_full', 'server_full', 'writer_quota', 'too_large', 'not_offered'] as const
export type TurnedAway = (typeof TURNED_AWAY_REASONS)[number]

const keys = { writer: bytes32, reader: bytes32 }
const itemIds = z.array(bytes32).max(MAILBOX_ITEMS_COUNT_MAX)

const MESSAGES = {
  /** nonce: what `open` signs, new for each stream; ttl: how long an item is kept at most, ms. */
  welcome: z.strictObject({ t: z.literal('welcome'), v: uint, nonce: bytes32, ttl: uint }),
  /** ttl: ms, from when it is stored; sig: by the writer key over [mailbox, ttl, item id]. */
  put: z.strictObject({ t: z.literal('put'), ...keys, ttl: uint, item: bytes, sig: bytesOf(64) }),
  stored: z.strictObject({ t: z.literal('stored'), id: bytes32 }),
  'turned-away': z.strictObject({ t: z.literal('turned-away'), id: bytes32, why: z.enum(TURNED_AWAY_REASONS) }),
  /** sig: by the reader key over [nonce, server, mailbox]. */
  open: z.strictObject({ t: z.literal('open'), ...keys, sig: bytesOf(64) }),
  /** Oldest first. Sent after `open` until all are sent, and again whenever something comes in; more: others follow. */
  items: z.strictObject({
    t: z.literal('items'),
    mailbox: bytes32,
    items: z.array(z.tuple([bytes32, bytes])),
    more: z.boolean(),
  }),
  /** Of a mailbox that was opened on this stream. */
  drop: z.strictObject({ t: z.literal('drop'), mailbox: bytes32, ids: itemIds }),
  dropped: z.strictObject({ t: z.literal('dropped'), mailbox: bytes32, ids: itemIds }),
} as const

type MessageType = keyof typeof MESSAGES
export type MailboxMessage = { [T in MessageType]: z.infer<(typeof MESSAGES)[T]> }[MessageType]
export type MailboxMessageOf<T extends MessageType> = Extract<MailboxMessage, { t: T }>

/** One frame a message. */
export const { encode: encodeMailbox, parse: parseMailbox } = messageCodec<MailboxMessage>(MESSAGES, {
  bytesMax: FRAME_SIZE_BYTES_MAX,
  depthMax: 4,
  mapKeysMax: 8,
})

/** A `put` that the server will let in. `item` is at most MAILBOX_ITEM_SIZE_BYTES_MAX. */
export function signPut(options: { key: SigningKey; reader: Hex; ttl: number; item: Uint8Array }): MailboxMessage {
  const { key, reader, ttl, item } = options
  const mailbox = mailboxId({ writer: key.public, reader })
  const sig = sign(key, 'mailbox-put', [fromHex(mailbox), ttl, fromHex(mailboxItemId(mailbox, item))])
  return { t: 'put', writer: key.public, reader, ttl, item, sig: toHex(sig) }
}

/** Whether the writer key of the mailbox put this item. */
export function checkPut({ writer, reader, ttl, item, sig }: MailboxMessageOf<'put'>): boolean {
  const mailbox = mailboxId({ writer, reader })
  return verify(writer, fromHex(sig), 'mailbox-put', [fromHex(mailbox), ttl, fromHex(mailboxItemId(mailbox, item))])
}

/** What an `open` is for: the nonce of this stream's `welcome`, and the server's own key, so that no server can use it at another. */
export interface OpenPlace {
  readonly nonce: Hex
  readonly server: Hex
}

/** An `open` that the server will let in; `key` is the device's mailbox key. */
export function signOpen(options: { key: SigningKey; writer: Hex } & OpenPlace): MailboxMessage {
  const { key, writer, nonce, server } = options
  const mailbox = mailboxId({ writer, reader: key.public })
  const sig = sign(key, 'mailbox-open', [fromHex(nonce), fromHex(server), fromHex(mailbox)])
  return { t: 'open', writer, reader: key.public, sig: toHex(sig) }
}

/** Whether the reader key of the mailbox asks to open it, here and now. */
export function checkOpen({ writer, reader, sig }: MailboxMessageOf<'open'>, { nonce, server }: OpenPlace): boolean {
  const parts = [fromHex(nonce), fromHex(server), fromHex(mailboxId({ writer, reader }))]
  return verify(reader, fromHex(sig), 'mailbox-open', parts)
}

/** Whether an item is not larger than any server takes. */
export function fitsMailbox(item: Uint8Array): boolean {
  return item.length <= MAILBOX_ITEM_SIZE_BYTES_MAX
}
