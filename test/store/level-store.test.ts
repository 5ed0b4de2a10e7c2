import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Level } from 'level'
import { describe, expect, test } from 'vitest'
import { openLevelStore } from '../../src/store/level-store.ts'
import { storeContract } from './contract.ts'
import {
  countValues,
  cutTo,
  fileOf,
  fill,
  fillTable,
  overwrite,
  remove,
  replace,
  temporaryFolder,
  VALUES,
  type Damage,
} from './folder.ts'

const child = new URL('store-child.ts', import.meta.url).pathname

/** What `toThrow` is to find: a StoreError of this code whose message says this. */
function storeError(code: string, message: string): unknown {
  return expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(message) })
}

storeContract('level store', async () => openLevelStore(join(await temporaryFolder(), 'store')))

describe('the level store', () => {
  test('makes its folder for the owner alone, and keeps what it was given', async () => {
    const folder = join(await temporaryFolder(), 'a', 'b')
    await fill(folder)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    const store = await openLevelStore(folder)
    expect(await countValues(store)).toBe(VALUES.length)
    await store.close()
  })

  test('loses nothing that was acknowledged when its process is killed at once', async () => {
    const folder = await temporaryFolder()
    for (let round = 1; round <= 5; round++) {
      const writer = spawn(process.execPath, [child, folder, 'write'], { stdio: ['ignore', 'pipe', 'inherit'] })
      const gone = once(writer, 'exit')
      let acknowledged = ''
      for await (const chunk of writer.stdout) {
        acknowledged += String(chunk)
        if (acknowledged.split('\n').length > 3 * round) writer.kill('SIGKILL')
      }
      expect(await gone).toStrictEqual([null, 'SIGKILL'])
      const keys = acknowledged.split('\n').slice(0, -1)
      expect(keys.length).toBeGreaterThanOrEqual(3 * round)

      const store = await openLevelStore(folder)
      for (const value of await store.getMany('entry', keys)) expect(value).toHaveLength(500)
      // The second write of each batch: all or none.
      for (const value of await store.getMany('outbox', keys)) expect(value).toHaveLength(1)
      await store.close()
    }
  })

  test('is for one process at a time', async () => {
    const folder = await temporaryFolder()
    const store = await openLevelStore(folder)
    const other = spawn(process.execPath, [child, folder, 'open'], { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(await text(other.stdout)).toBe('STORE_LOCKED\n')
    await store.close()
    const later = spawn(process.execPath, [child, folder, 'open'], { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(await text(later.stdout)).toBe('opened\n')
  })

  test('is for one opener at a time within a process, and the refused one does not weaken the lock', async () => {
    const folder = await temporaryFolder()
    const store = await openLevelStore(folder)
    await expect(openLevelStore(folder)).rejects.toThrow(storeError('STORE_LOCKED', 'Only one node'))
    const other = spawn(process.execPath, [child, folder, 'open'], { stdio: ['ignore', 'pipe', 'inherit'] })
    expect(await text(other.stdout)).toBe('STORE_LOCKED\n')
    await store.close()
    await (await openLevelStore(folder)).close()
  })

  test('refuses what a newer version wrote, and says so', async () => {
    const folder = await temporaryFolder()
    await fill(folder)
    await setFormat(folder, 'relay-node store 2')
    await expect(openLevelStore(folder)).rejects.toThrow(
      storeError('STORE_NEWER', 'its format is 2; this version knows 1'),
    )
  })

  test.each([undefined, 'relay-node store 0', 'junk'])(
    'takes a database with the format record %s for damaged',
    async (record) => {
      const folder = await temporaryFolder()
      await fill(folder)
      await setFormat(folder, record)
      await expect(openLevelStore(folder)).rejects.toThrow(storeError('STORE_CORRUPT', 'the record of its format'))
    },
  )

  test('says where it cannot be written', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'file')
    await writeFile(file, '')
    await expect(openLevelStore(join(file, 'store'))).rejects.toThrow(storeError('STORE_READONLY', file))
    await expect(openLevelStore(file)).rejects.toThrow(storeError('STORE_READONLY', file))
  })
})

const DAMAGES: [name: string, where: RegExp, damage: Damage][] = [
  ['a MANIFEST cut in half', /^MANIFEST/, cutTo(0.5)],
  ['an empty MANIFEST', /^MANIFEST/, cutTo(0)],
  ['an overwritten MANIFEST', /^MANIFEST/, overwrite(0.3, 8)],
  ['a missing MANIFEST', /^MANIFEST/, remove],
  ['an empty CURRENT', /^CURRENT$/, cutTo(0)],
  ['a CURRENT that is junk', /^CURRENT$/, replace('junk')],
  ['a CURRENT that names another MANIFEST', /^CURRENT$/, replace('MANIFEST-000099\n')],
  ['a missing CURRENT', /^CURRENT$/, remove],
  ['a missing log', /\.log$/, remove],
  ['a log overwritten with ones', /\.log$/, overwrite(0.5, 16)],
  ['a log overwritten with zeroes', /\.log$/, overwrite(0.5, 1600, 0)],
  ['a log with one wrong byte near its end', /\.log$/, overwrite(0.99, 1, 0x5a)],
  ['a log with a wrong byte in its first header', /\.log$/, overwrite(0, 1, 0x5a)],
]

describe('a damaged level store', () => {
  test.each(DAMAGES)('is told from %s, and not touched', async (_name, where, damage) => {
    const folder = await temporaryFolder()
    await fill(folder)
    await damage(await fileOf(folder, where))
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(openLevelStore(folder)).rejects.toThrow(storeError('STORE_CORRUPT', 'relay-node start --repair'))
    }
  })

  test.each([
    ['cut in half', cutTo(0.5)],
    ['cut near its end', cutTo(0.99)],
    ['overwritten in the middle', overwrite(0.5, 100)],
    ['with one wrong byte', overwrite(0.3, 1, 0x5a)],
  ])('is told from a table %s, when it is opened or read', async (_name, damage) => {
    const folder = await temporaryFolder()
    await fillTable(folder)
    await damage(await fileOf(folder, /\.ldb$/))
    await expect(openAndRead(folder)).rejects.toThrow(storeError('STORE_CORRUPT', 'relay-node start --repair'))
  })

  test('is told from a missing table', async () => {
    const folder = await temporaryFolder()
    await fillTable(folder)
    await remove(await fileOf(folder, /\.ldb$/))
    await expect(openLevelStore(folder)).rejects.toThrow(storeError('STORE_CORRUPT', 'relay-node start --repair'))
  })

  test('is not what a write cut short by a crash leaves: that write was never acknowledged', async () => {
    const folder = await temporaryFolder()
    await fill(folder)
    await cutTo(0.96)(await fileOf(folder, /\.log$/))
    const store = await openLevelStore(folder)
    expect(await countValues(store)).toBe(VALUES.length - 1)
    await store.close()
  })
})

async function openAndRead(folder: string): Promise<number> {
  const store = await openLevelStore(folder)
  try {
    return await countValues(store)
  } finally {
    await store.close()
  }
}

async function setFormat(folder: string, record: string | undefined): Promise<void> {
  const db = new Level(folder)
  await (record === undefined ? db.del('format') : db.put('format', record))
  await db.close()
}
