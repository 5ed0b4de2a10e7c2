import { mkdir } from 'node:fs/promises'
import { Level } from 'level'
import { abstractStore, type Database } from './abstract-store.ts'
import { levelError, storeError } from './level-error.ts'
import { findDamage } from './level-files.ts'
import { checkFormat } from './level-format.ts'
import { assertUnlocked, claim } from './level-lock.ts'
import type { Store } from './store.ts'

export { repairLevelStore } from './level-repair.ts'

/**
 * Opens the store in `folder`, which is made (mode 0700) where it is missing.
 *
 * @throws StoreError, of every code but STORE_CLOSED
 */
export async function openLevelStore(folder: string): Promise<Store> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const release = await claim(folder)
    try {
      const store = abstractStore(await openDatabase(folder), (cause) => levelError(cause, folder))
      return { ...store, close: () => store.close().finally(release) }
    } catch (cause) {
      release()
      throw cause
    }
  } catch (cause) {
    throw levelError(cause, folder)
  }
}

async function openDatabase(folder: string): Promise<Database> {
  const damage = await findDamage(folder)
  if (damage) {
    // The files of a database that is being written may look damaged for a moment.
    await assertUnlocked(folder)
    throw storeError('STORE_CORRUPT', folder, damage)
  }
  const db: Database = new Level<string, Uint8Array>(folder, { keyEncoding: 'utf8', valueEncoding: 'view' })
  await db.open()
  try {
    await checkFormat(db, folder)
    return db
  } catch (cause) {
    await db.close()
    throw cause
  }
}
