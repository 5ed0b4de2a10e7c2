/** The bootstrap server's net on libp2p: relay, DHT and mailbox streams, each behind its quota. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { RELAY_V2_HOP_CODEC, RELAY_V2_STOP_CODEC } from '@libp2p/circuit-relay-v2'
import type { Connection, MultiaddrConnection, PeerId, Stream } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import { sourceOf } from '../ip-address.ts'
import type { System } from '../system.ts'
import { createBootstrapGate } from './bootstrap-gate.ts'
import type { BootstrapHandlers, BootstrapLimits, BootstrapNet } from './bootstrap-net.ts'
import { type BootstrapHost, createBootstrapHost } from './libp2p-bootstrap-host.ts'
import { DHT_PROTOCOL, MAILBOX_PROTOCOL } from './libp2p-host.ts'
import { frameStream } from './libp2p-stream.ts'
import { type DeviceKey, NetError } from './net.ts'
import { deviceOfKey, deviceOfPeer, privateKeyOfSeed } from './peer-id.ts'
import { createRelayMeter, tap } from './relay-meter.ts'

/** Of one connection: a laptop needs one, and a second while the first is found dead. */
const MAILBOX_STREAMS_COUNT_MAX = 2
const STOP_TIMEOUT_MS = 3_000
/** Where kad-dht keeps who provides what. */
const PROVIDER_KEYS = '/dht/provider/'

export interface Libp2pBootstrapOptions {
  /** 32-byte Ed25519 seed of the server's key. */
  seed: Uint8Array
  /** Multiaddrs; port 0 takes a free port. */
  listen: readonly string[]
  /** Multiaddrs that laptops are told in place of those listened on. */
  announce: readonly string[]
  limits: BootstrapLimits
  system: System
}

