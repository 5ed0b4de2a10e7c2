/**
 * Reads LevelDB's log format, which its write-ahead logs and its MANIFEST share: blocks of 32 KiB,
 * in them fragments of [masked CRC-32C, length, type, data] (LevelDB's doc/log_format.md).
 *
 * LevelDB reads these files too when it opens, but drops what does not check, without a word. This
 * reader tells.
 */

const BLOCK_BYTES = 32 * 1024
const HEADER_BYTES = 7

const FULL = 1
const FIRST = 2
const MIDDLE = 3
const LAST = 4

export interface LogContent {
  /** The whole records in front of the damage, or all of them. */
  records: Uint8Array[]
  /** What is wrong and where. A record that was cut short at the very end is no damage: its writer died before it could tell anyone. */
  damage?: string
}

export function readLog(bytes: Uint8Array): LogContent {
  const records: Uint8Array[] = []
  let begun: Uint8Array[] | undefined
  let at = 0
  const damaged = (what: string): LogContent => ({ records, damage: `${what} at byte ${at}` })

  for (;;) {
    const blockLeft = BLOCK_BYTES - (at % BLOCK_BYTES)
    if (blockLeft < HEADER_BYTES) {
      at += blockLeft
      continue
    }
    if (at + HEADER_BYTES > bytes.length) return { records }

    const { length, type } = headerAt(bytes, at)
    const end = at + HEADER_BYTES + length
    if (HEADER_BYTES + length > blockLeft) return damaged('a length that no record has')
    // Room that the file system gave to the file before it was written.
    if (type === 0 && length === 0)
      return bytes.subarray(at).every((byte) => byte === 0) ? { records } : damaged('a hole')
    if (end > bytes.length) return holdsFragment(bytes.subarray(at + 1)) ? damaged('a wrong length') : { records }
    if (!checks(bytes, at, length)) return damaged('a checksum mismatch')

    const data = bytes.subarray(at + HEADER_BYTES, end)
    const starts = type === FULL || type === FIRST
    if (starts === (begun !== undefined))
      return damaged(starts ? 'a record without its end' : 'a record without its start')
    if (type === FULL) records.push(data)
    else if (type === FIRST) begun = [data]
    else if (type === MIDDLE) begun?.push(data)
    else if (type === LAST) {
      records.push(new Uint8Array(Buffer.concat([...(begun ?? []), data])))
      begun = undefined
    } else return damaged('an unknown type')
    at = end
  }
}

function headerAt(bytes: Uint8Array, at: number): { checksum: number; length: number; type: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, HEADER_BYTES)
  return { checksum: view.getUint32(0, true), length: view.getUint16(4, true), type: view.getUint8(6) }
}

function checks(bytes: Uint8Array, at: number, length: number): boolean {
  const covered = bytes.subarray(at + HEADER_BYTES - 1, at + HEADER_BYTES + length)
  return headerAt(bytes, at).checksum === maskedCrc32c(covered)
}

/**
 * Whether an intact fragment lies anywhere in `bytes`. A write that was cut short is the last thing
 * in its file; where something intact follows, the length was damaged later and hides it.
 */
function holdsFragment(bytes: Uint8Array): boolean {
  for (let at = 0; at + HEADER_BYTES <= bytes.length; at++) {
    const { length, type } = headerAt(bytes, at)
    const plausible = type >= FULL && type <= LAST && at + HEADER_BYTES + length <= bytes.length
    if (plausible && checks(bytes, at, length)) return true
  }
  return false
}

/** CRC-32C, byte by byte; node:zlib has only the other polynomial. */
const CRC32C_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  return crc
})

/** LevelDB masks checksums that it stores, so that a checksum over data that holds checksums stays a good one. */
function maskedCrc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC32C_TABLE[(crc ^ byte) & 0xff] ?? 0)
  crc = ~crc >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}
