/**
 * What lies in the space `search`: the index of what this device can read, made from the entries and
 * worth nothing without them.
 *
 *     form          → [version, device, generation, number of terms]
 *     term/<chunk>  → so many terms, in order of their numbers
 *     doc/<thread>  → generation and postings
 *
 * A change to a thread deletes its row in the batch of the change. So whatever is missing has to be
 * indexed, and nothing else: after a crash, a repair, or a damaged row.
 */
import { decodeCanonical, encodeCanonical, type Hex, type Value } from '../../protocol/index.ts'
import { type Store, StoreError, type Write } from '../store/store.ts'

/** Counts up whenever terms are made or kept in another way. */
const INDEX_VERSION = 1
export const CHUNK_TERMS_COUNT = 1024
const CHUNK_DIGITS = 6
const FORM_BOUNDS = { bytesMax: 256, depthMax: 2, mapKeysMax: 0 }
const READ_AT_ONCE_COUNT = 256

export interface IndexForm {
  /** Numbers of terms mean something within one generation only. */
  readonly generation: number
  readonly termsCount: number
}

export function putForm(device: Hex, { generation, termsCount }: IndexForm): Write {
  const value = encodeCanonical([INDEX_VERSION, device, generation, termsCount])
  return { type: 'put', space: 'search', key: 'form', value }
}

/** The form of the index that is kept, if it is this device's and of this version. */
export async function getForm(store: Store, device: Hex): Promise<IndexForm | undefined> {
  const [value] = await readable(store, ['form'])
  if (!value) return undefined
  const decoded = decodeCanonical(value, FORM_BOUNDS)
  const row: Value = decoded.ok ? decoded.value : null
  if (!Array.isArray(row)) return undefined
  const [version, of, generation, termsCount] = row as Value[]
  if (version !== INDEX_VERSION || of !== device) return undefined
  return typeof generation === 'number' && typeof termsCount === 'number' ? { generation, termsCount } : undefined
}

/** `terms` are all of the chunk that begins with number `first`. */
export function putTerms(first: number, terms: readonly string[]): Write {
  return { type: 'put', space: 'search', key: chunkKey(first), value: new TextEncoder().encode(terms.join('\n')) }
}

/** All terms in order of their numbers, chunk by chunk. Ends early where one is missing. */
export async function* readTerms(store: Store, { termsCount }: IndexForm): AsyncGenerator<string[]> {
  for (let first = 0; first < termsCount; first += CHUNK_TERMS_COUNT) {
    const [value] = await readable(store, [chunkKey(first)])
    if (!value) return
    const terms = new TextDecoder().decode(value).split('\n')
    yield terms.slice(0, termsCount - first)
  }
}

function chunkKey(first: number): string {
  return `term/${String(Math.floor(first / CHUNK_TERMS_COUNT)).padStart(CHUNK_DIGITS, '0')}`
}

export function putDoc(thread: Hex, generation: number, postings: Uint32Array): Write {
  const row = new Uint32Array(1 + postings.length)
  row[0] = generation
  row.set(postings, 1)
  return { type: 'put', space: 'search', key: docKey(thread), value: new Uint8Array(row.buffer) }
}

export function dropDoc(thread: Hex): Write {
  return { type: 'del', space: 'search', key: docKey(thread) }
}

/** Postings of those threads that have any of the generation. */
export async function* readDocs(
  store: Store,
  generation: number,
  threads: readonly Hex[],
): AsyncGenerator<[thread: Hex, postings: Uint32Array]> {
  for (let from = 0; from < threads.length; from += READ_AT_ONCE_COUNT) {
    const some = threads.slice(from, from + READ_AT_ONCE_COUNT)
    const values = await readable(store, some.map(docKey))
    // One block of memory for all of them: many small ones are slow to clear away.
    const rows = new Uint32Array(values.reduce((sum, value) => sum + wholeNumbers(value), 0))
    const bytes = new Uint8Array(rows.buffer)
    let first = 0
    for (const [i, thread] of some.entries()) {
      const value = values[i]
      const length = wholeNumbers(value)
      if (!value || length === 0) continue
      bytes.set(value, first * Uint32Array.BYTES_PER_ELEMENT)
      if (rows[first] === generation) yield [thread, rows.subarray(first + 1, first + length)]
      first += length
    }
  }
}

/** How many numbers a row is made of; 0 where it is none. */
function wholeNumbers(value: Uint8Array | undefined): number {
  const count = (value?.length ?? 0) / Uint32Array.BYTES_PER_ELEMENT
  return Number.isInteger(count) ? count : 0
}

function docKey(thread: Hex): string {
  return `doc/${thread}`
}

/** A row that does not check. What else can go wrong with a disk goes wrong with all of it. */
export function isDamage(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === 'STORE_CORRUPT'
}

/** The values; a damaged one counts as missing, since it will be made anew. */
async function readable(store: Store, keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
  try {
    return await store.getMany('search', keys)
  } catch (error) {
    if (!isDamage(error)) throw error
    if (keys.length === 1) return [undefined]
  }
  const values: (Uint8Array | undefined)[] = []
  for (const key of keys) values.push(...(await readable(store, [key])))
  return values
}
