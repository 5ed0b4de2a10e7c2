import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLevelStore, repairLevelStore } from '../../src/store/level-store.ts'
import { countValues, cutTo, fileOf, fill, fillTable, overwrite, remove, temporaryFolder, VALUES } from './folder.ts'

async function contents(folder: string): Promise<Map<string, Buffer>> {
  const names = (await readdir(folder)).filter((name) => !/^(LOG|LOG\.old|LOCK)$/.test(name))
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
}

test.each([
  ['a damaged log', fill, /\.log$/, overwrite(0.5, 16), 4],
  ['a damaged table', fillTable, /\.ldb$/, overwrite(0.5, 16), 4],
  ['a table cut in half', fillTable, /\.ldb$/, cutTo(0.5), 0],
  ['a missing MANIFEST', fillTable, /^MANIFEST/, remove, VALUES.length],
  ['a missing CURRENT', fill, /^CURRENT$/, remove, VALUES.length],
  ['a missing table', fillTable, /\.ldb$/, remove, 0],
  ['a missing log', fill, /\.log$/, remove, 0],
])('repair of %s copies the folder and saves what can be read', async (_name, make, where, damage, savedMin) => {
  const folder = join(await temporaryFolder(), 'store')
  await make(folder)
  await damage(await fileOf(folder, where))
  const before = await contents(folder)

  const copy = await repairLevelStore(folder)
  expect(copy).toBe(`${folder}.damaged-1`)
  expect(await contents(copy)).toStrictEqual(before)
  expect((await stat(copy)).mode & 0o777).toBe(0o700)

  const store = await openLevelStore(folder)
  expect(await countValues(store)).toBeGreaterThanOrEqual(savedMin)
  await store.batch([{ type: 'put', space: 'entry', key: '0', value: VALUES[0] ?? new Uint8Array() }])
  await store.close()
  await (await openLevelStore(folder)).close()
})

test('repair never overwrites an earlier copy', async () => {
  const folder = join(await temporaryFolder(), 'store')
  await fill(folder)
  expect(await repairLevelStore(folder)).toBe(`${folder}.damaged-1`)
  const first = await contents(`${folder}.damaged-1`)
  expect(await repairLevelStore(folder)).toBe(`${folder}.damaged-2`)
  expect(await contents(`${folder}.damaged-1`)).toStrictEqual(first)
})

test('repair of an intact store loses nothing', async () => {
  const folder = join(await temporaryFolder(), 'store')
  await fill(folder)
  await repairLevelStore(folder)
  const store = await openLevelStore(folder)
  expect(await countValues(store)).toBe(VALUES.length)
  await store.close()
})

test('repair leaves a store alone that is open', async () => {
  const folder = join(await temporaryFolder(), 'store')
  await fill(folder)
  const store = await openLevelStore(folder)
  await expect(repairLevelStore(folder)).rejects.toThrow(expect.objectContaining({ code: 'STORE_LOCKED' }))
  expect(await countValues(store)).toBe(VALUES.length)
  await store.close()
})

test('repair of a folder that is not there makes none', async () => {
  const folder = join(await temporaryFolder(), 'store')
  await expect(repairLevelStore(folder)).rejects.toThrow(expect.objectContaining({ name: 'StoreError' }))
  await expect(stat(folder)).rejects.toThrow('ENOENT')
})
