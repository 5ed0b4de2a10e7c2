/** A disk that is full or cannot be written, under a real node: one clear error, nothing lost, and all is well again afterwards. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CallRefused, type RpcClient } from '../../src/rpc/client.ts'
import { laptop } from '../cli/laptop.ts'
import { happens, type NodeProcess, nodeProcess, stoppedPair } from './crash-node.ts'

const DISK_SIZE = '24m'
const CHUNK_BYTES = 64 * 1024

/** Why no disk of our own can be made here; undefined where it can. */
function whyNoMount(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a disk of its own needs Linux and root'
  const folder = mkdtempSync(join(tmpdir(), 'relay-mount-'))
  try {
    mount(folder)
    execFileSync('umount', [folder])
    return undefined
  } catch (error) {
    return `a disk of its own cannot be mounted here: ${String(error).split('\n', 1)[0]}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'tmpfs', folder], { stdio: 'pipe' })
}

/** A small disk, gone after the test. */
function smallDisk(): string {
  const folder = mkdtempSync(join(tmpdir(), 'relay-disk-'))
  mount(folder)
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Leaves not one byte free; gives what frees them again. */
function fill(disk: string): () => void {
  const path = join(disk, 'filler')
  for (let size = CHUNK_BYTES; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
    } catch {
      // Full, or too full for so much at once.
    }
  }
  return () => rmSync(path)
}

function handOff(client: RpcClient, text: string) {
  const message = { role: 'user', parts: [{ type: 'text' as const, text }] }
  return client.call('message/send', { recipient: 'frank@acme', intent: 'inform', message })
}

/** Hands off until the node says no. */
async function untilRefused(node: NodeProcess, acknowledged: string[]): Promise<CallRefused> {
  for (;;) {
    const client = node.session()
    try {
      acknowledged.push((await handOff(client, `on a disk that fills ${'x'.repeat(2000)}`)).thread_id)
      await client.call('tasks/cancel', { thread_id: acknowledged.at(-1) ?? '' })
    } catch (error) {
      if (error instanceof CallRefused) return error
      throw error
    } finally {
      client.close()
    }
  }
}

async function threadsAt(node: NodeProcess): Promise<Set<string>> {
  const client = node.session()
  try {
    const status = ['pending', 'accepted', 'completed', 'cancelled'] as const
    const ids = new Set<string>()
    for (let cursor: string | undefined; ;) {
      const page = await client.call('tasks/list', { status: [...status], limit: 200, ...(cursor ? { cursor } : {}) })
      for (const { thread_id } of page.items) ids.add(thread_id)
      cursor = page.next_cursor
      if (cursor === undefined) return ids
    }
  } finally {
    client.close()
  }
}

test('a disk that becomes full under a running node: each write says so, reads go on, and with room and a new start all is there', async ({
  skip,
}) => {
  const why = whyNoMount()
  if (why !== undefined) skip(why)
  const disk = smallDisk()
  const [bob, frank] = await stoppedPair(laptop({ home: join(disk, 'home') }))
  await using nodes = new AsyncDisposableStack()
  for (const node of [bob, frank]) nodes.use(node)
  await bob.start()
  await frank.start()
  const acknowledged: string[] = []
  const client = bob.session()
  acknowledged.push((await handOff(client, 'before')).thread_id)

  const free = fill(disk)
  const refused = await untilRefused(bob, acknowledged)
  expect(refused).toMatchObject({ symbol: 'internal', details: { store: 'STORE_FULL' } })
  expect(refused.message).toContain('is full. Make room')
  await expect(handOff(client, 'once more')).rejects.toMatchObject({ details: { store: 'STORE_FULL' } })
  client.close()
  const sent = await bob.laptop.run('send frank --summary "from the command line"')
  expect(sent).toMatchObject({ code: 1, stdout: '' })
  expect(sent.stderr).toContain('is full. Make room')
  // What can be read is read, and doctor names the cause.
  expect(await threadsAt(bob)).toEqual(new Set(acknowledged))
  const doctor = (await bob.laptop.run('doctor --json')).json()
  expect(doctor).toMatchObject({
    ok: false,
    findings: expect.arrayContaining([
      expect.objectContaining({ check: 'store', state: 'failed', evidence: expect.stringContaining('is full') }),
    ]),
  })

  // On the full disk it stops in order, and does not start: with one error that says why.
  expect(await bob.laptop.run('stop')).toMatchObject({ code: 0 })
  const start = await bob.laptop.run('start --json')
  expect(start.code).toBe(1)
  expect(JSON.stringify(start.json())).toMatch(/full|No space is left/)

  free()
  await bob.start()
  const now = await threadsAt(bob)
  expect([...acknowledged].filter((thread) => !now.has(thread))).toEqual([])
  const again = bob.session()
  const { thread_id } = await handOff(again, 'after')
  again.close()
  await happens([frank], async () => {
    const there = await threadsAt(frank)
    return [...acknowledged, thread_id].every((thread) => there.has(thread))
  })
})

test('a store, or a whole home, that cannot be written is named, and left as it was', async ({ skip }) => {
  const why = whyNoMount()
  if (why !== undefined) skip(why)
  const disk = smallDisk()
  const home = join(disk, 'home')
  await using bob = nodeProcess('bob', laptop({ home }))
  const init = 'init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --no-start'
  expect(await bob.laptop.run(init)).toMatchObject({ code: 0 })
  const store = bob.laptop.home.store

  // The store alone.
  execFileSync('mount', ['--bind', store, store])
  execFileSync('mount', ['-o', 'remount,bind,ro', store])
  for (const args of ['start', 'start --detach', 'inbox']) {
    const ran = await bob.laptop.run(args)
    expect(ran, args).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr.trim().split('\n').length, ran.stderr).toBeLessThanOrEqual(3)
    expect(ran.stderr, args).toContain(`The folder ${store} cannot be written`)
  }
  execFileSync('umount', [store])
  await bob.start()
  await bob.stop()

  // All of it.
  execFileSync('mount', ['-o', 'remount,ro', disk])
  for (const args of ['start', 'start --detach', 'init --yes --name bob --team acme']) {
    const ran = await bob.laptop.run(args)
    expect(ran, args).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr, args).toContain('cannot be')
    expect(ran.stderr, args).not.toContain('bug')
  }
  execFileSync('mount', ['-o', 'remount,rw', disk])
  await bob.start()
  const { handle } = await bob.session().call('relay/whoami', {})
  expect(handle).toBe('bob@acme')
})
