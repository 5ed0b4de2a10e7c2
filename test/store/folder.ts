import { mkdtemp, readdir, readFile, rm, truncate, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Level } from 'level'
import { onTestFinished } from 'vitest'
import { openLevelStore } from '../../src/store/level-store.ts'
import type { Store } from '../../src/store/store.ts'

/** A new empty folder that is gone after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-node-store-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Ten keys '0' to '9' in space entry, their values as incompressible as sealed bytes are. */
export const VALUES: readonly Uint8Array[] = Array.from({ length: 10 }, (_, index) => noise(index, 2000))

function noise(seed: number, length: number): Uint8Array {
  let state = seed * 2654435761 + 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return state >>> 24
  })
}

/** A closed store in `folder` that holds VALUES, in its log. */
export async function fill(folder: string): Promise<void> {
  const store = await openLevelStore(folder)
  for (const [index, value] of VALUES.entries()) {
    await store.batch([{ type: 'put', space: 'entry', key: String(index), value }])
  }
  await store.close()
}

/** The same, in a table. */
export async function fillTable(folder: string): Promise<void> {
  await fill(folder)
  // The class behind `level` can compact; its types, made for browsers too, do not say so.
  const db = new Level(folder) as Level & { compactRange(start: string, end: string): Promise<void> }
  await db.compactRange('', '~')
  await db.close()
}

/** How many of VALUES are there. */
export async function countValues(store: Store): Promise<number> {
  let count = 0
  for await (const [key, value] of store.range('entry')) {
    if (Buffer.compare(value, VALUES[Number(key)] ?? new Uint8Array()) === 0) count++
  }
  return count
}

/** The path of the one file in `folder` whose name matches. */
export async function fileOf(folder: string, name: RegExp): Promise<string> {
  const found = (await readdir(folder)).filter((one) => name.test(one))
  const [first] = found
  if (first === undefined || found.length > 1) throw new Error(`${found.length} files match ${name}`)
  return join(folder, first)
}

export type Damage = (file: string) => Promise<void>

export const remove: Damage = unlink

export function cutTo(share: number): Damage {
  return async (file) => truncate(file, Math.floor((await readFile(file)).length * share))
}

/** Overwrites `count` bytes from `share` of the file on. */
export function overwrite(share: number, count: number, byte = 0xff): Damage {
  return async (file) => {
    const bytes = await readFile(file)
    const from = Math.floor(bytes.length * share)
    await writeFile(file, bytes.fill(byte, from, from + count))
  }
}

export function replace(text: string): Damage {
  return (file) => writeFile(file, text)
}
