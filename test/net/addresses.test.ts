import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, test } from 'vitest'
import {
  addressesByServer,
  circuitAddress,
  createAddressBook,
  isRelayed,
  pathOf,
  placeOf,
  punchAddress,
  relayOf,
  stunUrl,
  tidyAddresses,
} from '../../src/net/addresses.ts'
import { deviceOfKey, deviceOfPeer, peerOfDevice, privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { seedOf } from './world.ts'

const device = deviceOfKey(await privateKeyOfSeed(seedOf('a')))
const other = deviceOfKey(await privateKeyOfSeed(seedOf('b')))
const end = `/p2p/${peerOfDevice(device).toString()}`
const OTHERS = `/ip4/10.0.0.9/tcp/1/p2p/${peerOfDevice(other).toString()}`

test('a device key is the key of its PeerId', () => {
  expect(deviceOfPeer(peerOfDevice(device))).toBe(device)
  expect(end).toMatch(/^\/p2p\/12D3KooW/)
})

describe('addresses', () => {
  test('are tidied: the key at the end, loopback last, nothing twice, broken or of somebody else, at most eight', () => {
    const given = [
      '/ip4/127.0.0.1/tcp/1',
      'nonsense',
      '',
      OTHERS,
      '/ip4/10.0.0.2/tcp/1',
      `/ip4/10.0.0.2/tcp/1${end}`,
      '/ip6/::1/tcp/1',
    ]
    expect(tidyAddresses(device, given)).toEqual([
      `/ip4/10.0.0.2/tcp/1${end}`,
      `/ip4/127.0.0.1/tcp/1${end}`,
      `/ip6/::1/tcp/1${end}`,
    ])
    expect(
      tidyAddresses(
        device,
        Array.from({ length: 30 }, (_, index) => `/ip4/10.0.0.2/tcp/${index + 1}`),
      ).length,
    ).toBe(8)
  })

  test('tell the path', () => {
    expect(
      [
        '/ip4/127.0.0.1/tcp/1',
        '/ip4/192.168.1.2/tcp/1',
        '/ip6/fd00::1/tcp/1',
        '/ip4/8.8.8.8/tcp/1',
        '/dns4/example.org/tcp/1',
        `/ip4/8.8.8.8/tcp/1${end}/p2p-circuit`,
        punchAddress(OTHERS, device),
        `/webrtc${end}`,
      ].map((address) => pathOf(multiaddr(address))),
    ).toEqual([
      'same network',
      'same network',
      'same network',
      'direct',
      'direct',
      'relayed',
      'hole-punched',
      'hole-punched',
    ])
  })

  test('through a relay name the relay and lead to the device', () => {
    const circuit = circuitAddress(OTHERS, device)
    expect(circuit).toBe(`${OTHERS}/p2p-circuit${end}`)
    expect([circuit, `${OTHERS}/p2p-circuit`, OTHERS, 'nonsense'].map(isRelayed)).toEqual([true, true, false, false])
    expect([circuit, `${OTHERS}/p2p-circuit`, OTHERS].map(relayOf)).toEqual([other, other, undefined])
    expect(tidyAddresses(device, [`${OTHERS}/p2p-circuit`])).toEqual([circuit])
  })

  test('tell people the place, and the server that answers STUN', () => {
    const all = [
      '/ip4/10.0.0.9/tcp/1',
      '/ip6/::1/tcp/4001/ws',
      '/dns4/relay.example/tcp/443/wss',
      'nonsense',
      '/webrtc',
    ]
    expect(all.map(placeOf)).toEqual(['10.0.0.9:1', '[::1]:4001', 'relay.example:443', 'nonsense', '/webrtc'])
    expect(all.map(stunUrl)).toEqual([
      'stun:10.0.0.9:3478',
      'stun:[::1]:3478',
      'stun:relay.example:3478',
      undefined,
      undefined,
    ])
  })

  test('of bootstrap servers are told apart by their keys, and those without a key are named', () => {
    const own = [`/ip4/10.0.0.2/tcp/1${end}`, `/dns4/example.org/tcp/1${end}`]
    const nameless = ['', 'nonsense', '/ip4/10.0.0.2/tcp/1', `${own[0] ?? ''}/p2p-circuit`]
    expect(addressesByServer([...own, ...nameless, OTHERS, OTHERS])).toEqual({
      servers: new Map([
        [device, own],
        [other, [OTHERS]],
      ]),
      nameless,
    })
  })
})

describe('the address book', () => {
  const at = (port: number): string => `/ip4/10.0.0.2/tcp/${port}${end}`

  test('offers what was proven first, then what was found, announced and given', () => {
    const book = createAddressBook()
    expect(book.given(device, [at(4)])).toBe(true)
    book.announced(device, [at(3)])
    expect(book.found(device, [at(2)])).toBe(true)
    book.proven(device, at(1))
    expect(book.dialable(device)).toEqual([at(1), at(2), at(3), at(4)])
    expect(book.fresh(device)).toEqual([at(1), at(3)])
  })

  test('keeps no way through a relay', () => {
    const book = createAddressBook()
    book.proven(device, at(1))
    book.proven(device, circuitAddress(OTHERS, device))
    book.announced(device, [at(2), circuitAddress(OTHERS, device)])
    expect(book.dialable(device)).toEqual([at(1), at(2)])
  })

  test('tells news from what it knew, and forgets', () => {
    const book = createAddressBook()
    book.given(device, [at(1)])
    expect([book.given(device, [at(1)]), book.found(device, [at(1)]), book.given(device, [at(1), at(2)])]).toEqual([
      false,
      false,
      true,
    ])
    book.forget(device)
    expect(book.dialable(device)).toEqual([])
  })
})
