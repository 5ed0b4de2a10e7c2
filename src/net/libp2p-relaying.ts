/**
 * What makes sense with a bootstrap server only: a place at its relay, ways through it, hole
 * punching, and the DHT. Loaded when the first one is named, since it takes 50 MB.
 */
import assert from 'node:assert/strict'
import { circuitRelayTransport } from '@libp2p/circuit-relay-v2'
import { type Connection, type PeerId, type PeerInfo, start, stop, type Transport } from '@libp2p/interface'
import { kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { peerIdFromMultihash } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { fromHex, hash } from '../../protocol/index.ts'
import type { Log } from '../system.ts'
import { circuitAddress, tidyAddresses } from './addresses.ts'
import { netErrorOf } from './libp2p-errors.ts'
import { DHT_PROTOCOL, type Host, webTransport } from './libp2p-host.ts'
import type { LanFind } from './lan.ts'
import type { DeviceKey } from './net.ts'
import { deviceOfPeer, peerOfDevice } from './peer-id.ts'

/** Relayed connections at once, to and from; libp2p's 32 are too few for a team. */
const RELAYED_COUNT_MAX = 256
const LOOK_UP_TIMEOUT_MS = 8_000
const PROVIDE_TIMEOUT_MS = 10_000
/** SHA-256 in the table of multihashes. */
const SHA_256_CODE = 0x12

export interface RelayingParts {
  host: Host
  log: Log
  self: DeviceKey
  /** Where the bootstrap servers answer STUN; nobody else is asked. */
  stunUrls(): string[]
  holePunching: boolean
  /** Puts handlers that were just registered behind the standing of whoever calls. */
  guard(protocols: readonly string[]): Promise<void>
  /** A place at a relay is ours no more: the connection ended, or the relay did not renew it. */
  onPlaceLost(server: DeviceKey): void
}

export interface Relaying {
  /** Takes a place at a server that is connected, so that others reach us through it. Rejects with NetError. */
  reserve(server: DeviceKey): Promise<void>
  hasPlace(server: DeviceKey): boolean
  /** Whether somebody proves to have our key where `relay` leads to us: we ourselves, or a twin. */
  answersAsUs(relay: string, signal: AbortSignal): Promise<boolean>
  /** Addresses that the bootstrap servers know; none where they know none. */
  lookUp(device: DeviceKey, signal: AbortSignal): Promise<string[]>
  /** Makes us findable under `tag`. Rejects with NetError. */
  provide(tag: string): Promise<void>
  /** Who can be found under `tag` now. */
  providers(tag: string, signal: AbortSignal): Promise<LanFind[]>
  stop(): Promise<void>
}

export async function createRelaying(parts: RelayingParts): Promise<Relaying> {
  const { host, self } = parts
  const { parts: components, ping } = host.services
  const circuit = circuitRelayTransport({
    maxInboundStopStreams: RELAYED_COUNT_MAX,
    maxOutboundStopStreams: RELAYED_COUNT_MAX,
  })(components)
  const has = (tag: string): boolean =>
    components.transportManager.getTransports().some((one) => one[Symbol.toStringTag] === tag)
  const web = (await webTransport()).map((make) => make(components))
  const transports = [
    ...web.filter((one) => !has(one[Symbol.toStringTag])), // A node that listens for them has it already.
    circuit,
    ...(parts.holePunching ? await punching(parts) : []),
  ]
  // Private addresses are kept: a team may live on one network.
  const dht = kadDHT({ protocol: DHT_PROTOCOL, clientMode: true, peerInfoMapper: passthroughMapper })({
    ...components,
    ping,
  })
  const places = placesOf(circuit)
  const before = new Set(components.registrar.getProtocols())
  for (const transport of transports) {
    await start(transport)
    components.transportManager.add(transport)
  }
  await start(dht)
  await parts.guard(components.registrar.getProtocols().filter((protocol) => !before.has(protocol)))
  places.addEventListener('relay:removed', ({ detail }) => {
    const server = deviceOfPeer(detail.relay)
    if (server !== undefined) parts.onPlaceLost(server)
  })

  return {
    async reserve(server) {
      // libp2p renews a place in time, but a place that was lost it never takes again.
      try {
        await places.addRelay(peerOfDevice(server), 'configured')
      } catch (error) {
        throw netErrorOf('get a place', error)
      }
    },
    hasPlace: (server) => places.hasReservation(peerOfDevice(server)),
    async answersAsUs(relay, signal) {
      let connection: Connection
      try {
        connection = await components.transportManager.dial(multiaddr(circuitAddress(relay, self)), { signal })
      } catch (error) {
        // libp2p refuses to go on once it has seen the proof that the other side holds our key.
        return error instanceof Error && error.name === 'InvalidPeerIdError'
      }
      connection.abort(new Error('it answers as us'))
      return true
    },
    async lookUp(device, signal) {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(LOOK_UP_TIMEOUT_MS)])
      try {
        for await (const event of dht.findPeer(peerOfDevice(device), { signal: patience, useCache: false })) {
          if (event.name === 'FINAL_PEER') return tidyAddresses(device, event.peer.multiaddrs.map(String))
        }
      } catch {
        // Not found, or no server reached: the same to a caller.
      }
      return []
    },
    async provide(tag) {
      try {
        const signal = AbortSignal.timeout(PROVIDE_TIMEOUT_MS)
        for await (const event of dht.provide(keyOf(tag), { signal })) void event
      } catch (error) {
        throw netErrorOf('be found', error)
      }
    },
    async providers(tag, signal) {
      const finds: LanFind[] = []
      try {
        for await (const event of dht.findProviders(keyOf(tag), { signal })) {
          if (event.name === 'PROVIDER') finds.push(...event.providers.flatMap(findOf))
        }
      } catch (error) {
        if (finds.length === 0) throw netErrorOf('search', error)
      }
      return finds
    },
    async stop() {
      await stop(dht)
      for (const transport of transports) await stop(transport)
    },
  }
}

