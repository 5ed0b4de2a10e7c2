/** What a peer can do that runs some other program: raw libp2p against our net. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { gossipsub } from '@libp2p/gossipsub'
import { identify } from '@libp2p/identify'
import type { Stream } from '@libp2p/interface'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { afterEach, describe, expect, test } from 'vitest'
import { FRAME_SIZE_BYTES_MAX } from '../../protocol/index.ts'
import { encodeFrame } from '../../src/net/frame.ts'
import { deviceOfKey, peerOfDevice, privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { realSystem, WALL_CLOCK } from '../../src/system.ts'
import { libp2pWorld } from './libp2p-world.ts'
import type { NetError } from '../../src/net/net.ts'
import { type Diary, netError, patience, readAll, seedOf, settled, started, until } from './world.ts'

const SYNC = '/relay/sync/1'
const JOIN = '/relay/join/1'

type Raw = Awaited<ReturnType<typeof rawPeer>>

async function rawPeer(name: string) {
  const privateKey = await privateKeyOfSeed(seedOf(name))
  const host = await createLibp2p({
    privateKey,
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), ping: ping(), gossip: gossipsub({ allowPublishToZeroTopicPeers: true }) },
  })
  return { host, device: deviceOfKey(privateKey), addresses: () => host.getMultiaddrs().map(String) }
}

describe('a peer that runs some other program', () => {
  let world = libp2pWorld()
  const raws: Raw[] = []
  afterEach(async () => {
    await Promise.all([world.close(), ...raws.splice(0).map(({ host }) => host.stop())])
    world = libp2pWorld()
  })

  async function raw(name: string): Promise<Raw> {
    const peer = await rawPeer(name)
    raws.push(peer)
    return peer
  }

  /** How the other side ended a stream of `protocol`: 'open' where it did not. */
  async function fate(peer: Raw, book: Diary, protocol: string): Promise<string> {
    const [address = ''] = book.net.addresses()
    try {
      const stream = await peer.host.dialProtocol(multiaddr(address), protocol, { signal: patience() })
      stream.send(new Uint8Array([1, 65]))
      const end = await Promise.race([closed(stream), quiet(peer, book)])
      return end
    } catch (error) {
      return error instanceof Error ? error.name : String(error)
    }
  }

  function closed(stream: Stream): Promise<string> {
    return new Promise((resolve) => stream.addEventListener('close', () => resolve('closed')))
  }

  /** A round trip on the same connection has come and gone twice, and nothing was said. */
  async function quiet(peer: Raw, book: Diary): Promise<string> {
    for (let index = 0; index < 2; index += 1)
      await peer.host.services.ping.ping(peerOfDevice(book.net.device), { signal: patience() })
    return 'open'
  }

  test('a stranger reaches join and ping, and no other protocol that we have', async () => {
    const a = await started(world, 'a')
    a.net.setJoinOpen(true)
    const stranger = await raw('stranger')
    const fates: Record<string, string> = {}
    for (const protocol of [
      JOIN,
      SYNC,
      '/meshsub/1.2.0',
      '/meshsub/1.1.0',
      '/meshsub/1.0.0',
      '/ipfs/id/1.0.0',
      '/ipfs/id/push/1.0.0',
    ])
      fates[protocol] = await fate(stranger, a, protocol)
    expect(fates[JOIN]).toBe('open')
    const rest = Object.entries(fates).filter(([protocol]) => protocol !== JOIN)
    expect(rest.map(([protocol, end]) => [protocol, end === 'open' ? 'open' : 'ended'])).toEqual(
      rest.map(([protocol]) => [protocol, 'ended']),
    )
    expect(await fate(stranger, a, '/relay-node/kad/1.0.0')).toBe('UnsupportedProtocolError')
    expect(stranger.host.services.gossip.getPeers()).toEqual([])
    expect(await stranger.host.services.ping.ping(peerOfDevice(a.net.device))).toBeGreaterThanOrEqual(0)
    expect([a.syncs.length, a.gossip.length, a.changes.length]).toEqual([0, 0, 0])
  })

  test('with joining closed a stranger does not get as far as a stream', async () => {
    const a = await started(world, 'a')
    const stranger = await raw('stranger')
    expect(await fate(stranger, a, JOIN)).not.toBe('open')
    await until(() => stranger.host.getConnections().length === 0)
    expect([a.joins.length, a.syncs.length]).toEqual([0, 0])
  })

  /** A teammate with the lower key, so that it is the one who opens the sync stream. */
  async function teammate(onSync?: Diary['onSync']): Promise<{ book: Diary; stream: Stream }> {
    const peer = await raw('LOWER')
    const book = await started(world, 'HIGHER')
    expect(peer.device < book.net.device).toBe(true)
    if (onSync !== undefined) book.onSync = onSync
    book.net.setTeam(new Map([[peer.device, []]]))
    const stream = await peer.host.dialProtocol(multiaddr(book.net.addresses()[0]), SYNC, { signal: patience() })
    await until(() => book.syncsRunning === 1)
    return { book, stream }
  }

  test('a frame that is announced too large breaks the stream, and only that', async () => {
    const ends = Promise.withResolvers<NetError>()
    const frames: Uint8Array[] = []
    const { book, stream } = await teammate(async (live) =>
      ends.resolve(await netError(readAll(live, (frame) => frames.push(frame)))),
    )
    const ended = closed(stream)
    stream.send(encodeFrame(new Uint8Array([1, 2, 3])))
    stream.send(new Uint8Array([0x81, 0x80, 0x14]))
    expect((await ends.promise).code).toBe('NET_FRAME')
    expect(await ended).toBe('closed')
    expect(frames).toEqual([new Uint8Array([1, 2, 3])])
    expect(book.net.peers()[0]?.connected).toBe(true)
  })

  test('a stream that ends inside a frame is no clean end', async () => {
    const ends = Promise.withResolvers<NetError>()
    const { stream } = await teammate(async (live) => ends.resolve(await netError(readAll(live, () => undefined))))
    stream.send(encodeFrame(new Uint8Array(100)).subarray(0, 50))
    await stream.close()
    expect((await ends.promise).code).toBe('NET_CLOSED')
  })

  test('a connection that is lost is no clean end, even between two frames', async () => {
    const ends = Promise.withResolvers<NetError>()
    const { book } = await teammate(async (live) => ends.resolve(await netError(readAll(live, () => undefined))))
    for (const connection of raws[0]?.host.getConnections() ?? []) connection.abort(new Error('test'))
    expect((await ends.promise).code).toBe('NET_CLOSED')
    await until(() => book.net.peers()[0]?.connected === false)
  })

  test('a frame that comes byte by byte in as many packets arrives', async () => {
    const { book, stream } = await teammate()
    for (const byte of encodeFrame(new Uint8Array(300).fill(6))) {
      stream.send(new Uint8Array([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => book.frames.length === 1)
    expect(book.frames).toEqual([new Uint8Array(300).fill(6)])
  })

  test('a peer that floods a reader who does not read is held back, and all of it arrives in the end', async () => {
    const reads = Promise.withResolvers<void>()
    let received = 0
    const { stream } = await teammate(async (live) => {
      await reads.promise
      await readAll(live, ({ length }) => (received += length))
    })
    const frame = encodeFrame(new Uint8Array(FRAME_SIZE_BYTES_MAX).fill(1))
    const count = 40
    let pushed = 0
    const flood = (async () => {
      for (; pushed < count; pushed += 1) {
        stream.send(frame)
        while (stream.writableNeedsDrain)
          await new Promise<void>((resolve) => stream.addEventListener('drain', () => resolve(), { once: true }))
      }
    })()
    // Half a mebibyte held, one window under way and one let in: seven frames, and one in the sender's own buffer.
    expect(await settled(() => pushed)).toBeLessThanOrEqual(8)
    reads.resolve()
    await flood
    await until(() => received === count * FRAME_SIZE_BYTES_MAX)
  })

  test('a second sync stream replaces the first, whose handler ends before the next begins', async () => {
    const { book, stream } = await teammate()
    const ended = closed(stream)
    const next = await raws[0]?.host.dialProtocol(peerOfDevice(book.net.device), SYNC, { signal: patience() })
    expect(await ended).toBe('closed')
    await until(() => book.syncs.length === 2)
    expect(book.syncsRunning).toBe(1)
    next?.send(encodeFrame(new Uint8Array([5])))
    await until(() => book.frames.length === 1)
  })

  test('a teammate that begins to gossip late is noticed', async () => {
    const every = (ms: number, run: () => void) => WALL_CLOCK.every(ms / 100, run)
    const system = { ...realSystem(), clock: { ...WALL_CLOCK, every } }
    const peer = await raw('LOWER')
    await peer.host.unhandle(peer.host.services.gossip.protocols)
    const book = await started(world, 'HIGHER', system)
    book.net.setTeam(new Map([[peer.device, peer.addresses()]]))
    await until(() => book.changes.some(({ addresses }) => addresses.length > 0))
    const opened = Promise.withResolvers<Stream>()
    await peer.host.handle('/meshsub/1.2.0', (stream) => opened.resolve(stream))
    expect((await opened.promise).protocol).toBe('/meshsub/1.2.0')
  })

  test('a peer with the higher key may not open the sync stream', async () => {
    const peer = await raw('HIGHER')
    const book = await started(world, 'LOWER')
    book.net.setTeam(new Map([[peer.device, []]]))
    expect(await fate(peer, book, SYNC)).not.toBe('open')
    expect(book.syncs).toEqual([])
  })
})
