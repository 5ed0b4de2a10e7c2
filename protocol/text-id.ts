/** Ids as people and agents see them: a prefix and the first 16 bytes in lower-case unpadded base32. */
import { base32nopad, base58 } from '@scure/base'
import { fromHex, type Hex, toHex } from './canonical.ts'

export const ID_PREFIXES = {
  thread: 'ho_',
  revision: 'rev_',
  message: 'msg_',
  artifact: 'art_',
  annotation: 'ann_',
  workspace: 'ws_',
  device: 'dev_',
  invite: 'inv_',
  entry: 'ent_',
} as const
export type IdSort = keyof typeof ID_PREFIXES

const TEXT_BYTES = 16

export function textId(sort: IdSort, id: Hex): string {
  return ID_PREFIXES[sort] + base32nopad.encode(fromHex(id.slice(0, 2 * TEXT_BYTES))).toLowerCase()
}

/** The first 16 bytes, hex, of a full text id of `sort`; undefined where the text is none. */
export function parseTextId(sort: IdSort, text: string): Hex | undefined {
  const prefix = ID_PREFIXES[sort]
  const typed = text.trim().toLowerCase()
  if (!typed.startsWith(prefix)) return undefined
  try {
    const bytes = base32nopad.decode(typed.slice(prefix.length).toUpperCase())
    return bytes.length === TEXT_BYTES ? toHex(bytes) : undefined
  } catch {
    return undefined
  }
}

/** Identity multihash of a protobuf-encoded Ed25519 public key, without the key. */
const PEER_ID_PREFIX = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20]

/** The libp2p PeerId that a device key has (libp2p specification, peer ids). */
export function peerIdText(device: Hex): string {
  return base58.encode(new Uint8Array([...PEER_ID_PREFIX, ...fromHex(device)]))
}

/** The device key that a PeerId in base58 names; undefined where it is none of an Ed25519 key. */
export function parsePeerIdText(text: string): Hex | undefined {
  let bytes: Uint8Array
  try {
    bytes = base58.decode(text)
  } catch {
    return undefined
  }
  const isOurs = bytes.length === PEER_ID_PREFIX.length + 32 && PEER_ID_PREFIX.every((byte, i) => bytes[i] === byte)
  return isOurs ? toHex(bytes.slice(PEER_ID_PREFIX.length)) : undefined
}
