import { realpath } from 'node:fs/promises'
import { Level } from 'level'
import { levelError, storeError } from './level-error.ts'

/**
 * Folders that this process has open. LevelDB's lock belongs to the process: a second open here would
 * fail and, by closing its handle on the lock file, let other processes in.
 */
const ownFolders = new Set<string>()

/** Gives the folder up again. */
export type Release = () => void

/**
 * Claims `folder`, which must exist, within this process.
 *
 * @throws StoreError STORE_LOCKED where it is claimed already
 */
export async function claim(folder: string): Promise<Release> {
  const path = await realpath(folder)
  if (ownFolders.has(path)) throw storeError('STORE_LOCKED', folder, 'this process has it open')
  ownFolders.add(path)
  return () => void ownFolders.delete(path)
}

/**
 * Throws where another process has the folder open. Asks LevelDB to open it under two conditions that
 * exclude each other: it takes the lock, finds one of them unmet and leaves, having changed nothing.
 *
 * @throws StoreError STORE_LOCKED
 */
export async function assertUnlocked(folder: string): Promise<void> {
  const db = new Level(folder, { createIfMissing: false, errorIfExists: true })
  try {
    await db.open()
  } catch (cause) {
    const error = levelError(cause, folder)
    if (error.code === 'STORE_LOCKED') throw error
    return
  }
  throw new Error('LevelDB opened what it was told not to open')
}
