/** A workspace of many members, each with a LevelDB store in a folder of its own, ready for real nodes. */
import { join } from 'node:path'
import { createMemoryHub } from '../../src/net/memory-net.ts'
import { foundWorkspace } from '../../src/node/found.ts'
import { openNode } from '../../src/node/node.ts'
import { putPeer } from '../../src/node/rows.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { SPACES, type Write } from '../../src/store/store.ts'
import { realSystem } from '../../src/system.ts'
import { peerIdText } from '../../protocol/index.ts'
import { actor, seedOf } from '../cast.ts'
import { createDisk, type Disk } from '../node/disk.ts'

export interface MemberPlace {
  readonly name: string
  readonly device: string
  /** Where its store lies. */
  readonly store: string
  readonly listen: string
}

/** Below those that the system gives to outgoing connections, of which there are many before all listen. */
const FIRST_PORT = 20_000

/** `count` members of acme in folders under `root`. All joined by a real invite; each knows the addresses of all. */
export async function makeMembers(count: number, root: string): Promise<MemberPlace[]> {
  const names = ['bob', ...Array.from({ length: count - 1 }, (_, i) => `member-${i + 1}`)]
  const disks = await joined(names)
  const places: MemberPlace[] = []
  for (const [i, name] of names.entries()) {
    const listen = `/ip4/127.0.0.1/tcp/${FIRST_PORT + i}`
    places.push({ name, device: actor(name).device, store: join(root, name), listen })
  }
  const peers = places.map(({ device, listen }) =>
    putPeer(device, { addresses: [`${listen}/p2p/${peerIdText(device)}`], lastSeen: 0, skew: 0 }),
  )
  for (const [i, place] of places.entries()) {
    const disk = disks[i]
    if (!disk) throw new Error('every member has a disk')
    const store = await openLevelStore(place.store)
    for (const space of SPACES) {
      if (space === 'peer') continue
      const rows = await disk.rows(space)
      await store.batch(rows.map(([key, value]): Write => ({ type: 'put', space, key, value })))
    }
    await store.batch(peers.filter(({ key }) => key !== place.device))
    await store.close()
  }
  return places
}

/** The disks of bob, who founds acme, and of whoever joins it, one after the other and over a net in memory. */
async function joined(names: readonly string[]): Promise<Disk[]> {
  const system = realSystem()
  const hub = createMemoryHub(system)
  const open = async (name: string, disk: Disk) => {
    const more = { seed: seedOf('device', name), deviceName: `${name}-laptop`, version: '0.0.0' }
    return openNode({ store: disk.open(), net: hub.net(actor(name).device, system), system, ...more })
  }
  const [owner = '', ...others] = names
  const disks = [await createDisk()]
  const [first] = disks
  if (!first) throw new Error('the owner has a disk')
  await foundWorkspace({
    store: first.open(),
    system,
    seed: seedOf('device', owner),
    member: owner,
    team: 'acme',
    deviceName: `${owner}-laptop`,
  })
  const bob = await open(owner, first)
  for (const name of others) {
    const disk = await createDisk()
    const node = await open(name, disk)
    const { code } = await bob.invite({ name, standalone: true })
    await node.join({ code })
    await node.stop()
    disks.push(disk)
  }
  await bob.stop()
  return disks
}
