import { setTimeout as pause } from 'node:timers/promises'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { until } from '../cli/laptop.ts'
import { collect, ECHO, gone, guest, type GuestAbout, meetingPlace, pour, STATUS_OK } from './libp2p-world.ts'

const MIB = 1024 * 1024

async function placeOf(host: GuestAbout): Promise<string> {
  const [place] = host.places()
  if (place === undefined) throw new Error('the server gave no place')
  return place
}

describe('a circuit', () => {
  test('carries what it has to, in both directions, over TCP and WebSocket', async () => {
    const { net, tcp, webSocket } = await meetingPlace()
    const frank = await guest('frank', tcp)
    const bob = await guest('bob')
    await bob.connect(webSocket)
    const stream = await bob.dial(await placeOf(frank), ECHO)
    const back = collect(stream, 5 * MIB)
    await pour(stream, 5 * MIB)
    expect(await back).toBe(5 * MIB)
    expect(net.facts()).toMatchObject({ connections: 2, reservations: 1, circuits: 1 })
    expect(net.facts().relayedBytes).toBeGreaterThan(10 * MIB)
    expect(Object.values(net.facts().refusals).every((count) => count === 0)).toBe(true)
    await bob.guest.stop()
    await until(() => net.facts().circuits === 0 && net.facts().relayHeldBytes === 0)
  })

  test('leads to nobody who holds no place, connected or not', async () => {
    const { net, tcp } = await meetingPlace()
    const frank = await guest('frank')
    await frank.connect(tcp)
    const bob = await guest('bob')
    await expect(bob.dial(`${tcp}/p2p-circuit/p2p/${frank.guest.peerId.toString()}`, ECHO)).rejects.toThrow(
      'NO_RESERVATION',
    )
    expect(net.facts()).toMatchObject({ circuits: 0 })
  })

  test('holds its sender back while its receiver does not read, and loses nothing', async () => {
    const { net, tcp } = await meetingPlace()
    const frank = await guest('frank', tcp)
    const bob = await guest('bob')
    const taken = frank.takeBareCircuit()
    const stream = await bob.bareCircuit(tcp, frank)
    const frame = new Uint8Array(60_000)
    let sent = 0
    const pouring = (async () => {
      for (; sent < 400; sent++) await stream.send(frame)
    })()
    await standstill(() => net.facts().relayedBytes)
    expect(net.facts().relayHeldBytes).toBeGreaterThan(0)
    expect(net.facts().relayHeldBytes).toBeLessThan(3 * MIB)
    expect(sent).toBeLessThan(200)
    const frames = await taken
    for (let received = 0; received < 400; received++) expect(await frames.receive()).toHaveLength(frame.length)
    await pouring
  })

  test('is cut where all of them together hold too much', async () => {
    const { net, tcp } = await meetingPlace({ relayHeldBytes: 200_000 })
    const frank = await guest('frank', tcp)
    const bob = await guest('bob')
    void frank.takeBareCircuit()
    const stream = await bob.bareCircuit(tcp, frank)
    const pouring = async (): Promise<void> => {
      for (;;) await stream.send(new Uint8Array(60_000))
    }
    await expect(pouring()).rejects.toThrow()
    expect(net.facts().refusals.relay_held).toBe(1)
    await until(() => net.facts().circuits === 0)
    expect(net.facts().relayHeldBytes).toBe(0)
  })

  test('is cut where its sender has used up its hour', async () => {
    const { net, tcp } = await meetingPlace({ relayedBytesPerHour: 2 * MIB })
    const frank = await guest('frank', tcp)
    const bob = await guest('bob')
    const stream = await bob.dial(await placeOf(frank), ECHO)
    await expect(pour(stream, 8 * MIB)).rejects.toThrow()
    await gone(stream)
    expect(net.facts().refusals.relayed_bytes).toBeGreaterThan(0)
    expect(net.facts().relayedBytes).toBeLessThan(6 * MIB)
  })

  test('too many at once, or too many requests, are refused', async () => {
    const { net, tcp } = await meetingPlace({ circuitsPerPeer: 1, relayRequestsPerMinute: 4 })
    const hosts = [await guest('frank', tcp), await guest('alice', tcp)]
    const places = await Promise.all(hosts.map(placeOf))
    const bob = await guest('bob')
    await bob.dial(places[0] ?? '', ECHO)
    await expect(bob.dial(places[1] ?? '', ECHO)).rejects.toThrow('PERMISSION_DENIED')
    expect(net.facts().refusals).toMatchObject({ circuits_per_peer: 1, relay_requests: 0 })
    for (let more = 0; more < 3; more++) await expect(bob.dial(places[1] ?? '', ECHO)).rejects.toThrow()
    expect(net.facts().refusals).toMatchObject({ circuits_per_peer: 3, relay_requests: 1 })
  })
})

