/** The net over libp2p: joins host, gate, keeper, sync pairs, gossip and the local network. */
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import type { System } from '../system.ts'
import { addressesByDevice, createAddressBook, pathOf, tidyAddresses } from './addresses.ts'
import { createGate } from './gate.ts'
import { createKeeper, type Keeper } from './keeper.ts'
import { advertiseTag, findTag, type LanFind, meetTeammates } from './lan.ts'
import { createGossip, type Gossip } from './libp2p-gossip.ts'
import { guardHandlers } from './libp2p-guard.ts'
import { createHost, type Host } from './libp2p-host.ts'
import { createLinks, type Links } from './libp2p-links.ts'
import { frameStream } from './libp2p-stream.ts'
import { type DeviceKey, type Net, NetError, type NetHandlers, type PeerStatus } from './net.ts'
import { deviceOfKey, deviceOfPeer, privateKeyOfSeed } from './peer-id.ts'
import { createSyncPairs, letGo, type SyncPairs } from './sync-pairs.ts'
import { machineInterfaces, watchMachine } from './watch.ts'

const SYNC_PROTOCOL = '/relay/sync/1'
const JOIN_PROTOCOL = '/relay/join/1'
/** How often a connected teammate without a gossip stream is noticed. */
const UPKEEP_MS = 5_000
/** Of two connections, how much older one is than what a simultaneous dial explains. */
const OLDER_MS = 2_000
const STOP_TIMEOUT_MS = 1_000

export interface Libp2pNetOptions {
  /** 32-byte Ed25519 seed of the device key. */
  seed: Uint8Array
  /** Multiaddrs; port 0 takes a free port. */
  listen: readonly string[]
  /** Multiaddrs that reach this node though it cannot see them itself, such as a forwarded port. */
  announce?: readonly string[]
  /** Look for teammates on the same network, and be found. */
  lan: boolean
  /** Multiaddrs of bootstrap servers, each ending in /p2p/<PeerId>. */
  bootstrap: readonly string[]
  system: System
}

/** What exists between start() and stop(). */
interface Running {
  host: Host
  handlers: NetHandlers
  links: Links
  keeper: Keeper
  pairs: SyncPairs
  gossip: Gossip
  ends: (() => unknown)[]
}

