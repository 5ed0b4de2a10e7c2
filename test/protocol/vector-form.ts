/** The form of a vector: what a file in protocol/vectors holds, and how bytes and values stand in JSON. */
import { fromHex, toHex, type Value } from '../../protocol/index.ts'

export type Json = null | boolean | number | string | readonly Json[] | Fields
export interface Fields {
  readonly [key: string]: Json
}

/** What is looked at, and what it is looked at with. */
export interface Exhibit {
  /** One of the checks of vector-checks.ts or vector-makes.ts. */
  readonly check: string
  readonly input: Fields
  readonly context: Fields
}

/** One file: one case. */
export interface Vector {
  /** Folder: the file of protocol/ that has the rule. */
  readonly area: string
  readonly title: string
  readonly check: string
  readonly context: Fields
  readonly input: Fields
  readonly expected: Fields
  /** Where `expected` is a refusal: the same without its one fault, which passes. What is not here is as above. */
  readonly repaired?: { readonly context?: Fields; readonly input?: Fields }
}

const RUN_BYTES_MIN = 32
const RUN = /\(([0-9a-f]{2})\*(\d+)\)/g

/** Hex, in which a long run of one byte is written as `(00*1000)`. */
export function writeHex(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at]
    let end = at + 1
    while (end < bytes.length && bytes[end] === byte) end++
    const hex = toHex(bytes.subarray(at, at + 1))
    text += end - at < RUN_BYTES_MIN ? hex.repeat(end - at) : `(${hex}*${end - at})`
    at = end
  }
  return text
}

export function readHex(text: string): Uint8Array {
  const plain = text.replaceAll(RUN, (_, byte: string, times: string) => byte.repeat(Number(times)))
  if (!/^(?:[0-9a-f]{2})*$/.test(plain)) throw new Error(`not hex: ${text.slice(0, 40)}`)
  return fromHex(plain)
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value)
}

/** A canonical value in JSON: bytes are `{"hex": text}`, maps are `{"map": [[key, value], …]}`. */
export function writeValue(value: Value): Json {
  if (value instanceof Uint8Array) return { hex: writeHex(value) }
  if (isList(value)) return value.map(writeValue)
  if (typeof value === 'object' && value !== null)
    return { map: Object.entries(value).map(([key, inner]) => [key, writeValue(inner)]) }
  return value
}

export function readValue(json: Json): Value {
  if (isList(json)) return json.map(readValue)
  if (typeof json !== 'object' || json === null) return json
  const { hex, map } = json as { readonly hex?: string; readonly map?: readonly (readonly [string, Json])[] }
  if (hex !== undefined) return readHex(hex)
  if (!map) throw new Error('a value in JSON is hex or a map')
  return Object.fromEntries(map.map(([key, inner]) => [key, readValue(inner)]))
}
