/** Some members of the workspace as whole nodes in one process: LevelDB, libp2p over TCP. Told what to do by its parent. */
import { createLibp2pNet } from '../../src/net/libp2p-net.ts'
import type { FrameStream, Net } from '../../src/net/net.ts'
import { type Node, openNode } from '../../src/node/node.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { realSystem } from '../../src/system.ts'
import { seedOf } from '../cast.ts'
import type { MemberPlace } from './members.ts'

export type Order =
  | { do: 'start'; members: MemberPlace[] }
  | { do: 'send'; from: string; to: string; count: number }
  | { do: 'look' }
  | { do: 'stop' }

/** One node, as it is now. */
export interface Look {
  name: string
  connected: number
  /** Threads whose entries are here, those of others included. */
  threads: number
  /** Entries that somebody has not acknowledged. */
  outbox: number
  /** Frames of sync, both ways, bytes. */
  syncBytes: number
}
export interface Answer {
  looks?: Look[]
  rssBytes?: number
}

interface Running {
  place: MemberPlace
  node: Node
  net: Net
  syncBytes: number
}

const system = realSystem()
const running: Running[] = []
/** Of each: the session counts writes, and the limit for one person is not what is measured. */
let sessions = 0

function counted(stream: FrameStream, count: (bytes: number) => void): FrameStream {
  return {
    ...stream,
    async send(frame) {
      count(frame.length)
      await stream.send(frame)
    },
    async receive() {
      const frame = await stream.receive()
      count(frame?.length ?? 0)
      return frame
    },
  }
}

async function start(place: MemberPlace): Promise<void> {
  const seed = seedOf('device', place.name)
  const net = await createLibp2pNet({ seed, listen: [place.listen], lan: false, system })
  const self = { place, syncBytes: 0 } as Running
  const watched: Net = {
    ...net,
    start: (handlers) =>
      net.start({
        ...handlers,
        onSync: (stream) => handlers.onSync(counted(stream, (bytes) => (self.syncBytes += bytes))),
      }),
  }
  self.net = net
  self.node = await openNode({
    store: await openLevelStore(place.store),
    net: watched,
    system,
    seed,
    deviceName: `${place.name}-laptop`,
    version: '0.0.0',
  })
  running.push(self)
}

async function send(from: string, to: string, count: number): Promise<void> {
  const sender = running.find(({ place }) => place.name === from)
  if (!sender) throw new Error(`${from} is not here`)
  for (let i = 0; i < count; i++) {
    const text = `The answer of /users is now paginated: { items, next_cursor }. ${'Details. '.repeat(80)}`
    const message = { role: 'user' as const, parts: [{ type: 'text' as const, text }] }
    await sender.node.sendHandoff(
      { recipient: `${to}@acme`, intent: 'inform', message },
      { session: `00000000-0000-4000-8000-${String(sessions++).padStart(12, '0')}` },
    )
  }
}

function look(): Look[] {
  return running.map(({ place, node, net, syncBytes }) => ({
    name: place.name,
    connected: net.peers().filter(({ connected }) => connected).length,
    threads: node.memory().threads,
    outbox: node.memory().outbox,
    syncBytes,
  }))
}

async function obey(order: Order): Promise<Answer> {
  switch (order.do) {
    case 'start':
      for (const place of order.members) await start(place)
      return {}
    case 'send':
      await send(order.from, order.to, order.count)
      return {}
    case 'look':
      return { looks: look(), rssBytes: process.memoryUsage.rss() }
    case 'stop':
      for (const { node } of running.splice(0)) await node.stop()
      return {}
  }
}

let last = Promise.resolve()
process.on('message', (order: Order) => {
  last = last.then(async () => {
    process.send?.(await obey(order))
  })
})
process.on('disconnect', () => process.exit(0))
