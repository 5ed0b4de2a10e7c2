/** IP addresses: their bytes, and the network of one that counts as one source. */
import { isIPv4, isIPv6 } from 'node:net'

/** 4 or 16 bytes; an IPv4 address in IPv6 clothes gives 4. undefined where `text` is no IP address. */
export function ipBytes(text: string): Uint8Array | undefined {
  const [plain = ''] = text.split('%') // A zone says which interface, and no more.
  if (isIPv4(plain)) return Uint8Array.from(plain.split('.').map(Number))
  if (!isIPv6(plain)) return undefined
  const bytes = sixBytes(plain)
  return MAPPED.every((byte, at) => bytes[at] === byte) ? bytes.slice(MAPPED.length) : bytes
}

/** The beginning of ::ffff:0:0/96, where IPv4 addresses stand on a socket for both. RFC 4291, 2.5.5.2. */
const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

function sixBytes(text: string): Uint8Array {
  const [before = [], after = []] = text.split('::').map(groupsOf)
  const bytes = new Uint8Array(16)
  bytes.set(before)
  bytes.set(after, 16 - after.length)
  return bytes
}

/** The bytes of groups between colons; the last may be written like IPv4. */
function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

/**
 * What counts as one source: an IPv4 address, or an IPv6 network of 64 bits, since whoever has one
 * address of such a network has them all. Text that is no address is a source of its own.
 */
export function sourceOf(address: string): string {
  const bytes = ipBytes(address)
  if (bytes === undefined) return address
  return Buffer.from(bytes.length === 4 ? bytes : bytes.subarray(0, 8)).toString('hex')
}
