import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, test } from 'vitest'
import { addressesByDevice, createAddressBook, pathOf, tidyAddresses } from '../../src/net/addresses.ts'
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
      ].map((address) => pathOf(multiaddr(address))),
    ).toEqual(['same network', 'same network', 'same network', 'direct', 'direct', 'relayed'])
  })

  test('of bootstrap servers are told apart by their keys', () => {
    const own = [`/ip4/10.0.0.2/tcp/1${end}`, `/dns4/example.org/tcp/1${end}`]
    expect(addressesByDevice([...own, OTHERS])).toEqual(
      new Map([
        [device, own],
        [other, [OTHERS]],
      ]),
    )
    for (const bad of ['', 'nonsense', '/ip4/10.0.0.2/tcp/1', `${own[0] ?? ''}/p2p-circuit`]) {
      expect(() => addressesByDevice([bad])).toThrow(expect.objectContaining({ code: 'NET_FAILED' }))
    }
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
