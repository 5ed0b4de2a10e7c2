/**
 * An ordered key-value store with atomic, durable batches: the only thing the node knows of the disk.
 *
 * Keys are text, ordered by their UTF-8 bytes, and live in named spaces. Values are bytes.
 */

/** The spaces of the store. Entries, bodies, rosters, prekeys and secrets are the truth; the rest can be rebuilt from them or is local memory. */
export const SPACES = [
  'meta', // format, start counter, local marks
  'entry', // <thread> <arrival>: an entry exactly as received
  'body', // <entry>: a sealed body exactly as received
  'roster', // <position>: roster entries as received
  'prekey', // <device>: newest prekey record
  'secret', // private halves, thread keys, workspace keys
  'thread', // <thread>: summary for listing
  'inbox', // <arrival>: threads in order of their newest arrival
  'outbox', // <device> <entry>: what that device has not acknowledged yet
  'receipt', // <session member> <key>: idempotency key → payload hash → result
  'peer', // <device>: last addresses, last seen
  'refused', // a small ring of refused entries, kept as proof
] as const
export type Space = (typeof SPACES)[number]

export type Write =
  | { type: 'put'; space: Space; key: string; value: Uint8Array }
  | { type: 'del'; space: Space; key: string }

export interface Range {
  gt?: string
  gte?: string
  lt?: string
  lte?: string
  reverse?: boolean
  limit?: number
}

export interface Store {
  /** The value, or undefined where there is none. */
  get(space: Space, key: string): Promise<Uint8Array | undefined>
  getMany(space: Space, keys: readonly string[]): Promise<(Uint8Array | undefined)[]>
  /** All of `writes` or none; on disk (synced) when the promise resolves. */
  batch(writes: readonly Write[]): Promise<void>
  /** Keys and values in key order; a snapshot as of the call. */
  range(space: Space, range?: Range): AsyncIterable<[key: string, value: Uint8Array]>
  close(): Promise<void>
}

export type StoreErrorCode =
  | 'STORE_LOCKED' // another process has it open
  | 'STORE_CORRUPT' // the files are damaged
  | 'STORE_NEWER' // written by a newer format
  | 'STORE_FULL' // no space left on the disk
  | 'STORE_READONLY' // the folder cannot be written
  | 'STORE_CLOSED'
  | 'STORE_FAILED' // anything else

/** The disk failed. `message` says what to do next; `cause` is the underlying error. */
export class StoreError extends Error {
  readonly code: StoreErrorCode
  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'StoreError'
    this.code = code
  }
}
