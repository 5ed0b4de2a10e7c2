/** Nodes on 127.0.0.1 and bootstrap servers beside them. */
import { BOOTSTRAP_LIMITS, type BootstrapLimits, type BootstrapNet } from '../../src/net/bootstrap-net.ts'
import { createLibp2pBootstrapNet } from '../../src/net/libp2p-bootstrap-net.ts'
import type { FrameStream } from '../../src/net/net.ts'
import { realSystem } from '../../src/system.ts'
import { libp2pWorld, type Libp2pWorld, type NodeOptions } from './libp2p-world.ts'
import { type Diary, diary, seedOf } from './world.ts'

export interface ServerOptions {
  /** Where it listened before. */
  at?: readonly string[]
  limits?: Partial<BootstrapLimits>
  onMailbox?: (stream: FrameStream) => Promise<void>
}

export interface BootstrapWorld extends Libp2pWorld {
  /** A running server; the same name is the same key. */
  server(name: string, options?: ServerOptions): Promise<BootstrapNet>
  startedWith(name: string, options: NodeOptions): Promise<Diary>
}

/** What makes a node behind a router: nobody reaches it but through a relay. */
export const BEHIND_ROUTER: NodeOptions = { listen: [] }
/** The same, behind one that lets no hole be made. */
export const SHUT_IN: NodeOptions = { listen: [], holePunching: false }

export function bootstrapWorld(): BootstrapWorld {
  const world = libp2pWorld()
  const servers = new Set<BootstrapNet>()
  return {
    ...world,
    async server(name, { at, limits, onMailbox } = {}) {
      const net = await createLibp2pBootstrapNet({
        seed: seedOf(name),
        listen: at?.map((address) => address.replace(/\/p2p\/.*/, '')) ?? ['/ip4/127.0.0.1/tcp/0'],
        announce: [],
        limits: { ...BOOTSTRAP_LIMITS, ...limits },
        system: realSystem(),
      })
      await net.start({ onMailbox: onMailbox ?? (async () => undefined) })
      servers.add(net)
      return net
    },
    async startedWith(name, options) {
      const net = await world.makeWith(name, options)
      const book = diary(net)
      await net.start(book.handlers)
      return book
    },
    async close() {
      await world.close()
      await Promise.all([...servers].map((server) => server.stop()))
    },
  }
}
