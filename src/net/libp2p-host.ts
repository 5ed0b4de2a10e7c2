/** The libp2p node as we set it up. What each choice is against stands beside it. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import type { CircuitRelayTransportComponents } from '@libp2p/circuit-relay-v2'
import { gossipsub } from '@libp2p/gossipsub'
import { identify, identifyPush } from '@libp2p/identify'
import { type ConnectionGater, FaultTolerance, type PrivateKey } from '@libp2p/interface'
import type { KadDHTComponents } from '@libp2p/kad-dht'
import type { MulticastDNSComponents } from '@libp2p/mdns'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import type { UPnPNATComponents } from '@libp2p/upnp-nat'
import type { WebRTCTransportComponents } from '@libp2p/webrtc'
import type { WebSocketsComponents } from '@libp2p/websockets'
import { createLibp2p } from 'libp2p'
import { hash } from '../../protocol/index.ts'
import { GOSSIP_MESSAGE_BYTES_MAX } from './net.ts'

export const DHT_PROTOCOL = '/relay-node/kad/1.0.0'
export const MAILBOX_PROTOCOL = '/relay/mailbox/1'

export interface HostOptions {
  privateKey: PrivateKey
  listen: readonly string[]
  announce: readonly string[]
  gater: ConnectionGater
  inTopic(topic: string): boolean
  /** A listen address could not be used. libp2p itself only says so in its log. */
  onListenFailure(address: string, error: unknown): void
}

export type Host = Awaited<ReturnType<typeof createHost>>
/** What a module needs that is made after the host was, because most nodes need it late or never. */
export type Components = MulticastDNSComponents &
  CircuitRelayTransportComponents &
  Omit<KadDHTComponents, 'ping'> &
  WebRTCTransportComponents &
  WebSocketsComponents &
  UPnPNATComponents

/** Not started yet. */
export function createHost(options: HostOptions) {
  return createLibp2p({
    start: false,
    privateKey: options.privateKey,
    nodeInfo: { userAgent: 'relay-node/1' },
    addresses: { listen: [...options.listen], appendAnnounce: [...options.announce] },
    transports: [watchedTcp(options.onListenFailure)],
    connectionEncrypters: [noise()],
    // The default window of 16 MiB overflows the 4 MiB that a paused stream may hold, which resets it.
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 1 << 20 } })],
    // A laptop without a network still starts.
    transportManager: { faultTolerance: FaultTolerance.NO_FATAL },
    connectionGater: options.gater,
    connectionManager: {
      maxConnections: 128,
      inboundConnectionThreshold: 50, // A second and an IP; an office comes back all at once.
      maxIncomingPendingConnections: 32,
      maxParallelDials: 16,
      maxPeerAddrsToDial: 8,
      addressDialTimeout: 4_000,
      addressSorter: () => 0, // The address book has put them in order.
      reconnectRetries: 0, // The keeper redials, and for ever.
    },
    // Finds a dead connection within 45 s, yet does not kill a busy one for one slow ping. A ping costs 2 KiB, which
    // is most of what a connection at rest costs; whoever wakes or moves looks at once.
    connectionMonitor: { pingInterval: 30_000, pingTimeout: { minTimeout: 15_000 } },
    services: {
      // We ask for it ourselves once a connection is a teammate's, since it is what starts gossip.
      identify: identify({ runOnConnectionOpen: false, maxInboundStreams: 4, maxOutboundStreams: 4 }),
      identifyPush: identifyPush({ maxInboundStreams: 4, maxOutboundStreams: 4 }),
      // The monitor pings too; with the default limit of one, two at once kill the connection.
      ping: ping({ maxOutboundStreams: 8, maxInboundStreams: 16 }),
      gossip: gossipsub({
        floodPublish: true,
        allowPublishToZeroTopicPeers: true,
        emitSelf: false,
        fallbackToFloodsub: false,
        doPX: false,
        // A message goes to everybody at once, who are all neighbours. The mesh is for those who are cut off from its
        // author, and sync heals what both miss; a wider one only sends more copies.
        D: 4,
        Dlo: 3,
        Dhi: 6,
        Dlazy: 4,
        // Without it each copy costs the verification of a signature. Only what was verified is remembered under it.
        fastMsgIdFn: ({ from, seqno, data }) => hash('payload', [from ?? null, seqno ?? null, data ?? null]),
        maxInboundDataLength: 256 * 1024,
        // By default 14 peers behind one IP silence each other. Who misbehaves is the roster's business.
        scoreParams: { IPColocationFactorWeight: 0, behaviourPenaltyWeight: 0 },
        // `allowedTopics` is fixed for good when the node is made; this asks each time, before anything is cached.
        dataTransform: {
          inboundTransform(topic, data) {
            if (!options.inTopic(topic) || data.length > GOSSIP_MESSAGE_BYTES_MAX) throw new Error('not for us')
            return data
          },
          outboundTransform: (_topic, data) => data,
        },
      }),
      parts,
    },
  })
}

/** To be called whenever the machine's addresses may have changed: libp2p holds public ones back until strangers confirm them, and none are asked here. */
export function confirmAddresses({ services }: Host): void {
  const { addressManager } = services.parts
  for (const { multiaddr, type, verified } of addressManager.getAddressesWithMetadata())
    if (type === 'transport' && !verified)
      addressManager.confirmObservedAddr(multiaddr, { type, ttl: Number.MAX_SAFE_INTEGER })
}

function parts(components: Components): Components {
  const { peerId, privateKey, nodeInfo, logger, events, datastore, peerStore, upgrader, connectionGater } = components
  const { registrar, addressManager, transportManager, connectionManager, randomWalk } = components
  return {
    peerId,
    privateKey,
    nodeInfo,
    logger,
    events,
    datastore,
    peerStore,
    upgrader,
    connectionGater,
    registrar,
    addressManager,
    transportManager,
    connectionManager,
    randomWalk,
  }
}

/** TCP that tells why it could not listen. */
function watchedTcp(onListenFailure: HostOptions['onListenFailure']): ReturnType<typeof tcp> {
  return (components) => {
    const transport = tcp()(components)
    const createListener = transport.createListener.bind(transport)
    transport.createListener = (listenerOptions) => {
      const listener = createListener(listenerOptions)
      const listen = listener.listen.bind(listener)
      listener.listen = async (address) => {
        try {
          await listen(address)
        } catch (error) {
          onListenFailure(address.toString(), error)
          throw error
        }
      }
      return listener
    }
    return transport
  }
}
