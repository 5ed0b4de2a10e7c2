import { MemoryLevel } from 'memory-level'
import { expect, test } from 'vitest'
import { abstractStore } from '../../src/store/abstract-store.ts'
import { StoreError, type Store } from '../../src/store/store.ts'

/** A store whose disk fails once, at the second batch. */
async function failingStore(): Promise<Store> {
  const db = new MemoryLevel<string, Uint8Array>({ keyEncoding: 'utf8', valueEncoding: 'view' })
  await db.open()
  const batch = db.batch.bind(db)
  let calls = 0
  db.batch = ((...given: Parameters<typeof batch>) =>
    ++calls === 2 ? Promise.reject(new Error('the disk failed')) : batch(...given)) as typeof db.batch
  return abstractStore(db, (cause) => new StoreError('STORE_FULL', 'full', cause))
}

test('once a batch has failed, every later one fails in the same way, also those that were waiting', async () => {
  const store = await failingStore()
  const put = (key: string): Promise<void> =>
    store.batch([{ type: 'put', space: 'meta', key, value: new Uint8Array(1) }])
  const results = await Promise.allSettled([put('first'), put('second'), put('third')])
  expect(results.map(({ status }) => status)).toStrictEqual(['fulfilled', 'rejected', 'rejected'])
  await expect(put('fourth')).rejects.toThrow(expect.objectContaining({ code: 'STORE_FULL' }))
  const found = await store.getMany('meta', ['first', 'second', 'third', 'fourth'])
  expect(found).toStrictEqual([new Uint8Array(1), undefined, undefined, undefined])
  await store.close()
})
