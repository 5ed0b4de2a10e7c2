/**
 * acme with bob and frank as real node processes on loopback, and room for attackers: the disks were
 * filled by real invites, so that the tests hold the keys of mallory, who is enrolled, and of carol, who is not.
 */
import { writeFileSync } from 'node:fs'
import { afterAll } from 'vitest'
import { toHex } from '../../protocol/index.ts'
import { parseListen, withFixedPort } from '../../src/cli/listen-address.ts'
import { addSettings } from '../../src/cli/settings.ts'
import { prepareHome } from '../../src/home.ts'
import type { NodeStatus } from '../../src/node/api.ts'
import { putPeer, readSecrets } from '../../src/node/rows.ts'
import { peerIdText } from '../../protocol/index.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { SPACES, type Write } from '../../src/store/store.ts'
import { actor, seedOf, type Workspace } from '../cast.ts'
import type { Disk } from '../node/disk.ts'
import { workspaceOn } from '../node/impostor.ts'
import { stoppedAcme } from '../node/world.ts'
import { happens, type NodeProcess, nodeProcess } from './crash-node.ts'
import { type HeapProbe, INSPECTED, probeHeap } from './hostile-heap.ts'

export interface HostileTeam {
  readonly bob: NodeProcess
  readonly frank: NodeProcess
  /** Looks into bob's process. */
  readonly heap: HeapProbe
  readonly workspace: Workspace
  /** What bob's disk held before he started. */
  readonly disk: Disk
  /** The workspace key of epoch 0. */
  readonly key: Uint8Array
  /** Multiaddr of bob's node. */
  readonly address: string
}

let made: Promise<HostileTeam> | undefined
const running: AsyncDisposable[] = []
afterAll(async () => {
  for (const one of running.toReversed()) await one[Symbol.asyncDispose]()
})

/** The one team of a test file, bob and frank at work and connected. To be called in a test. */
export function hostileTeam(): Promise<HostileTeam> {
  made ??= makeTeam()
  return made
}

async function makeTeam(): Promise<HostileTeam> {
  const world = await stoppedAcme('frank', 'mallory')
  const listen = await withFixedPort(parseListen('127.0.0.1:0'))
  const address = `${listen}/p2p/${peerIdText(actor('bob').device)}`
  const { disk } = world.laptop('bob')
  const bob = await placed('bob', disk, listen)
  const frank = await placed('frank', world.laptop('frank').disk, parseListen('127.0.0.1:0'), [
    putPeer(actor('bob').device, { addresses: [address], lastSeen: 0, skew: 0 }),
  ])
  for (const node of [bob, frank]) await node.start(node === bob ? INSPECTED : [])
  await happens([bob], async () => (await statusOf(bob)).reachable_peers === 1)
  const [secret] = await Array.fromAsync(readSecrets(disk.open(), 'workspace'))
  if (secret === undefined) throw new Error('bob holds the workspace key')
  return {
    bob,
    frank,
    heap: await probeHeap(bob.said()),
    workspace: await workspaceOn(disk),
    disk,
    key: secret[1],
    address,
  }
}

/** A home for the laptop that had this disk. */
async function placed(name: string, disk: Disk, listen: string, more: Write[] = []): Promise<NodeProcess> {
  const node = nodeProcess(name)
  running.push(node)
  const { home } = node.laptop
  prepareHome(home)
  writeFileSync(home.key, toHex(seedOf('device', name)), { mode: 0o600 })
  addSettings(home, { device: `${name}-laptop`, listen: [listen], lan: false })
  const store = await openLevelStore(home.store)
  for (const space of SPACES) {
    const rows = await disk.rows(space)
    await store.batch(rows.map(([key, value]): Write => ({ type: 'put', space, key, value })))
  }
  await store.batch(more)
  await store.close()
  return node
}

export async function statusOf(node: NodeProcess): Promise<NodeStatus> {
  const client = node.session()
  try {
    return await client.call('relay/status', {})
  } finally {
    client.close()
  }
}

/** The main job goes on: bob hands off, frank accepts and completes, and bob sees it. */
export async function served({ bob, frank }: HostileTeam): Promise<void> {
  const [from, to] = [bob.session(), frank.session()]
  try {
    const message = { role: 'user', parts: [{ type: 'text' as const, text: 'meanwhile' }] }
    const { thread_id } = await from.call('message/send', { recipient: 'frank@acme', intent: 'inform', message })
    await happens([frank], async () => {
      const { items } = await to.call('tasks/list', { status: ['pending'], limit: 200 })
      return items.some((item) => item.thread_id === thread_id)
    })
    await to.call('tasks/update', { thread_id, status: 'accepted' })
    await to.call('tasks/update', { thread_id, status: 'completed', result_summary: 'done' })
    await happens([bob], async () => (await from.call('tasks/get', { thread_id })).status === 'completed')
  } finally {
    from.close()
    to.close()
  }
}
