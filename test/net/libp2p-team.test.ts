/** Finding teammates, and many of them. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { identify } from '@libp2p/identify'
import { kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { createLibp2p } from 'libp2p'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { DHT_PROTOCOL } from '../../src/net/libp2p-host.ts'
import { privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { libp2pWorld, whyNoMulticast } from './libp2p-world.ts'
import { connectedTeam, diary, type Diary, seedOf, until, WAIT_MS } from './world.ts'

describe('a team over libp2p', () => {
  let world = libp2pWorld()
  const ends: (() => unknown)[] = []
  afterEach(async () => {
    await world.close()
    await Promise.all(ends.splice(0).map((end) => end()))
    world = libp2pWorld()
  })

  async function bootstrapServer() {
    const server = await createLibp2p({
      privateKey: await privateKeyOfSeed(seedOf('server')),
      addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
      transports: [tcp()],
      connectionEncrypters: [noise()],
      streamMuxers: [yamux()],
      services: {
        identify: identify(),
        ping: ping(),
        dht: kadDHT({ protocol: DHT_PROTOCOL, clientMode: false, peerInfoMapper: passthroughMapper }),
      },
    })
    ends.push(() => server.stop())
    return server
  }

  async function startedWith(name: string, options: Parameters<typeof world.makeWith>[1]): Promise<Diary> {
    const net = await world.makeWith(name, options)
    const book = diary(net)
    await net.start(book.handlers)
    return book
  }

  test('fifteen nodes behind one IP hear each other', async () => {
    const names = Array.from({ length: 15 }, (_, index) => `n${index}`)
    const books = await connectedTeam(world, ...names)
    for (const { net } of books) net.setTopics(['topic'])
    const texts = names.map((name) => `news of ${name}`)
    // Each says it until all have heard it: gossip may be lost while so many connections are made at once.
    const unheard = (text: string): boolean =>
      books.filter(({ gossip }) => gossip.some((one) => one.text === text)).length < 14
    await vi.waitFor(
      async () => {
        const again = books.filter((_, index) => unheard(texts[index] ?? ''))
        await Promise.all(
          again.map(({ net }) =>
            net.publish('topic', Buffer.from(texts[books.findIndex((book) => book.net === net)] ?? '')),
          ),
        )
        if (again.length > 0) throw new Error('not all heard')
      },
      { timeout: WAIT_MS, interval: 200 },
    )
    for (const [index, { gossip }] of books.entries()) {
      expect(new Set(gossip.map(({ text }) => text))).toEqual(new Set(texts.filter((_, at) => at !== index)))
    }
  })

  test('a teammate without a known address is found through a bootstrap server, and so is one that moved', async () => {
    const server = await bootstrapServer()
    const bootstrap = server.getMultiaddrs().map(String)
    const a = await startedWith('a', { bootstrap })
    const b = await startedWith('b', { bootstrap })
    await until(() => server.getPeers().length === 2)
    b.net.setTeam(new Map([[a.net.device, []]]))
    a.net.setTeam(new Map([[b.net.device, ['/ip4/127.0.0.1/tcp/1']]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    expect(a.changes.every(({ device }) => device === b.net.device)).toBe(true)
    expect(a.net.peers().map(({ device }) => device)).toEqual([b.net.device])
  })

  test('a bootstrap server that becomes a teammate, and is none any more, stays connected in its turn', async () => {
    const b = await startedWith('b', {})
    const bootstrap = b.net.addresses()
    const a = await startedWith('a', { bootstrap })
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => b.net.peers()[0]?.connected === true)
    expect([a.changes.length, a.syncs.length, b.syncs.length]).toEqual([0, 0, 0])
    a.net.setTeam(new Map([[b.net.device, []]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    expect(a.changes[0]).toMatchObject({ device: b.net.device, connected: true })
    a.net.setTeam(new Map())
    await until(() => b.changes.at(-1)?.connected === false)
    await until(() => b.net.peers()[0]?.connected === true)
  })

  test('the bootstrap server may be gone: who is connected stays so, and who has addresses connects', async () => {
    const server = await bootstrapServer()
    const bootstrap = server.getMultiaddrs().map(String)
    await server.stop()
    const a = await startedWith('a', { bootstrap })
    const b = await startedWith('b', { bootstrap })
    a.net.setTeam(new Map([[b.net.device, b.net.addresses()]]))
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
  })

  test('teammates on one network find each other without an address', async ({ skip }) => {
    const why = await whyNoMulticast()
    if (why !== undefined) {
      console.warn(`not tested: ${why}`)
      skip(why)
    }
    const a = await startedWith('a', { lan: true })
    const b = await startedWith('b', { lan: true })
    a.net.setTeam(new Map([[b.net.device, []]]))
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    expect(a.net.peers()).toMatchObject([{ connected: true, path: 'same network' }])
  })

  test('another machine with our key on the same network is noticed', async ({ skip }) => {
    const why = await whyNoMulticast()
    if (why !== undefined) {
      console.warn(`not tested: ${why}`)
      skip(why)
    }
    const a = await startedWith('a', { lan: true })
    const b = await startedWith('b', { lan: true })
    a.net.setTeam(new Map([[b.net.device, []]]))
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => a.syncsRunning === 1)
    expect(a.net.twin()).toBeUndefined()
    const net = await world.makeWith('a', { lan: true, listen: ['/ip4/127.0.0.1/tcp/0'] })
    await net.start(diary(net).handlers)
    await until(() => net.twin()?.startsWith('another machine runs with this key: it is on this network, at ') === true)
  })
})
