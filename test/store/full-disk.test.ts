import { spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, type TestContext } from 'vitest'
import { openLevelStore } from '../../src/store/level-store.ts'
import type { Store } from '../../src/store/store.ts'
import { temporaryFolder } from './folder.ts'

const DISK_KIB = 512
const MAKE_ROOM = 'size=4m'

/** A small disk of its own. Where none can be mounted, the test is skipped and says why. */
async function smallDisk({ skip }: TestContext): Promise<string> {
  const disk = join(await temporaryFolder(), 'disk')
  await mkdir(disk)
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_KIB}k`, 'tmpfs', disk])
  if (status !== 0) skip(`a tmpfs cannot be mounted here: ${error?.message ?? String(stderr).trim()}`)
  onTestFinished(() => void spawnSync('umount', [disk]))
  return disk
}

function remount(disk: string, option: string): void {
  expect(spawnSync('mount', ['-o', `remount,${option}`, disk]).status).toBe(0)
}

/** Writes until the disk is full. */
async function writeUntilFull(store: Store, acknowledged: string[]): Promise<void> {
  for (let number = 0; number < DISK_KIB; number++) {
    await store.batch([
      { type: 'put', space: 'entry', key: String(number), value: new Uint8Array(20_000).fill(number) },
    ])
    acknowledged.push(String(number))
  }
}

test('a full disk is named, takes nothing of what was acknowledged, and is no damage once there is room', async (context) => {
  const disk = await smallDisk(context)
  const store = await openLevelStore(join(disk, 'store'))
  const acknowledged: string[] = []
  const full: unknown = expect.objectContaining({ code: 'STORE_FULL' })
  await expect(writeUntilFull(store, acknowledged)).rejects.toThrow(full)
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(await store.get('entry', '0')).toHaveLength(20_000)

  remount(disk, MAKE_ROOM)
  await expect(store.batch([{ type: 'put', space: 'meta', key: 'a', value: new Uint8Array(1) }])).rejects.toThrow(full)
  await store.close()

  const again = await openLevelStore(join(disk, 'store'))
  for (const value of await again.getMany('entry', acknowledged)) expect(value).toHaveLength(20_000)
  await again.batch([{ type: 'put', space: 'meta', key: 'a', value: new Uint8Array(1) }])
  await again.close()
})

test('a disk that is full at the start is named', async (context) => {
  const disk = await smallDisk(context)
  const { status } = spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'ballast')}`, 'bs=4k', `count=${DISK_KIB / 4}`])
  expect(status).toBe(0)
  await expect(openLevelStore(join(disk, 'store'))).rejects.toThrow(expect.objectContaining({ code: 'STORE_FULL' }))
})

test('a disk that cannot be written is named', async (context) => {
  const disk = await smallDisk(context)
  await (await openLevelStore(join(disk, 'store'))).close()
  remount(disk, 'ro')
  for (const name of ['store', 'new']) {
    const opening = openLevelStore(join(disk, name))
    await expect(opening).rejects.toThrow(expect.objectContaining({ code: 'STORE_READONLY' }))
  }
})
