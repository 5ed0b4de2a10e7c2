/** The libp2p node of a bootstrap server as we set it up. What each choice is against stands beside it. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { type CircuitRelayServerComponents, circuitRelayServer } from '@libp2p/circuit-relay-v2'
import { identify, identifyPush } from '@libp2p/identify'
import type { ConnectionGater, PrivateKey } from '@libp2p/interface'
import { type KadDHTComponents, kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { webSockets } from '@libp2p/websockets'
import { createLibp2p } from 'libp2p'
import type { BootstrapLimits } from './bootstrap-net.ts'
import { DHT_PROTOCOL } from './libp2p-host.ts'

/** Streams of one connection that carry circuits, from and to it. */
const CIRCUIT_STREAMS_COUNT_MAX = 1_024
const RESERVATION_TTL_MS = 2 * 60 * 60 * 1000

export interface BootstrapHostOptions {
  privateKey: PrivateKey
  listen: readonly string[]
  announce: readonly string[]
  limits: BootstrapLimits
  gater: ConnectionGater
}

export type BootstrapHost = Awaited<ReturnType<typeof createBootstrapHost>>
type Parts = Pick<CircuitRelayServerComponents, 'registrar'> & Pick<KadDHTComponents, 'datastore'>

/** Not started yet. */
export function createBootstrapHost({ privateKey, listen, announce, limits, gater }: BootstrapHostOptions) {
  return createLibp2p({
    start: false,
    privateKey,
    nodeInfo: { userAgent: 'relay-node-bootstrap/1' },
    addresses: { listen: [...listen], announce: [...announce] },
    transports: [tcp(), webSockets()],
    connectionEncrypters: [noise()],
    // A paused stream may hold 4 MiB; with the default window of 16 MiB it would be reset instead of waiting.
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 1 << 20 } })],
    connectionGater: gater,
    connectionManager: {
      // The gate counts connections first and by name. Reaching this one would make libp2p close laptops that hold a place.
      maxConnections: limits.connections * 2,
      inboundConnectionThreshold: 100, // A second and an IP; an office comes back all at once.
      maxIncomingPendingConnections: 100,
      reconnectRetries: 0,
    },
    // Laptops watch the connection themselves, more closely. This finds those that fell asleep, so that their place is free.
    connectionMonitor: { pingInterval: 60_000, pingTimeout: { minTimeout: 30_000 } },
    services: {
      identify: identify({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      identifyPush: identifyPush({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      // The monitor pings too; with the default limit of one, two at once kill the connection.
      ping: ping({ maxOutboundStreams: 8, maxInboundStreams: 16 }),
      relay: circuitRelayServer({
        maxInboundHopStreams: CIRCUIT_STREAMS_COUNT_MAX,
        maxOutboundHopStreams: CIRCUIT_STREAMS_COUNT_MAX,
        maxOutboundStopStreams: CIRCUIT_STREAMS_COUNT_MAX,
        reservations: {
          // 128 KiB and two minutes are too little for a sync. Our own quotas are counted by the hour.
          applyDefaultLimit: false,
          maxReservations: limits.reservations,
          reservationTtl: RESERVATION_TTL_MS,
        },
      }),
      dht: kadDHT({
        protocol: DHT_PROTOCOL,
        clientMode: false,
        // Private addresses are kept: a team may live on one network.
        peerInfoMapper: passthroughMapper,
        // Only addresses and provider records are kept here; public keys stand in the PeerIds themselves.
        validators: { pk: () => Promise.reject(new Error('no values are kept here')) },
      }),
      parts: ({ registrar, datastore }: Parts): Parts => ({ registrar, datastore }),
    },
  })
}
