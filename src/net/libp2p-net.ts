/** The net over libp2p: joins host, gate, keeper, bootstrap servers, ways, sync pairs, gossip and the local network. */
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import type { System } from '../system.ts'
import { addressesByServer, createAddressBook, pathOf, placeOf, relayOf, tidyAddresses } from './addresses.ts'
import { createGate } from './gate.ts'
import { createKeeper, type Keeper } from './keeper.ts'
import { advertiseTag, findTag, type LanFind, meetTeammates } from './lan.ts'
import { createGossip, type Gossip } from './libp2p-gossip.ts'
import { guardHandlers } from './libp2p-guard.ts'
import { createHost, type Host } from './libp2p-host.ts'
import { createLinks, isRelayedConnection, type Links, PING_PROTOCOL } from './libp2p-links.ts'
import { createServers, type Servers } from './libp2p-servers.ts'
import { frameStream } from './libp2p-stream.ts'
import { createWays, type Ways } from './libp2p-ways.ts'
import { type DeviceKey, type Net, NetError, type NetHandlers, type PeerStatus } from './net.ts'
import { deviceOfKey, deviceOfPeer, privateKeyOfSeed } from './peer-id.ts'
import { createSyncPairs, letGo, type SyncPairs } from './sync-pairs.ts'
import { createTwinWatch } from './twin.ts'
import { machineInterfaces, watchMachine } from './watch.ts'

const SYNC_PROTOCOL = '/relay/sync/1'
const JOIN_PROTOCOL = '/relay/join/1'
const MAILBOX_PROTOCOL = '/relay/mailbox/1'
/** How often a teammate whose gossip or sync does not run, or not on the best connection, is noticed. */
const UPKEEP_MS = 5_000
/** Of two connections, how much older one is than what a simultaneous dial explains. */
const OLDER_MS = 2_000
const SOON_MS = 10
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
  /** Ask the router for a port, by UPnP. Off by default: it opens a port to everybody. */
  upnp?: boolean
  /** Make direct connections through routers, by UDP, where only a relayed one is possible otherwise. On by default. */
  holePunching?: boolean
  system: System
}

/** What exists between start() and stop(). */
interface Running {
  host: Host
  handlers: NetHandlers
  links: Links
  servers: Servers
  ways: Ways
  keeper: Keeper
  pairs: SyncPairs
  gossip: Gossip
  ends: (() => unknown)[]
}

