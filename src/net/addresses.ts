/** Multiaddrs of teammates: few, fresh, each ending in /p2p/<PeerId>, loopback last. */
import { isLoopback, isPrivate } from '@libp2p/utils'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import type { DeviceKey, Path } from './net.ts'
import { deviceOfPeerText, peerOfDevice } from './peer-id.ts'

/** Each stale address costs a dialler seconds, so no more than this many are kept of a device. */
const DEVICE_ADDRESSES_COUNT_MAX = 8
/** The port that RFC 8489 gives to STUN. */
const STUN_PORT = 3478

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

/** Bootstrap addresses by the server they end in, and those that end in none. */
export function addressesByServer(texts: readonly string[]): { servers: Map<DeviceKey, string[]>; nameless: string[] } {
  const servers = new Map<DeviceKey, string[]>()
  const nameless: string[] = []
  for (const text of new Set(texts)) {
    const server = isRelayed(text) ? undefined : deviceOfAddress(text)
    if (server === undefined) nameless.push(text)
    else servers.set(server, [...(servers.get(server) ?? []), text])
  }
  return { servers, nameless }
}

const names = (address: Multiaddr | undefined): string[] => address?.getComponents().map(({ name }) => name) ?? []

/** Whether an address leads through a relay. */
export function isRelayed(text: string): boolean {
  return names(parseAddress(text)).includes('p2p-circuit')
}

/** How a connection from or to `address` runs. */
export function pathOf(address: Multiaddr): Path {
  const parts = names(address)
  if (parts.includes('webrtc')) return 'hole-punched' // Its signals went through a relay, which the address names too.
  if (parts.includes('p2p-circuit')) return 'relayed'
  return isPrivate(address) ? 'same network' : 'direct'
}

/** The address of `device` behind the relay at `relay`, which ends in the relay's key. */
export function circuitAddress(relay: string, device: DeviceKey): string {
  return `${relay}/p2p-circuit/p2p/${peerOfDevice(device).toString()}`
}

/** The same, for a connection whose signals alone go through the relay. */
export function punchAddress(relay: string, device: DeviceKey): string {
  return `${relay}/p2p-circuit/webrtc/p2p/${peerOfDevice(device).toString()}`
}

/** The relay that a circuit address leads through, undefined where it names none. */
export function relayOf(text: string): DeviceKey | undefined {
  return isRelayed(text) ? deviceOfAddress(text.replace(/\/p2p-circuit.*$/, '')) : undefined
}

/** Host and port that an address begins with, for people: `relay.example:443`, `[::1]:4001`. */
export function placeOf(text: string): string {
  const [host, port] = parseAddress(text)?.getComponents() ?? []
  if (host?.value === undefined || port?.value === undefined) return text
  return `${hostText(host.name, host.value)}:${port.value}`
}

/** Where the server at `text` answers questions of STUN. */
export function stunUrl(text: string): string | undefined {
  const [host] = parseAddress(text)?.getComponents() ?? []
  return host?.value === undefined ? undefined : `stun:${hostText(host.name, host.value)}:${STUN_PORT}`
}

function hostText(kind: string, host: string): string {
  return kind === 'ip6' ? `[${host}]` : host
}

/** What is known of where the teammates are. Ways through a relay are not kept: they follow from who relays. */
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
    const direct = addresses.filter((address) => !isRelayed(address))
    book.set(device, { ...known(device), [source]: tidyAddresses(device, direct) })
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
    proven: (device, address) => void (isRelayed(address) || learn(device, 'proven', [address])),
    dialable,
    fresh(device) {
      const { proven, announced } = known(device)
      return tidyAddresses(device, [...proven, ...announced])
    },
    forget: (device) => void book.delete(device),
  }
}
