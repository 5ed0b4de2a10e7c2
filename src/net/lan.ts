/** Devices on the same network, by multicast DNS (RFC 6762) under a service tag. */
import assert from 'node:assert/strict'
import { type PeerInfo, start, stop } from '@libp2p/interface'
import { mdns, type MulticastDNSComponents } from '@libp2p/mdns'
import { tidyAddresses } from './addresses.ts'
import type { DeviceKey } from './net.ts'
import { deviceOfPeer } from './peer-id.ts'

const TEAMMATES_SERVICE = '_relaynode._udp.local'
/** A teammate's first question is answered at once, so this only bounds how late a lost packet is made good. */
const TEAMMATES_INTERVAL_MS = 10_000
/** A person is waiting. */
const RENDEZVOUS_INTERVAL_MS = 1_000

export interface LanFind {
  device: DeviceKey
  addresses: string[]
}

/** Looks for other nodes and answers them. Returns what ends it. */
export function meetTeammates(
  components: MulticastDNSComponents,
  onFind: (find: LanFind) => void,
): Promise<() => Promise<void>> {
  return open(components, { serviceTag: TEAMMATES_SERVICE, interval: TEAMMATES_INTERVAL_MS, broadcast: true }, onFind)
}

/** Answers whoever looks for `tag`. */
export function advertiseTag(components: MulticastDNSComponents, tag: string): Promise<() => Promise<void>> {
  return open(
    components,
    { serviceTag: serviceOf(tag), interval: TEAMMATES_INTERVAL_MS, broadcast: true },
    () => undefined,
  )
}

/** Looks for `tag` without answering. */
export function findTag(
  components: MulticastDNSComponents,
  tag: string,
  onFind: (find: LanFind) => void,
): Promise<() => Promise<void>> {
  return open(components, { serviceTag: serviceOf(tag), interval: RENDEZVOUS_INTERVAL_MS, broadcast: false }, onFind)
}

function serviceOf(tag: string): string {
  assert(/^[a-z0-9-]{1,50}$/.test(tag), 'a rendezvous tag is 1 to 50 of a-z, 0-9 and -')
  return `_relay-${tag}._udp.local` // A DNS label has at most 63 characters.
}

interface Service {
  serviceTag: string
  interval: number
  broadcast: boolean
}

async function open(
  components: MulticastDNSComponents,
  service: Service,
  onFind: (find: LanFind) => void,
): Promise<() => Promise<void>> {
  const discovery = mdns(service)(components)
  discovery.addEventListener('peer', (event: CustomEvent<PeerInfo>) => {
    const device = deviceOfPeer(event.detail.id)
    if (device === undefined) return
    const addresses = tidyAddresses(device, event.detail.multiaddrs.map(String))
    if (addresses.length > 0) onFind({ device, addresses })
  })
  await start(discovery)
  return () => stop(discovery)
}
