/**
 * One value, one encoding: deterministic DAG-CBOR of null, booleans, safe integers, text, bytes,
 * arrays and maps with text keys. Tags, floats and indefinite lengths do not exist here.
 */
import * as dagCbor from '@ipld/dag-cbor'
import { CBOR_DEPTH_MAX, CBOR_MAP_KEYS_COUNT_MAX } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

export type Value = null | boolean | number | string | Uint8Array | readonly Value[] | { readonly [key: string]: Value }

/** Lower-case hex of bytes; how ids and keys are held in memory, since text compares and keys maps. */
export type Hex = string

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): Hex {
  // Joined: a text that was added up is kept as the tree of its parts, eight times as large, for as long as it lives.
  const pairs: string[] = []
  for (const byte of bytes) pairs.push(HEX[byte] ?? '')
  return pairs.join('')
}

/** The bytes of lower-case hex. The caller knows that it is hex. */
export function fromHex(hex: Hex): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  return bytes
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/**
 * The canonical bytes of `value`. Our own values only: what the format does not have throws, or
 * (floats) gives bytes that every peer refuses.
 */
export function encodeCanonical(value: Value): Uint8Array {
  return dagCbor.encode(value)
}

export interface DecodeLimits {
  readonly bytesMax: number
  readonly depthMax?: number
  readonly mapKeysMax?: number
}

/**
 * The value of `bytes`, refused unless they are its one canonical encoding. The general decoder is
 * not used: it overflows the stack on deep nesting, drops a byte order mark that a text begins
 * with, and knows more types than there are here.
 */
export function decodeCanonical(bytes: Uint8Array, limits: DecodeLimits): Checked<Value> {
  if (bytes.length > limits.bytesMax) return refuse('oversize', `${bytes.length} of at most ${limits.bytesMax} bytes`)
  const reader: Reader = {
    bytes,
    at: 0,
    depthMax: limits.depthMax ?? CBOR_DEPTH_MAX,
    mapKeysMax: limits.mapKeysMax ?? CBOR_MAP_KEYS_COUNT_MAX,
  }
  const value = readValue(reader, 0)
  if (!value.ok) return value
  if (reader.at !== bytes.length) return refuse('not_canonical', 'bytes after the end')
  return isEncodingOf(bytes, value.value) ? value : refuse('not_canonical')
}

/** Longer integers, unsorted or repeated keys and broken text all encode to other bytes than they came in. */
function isEncodingOf(bytes: Uint8Array, value: Value): boolean {
  try {
    return sameBytes(dagCbor.encode(value), bytes)
  } catch {
    return false
  }
}

interface Reader {
  readonly bytes: Uint8Array
  at: number
  readonly depthMax: number
  readonly mapKeysMax: number
}

const text = new TextDecoder('utf-8', { ignoreBOM: true })
const ENDS_EARLY = refuse('not_canonical', 'ends early')

/** Reads the item at `reader.at`, which lies below `depth` arrays and maps. */
function readValue(reader: Reader, depth: number): Checked<Value> {
  const head = reader.bytes[reader.at++]
  if (head === undefined) return ENDS_EARLY
  const major = head >> 5
  if (major === 7) return readSimple(head & 31)
  if (major === 6) return refuse('not_canonical', 'a tag')
  const argument = readArgument(reader, head & 31)
  if (!argument.ok) return argument
  const count = argument.value
  if (major === 0) return argument
  if (major === 1)
    return count < Number.MAX_SAFE_INTEGER ? pass(-1 - count) : refuse('not_canonical', 'an integer below -(2^53 - 1)')
  if (major === 5 && count > reader.mapKeysMax) return refuse('too_many_keys', `at most ${reader.mapKeysMax}`)
  // Every item takes at least one byte, so a count beyond the rest is a lie and must not be walked.
  if (count > reader.bytes.length - reader.at) return ENDS_EARLY
  if (major === 2 || major === 3) {
    const content = reader.bytes.subarray(reader.at, (reader.at += count))
    // Bytes are copied: what is kept must not hold the frame that it came in.
    return pass(major === 2 ? new Uint8Array(content) : text.decode(content))
  }
  if (depth >= reader.depthMax) return refuse('too_deep', `at most ${reader.depthMax} levels`)
  return major === 4 ? readArray(reader, count, depth + 1) : readMap(reader, count, depth + 1)
}

function readSimple(info: number): Checked<Value> {
  if (info === 20) return pass(false)
  if (info === 21) return pass(true)
  return info === 22 ? pass(null) : refuse('not_canonical', 'a float, undefined or unknown simple value')
}

function readArgument(reader: Reader, info: number): Checked<number> {
  if (info < 24) return pass(info)
  const width = info <= 27 ? 1 << (info - 24) : 0
  if (width === 0) return refuse('not_canonical', 'an indefinite length')
  let argument = 0
  for (let i = 0; i < width; i++) {
    const byte = reader.bytes[reader.at++]
    if (byte === undefined) return ENDS_EARLY
    argument = argument * 256 + byte
  }
  return Number.isSafeInteger(argument) ? pass(argument) : refuse('not_canonical', 'an integer beyond 2^53 - 1')
}

function readArray(reader: Reader, count: number, depth: number): Checked<Value> {
  const items: Value[] = []
  for (let i = 0; i < count; i++) {
    const item = readValue(reader, depth)
    if (!item.ok) return item
    items.push(item.value)
  }
  return pass(items)
}

function readMap(reader: Reader, count: number, depth: number): Checked<Value> {
  const entries: [string, Value][] = []
  for (let i = 0; i < count; i++) {
    const key = readValue(reader, depth)
    if (!key.ok) return key
    if (typeof key.value !== 'string') return refuse('not_canonical', 'a key that is no text')
    const value = readValue(reader, depth)
    if (!value.ok) return value
    entries.push([key.value, value.value])
  }
  return pass(Object.fromEntries(entries))
}
