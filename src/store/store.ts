/**
 * An ordered key-value store with atomic, durable batches: the only thing the node knows of the disk.
 *
 * Keys are well-formed text, ordered by their UTF-8 bytes, and live in named spaces. Values are
 * bytes. What goes in and what comes out are copies: nobody can change a stored value in place.
 * Every method may fail with a {@link StoreError}.
 */

/** The spaces of the store. Entries, bodies, chunks, rosters, prekeys and secrets are the truth; the rest can be rebuilt from them or is local memory. */
export const SPACES = [
  'meta', // start counter, local marks
  'entry', // <thread> <arrival>: an entry exactly as received
  'body', // <entry>: a sealed body exactly as received
  'chunk', // <thread> <chunk>: a sealed chunk of an artifact exactly as received
  'roster', // <position>: roster entries as received
  'prekey', // <device>: newest prekey record
  'secret', // private halves, thread keys, workspace keys
  'thread', // <thread>: summary for listing
  'inbox', // <arrival>: threads in order of their newest arrival
  'outbox', // <device> <entry>: what that device has not acknowledged yet
  'present', // <thread> <chunk>: that this chunk is here, so that none has to be read to know
  'wanted', // <thread> <chunk>: a chunk that is not here and is to be fetched
  'carried', // <entry>: a sealed body that is kept for others
  'carrier', // <thread> <entry> <where>: who keeps an own entry for others, as far as it was observed
  'search', // the index of what this device can read: see src/node/search-rows.ts
  'receipt', // <session member> <key>: idempotency key → payload hash → result
  'peer', // <device>: last addresses, last seen
  'quarantine', // <thread>: begun by a device that was removed by then, kept apart until a person admits it
  'refused', // a small ring of refused entries, kept as proof
  'mailbox', // <mailbox> <arrival>: who left an item, how large, until when; of a bootstrap server
  'item', // <mailbox> <arrival>: the item, sealed, as it was left
] as const
export type Space = (typeof SPACES)[number]

export type Write =
  | { type: 'put'; space: Space; key: string; value: Uint8Array }
  | { type: 'del'; space: Space; key: string }

/** At most one of gt and gte, and one of lt and lte. */
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
  /**
   * All of `writes` or none, in their order; on disk (synced) when the promise resolves. Batches are
   * applied one after the other, in the order of the calls. After one has failed, it is unknown until
   * the store is opened again whether it is there; so every later batch fails in the same way.
   */
  batch(writes: readonly Write[]): Promise<void>
  /** Keys and values in key order; a snapshot as of the call. Iterate it, to its end or with a break: an untouched one holds its snapshot until close(). */
  range(space: Space, range?: Range): AsyncIterable<[key: string, value: Uint8Array]>
  /** Waits for the batches that were handed in. Whatever is called later fails with STORE_CLOSED; a second close() does nothing. */
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