/** None where its native part does not run: then all is as it is without. */
async function punching({ host, log, stunUrls }: RelayingParts): Promise<Transport[]> {
  try {
    const { webRTC } = await import('@libp2p/webrtc')
    const transport = webRTC({ rtcConfiguration: () => ({ iceServers: stunUrls().map((urls) => ({ urls })) }) })
    return [transport(host.services.parts)]
  } catch (error) {
    log.warn('no holes can be made through routers on this machine', { error: String(error) })
    return []
  }
}

/** What libp2p's relay transport holds of places, which its type does not show. */
interface Places {
  /** Takes a place, or renews it; renews it by itself from then on, as long as the connection lasts. */
  addRelay(relay: PeerId, type: 'configured'): Promise<unknown>
  hasReservation(relay: PeerId): boolean
  addEventListener(type: 'relay:removed', listener: (event: CustomEvent<{ relay: PeerId }>) => void): void
}

function placesOf(circuit: Transport): Places {
  assert('reservationStore' in circuit, 'the relay transport holds its reservations')
  return circuit.reservationStore as Places
}

function findOf({ id, multiaddrs }: PeerInfo): LanFind[] {
  const device = deviceOfPeer(id)
  return device === undefined ? [] : [{ device, addresses: tidyAddresses(device, multiaddrs.map(String)) }]
}

/** The DHT's key for `tag`. Nobody learns a tag from it. A PeerId of this kind is a hash too, which spares us to build a CID. */
function keyOf(tag: string): ReturnType<ReturnType<typeof peerIdFromMultihash>['toCID']> {
  const digest = new Uint8Array(fromHex(hash('rendezvous', [tag])))
  const bytes = Uint8Array.from([SHA_256_CODE, digest.length, ...digest])
  return peerIdFromMultihash({ code: SHA_256_CODE, size: digest.length, digest, bytes }).toCID()
}
