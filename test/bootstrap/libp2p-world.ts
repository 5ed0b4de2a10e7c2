/** A bootstrap server's net on 127.0.0.1 and plain libp2p nodes that use it as laptops do. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { circuitRelayTransport, RELAY_V2_HOP_CODEC, RELAY_V2_STOP_CODEC } from '@libp2p/circuit-relay-v2'
import { identify, identifyPush } from '@libp2p/identify'
import { FaultTolerance, type Stream } from '@libp2p/interface'
import { kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { webSockets } from '@libp2p/websockets'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { onTestFinished } from 'vitest'
import { BOOTSTRAP_LIMITS, type BootstrapLimits, type BootstrapNet } from '../../src/net/bootstrap-net.ts'
import { createLibp2pBootstrapNet } from '../../src/net/libp2p-bootstrap-net.ts'
import { MAILBOX_PROTOCOL } from '../../src/net/libp2p-host.ts'
import { DHT_PROTOCOL } from '../../src/net/libp2p-host.ts'
import { frameStream } from '../../src/net/libp2p-stream.ts'
import type { FrameStream } from '../../src/net/net.ts'
import { deviceOfPeer, privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { realSystem } from '../../src/system.ts'
import { seedOf } from '../cast.ts'

export const ECHO = '/echo/1'

export interface MeetingPlace {
  net: BootstrapNet
  tcp: string
  webSocket: string
}

/** A started net, stopped after the test. */
export async function meetingPlace(limits: Partial<BootstrapLimits> = {}): Promise<MeetingPlace> {
  const net = await createLibp2pBootstrapNet({
    seed: seedOf('server'),
    listen: ['/ip4/127.0.0.1/tcp/0', '/ip4/127.0.0.1/tcp/0/ws'],
    announce: [],
    limits: { ...BOOTSTRAP_LIMITS, ...limits },
    system: realSystem(),
  })
  await net.start({ onMailbox: async () => undefined })
  onTestFinished(() => net.stop())
  const [tcp = '', webSocket = ''] = net.addresses()
  return { net, tcp, webSocket }
}

export type Guest = Awaited<ReturnType<typeof createGuest>>

/** A node that listens nowhere but, with `via`, at a place of that server. */
async function createGuest(name: string, via: string[]) {
  return createLibp2p({
    privateKey: await privateKeyOfSeed(seedOf('device', name)),
    addresses: { listen: via.map((address) => `${address}/p2p-circuit`) },
    transports: [tcp(), webSockets(), circuitRelayTransport()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 1 << 20 } })],
    transportManager: { faultTolerance: FaultTolerance.NO_FATAL },
    connectionManager: { reconnectRetries: 0 },
    services: {
      identify: identify(),
      identifyPush: identifyPush(),
      ping: ping(),
      dht: kadDHT({ protocol: DHT_PROTOCOL, clientMode: true, peerInfoMapper: passthroughMapper }),
    },
  })
}

export interface GuestAbout {
  guest: Guest
  /** Dials the server; rejects where it is refused, at once or as soon as it was let in. */
  connect(address: string): Promise<void>
  /** Addresses at the server's place, none where it gave none. */
  places(): string[]
  /** Through the server to another. */
  dial(place: string, protocol: string): Promise<Stream>
  mailbox(address: string): Promise<FrameStream>
  /** The bare circuit to `other`, as frames: without the connection that libp2p would make of it. */
  bareCircuit(address: string, other: GuestAbout): Promise<FrameStream>
  /** Asks the server at `address` for a place, however often. The status of its answer. */
  reserve(address: string): Promise<number>
  /** From now on takes circuits as they are; resolves with the first one, which is not read until it is asked for frames. */
  takeBareCircuit(): Promise<FrameStream>
}