describe('a place', () => {
  test('is given to so many, and to so many of one source; whoever holds one may renew it', async () => {
    for (const [limits, why] of [
      [{ reservations: 1 }, 'reservations'],
      [{ reservationsPerSource: 1 }, 'reservations_per_source'],
    ] as const) {
      const { net, tcp } = await meetingPlace(limits)
      const frank = await guest('frank', tcp)
      const bob = await guest('bob', tcp)
      expect(await placeOf(frank)).toContain('/p2p-circuit')
      expect(bob.places()).toEqual([])
      expect(net.facts().refusals[why]).toBeGreaterThan(0)
      expect(await frank.reserve(tcp)).toBe(STATUS_OK)
      expect(await bob.reserve(tcp)).not.toBe(STATUS_OK)
      expect(net.facts()).toMatchObject({ reservations: 1 })
    }
  })

  test('is free as soon as its holder has gone, and the same holder gets it again', async () => {
    const { net, tcp } = await meetingPlace({ reservations: 1 })
    const frank = await guest('frank', tcp)
    await frank.guest.stop()
    await until(() => net.facts().reservations === 0)
    const again = await guest('frank', tcp)
    expect(await placeOf(again)).toContain('/p2p-circuit')
  })
})

describe('connections', () => {
  test.each(['connections', 'connections_per_source'] as const)('beyond the limit are refused: %s', async (why) => {
    const { net, tcp } = await meetingPlace(why === 'connections' ? { connections: 2 } : { connectionsPerSource: 2 })
    const first = await guest('frank')
    await first.connect(tcp)
    await (await guest('alice')).connect(tcp)
    const bob = await guest('bob')
    await expect(bob.connect(tcp)).rejects.toThrow()
    expect(net.facts().refusals[why]).toBe(1)
    await first.guest.stop()
    await until(() => net.facts().connections === 1)
    await bob.connect(tcp)
  })

  test('of one peer are counted, whatever it dials', async () => {
    const { net, tcp, webSocket } = await meetingPlace({ connectionsPerPeer: 1 })
    const one = await guest('frank')
    const same = await guest('frank')
    await one.connect(tcp)
    await expect(same.connect(webSocket)).rejects.toThrow()
    expect(net.facts().refusals.connections_per_peer).toBe(1)
  })
})

describe('the DHT', () => {
  test('tells where a connected laptop is, and forgets who has left', async () => {
    const { net, tcp } = await meetingPlace()
    const frank = await guest('frank', tcp)
    const bob = await guest('bob')
    await bob.connect(tcp)
    const find = (): Promise<string[]> =>
      bob.guest.peerRouting.findPeer(frank.guest.peerId, { useCache: false, signal: AbortSignal.timeout(10_000) }).then(
        ({ multiaddrs }) => multiaddrs.map(String),
        () => [],
      )
    await until(async () => (await find()).some((address) => address.includes('/p2p-circuit')))
    await frank.guest.stop()
    await until(() => net.facts().connections === 1)
    await until(async () => (await find()).length === 0)
  })

  test.each([
    ['dht_records', 'so many records of all', { dhtRecords: 3 }],
    ['dht_bytes', 'so many questions of one peer', { dhtBytesPerMinute: 2_000 }],
  ] as const)('takes %s: %s', async (why, _, limits) => {
    const { net, tcp } = await meetingPlace(limits)
    const bob = await guest('bob', tcp)
    expect(bob.places()).not.toEqual([]) // Whoever has no address provides nothing.
    for (let count = 0; net.facts().refusals[why] === 0; count++) {
      const providing = bob.guest.contentRouting.provide(await contentOf(String(count)), {
        signal: AbortSignal.timeout(10_000),
      })
      await providing.catch(() => undefined)
    }
  })
})

/** Resolves once `count` has stopped moving for a while. On a slow machine that may be early, which makes a test less strict and no less true. */
async function standstill(count: () => number): Promise<void> {
  let last = -1
  for (let same = 0; same < 20;) {
    await pause(10)
    same = count() === last ? same + 1 : 0
    last = count()
  }
}

/** The CID of a text: version 1, raw, SHA-256. */
async function contentOf(text: string): Promise<CID> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return CID.decode(Uint8Array.of(0x01, 0x55, 0x12, 0x20, ...digest))
}
