import { crc32 } from 'node:zlib'
import type {
  AbstractBatchOperation,
  AbstractBatchOptions,
  AbstractIterator,
  AbstractLevel,
  AbstractSublevel,
} from 'abstract-level'
import { SPACES, StoreError, type Range, type Space, type Store, type Write } from './store.ts'

/** Text keys, byte values: what both kinds of store are made of. */
export type Database = AbstractLevel<string | Buffer | Uint8Array, string, Uint8Array>
type Sublevel = AbstractSublevel<Database, string | Buffer | Uint8Array, string, Uint8Array>
type Entries = AbstractIterator<Sublevel, string, Uint8Array>
type Operation = AbstractBatchOperation<Database, string, Uint8Array>

/** The code that LevelDB's own findings of damage carry; ours carry the same. */
export const CORRUPTION = 'LEVEL_CORRUPTION'

/** LevelDB syncs its log before a batch with `sync` resolves. A memory store takes no notice. */
export const DURABLE: AbstractBatchOptions<string, Uint8Array> & { sync: true } = { sync: true }

const CLOSED_CODES = new Set(['LEVEL_DATABASE_NOT_OPEN', 'LEVEL_ITERATOR_NOT_OPEN'])
const CHECKSUM_BYTES = 4
const ENCODINGS = { keyEncoding: 'utf8', valueEncoding: 'view' } as const

/** A store over an open database; `fail` names what the database throws. */
export function abstractStore(db: Database, fail: (cause: unknown) => StoreError): Store {
  const sublevels = new Map<Space, Sublevel>(
    SPACES.map((space) => [space, db.sublevel<string, Uint8Array>(space, ENCODINGS)]),
  )
  let closing: Promise<void> | undefined
  let lastBatch: Promise<void> = Promise.resolve()
  let failure: StoreError | undefined

  function sublevel(space: Space): Sublevel {
    const found = sublevels.get(space)
    if (!found) throw new Error(`no such space: ${space}`)
    return found
  }

  function assertOpen(): void {
    if (closing) throw closed()
  }

  function named(cause: unknown): StoreError {
    if (cause instanceof StoreError) return cause
    return isClosed(cause) ? closed(cause) : fail(cause)
  }

  function toOperation(write: Write): Operation {
    const { space, key } = write
    // A lone surrogate has no UTF-8 form: two different keys would silently become one.
    if (!key.isWellFormed()) throw new Error(`a key of space ${space} is not well-formed text`)
    const place = { key, sublevel: sublevel(space), ...ENCODINGS }
    return write.type === 'put'
      ? { type: 'put', ...place, value: sealed(space, key, write.value) }
      : { type: 'del', ...place }
  }

  async function apply(operations: Operation[]): Promise<void> {
    // LevelDB may have written a part of the failed batch. What it appended behind that part would
    // be acknowledged now and lost when its log is read again.
    if (failure) throw new StoreError(failure.code, failure.message, failure)
    try {
      await db.batch(operations, DURABLE)
    } catch (cause) {
      failure = named(cause)
      throw failure
    }
  }

  async function* entries(space: Space, iterator: Entries): AsyncGenerator<[string, Uint8Array]> {
    try {
      for await (const [key, value] of iterator) yield [key, unsealed(space, key, value)]
    } catch (cause) {
      throw named(cause)
    }
  }

  return {
    async get(space, key) {
      assertOpen()
      try {
        const value = await sublevel(space).get(key)
        return value && unsealed(space, key, value)
      } catch (cause) {
        throw named(cause)
      }
    },

    async getMany(space, keys) {
      assertOpen()
      try {
        const values = await sublevel(space).getMany([...keys])
        return keys.map((key, index) => {
          const value = values[index]
          return value && unsealed(space, key, value)
        })
      } catch (cause) {
        throw named(cause)
      }
    },

    async batch(writes) {
      assertOpen()
      const operations = writes.map(toOperation)
      const batch = lastBatch.then(() => apply(operations))
      lastBatch = batch.catch(() => undefined)
      await batch
    },

    range(space, range: Range = {}) {
      assertOpen()
      try {
        // Made now, not at the first step: the iterator is what holds the snapshot.
        return entries(space, sublevel(space).iterator(range))
      } catch (cause) {
        throw named(cause)
      }
    },

    close() {
      closing ??= lastBatch
        .then(() => db.close())
        .catch((cause: unknown) => {
          throw named(cause)
        })
      return closing
    },
  }
}

/** Deletes every value that does not check, for good. */
export async function dropDamaged(db: Database): Promise<void> {
  for (const space of SPACES) {
    const sublevel = db.sublevel<string, Uint8Array>(space, ENCODINGS)
    for await (const [key, value] of sublevel.iterator()) {
      if (!isIntact(space, key, value)) await sublevel.del(key)
    }
  }
}

/**
 * LevelDB does not check its own checksums when it reads, and classic-level has no option for it: a
 * rotten byte in a table would come back as data. So each value carries a CRC-32 of its space, its
 * key and itself in front.
 */
function sealed(space: Space, key: string, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(CHECKSUM_BYTES + value.length)
  bytes.set(value, CHECKSUM_BYTES)
  new DataView(bytes.buffer).setUint32(0, checksum(space, key, value))
  return bytes
}

function unsealed(space: Space, key: string, bytes: Uint8Array): Uint8Array {
  if (!isIntact(space, key, bytes)) {
    throw Object.assign(new Error(`checksum mismatch in space ${space}`), { code: CORRUPTION })
  }
  return new Uint8Array(bytes.subarray(CHECKSUM_BYTES))
}

function isIntact(space: Space, key: string, bytes: Uint8Array): boolean {
  if (bytes.length < CHECKSUM_BYTES) return false
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
  return stored === checksum(space, key, bytes.subarray(CHECKSUM_BYTES))
}

function checksum(space: Space, key: string, value: Uint8Array): number {
  return crc32(value, crc32(`${space}\0${key}`))
}

function isClosed(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && CLOSED_CODES.has(String(cause.code))
}

function closed(cause?: unknown): StoreError {
  return new StoreError('STORE_CLOSED', 'The store is closed.', cause)
}
