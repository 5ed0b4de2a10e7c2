/** Many laptops in one process: `crowd-child.ts ADDRESS COUNT INDEX`. Says 'ready' to its parent once all have a place at the server and their mailbox open. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { circuitRelayTransport } from '@libp2p/circuit-relay-v2'
import { identify, identifyPush } from '@libp2p/identify'
import { kadDHT, passthroughMapper } from '@libp2p/kad-dht'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { encodeMailbox, mailboxWriteKey, parseMailbox, signingKey, signOpen } from '../../protocol/index.ts'
import { DHT_PROTOCOL, MAILBOX_PROTOCOL } from '../../src/net/libp2p-host.ts'
import { frameStream } from '../../src/net/libp2p-stream.ts'
import { deviceOfPeer, privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { actor, seedOf } from '../cast.ts'

const [address = '', count = '0', index = '0'] = process.argv.slice(2)
/** Handshakes are work for both sides: so many at once. */
const AT_ONCE = 5
/** A busy machine must not fail a measurement. */
const PATIENCE_MS = 120_000

/** As laptops are set up, but for gossip, which a bootstrap server has no part in. */
async function startLaptop(name: string): Promise<void> {
  const { device } = actor(name)
  const host = await createLibp2p({
    privateKey: await privateKeyOfSeed(seedOf('device', name)),
    addresses: { listen: [`${address}/p2p-circuit`] },
    transports: [tcp(), circuitRelayTransport({ reservationCompletionTimeout: PATIENCE_MS })],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux({ streamOptions: { maxStreamWindowSize: 1 << 20 } })],
    connectionMonitor: { pingInterval: 30_000, pingTimeout: { minTimeout: 15_000 } },
    connectionManager: { dialTimeout: PATIENCE_MS, addressDialTimeout: PATIENCE_MS, reconnectRetries: 0 },
    services: {
      identify: identify(),
      identifyPush: identifyPush(),
      ping: ping({ maxOutboundStreams: 8, maxInboundStreams: 16 }),
      dht: kadDHT({ protocol: DHT_PROTOCOL, clientMode: true, peerInfoMapper: passthroughMapper }),
    },
  })
  const connection = await host.dial(multiaddr(address))
  const server = deviceOfPeer(connection.remotePeer) ?? ''
  const stream = frameStream(await connection.newStream(MAILBOX_PROTOCOL), server)
  const welcome = parseMailbox((await stream.receive()) ?? new Uint8Array())
  if (!welcome.ok || welcome.value.t !== 'welcome') throw new Error('no mailbox')
  const { nonce } = welcome.value
  const writer = mailboxWriteKey(seedOf('workspace key'), 0, device).public
  await stream.send(encodeMailbox(signOpen({ key: signingKey(seedOf('mailbox', name)), writer, nonce, server })))
  await stream.receive()
  if (host.getMultiaddrs().length === 0) throw new Error('no place')
}

const names = Array.from({ length: Number(count) }, (_, number) => `laptop ${index} ${number}`)
while (names.length > 0) await Promise.all(names.splice(0, AT_ONCE).map(startLaptop))
process.send?.('ready')