/** One start() and one stop() a net. Rejects with NetError where a bootstrap address names no device. */
export async function createLibp2pNet(options: Libp2pNetOptions): Promise<Net> {
  const { system } = options
  const { clock, log } = system
  const privateKey = await privateKeyOfSeed(options.seed)
  const self = deviceOfKey(privateKey)
  const beacons = addressesByDevice(options.bootstrap)
  const book = createAddressBook()
  const gate = createGate({
    clock,
    beacons: new Set(beacons.keys()),
    expel: (device) => running?.links.hangUp(device, 'its time to join is over'),
  })
  const roundTrips = new Map<DeviceKey, number>()
  /** Teammates and beacons that keeper and pairs have been told are connected. */
  const up = new Set<DeviceKey>()
  let team: ReadonlySet<DeviceKey> = new Set()
  let topics: ReadonlySet<string> = new Set()
  let running: Running | undefined

  function present(): Running {
    if (running === undefined) throw new NetError('NET_CLOSED', 'the net is not running')
    return running
  }

  const teammate = (device: DeviceKey): boolean => gate.standing(device) === 'teammate'

  function mayEnter(peer: PeerId): boolean {
    const device = deviceOfPeer(peer)
    if (device === undefined || running === undefined || !gate.mayEnter(device)) return false
    return teammate(device) || running.links.to(device).length === 0
  }

  function mayDial(peer: PeerId): boolean {
    const device = deviceOfPeer(peer)
    return device !== undefined && gate.mayDial(device)
  }

  function onSyncStream(stream: Stream, connection: Connection): void {
    const device = deviceOfPeer(connection.remotePeer)
    if (device !== undefined && teammate(device)) running?.pairs.accept(frameStream(stream, device))
    else stream.abort(new Error('not a teammate'))
  }

  async function onJoinStream(stream: Stream, connection: Connection): Promise<void> {
    const device = deviceOfPeer(connection.remotePeer)
    if (device === undefined || running === undefined || !gate.joinOpen)
      return stream.abort(new Error('joining is closed'))
    const frames = frameStream(stream, device)
    try {
      await running.handlers.onJoin(frames)
    } catch (error) {
      log.debug('join ended', { device, error: String(error) })
    }
    letGo(system, frames)
  }

  /** Asks who is there; the answer makes libp2p start gossip, and gives us its addresses. */
  async function meet(connection: Connection): Promise<void> {
    try {
      await running?.host.services.identify.identify(connection)
    } catch (error) {
      log.debug('identify failed', { address: connection.remoteAddr.toString(), error: String(error) })
    }
  }

  /** gossipsub opens its stream once, after identify; where that failed nobody would try again. */
  function ensureGossip(device: DeviceKey): void {
    const connections = running?.links.to(device) ?? []
    const gossips = connections.some(({ streams }) =>
      streams.some(({ protocol, direction }) => direction === 'outbound' && protocol.startsWith('/meshsub/')),
    )
    if (connections[0] !== undefined && !gossips) void meet(connections[0])
  }

  function report(device: DeviceKey): void {
    if (teammate(device))
      running?.handlers.onPeerChange({ device, connected: up.has(device), addresses: book.fresh(device) })
  }

  /** A device that we serve has a connection: it was just opened, or just became a teammate's. */
  function welcome(device: DeviceKey): void {
    if (running === undefined) return
    if (!up.has(device)) {
      up.add(device)
      running.keeper.connected(device)
      report(device)
    }
    if (teammate(device)) running.pairs.connected(device)
  }

  function onOpen(connection: Connection): void {
    const device = deviceOfPeer(connection.remotePeer)
    if (device === undefined || running === undefined) return
    const standing = gate.standing(device)
    if (standing !== 'teammate' && standing !== 'beacon') return
    if (connection.direction === 'outbound') book.proven(device, connection.remoteAddr.toString())
    // It may have dialled because it lost an older one, which we would only notice much later. Two that are as new
    // as each other come from dialling at the same moment.
    for (const other of running.links.to(device))
      if (connection.timeline.open - other.timeline.open > OLDER_MS) void running.links.probe(other)
    void meet(connection)
    welcome(device)
  }

  function onClose(connection: Connection): void {
    const device = deviceOfPeer(connection.remotePeer)
    if (device === undefined || running === undefined) return
    // gossipsub keeps one state a peer, mixed from all its connections: if one goes, it forgets the peer's topics and
    // never asks again. So the connections of a pair end together and it starts afresh.
    if (running.links.to(device).length > 0) return running.links.hangUp(device, 'another connection to it broke')
    gate.left(device)
    if (!up.delete(device)) return
    roundTrips.delete(device)
    running.pairs.disconnected(device)
    running.keeper.disconnected(device)
    report(device)
  }

  function onIdentify(peer: PeerId, addresses: readonly string[]): void {
    const device = deviceOfPeer(peer)
    if (device === undefined || !teammate(device) || addresses.length === 0) return
    book.announced(device, addresses)
    void protect(peer)
    report(device)
  }

  /** Above the connection limit libp2p closes whoever has the lowest tags. */
  async function protect(peer: PeerId): Promise<void> {
    try {
      await running?.host.peerStore.merge(peer, { tags: { teammate: { value: 100 } } })
    } catch (error) {
      log.debug('tagging failed', { error: String(error) })
    }
  }

  function onLanFind({ device, addresses }: LanFind): void {
    if (!teammate(device)) return
    book.found(device, addresses)
    running?.keeper.retry(device) // It has just answered, so it is there.
  }

  async function reach(device: DeviceKey, signal: AbortSignal): Promise<void> {
    const { links } = present()
    const addresses = book.dialable(device)
    let failure: unknown
    try {
      return await links.dial(device, addresses, signal)
    } catch (error) {
      failure = error
    }
    const found = beacons.has(device) ? [] : await links.lookUp(device, signal)
    const fresh = found.filter((address) => !addresses.includes(address))
    if (fresh.length === 0) throw failure
    await links.dial(device, fresh, signal)
  }

  /** Connections over an interface that is gone would only be missed by the next slow ping. */
  function onMove(): void {
    if (running === undefined) return
    const { host, keeper, links } = running
    host.services.identifyPush.push().catch((error: unknown) => log.debug('push failed', { error: String(error) }))
    for (const connection of links.all()) void links.probe(connection)
    keeper.retryAll()
  }

  function onWake(): void {
    if (running === undefined) return
    for (const connection of running.links.all()) connection.abort(new Error('the machine slept'))
    running.keeper.retryAll()
  }

  async function start(handlers: NetHandlers): Promise<void> {
    const failures: { address: string; error: unknown }[] = []
    const host = await createHost({
      privateKey,
      listen: options.listen,
      announce: options.announce ?? [],
      dht: beacons.size > 0,
      gater: {
        denyDialMultiaddr: () => false, // Private addresses are where teammates are.
        denyDialPeer: (peer) => !mayDial(peer),
        denyOutboundEncryptedConnection: (peer) => !mayDial(peer),
        denyInboundEncryptedConnection: (peer) => !mayEnter(peer),
      },
      inTopic: (topic) => topics.has(topic),
      onListenFailure: (address, error) => failures.push({ address, error }),
    })
    const links = createLinks(host)
    await host.start()
    const taken = failures.find(({ error }) => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    if (taken !== undefined) {
      await host.stop()
      throw new NetError('NET_ADDRESS_IN_USE', `another program listens on ${taken.address}`, taken.error)
    }
    for (const { address, error } of failures) log.warn('cannot listen', { address, error: String(error) })
    await guardHandlers(host, gate.standing)
    await host.handle(SYNC_PROTOCOL, onSyncStream, { maxInboundStreams: 4 })
    await host.handle(JOIN_PROTOCOL, onJoinStream, { maxInboundStreams: 1 })
    host.addEventListener('connection:open', ({ detail }) => onOpen(detail))
    host.addEventListener('connection:close', ({ detail }) => onClose(detail))
    host.addEventListener('peer:identify', ({ detail }) => onIdentify(detail.peerId, detail.listenAddrs.map(String)))
    const keeper = createKeeper({ system, connected: (device) => links.to(device).length > 0, reach })
    const pairs = createSyncPairs({
      system,
      self,
      open: (device, signal) => links.openStream(device, SYNC_PROTOCOL, signal),
      onSync: (stream) => handlers.onSync(stream),
    })
    const gossip = createGossip({
      host,
      log,
      teammate: (device) => device === self || teammate(device),
      onGossip: handlers.onGossip.bind(handlers),
    })
    running = { host, handlers, links, keeper, pairs, gossip, ends: [] }
    gossip.setTopics(topics)
    for (const [device, addresses] of beacons) book.given(device, addresses)
    keepAll()
    if (options.lan) running.ends.push(await meetTeammates(host.services.parts, onLanFind))
    running.ends.push(watchMachine({ clock, interfaces: machineInterfaces, onWake, onMove }))
    running.ends.push(clock.every(UPKEEP_MS, () => up.forEach((device) => teammate(device) && ensureGossip(device))))
  }

  function keepAll(): void {
    running?.keeper.keep(new Set([...team, ...beacons.keys()]))
  }

  async function stop(): Promise<void> {
    if (running === undefined) return
    const { host, keeper, pairs, links, ends } = running
    keeper.stop()
    gate.stop()
    await pairs.stop()
    running = undefined
    await Promise.all(ends.map((end) => end()))
    for (const connection of links.all()) connection.abort(new Error('stopped'))
    await Promise.race([host.stop(), new Promise<void>((resolve) => void clock.after(STOP_TIMEOUT_MS, resolve))])
  }

  return {
    device: self,
    start,
    stop,
    addresses: () => (running === undefined ? [] : tidyAddresses(self, running.host.getMultiaddrs().map(String))),
    setTeam(next) {
      const added = [...next.keys()].filter((device) => device !== self && !team.has(device))
      team = new Set([...next.keys()].filter((device) => device !== self))
      for (const device of gate.setTeam(team)) {
        book.forget(device)
        book.given(device, beacons.get(device) ?? [])
        running?.links.hangUp(device, 'no longer a teammate')
      }
      const moved = [...team].filter((device) =>
        book.given(device, [...(next.get(device) ?? []), ...(beacons.get(device) ?? [])]),
      )
      keepAll()
      for (const device of moved) running?.keeper.retry(device)
      for (const device of added) {
        const connections = running?.links.to(device) ?? []
        for (const connection of connections) void meet(connection)
        if (up.has(device)) report(device) // As a bootstrap server, which nobody was told.
        if (connections.length > 0) welcome(device)
      }
    },
    setJoinOpen: (open) => gate.setJoinOpen(open),
    async openJoin({ device, addresses }, signal) {
      const { links } = present()
      gate.visit(device)
      if (links.to(device).length === 0) await links.dial(device, addresses, signal)
      return links.openStream(device, JOIN_PROTOCOL, signal)
    },
    advertise: async (tag) => advertiseTag(present().host.services.parts, tag),
    async find(tag, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<LanFind>()
      const onAbort = (): void =>
        reject(new NetError('NET_TIMEOUT', 'nobody on this network answers to that code', signal.reason))
      promise.catch(() => undefined) // It may reject before it is awaited.
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort)
      const end = await findTag(present().host.services.parts, tag, (find) => find.device !== self && resolve(find))
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', onAbort)
        await end()
      }
    },
    setTopics(next) {
      topics = new Set(next)
      running?.gossip.setTopics(topics)
    },
    async publish(topic, data) {
      return present().gossip.publish(topic, data)
    },
    setBootstrap: () => undefined,
    bootstrap: () => [],
    openMailbox: async () => {
      throw new NetError('NET_UNREACHABLE', 'no bootstrap server is connected')
    },
    peers: () => [...team].map(status),
    async ping(device, signal) {
      if (!teammate(device)) throw new NetError('NET_UNREACHABLE', 'not a teammate')
      const roundTripMs = await present().links.ping(device, signal)
      roundTrips.set(device, roundTripMs)
      return roundTripMs
    },
  }

  function status(device: DeviceKey): PeerStatus {
    const [connection] = running?.links.to(device) ?? []
    const lastFailure = running?.keeper.lastFailure(device)
    const roundTripMs = roundTrips.get(device)
    return {
      device,
      connected: connection !== undefined,
      ...(connection === undefined
        ? {}
        : { path: pathOf(connection.remoteAddr), address: connection.remoteAddr.toString() }),
      ...(roundTripMs === undefined ? {} : { roundTripMs }),
      ...(lastFailure === undefined ? {} : { lastFailure }),
    }
  }
}
