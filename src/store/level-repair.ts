import { cp, mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Level } from 'level'
import { dropDamaged, type Database } from './abstract-store.ts'
import { levelError } from './level-error.ts'
import { restoreFormat } from './level-format.ts'
import { assertUnlocked, claim } from './level-lock.ts'

/** The class behind `level` has it; its types, made for browsers too, do not say so. */
const { repair } = Level as typeof Level & { repair(folder: string): Promise<void> }

/**
 * Copies the store in `folder` in full to a folder beside it, `<folder>.damaged-<n>`, then repairs what
 * can be read. What cannot be read is missing from then on, and is in the copy only.
 *
 * @returns the path of the copy
 * @throws StoreError
 */
export async function repairLevelStore(folder: string): Promise<string> {
  try {
    const release = await claim(folder)
    try {
      await assertUnlocked(folder)
      const copy = await copyBeside(resolve(folder))
      await repair(folder)
      await settle(folder)
      return copy
    } finally {
      release()
    }
  } catch (cause) {
    throw levelError(cause, folder)
  }
}

async function copyBeside(folder: string): Promise<string> {
  const copy = await makeNumbered(`${folder}.damaged-`)
  for (const name of await readdir(folder)) await cp(join(folder, name), join(copy, name), { recursive: true })
  return copy
}

/** Makes the folder with the first free number. It holds secrets as the original does. */
async function makeNumbered(prefix: string): Promise<string> {
  for (let number = 1; ; number++) {
    try {
      await mkdir(prefix + number, { mode: 0o700 })
      return prefix + number
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    }
  }
}

/** LevelDB's repair keeps rotten values and knows nothing of our format. */
async function settle(folder: string): Promise<void> {
  const db: Database = new Level<string, Uint8Array>(folder, { keyEncoding: 'utf8', valueEncoding: 'view' })
  await db.open()
  try {
    await restoreFormat(db)
    await dropDamaged(db)
  } finally {
    await db.close()
  }
}
