/**
 * STUN binding, as far as a laptop needs it to learn how the internet sees it. Source: RFC 8489,
 * sections 5, 6.3 and 14.2. Without authentication, and over UDP alone.
 */
import { ipBytes } from '../ip-address.ts'

const HEADER_BYTES = 20
const MAGIC_COOKIE = 0x2112a442
const BINDING_REQUEST = 0x0001
const BINDING_SUCCESS = 0x0101
const BINDING_ERROR = 0x0111
const XOR_MAPPED_ADDRESS = 0x0020
const ERROR_CODE = 0x0009
const UNKNOWN_ATTRIBUTES = 0x000a
/** Types from here on may be ignored by whoever does not know them. */
const OPTIONAL_FROM = 0x8000
/** 420, as its class and number stand in the attribute. */
const UNKNOWN_ATTRIBUTE = [4, 20]

/**
 * The answer to `packet` from `address` and `port`, or undefined where it is no binding request. At
 * most 44 bytes for a request without attributes, which is 20; a request with more bytes gets no
 * answer that is longer than itself by more than 16.
 */
export function answerBinding(packet: Uint8Array, address: string, port: number): Uint8Array | undefined {
  if (packet.length < HEADER_BYTES) return undefined
  const view = new DataView(packet.buffer, packet.byteOffset, packet.length)
  if (view.getUint16(0) !== BINDING_REQUEST || view.getUint32(4) !== MAGIC_COOKIE) return undefined
  if (view.getUint16(2) !== packet.length - HEADER_BYTES) return undefined
  const unknown = requiredAttributes(view)
  if (unknown === undefined) return undefined
  const cookieAndId = packet.subarray(4, HEADER_BYTES)
  if (unknown.length > 0) return message(BINDING_ERROR, cookieAndId, refusal(unknown))
  const mapped = mappedAddress({ address, port, cookieAndId })
  return mapped && message(BINDING_SUCCESS, cookieAndId, mapped)
}

/** Types of the attributes that want to be understood, none of which we do; undefined where they do not fill the packet. */
function requiredAttributes(view: DataView): number[] | undefined {
  const found: number[] = []
  let at = HEADER_BYTES
  while (at < view.byteLength) {
    if (at + 4 > view.byteLength) return undefined
    const type = view.getUint16(at)
    if (type < OPTIONAL_FROM) found.push(type)
    at += 4 + padded(view.getUint16(at + 2))
  }
  return at === view.byteLength ? found : undefined
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 4) * 4
}

interface Mapped {
  address: string
  port: number
  /** The cookie and the transaction id, with which the address is hidden from routers that rewrite what looks like one. */
  cookieAndId: Uint8Array
}

function mappedAddress({ address, port, cookieAndId }: Mapped): Uint8Array | undefined {
  const bytes = ipBytes(address)
  if (bytes === undefined) return undefined
  const value = new Uint8Array(4 + bytes.length)
  value[1] = bytes.length === 4 ? 1 : 2
  new DataView(value.buffer).setUint16(2, port ^ (MAGIC_COOKIE >>> 16))
  for (const [at, byte] of bytes.entries()) value[4 + at] = byte ^ (cookieAndId[at] ?? 0)
  return attribute(XOR_MAPPED_ADDRESS, value)
}

function refusal(unknown: readonly number[]): Uint8Array {
  const types = Uint8Array.from(unknown.flatMap((type) => [type >> 8, type & 0xff]))
  return Buffer.concat([
    attribute(ERROR_CODE, Uint8Array.of(0, 0, ...UNKNOWN_ATTRIBUTE)),
    attribute(UNKNOWN_ATTRIBUTES, types),
  ])
}

function attribute(type: number, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + padded(value.length))
  const view = new DataView(bytes.buffer)
  view.setUint16(0, type)
  view.setUint16(2, value.length)
  bytes.set(value, 4)
  return bytes
}

function message(type: number, cookieAndId: Uint8Array, attributes: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + attributes.length)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, type)
  view.setUint16(2, attributes.length)
  bytes.set(cookieAndId, 4)
  bytes.set(attributes, HEADER_BYTES)
  return bytes
}
