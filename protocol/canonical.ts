/**
 * One value, one encoding: deterministic DAG-CBOR of null, booleans, safe integers, text, bytes,
 * arrays and maps with text keys. Tags, floats and indefinite lengths do not exist here.
 */
import * as dagCbor from '@ipld/dag-cbor'
import { CBOR_DEPTH_MAX, CBOR_MAP_KEYS_COUNT_MAX } from './limits.ts'
import { type Checked, pass, refuse, type Refused } from './refusal.ts'

export type Value = null | boolean | number | string | Uint8Array | readonly Value[] | { readonly [key: string]: Value }

/** Lower-case hex of bytes; how ids and keys are held in memory, since text compares and keys maps. */
export type Hex = string

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): Hex {
  let text = ''
  for (const byte of bytes) text += HEX[byte] ?? ''
  return text
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

/** The canonical bytes of `value`. Our own values only: throws on what the format does not have. */
export function encodeCanonical(value: Value): Uint8Array {
  return dagCbor.encode(value)
}

export interface DecodeLimits {
  readonly bytesMax: number
  readonly depthMax?: number
  readonly mapKeysMax?: number
}

/**
 * The value of `bytes`, refused unless they are its one canonical encoding. Size and shape are
 * checked before the general decoder sees the bytes: deep nesting would overflow its stack.
 */
export function decodeCanonical(bytes: Uint8Array, limits: DecodeLimits): Checked<Value> {
  if (bytes.length > limits.bytesMax) return refuse('oversize', `${bytes.length} of at most ${limits.bytesMax} bytes`)
  const shape = checkShape(bytes, limits.depthMax ?? CBOR_DEPTH_MAX, limits.mapKeysMax ?? CBOR_MAP_KEYS_COUNT_MAX)
  if (shape) return shape
  try {
    const value: Value = dagCbor.decode(bytes)
    return sameBytes(dagCbor.encode(value), bytes) ? pass(value) : refuse('not_canonical')
  } catch {
    return refuse('not_canonical')
  }
}

/** Walks the items of `bytes` without building anything, with a stack of its own. */
function checkShape(bytes: Uint8Array, depthMax: number, mapKeysMax: number): Refused | undefined {
  let at = 0
  /** Items still to come at each open level. */
  const open: number[] = [1]
  while (open.length > 0) {
    const left = open[open.length - 1] ?? 0
    if (left === 0) {
      open.pop()
      continue
    }
    open[open.length - 1] = left - 1
    const head = bytes[at++]
    if (head === undefined) return refuse('not_canonical', 'ends early')
    const major = head >> 5
    const info = head & 31
    if (major === 7) {
      if (info !== 20 && info !== 21 && info !== 22) return refuse('not_canonical', 'a float, undefined or unknown simple value')
      continue
    }
    if (major === 6) return refuse('not_canonical', 'a tag')
    let argument = info
    if (info >= 24) {
      const width = info === 24 ? 1 : info === 25 ? 2 : info === 26 ? 4 : info === 27 ? 8 : 0
      if (width === 0) return refuse('not_canonical', 'an indefinite length')
      argument = 0
      for (let i = 0; i < width; i++) {
        const byte = bytes[at++]
        if (byte === undefined) return refuse('not_canonical', 'ends early')
        argument = argument * 256 + byte
      }
      if (argument > Number.MAX_SAFE_INTEGER) return refuse('not_canonical', 'an integer beyond 2^53 - 1')
    }
    if (major === 2 || major === 3) {
      at += argument
      if (at > bytes.length) return refuse('not_canonical', 'ends early')
    } else if (major === 4 || major === 5) {
      if (major === 5 && argument > mapKeysMax) return refuse('too_many_keys', `at most ${mapKeysMax}`)
      // Every item takes at least one byte, so a count beyond the rest is a lie and must not be walked.
      if (argument > bytes.length - at) return refuse('not_canonical', 'ends early')
      if (open.length > depthMax) return refuse('too_deep', `at most ${depthMax} levels`)
      open.push(major === 5 ? argument * 2 : argument)
    }
  }
  return at === bytes.length ? undefined : refuse('not_canonical', 'bytes after the end')
}