/** A started node, stopped after the test. */
export async function guest(name: string, ...via: string[]): Promise<GuestAbout> {
  const guest = await createGuest(name, via)
  onTestFinished(() => guest.stop())
  await guest.handle(ECHO, (stream) => {
    stream.addEventListener('message', ({ data }) => void stream.send(data))
  })
  return {
    guest,
    async connect(address) {
      await guest.dial(multiaddr(address))
      // The server may think better of it once it knows who it is.
      await guest.services.ping.ping(multiaddr(address))
    },
    places: () => guest.getMultiaddrs().map(String),
    dial: (place, protocol) => guest.dialProtocol(multiaddr(place), protocol),
    mailbox: (address) => openFrames(guest, address, MAILBOX_PROTOCOL),
    async bareCircuit(address, other) {
      const frames = await openFrames(guest, address, RELAY_V2_HOP_CODEC)
      const id = other.guest.peerId.toMultihash().bytes
      const peer = Uint8Array.of(0x0a, id.length, ...id)
      await frames.send(Uint8Array.of(0x08, HOP.connect, 0x12, peer.length, ...peer))
      const status = statusOf(await frames.receive())
      if (status !== STATUS_OK) throw new Error(`the server answers ${status}`)
      return frames
    },
    async reserve(address) {
      const frames = await openFrames(guest, address, RELAY_V2_HOP_CODEC)
      await frames.send(Uint8Array.of(0x08, HOP.reserve))
      return statusOf(await frames.receive())
    },
    async takeBareCircuit() {
      const { promise, resolve, reject } = Promise.withResolvers<FrameStream>()
      await guest.unhandle(RELAY_V2_STOP_CODEC)
      await guest.handle(RELAY_V2_STOP_CODEC, (stream, connection) => {
        const frames = frameStream(stream, deviceOfPeer(connection.remotePeer) ?? '')
        frames
          .receive()
          .then(() => frames.send(Uint8Array.of(0x08, STOP_STATUS, 0x20, STATUS_OK)))
          .then(() => resolve(frames), reject)
      })
      return promise
    },
  }
}

/** Of circuit relay v2, where a field begins with its number and type: 0x08 type, 0x12 peer, 0x20 and 0x28 status. */
const HOP = { reserve: 0, connect: 1 }
const STOP_STATUS = 1
export const STATUS_OK = 100

/** The status that ends a hop message. */
function statusOf(message: Uint8Array | undefined): number {
  const [field, low = 0, high] = message?.subarray(message.lastIndexOf(0x28)) ?? []
  if (field === undefined) throw new Error('the server closed the stream')
  return high === undefined ? low : (low & 0x7f) + high * 0x80
}

async function openFrames(guest: Guest, address: string, protocol: string): Promise<FrameStream> {
  const connection = await guest.dial(multiaddr(address))
  const stream = await connection.newStream(protocol)
  return frameStream(stream, deviceOfPeer(connection.remotePeer) ?? '')
}

/** Sends `bytes` zeros, as fast as the stream takes them. Rejects where the stream ends before. */
export async function pour(stream: Stream, bytes: number): Promise<void> {
  const chunk = new Uint8Array(64 * 1024)
  for (let sent = 0; sent < bytes; sent += chunk.length) {
    stream.send(chunk.subarray(0, Math.min(chunk.length, bytes - sent)))
    while (stream.writableNeedsDrain) await drained(stream)
  }
}

function drained(stream: Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      stream.removeEventListener('drain', settle)
      stream.removeEventListener('close', settle)
      if (stream.status === 'open') resolve()
      else reject(new Error('the stream ended'))
    }
    stream.addEventListener('drain', settle)
    stream.addEventListener('close', settle)
    if (stream.status !== 'open') settle()
  })
}

/** Resolves when `bytes` have come, with all that came; rejects where the stream ends before. */
export function collect(stream: Stream, bytes: number): Promise<number> {
  let count = 0
  return new Promise((resolve, reject) => {
    stream.addEventListener('message', ({ data }) => {
      count += data.byteLength
      if (count >= bytes) resolve(count)
    })
    stream.addEventListener('close', ({ error }) => reject(error ?? new Error(`closed after ${count} bytes`)))
  })
}

/** Resolves when the stream is gone. */
export function gone(stream: Stream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.status === 'open') stream.addEventListener('close', () => resolve(), { once: true })
    else resolve()
  })
}
