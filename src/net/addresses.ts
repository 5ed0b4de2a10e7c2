/** Multiaddrs of teammates: few, fresh, each ending in /p2p/<PeerId>, loopback last. */
import { isLoopback, isPrivate } from '@libp2p/utils'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { type DeviceKey, NetError, type Path } from './net.ts'
import { deviceOfPeerText, peerOfDevice } from './peer-id.ts'

/** Each stale address costs a dialler seconds, so no more than this many are kept of a device. */
const DEVICE_ADDRESSES_COUNT_MAX = 8

/** undefined where `text` is not a multiaddr. */
function parseAddress(text: string): Multiaddr | undefined {
  try {
    return multiaddr(text)
  } catch {
    return undefined // Addresses come from peers and from people; a broken one is skipped.
  }
}

/** The device an address ends in, undefined where it ends in none. */
function deviceOfAddress(text: string): DeviceKey | undefined {
  const last = parseAddress(text)?.getComponents().at(-1)
  return last?.name === 'p2p' && last.value !== undefined ? deviceOfPeerText(last.value) : undefined
}

/** The address ending in /p2p/<PeerId of device>; undefined where it is broken or names someone else. */
function addressOf(device: DeviceKey, text: string): string | undefined {
  const address = parseAddress(text)
  const last = address?.getComponents().at(-1)
  if (address === undefined || last === undefined) return undefined
  if (last.name !== 'p2p') return address.encapsulate(`/p2p/${peerOfDevice(device).toString()}`).toString()
  return deviceOfAddress(text) === device ? address.toString() : undefined
}

/** Without what does not parse and without repetition, loopback last, else in the order given. */
export function tidyAddresses(device: DeviceKey, texts: readonly string[]): string[] {
  const addresses = [...new Set(texts.flatMap((text) => addressOf(device, text) ?? []))]
  const near = addresses.filter((text) => isLoopback(multiaddr(text)))
  const far = addresses.filter((text) => !isLoopback(multiaddr(text)))
  return [...far, ...near].slice(0, DEVICE_ADDRESSES_COUNT_MAX)
}

/** Bootstrap addresses by the device they end in. Throws NetError NET_FAILED where one ends in none. */
export function addressesByDevice(texts: readonly string[]): Map<DeviceKey, string[]> {
  const found = new Map<DeviceKey, string[]>()
  for (const text of texts) {
    const device = deviceOfAddress(text)
    if (device === undefined) {
      throw new NetError('NET_FAILED', `the bootstrap address ${text} does not end in /p2p/ and the server's key`)
    }
    found.set(device, [...(found.get(device) ?? []), text])
  }
  return found
}

/** How a connection from or to `address` runs. */
export function pathOf(address: Multiaddr): Path {
  if (address.getComponents().some((component) => component.name === 'p2p-circuit')) return 'relayed'
  return isPrivate(address) ? 'same network' : 'direct'
}

/** What is known of where the teammates are. */
export interface AddressBook {
  /** From the team list. Returns true where one of them is new. */
  given(device: DeviceKey, addresses: readonly string[]): boolean
  /** Found on the same network. Returns true where one of them is new. */
  found(device: DeviceKey, addresses: readonly string[]): boolean
  /** What the device itself says it listens on. */
  announced(device: DeviceKey, addresses: readonly string[]): void
  /** A dial to it succeeded. */
  proven(device: DeviceKey, address: string): void
  /** Everything worth a dial, best first. */
  dialable(device: DeviceKey): string[]
  /** Only what this run has seen to be true. */
  fresh(device: DeviceKey): string[]
  forget(device: DeviceKey): void
}

interface Known {
  given: readonly string[]
  found: readonly string[]
  announced: readonly string[]
  proven: readonly string[]
}

export function createAddressBook(): AddressBook {
  const book = new Map<DeviceKey, Known>()
  const known = (device: DeviceKey): Known => book.get(device) ?? { given: [], found: [], announced: [], proven: [] }
  const learn = (device: DeviceKey, source: keyof Known, addresses: readonly string[]): boolean => {
    const before = dialable(device)
    book.set(device, { ...known(device), [source]: tidyAddresses(device, addresses) })
    return dialable(device).some((address) => !before.includes(address))
  }
  function dialable(device: DeviceKey): string[] {
    const { proven, found, announced, given } = known(device)
    return tidyAddresses(device, [...proven, ...found, ...announced, ...given])
  }
  return {
    given: (device, addresses) => learn(device, 'given', addresses),
    found: (device, addresses) => learn(device, 'found', addresses),
    announced: (device, addresses) => void learn(device, 'announced', addresses),
    proven: (device, address) => void learn(device, 'proven', [address]),
    dialable,
    fresh(device) {
      const { proven, announced } = known(device)
      return tidyAddresses(device, [...proven, ...announced])
    },
    forget: (device) => void book.delete(device),
  }
}
