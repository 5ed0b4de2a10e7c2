/**
 * A process with a store of its own: `store-child.ts <folder> open` says whether it could open it;
 * `write` writes batch after batch and prints each key once its batch is acknowledged, until it is killed.
 */
import { writeSync } from 'node:fs'
import { openLevelStore } from '../../src/store/level-store.ts'
import { StoreError, type Store } from '../../src/store/store.ts'

const [folder = '', task] = process.argv.slice(2)

async function open(): Promise<Store | undefined> {
  try {
    return await openLevelStore(folder)
  } catch (error) {
    console.log(error instanceof StoreError ? error.code : error)
    return undefined
  }
}

async function write(store: Store): Promise<never> {
  for (let number = 0; ; number++) {
    const key = `${process.pid}-${number}`
    await store.batch([
      { type: 'put', space: 'entry', key, value: new Uint8Array(500).fill(number) },
      { type: 'put', space: 'outbox', key, value: new Uint8Array(1) },
    ])
    writeSync(1, `${key}\n`)
  }
}

const store = await open()
if (store && task === 'write') await write(store)
else if (store) {
  console.log('opened')
  await store.close()
}
