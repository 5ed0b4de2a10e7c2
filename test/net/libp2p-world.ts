/** Nodes on 127.0.0.1, found by address only. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createLibp2pNet, type Libp2pNetOptions } from '../../src/net/libp2p-net.ts'
import type { DeviceKey, Net } from '../../src/net/net.ts'
import { realSystem } from '../../src/system.ts'
import { seedOf, type World } from './world.ts'

export interface NodeOptions extends Partial<Libp2pNetOptions> {
  /** Addresses of bootstrap servers. */
  bootstrap?: readonly string[]
}

export interface Libp2pWorld extends World {
  makeWith(name: string, options: NodeOptions): Promise<Net>
}

export function libp2pWorld(): Libp2pWorld {
  const nets: Net[] = []
  const places = new Map<DeviceKey, string>()

  async function makeWith(name: string, { bootstrap = [], ...options }: NodeOptions): Promise<Net> {
    const plain = {
      seed: seedOf(name),
      listen: ['/ip4/127.0.0.1/tcp/0'],
      lan: false,
      system: realSystem(),
      ...options,
    }
    const listen = places.get(name)
    const net = await createLibp2pNet(listen === undefined ? plain : { ...plain, listen: [listen] })
    nets.push(net)
    net.setBootstrap(bootstrap)
    const { start } = net
    net.start = async (handlers) => {
      await start(handlers)
      const [address] = net.addresses()
      if (address !== undefined) places.set(name, address.replace(/\/p2p\/.*/, ''))
    }
    return net
  }

  return {
    makeWith,
    make: (name, system = realSystem()) => makeWith(name, { system }),
    separate: () => undefined, // They know no address of each other.
    whyNoSearch: whyNoMulticast,
    async close() {
      await Promise.all(nets.map((net) => net.stop()))
    },
  }
}

const MDNS_GROUP = '224.0.0.251'
const MDNS_PORT = 5353
const PROBE_TIMEOUT_MS = 1_000

/** Sends one packet to the group that multicast DNS uses and waits for it to come back. */
export function whyNoMulticast(): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  const timer = setTimeout(() => resolve('multicast packets do not come back on this machine'), PROBE_TIMEOUT_MS)
  socket.on('error', (error) => resolve(`multicast does not work on this machine: ${error.message}`))
  socket.on('message', () => resolve(undefined))
  socket.bind(MDNS_PORT, () => {
    socket.addMembership(MDNS_GROUP)
    // A DNS query without questions: everyone else may ignore it.
    socket.send(new Uint8Array(12), MDNS_PORT, MDNS_GROUP)
  })
  return promise.finally(() => {
    clearTimeout(timer)
    socket.close()
  })
}

/** A TCP address that leads to another, and can be held up, silenced or cut. */
export interface Detour {
  /** A multiaddr ending as `target` does. */
  address: string
  /** Connections that have arrived, let through or not. */
  arrived(): number
  /** From now on nothing passes, but nothing is closed either. */
  silence(): void
  /** Lets those through who wait. */
  open(): void
  cut(): void
  close(): Promise<void>
}

export async function detour(target: string, held = false): Promise<Detour> {
  const [, , host = '', , port = '', ...rest] = target.split('/')
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  let isHeld = held
  const server = createServer((near) => {
    const pass = (): void => {
      const far = connect(Number(port), host)
      sockets.add(far)
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.pipe(to)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
      }
    }
    sockets.add(near)
    near.on('error', () => near.destroy())
    if (isHeld) waiting.push(pass)
    else pass()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  return {
    address: ['', 'ip4', '127.0.0.1', 'tcp', (server.address() as AddressInfo).port, ...rest].join('/'),
    arrived: () => sockets.size,
    silence() {
      isHeld = true
      for (const socket of sockets) {
        socket.unpipe()
        socket
          .removeAllListeners('close')
          .removeAllListeners('error')
          .on('error', () => undefined)
        socket.pause()
      }
    },
    open() {
      isHeld = false
      for (const pass of waiting.splice(0)) pass()
    },
    cut,
    async close() {
      cut()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
