import type { System } from '../system.ts'

/** A random UUID (RFC 9562, version 4): names a session, or a call that must not be done twice. */
export function uuidV4(system: Pick<System, 'dice'>): string {
  const bytes = system.dice(16)
  const hex = Array.from(bytes, (byte, index) => {
    if (index === 6) return (byte & 0x0f) | 0x40
    return index === 8 ? (byte & 0x3f) | 0x80 : byte
  })
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
