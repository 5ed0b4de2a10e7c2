import { DURABLE, type Database } from './abstract-store.ts'
import { storeError } from './level-error.ts'

/** The layout of spaces, keys and values. One higher when this version could not read the other layout. */
const STORE_FORMAT = 1

/** Outside of all spaces, and without a checksum: a store of any later format has to be recognised by this version. */
const KEY = 'format'
const TEXT = /^relay-node store ([1-9]\d*)$/

/**
 * Writes the format into a new store, and checks it in an old one.
 *
 * @throws StoreError STORE_NEWER or STORE_CORRUPT
 */
export async function checkFormat(db: Database, folder: string): Promise<void> {
  const record = await db.get(KEY)
  if (!record) {
    if (await isEmpty(db)) return writeFormat(db)
    throw storeError('STORE_CORRUPT', folder, 'the record of its format is missing')
  }
  const format = Number(TEXT.exec(new TextDecoder().decode(record))?.[1])
  if (format > STORE_FORMAT) {
    throw storeError('STORE_NEWER', folder, `its format is ${format}; this version knows ${STORE_FORMAT}`)
  }
  if (format !== STORE_FORMAT) throw storeError('STORE_CORRUPT', folder, 'the record of its format cannot be read')
}

/** Writes the format where it is missing. */
export async function restoreFormat(db: Database): Promise<void> {
  if (!(await db.get(KEY))) await writeFormat(db)
}

async function writeFormat(db: Database): Promise<void> {
  await db.batch(
    [{ type: 'put', key: KEY, value: new TextEncoder().encode(`relay-node store ${STORE_FORMAT}`) }],
    DURABLE,
  )
}

async function isEmpty(db: Database): Promise<boolean> {
  const keys = await db.keys({ limit: 1 }).all()
  return keys.length === 0
}