/** One start() and one stop(). */
export async function createLibp2pBootstrapNet(options: Libp2pBootstrapOptions): Promise<BootstrapNet> {
  const { limits, system } = options
  const { clock, log } = system
  const privateKey = await privateKeyOfSeed(options.seed)
  const gate = createBootstrapGate({ clock, limits })
  /** Which device sends on a stream of a circuit. */
  const senders = new WeakMap<Stream, DeviceKey>()
  /** Circuits that a device dialled and that are open. */
  const circuits = new Map<DeviceKey, number>()
  /** The hop stream for which libp2p is opening a stop stream. */
  const hop = new AsyncLocalStorage<{ stream: Stream; device: DeviceKey }>()
  let relayedBytes = 0
  let host: BootstrapHost | undefined
  /** Nobody comes in before every handler stands behind its quota. */
  let open = false

  const meter = createRelayMeter({
    heldBytesMax: limits.relayHeldBytes,
    charge(bytes, sender) {
      relayedBytes += bytes
      const device = senders.get(sender)
      return device !== undefined && gate.mayPass(device, bytes)
    },
    onOverflow: () => gate.refuse('relay_held'),
  })

  function mayEnter(connection: MultiaddrConnection): boolean {
    const source = sourceOfAddress(connection.remoteAddr)
    if (!open || !gate.mayEnter(source)) return false
    connection.addEventListener('close', () => gate.leave(source), { once: true })
    return true
  }

  function mayStay(peer: PeerId): boolean {
    return gate.mayStay(deviceOfPeer(peer), host?.getConnections(peer).length ?? 0)
  }

  function mayReserve(peer: PeerId): boolean {
    if (host === undefined) return false
    const { reservations } = host.services.relay
    if (reservations.has(peer)) return true
    const [connection] = host.getConnections(peer)
    if (connection === undefined) return false
    const held = [...reservations.values()].map(({ addr }) => sourceOfAddress(addr))
    return gate.mayReserve(sourceOfAddress(connection.remoteAddr), held)
  }

  /** libp2p has checked that the other side holds a place. */
  function mayDial(peer: PeerId): boolean {
    const device = deviceOfPeer(peer)
    return device !== undefined && gate.mayDial(circuits.get(device) ?? 0)
  }

  /** Puts the handlers that libp2p's own services have registered behind their quotas. */
  async function guard({ services }: BootstrapHost): Promise<void> {
    const { registrar } = services.parts
    async function around(protocol: string, admit: (stream: Stream, device: DeviceKey, go: () => unknown) => unknown) {
      const { handler, options } = registrar.getHandler(protocol)
      const guarded = async (stream: Stream, connection: Connection): Promise<void> => {
        const device = deviceOfPeer(connection.remotePeer)
        if (device === undefined) return stream.abort(new Error('no device of ours'))
        await admit(stream, device, () => handler(stream, connection))
      }
      await registrar.handle(protocol, guarded, { ...options, force: true })
    }
    await around(RELAY_V2_HOP_CODEC, (stream, device, go) => {
      if (!gate.mayAsk(device)) return stream.abort(new Error('too many requests'))
      return hop.run({ stream, device }, go)
    })
    await around(DHT_PROTOCOL, (stream, device, go) => {
      tap(stream, (bytes) => gate.mayQuery(device, bytes) || stream.abort(new Error('too many questions')))
      return go()
    })
    registrar.use(RELAY_V2_STOP_CODEC, [
      (stream, connection, next) => {
        onStopStream(stream, connection)
        next(stream, connection)
      },
    ])
  }

  /** libp2p opens it towards whoever holds the place, for the hop stream of whoever dialled. */
  function onStopStream(stream: Stream, connection: Connection): void {
    const from = hop.getStore()
    const device = deviceOfPeer(connection.remotePeer)
    if (from === undefined || device === undefined) return stream.abort(new Error('no circuit'))
    senders.set(from.stream, from.device)
    senders.set(stream, device)
    circuits.set(from.device, (circuits.get(from.device) ?? 0) + 1)
    meter.join(from.stream, stream)
    stream.addEventListener('close', () => {
      const left = (circuits.get(from.device) ?? 1) - 1
      if (left > 0) circuits.set(from.device, left)
      else circuits.delete(from.device)
    })
    log.info('circuit', { from: from.device, to: device })
  }

  /** What is known of a peer goes with its last connection: its place, which would only hold up another, and its addresses. */
  async function forget(peer: PeerId): Promise<void> {
    if (host === undefined) return
    const { reservations } = host.services.relay
    // Else its timer would take away the place that the same peer gets later.
    reservations.get(peer)?.signal.clear()
    reservations.delete(peer)
    try {
      await host.peerStore.delete(peer)
    } catch (error) {
      log.debug('forgetting failed', { error: String(error) })
    }
  }

  async function onMailboxStream(stream: Stream, connection: Connection, handlers: BootstrapHandlers): Promise<void> {
    const device = deviceOfPeer(connection.remotePeer)
    if (device === undefined) return stream.abort(new Error('no device of ours'))
    const frames = frameStream(stream, device)
    try {
      await handlers.onMailbox(frames)
    } catch (error) {
      log.debug('mailbox stream ended', { device, error: String(error) })
    }
    await frames.close()
  }

  return {
    device: deviceOfKey(privateKey),
    async start(handlers) {
      host = await createBootstrapHost({
        privateKey,
        listen: options.listen,
        announce: options.announce,
        limits,
        gater: {
          // Whoever is reached has come here first, so that nobody can make this server knock at other doors.
          denyDialPeer: () => true,
          denyInboundConnection: (connection) => !mayEnter(connection),
          denyInboundEncryptedConnection: (peer) => !mayStay(peer),
          denyInboundRelayReservation: (peer) => !mayReserve(peer),
          denyOutboundRelayedConnection: (from) => !mayDial(from),
        },
      })
      boundRecords(host, limits.dhtRecords, () => gate.refuse('dht_records'))
      try {
        await host.start()
      } catch (error) {
        await host.stop()
        throw listenError(error)
      }
      await guard(host)
      await host.handle(MAILBOX_PROTOCOL, (stream, connection) => onMailboxStream(stream, connection, handlers), {
        maxInboundStreams: MAILBOX_STREAMS_COUNT_MAX,
      })
      host.addEventListener('peer:connect', ({ detail }) => log.info('connected', { peer: detail.toString() }))
      host.addEventListener('peer:disconnect', ({ detail }) => {
        log.info('left', { peer: detail.toString() })
        void forget(detail)
      })
      open = true
    },
    async stop() {
      open = false
      for (const connection of host?.getConnections() ?? []) connection.abort(new Error('the server stops'))
      await Promise.race([host?.stop(), new Promise<void>((resolve) => void clock.after(STOP_TIMEOUT_MS, resolve))])
    },
    addresses: () => host?.getMultiaddrs().map(String) ?? [],
    facts: () => ({
      connections: host?.getConnections().length ?? 0,
      reservations: host?.services.relay.reservations.size ?? 0,
      circuits: [...circuits.values()].reduce((sum, count) => sum + count, 0),
      relayedBytes,
      relayHeldBytes: meter.heldBytes,
      refusals: gate.refusals,
    }),
  }
}

/** Anybody may leave provider records, so there is an end to them. Old ones run out after two days. */
function boundRecords({ services }: BootstrapHost, countMax: number, onFull: () => void): void {
  const { datastore } = services.parts
  const records = new Set<string>()
  const put = datastore.put.bind(datastore)
  const remove = datastore.delete.bind(datastore)
  datastore.put = (key, value, options) => {
    const name = key.toString()
    if (name.startsWith(PROVIDER_KEYS) && !records.has(name)) {
      if (records.size >= countMax) {
        onFull()
        throw new Error('too many records')
      }
      records.add(name)
    }
    return put(key, value, options)
  }
  datastore.delete = (key, options) => {
    records.delete(key.toString())
    return remove(key, options)
  }
}

function sourceOfAddress(address: Multiaddr): string {
  const [first] = address.getComponents()
  return sourceOf(first?.value ?? '')
}

/** libp2p names the addresses and the reasons in the text of its error alone. */
function listenError(error: unknown): NetError {
  const text = error instanceof Error ? error.message : String(error)
  const [, address = 'an address of this server', code] = /^\s*(\/\S+): .*?\b(E[A-Z]+)\b/m.exec(text) ?? []
  switch (code) {
    case 'EADDRINUSE':
      return new NetError('NET_ADDRESS_IN_USE', `another program listens on ${address}`, error)
    case 'EADDRNOTAVAIL':
      return new NetError('NET_FAILED', `this machine does not have the address of ${address}`, error)
    case 'EACCES':
      return new NetError('NET_FAILED', `this user may not listen on ${address}`, error)
    default:
      return new NetError('NET_FAILED', `cannot listen: ${text.split('\n')[0]}`, error)
  }
}