/** One start() and one stop() a net. */
export async function createLibp2pNet(options: Libp2pNetOptions): Promise<Net> {
  const { system } = options
  const { clock, log } = system
  const privateKey = await privateKeyOfSeed(options.seed)
  const self = deviceOfKey(privateKey)
  /** The bootstrap servers and where they are. */
  const beacons = new Map<DeviceKey, readonly string[]>()
  const twins = createTwinWatch(clock)
  const book = createAddressBook()
  const gate = createGate({
    clock,
    beacons,
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

  function report(device: DeviceKey): void {
    if (teammate(device))
      running?.handlers.onPeerChange({ device, connected: up.has(device), addresses: book.fresh(device) })
    if (beacons.has(device)) running?.handlers.onBootstrapChange({ device, connected: up.has(device) })
  }

  /** A device that we serve has a connection: it was just opened, or just became a teammate's. */
  function welcome(device: DeviceKey): void {
    if (running === undefined) return
    if (!up.has(device)) {
      up.add(device)
      running.keeper.connected(device)
      report(device)
    }
    if (beacons.has(device)) running.servers.connected(device)
    if (teammate(device)) running.pairs.connected(device)
    running.ways.improve(team)
  }

  function onOpen(connection: Connection): void {
    const device = deviceOfPeer(connection.remotePeer)
    if (device === undefined || running === undefined) return
    const standing = gate.standing(device)
    if (standing !== 'teammate' && standing !== 'beacon') return
    if (connection.direction === 'outbound') book.proven(device, connection.remoteAddr.toString())
    const others = running.links.to(device).filter((other) => other !== connection)
    const better = others.length > 0 && others.every(isRelayedConnection) && !isRelayedConnection(connection)
    // It may have dialled because it lost an older one, which we would only notice much later. Two that are as new
    // as each other come from dialling at the same moment.
    for (const other of others)
      if (!better && connection.timeline.open - other.timeline.open > OLDER_MS) void running.links.probe(other)
    void meet(connection)
    welcome(device)
    if (better) move(device)
  }

  /** A direct connection is open beside a relayed one. */
  function move(device: DeviceKey): void {
    roundTrips.delete(device)
    running?.pairs.renew(device)
    running?.gossip.attend(device)
  }

  function onClose(connection: Connection): void {
    const device = deviceOfPeer(connection.remotePeer)
    if (device === undefined || running === undefined) return
    if (running.links.to(device).length > 0) {
      // Gossip may have run on the one that is gone. Not at once: where a stream is opened on a connection that ends in
      // the same moment, libp2p throws an error that nobody can catch.
      clock.after(SOON_MS, () => running?.gossip.attend(device))
      return running.ways.improve(team)
    }
    gate.left(device)
    if (!up.delete(device)) return
    roundTrips.delete(device)
    running.pairs.disconnected(device)
    running.keeper.disconnected(device)
    running.servers.disconnected(device)
    running.ways.improve(team)
    report(device)
  }

  /** Gossip that stopped is begun again, and relayed connections beside a direct one are closed once nothing runs there. */
  function upkeep(): void {
    for (const device of up) {
      if (running === undefined || !teammate(device)) continue
      running.gossip.attend(device)
      const [best, ...others] = running.links.to(device)
      if (best === undefined || isRelayedConnection(best)) continue
      const spare = others.filter(isRelayedConnection)
      if (spare.some((one) => one.streams.some(({ protocol }) => protocol === SYNC_PROTOCOL)))
        running.pairs.renew(device)
      for (const one of spare)
        if (one.streams.every(isPassing)) void one.close().catch((error: Error) => one.abort(error))
    }
  }

  function onIdentify(peer: PeerId, addresses: readonly string[]): void {
    const device = deviceOfPeer(peer)
    if (device === undefined || !teammate(device) || addresses.length === 0) return
    book.announced(device, addresses)
    running?.ways.retry(device)
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
    const own = running?.host.getMultiaddrs().map(String) ?? []
    const [strange] = device === self ? addresses.filter((address) => !own.includes(address)) : []
    if (strange !== undefined) twins.seen(`is on this network, at ${placeOf(strange)}`)
    if (!teammate(device)) return
    book.found(device, addresses)
    running?.keeper.retry(device) // It has just answered, so it is there.
  }

  function reach(device: DeviceKey, signal: AbortSignal): Promise<void> {
    const { links, ways } = present()
    return teammate(device) ? ways.reach(device, signal) : links.dial(device, book.dialable(device), signal)
  }

  /** Connections over an interface that is gone would only be missed by the next slow ping. */
  function onMove(): void {
    if (running === undefined) return
    const { host, keeper, links, ways } = running
    host.services.identifyPush.push().catch((error: unknown) => log.debug('push failed', { error: String(error) }))
    for (const connection of links.all()) void links.probe(connection)
    keeper.retryAll()
    ways.retry()
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
      upnp: options.upnp === true,
      gater: {
        denyDialMultiaddr: () => false, // Private addresses are where teammates are.
        denyDialPeer: (peer) => !mayDial(peer),
        denyOutboundEncryptedConnection: (peer) => !mayDial(peer),
        denyInboundEncryptedConnection: (peer) => !mayEnter(peer),
        denyInboundRelayedConnection: (relay, peer) => isOurself(peer, relay),
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
    const guard = (protocols: readonly string[]): Promise<void> =>
      guardHandlers({ host, standing: gate.standing, protocols })
    await guard(host.services.parts.registrar.getProtocols())
    await host.handle(SYNC_PROTOCOL, onSyncStream, { maxInboundStreams: 4 })
    await host.handle(JOIN_PROTOCOL, onJoinStream, { maxInboundStreams: 1 })
    host.addEventListener('connection:open', ({ detail }) => onOpen(detail))
    host.addEventListener('connection:close', ({ detail }) => onClose(detail))
    host.addEventListener('peer:identify', ({ detail }) => onIdentify(detail.peerId, detail.listenAddrs.map(String)))
    const holePunching = options.holePunching ?? true
    const servers = createServers({
      system,
      host,
      links,
      self,
      holePunching,
      guard,
      onPlace: retryAbsent,
      onTwin: (where) => twins.seen(where),
    })
    const ways = createWays({ system, self, links, servers, book, holePunching })
    const keeper = createKeeper({ system, connected: (device) => links.to(device).length > 0, reach })
    const pairs = createSyncPairs({
      system,
      self,
      open: (device, signal) => links.openStream(device, SYNC_PROTOCOL, signal),
      onSync: (stream) => handlers.onSync(stream),
    })
    const gossip = createGossip({
      host,
      connectionsTo: links.to,
      meet: (connection) => void meet(connection),
      log,
      teammate: (device) => device === self || teammate(device),
      onGossip: handlers.onGossip.bind(handlers),
    })
    running = { host, handlers, links, servers, ways, keeper, pairs, gossip, ends: [] }
    gossip.setTopics(topics)
    servers.set(beacons)
    keepAll()
    if (options.lan) running.ends.push(await meetTeammates(host.services.parts, onLanFind))
    running.ends.push(watchMachine({ clock, interfaces: machineInterfaces, onWake, onMove }))
    running.ends.push(clock.every(UPKEEP_MS, upkeep))
  }

  /** Somebody with our key calls us through a relay: we, looking for a twin, or the twin. */
  function isOurself(peer: PeerId, relay: PeerId): boolean {
    if (deviceOfPeer(peer) !== self) return false
    const server = deviceOfPeer(relay)
    if (server !== undefined) running?.servers.calledByOurselves(server)
    return true
  }

  /** Another way to everybody is open. */
  function retryAbsent(): void {
    for (const device of team) if (!up.has(device)) running?.keeper.retry(device)
  }

  function keepAll(): void {
    running?.keeper.keep(new Set([...team, ...beacons.keys()]))
  }

  async function stop(): Promise<void> {
    if (running === undefined) return
    const { host, keeper, servers, ways, pairs, links, ends } = running
    keeper.stop()
    ways.stop()
    gate.stop()
    await pairs.stop()
    running = undefined
    await Promise.all(ends.map((end) => end()))
    await servers.stop()
    for (const connection of links.all()) connection.abort(new Error('stopped'))
    await Promise.race([host.stop(), new Promise<void>((resolve) => void clock.after(STOP_TIMEOUT_MS, resolve))])
  }

  return {
    device: self,
    start,
    stop,
    addresses: () =>
      running === undefined
        ? []
        : tidyAddresses(self, [...running.host.getMultiaddrs().map(String), ...running.servers.places()]),
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
      const { links, ways } = present()
      for (const passed of [device, ...addresses.flatMap((address) => relayOf(address) ?? [])]) gate.visit(passed)
      if (links.to(device).length === 0) await ways.visit(device, addresses, signal)
      return links.openStream(device, JOIN_PROTOCOL, signal)
    },
    async advertise(tag) {
      const { host, servers } = present()
      const endFar = servers.advertise(tag)
      const endNear = await advertiseTag(host.services.parts, tag)
      return () => {
        endFar()
        return endNear()
      }
    },
    async find(tag, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<LanFind>()
      const onAbort = (): void =>
        reject(new NetError('NET_TIMEOUT', `nobody ${whereSearched()} answers to that code`, signal.reason))
      promise.catch(() => undefined) // It may reject before it is awaited.
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort)
      const { host, servers } = present()
      const onFind = (find: LanFind): unknown => find.device !== self && resolve(find)
      const endFar = servers.search(tag, onFind)
      const endNear = await findTag(host.services.parts, tag, onFind)
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', onAbort)
        endFar()
        await endNear()
      }
    },
    setTopics(next) {
      topics = new Set(next)
      running?.gossip.setTopics(topics)
    },
    async publish(topic, data) {
      return present().gossip.publish(topic, data)
    },
    setBootstrap(addresses) {
      const { servers, nameless } = addressesByServer(addresses)
      for (const address of nameless)
        log.warn('a bootstrap address is left out: it does not end in /p2p/ and the key of the server', { address })
      servers.delete(self)
      const dropped = [...beacons.keys()].filter((device) => !servers.has(device))
      beacons.clear()
      for (const [device, given] of servers) {
        beacons.set(device, given)
        book.given(device, given)
      }
      for (const device of dropped) {
        if (teammate(device)) continue
        book.forget(device)
        running?.links.hangUp(device, 'no longer a bootstrap server')
      }
      running?.servers.set(beacons)
      keepAll()
    },
    bootstrap: () => running?.servers.status((device) => running?.keeper.lastFailure(device)) ?? [],
    async openMailbox(server, signal) {
      if (!beacons.has(server)) throw new NetError('NET_UNREACHABLE', 'not one of the bootstrap servers')
      return present().links.openStream(server, MAILBOX_PROTOCOL, signal)
    },
    twin: () => twins.words(),
    peers: () => [...team].map(status),
    async ping(device, signal) {
      if (!teammate(device)) throw new NetError('NET_UNREACHABLE', 'not a teammate')
      const roundTripMs = await present().links.ping(device, signal)
      roundTrips.set(device, roundTripMs)
      return roundTripMs
    },
  }

  function whereSearched(): string {
    return beacons.size === 0 ? 'on this network' : 'on this network or at the bootstrap servers'
  }

  function status(device: DeviceKey): PeerStatus {
    const [connection] = running?.links.to(device) ?? []
    const relayed = connection !== undefined && isRelayedConnection(connection)
    const lastFailure = running?.keeper.lastFailure(device)
    const roundTripMs = roundTrips.get(device)
    return {
      device,
      connected: connection !== undefined,
      ...(connection === undefined
        ? {}
        : { path: pathOf(connection.remoteAddr), address: connection.remoteAddr.toString() }),
      ...(relayed ? { via: placeOf(connection.remoteAddr.toString()) } : {}),
      ...(relayed && running ? { whyNotDirect: running.ways.whyNotDirect(device) } : {}),
      ...(roundTripMs === undefined ? {} : { roundTripMs }),
      ...(lastFailure === undefined ? {} : { lastFailure }),
    }
  }
}

/** What comes and goes by itself on every connection. */
function isPassing({ protocol }: Stream): boolean {
  return protocol === PING_PROTOCOL || protocol.startsWith('/ipfs/id/')
}
