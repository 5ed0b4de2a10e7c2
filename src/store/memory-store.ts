import { MemoryLevel } from 'memory-level'
import { abstractStore } from './abstract-store.ts'
import { StoreError, type Store } from './store.ts'

/** A store that is gone with the process: for tests and simulations, under the same contract as the one on disk. */
export async function openMemoryStore(): Promise<Store> {
  const db = new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })
  await db.open()
  return abstractStore(
    db,
    (cause) => new StoreError('STORE_FAILED', `The memory store failed: ${String(cause)}`, cause),
  )
}
