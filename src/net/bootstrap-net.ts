/**
 * What a bootstrap server knows of the network: laptops connect, hold a place so that others reach
 * them through it, find each other's addresses, and open mailboxes. It dials nobody, and it sees
 * who connects to whom and how much passes, never what.
 */
import type { DeviceKey, FrameStream } from './net.ts'

/** What the server gives to its net. Called by the net, never before start(). */
export interface BootstrapHandlers {
  /** Somebody opened /relay/mailbox/1. The stream is closed when the promise settles. */
  onMailbox(stream: FrameStream): Promise<void>
}

/** Quotas. A source is an IPv4 address or a /64 of IPv6: an office behind one router is one source. */
export interface BootstrapLimits {
  connections: number
  connectionsPerSource: number
  connectionsPerPeer: number
  reservations: number
  reservationsPerSource: number
  /** Open circuits that one peer dialled. */
  circuitsPerPeer: number
  /** Requests for a place or a circuit. */
  relayRequestsPerMinute: number
  relayedBytesPerHour: number
  /** Bytes of questions to the DHT. */
  dhtBytesPerMinute: number
  /** Provider records of the DHT that are kept, of everybody together. */
  dhtRecords: number
  /** What all circuits together may hold for receivers that are slower than their senders. */
  relayHeldBytes: number
}

export const BOOTSTRAP_LIMITS: BootstrapLimits = {
  connections: 2_000,
  connectionsPerSource: 256,
  connectionsPerPeer: 8,
  reservations: 1_024,
  reservationsPerSource: 128,
  circuitsPerPeer: 128,
  relayRequestsPerMinute: 240,
  relayedBytesPerHour: 2 * 1024 ** 3,
  dhtBytesPerMinute: 64 * 1024,
  dhtRecords: 10_000,
  relayHeldBytes: 128 * 1024 ** 2,
}

/** Why a bootstrap server's net turned somebody away: the limit that was reached, or what it is not for. */
export const BOOTSTRAP_REFUSALS = [
  'connections',
  'connections_per_source',
  'connections_per_peer',
  'key_type', // not an Ed25519 key, which every device has
  'reservations',
  'reservations_per_source',
  'circuits_per_peer',
  'relay_requests',
  'relayed_bytes',
  'relay_held',
  'dht_bytes',
  'dht_records',
] as const
export type BootstrapRefusal = (typeof BOOTSTRAP_REFUSALS)[number]

/** How things stand. Counts that only grow begin with the process. */
export interface BootstrapFacts {
  connections: number
  reservations: number
  circuits: number
  relayedBytes: number
  /** What circuits hold for slow receivers now. */
  relayHeldBytes: number
  refusals: Readonly<Record<BootstrapRefusal, number>>
}

export interface BootstrapNet {
  readonly device: DeviceKey
  /** Rejects with NetError NET_ADDRESS_IN_USE or NET_FAILED where it cannot listen. */
  start(handlers: BootstrapHandlers): Promise<void>
  stop(): Promise<void>
  /** Multiaddrs by which laptops reach this server, each ending in /p2p/<PeerId>. */
  addresses(): string[]
  facts(): BootstrapFacts
}
