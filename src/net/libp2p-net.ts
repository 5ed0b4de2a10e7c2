/** The net over libp2p: joins host, gate, keeper, bootstrap servers, ways, sync pairs, gossip and the local network. */
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import type { System } from '../system.ts'
import { addressesByServer, createAddressBook, pathOf, placeOf, relayOf, tidyAddresses } from './addresses.ts'
import { createAttendance, type Running } from './attendance.ts'
import { type Backoff, RECONNECT_BACKOFF } from './backoff.ts'
import { createGate } from './gate.ts'
import { createKeeper } from './keeper.ts'
import { advertiseTag, findTag, type LanFind, meetTeammates } from './lan.ts'
import { createGossip } from './libp2p-gossip.ts'
import { guardHandlers } from './libp2p-guard.ts'
import { confirmAddresses, createHost, MAILBOX_PROTOCOL } from './libp2p-host.ts'
import { createLinks, isRelayedConnection } from './libp2p-links.ts'
import { createServers } from './libp2p-servers.ts'
import { frameStream } from './libp2p-stream.ts'
import { createWays } from './libp2p-ways.ts'
import { type DeviceKey, type Net, NetError, type NetHandlers, type PeerStatus } from './net.ts'
import { deviceOfKey, deviceOfPeer, privateKeyOfSeed } from './peer-id.ts'
import { createSyncPairs, letGo } from './sync-pairs.ts'
import { createTwinWatch } from './twin.ts'
import { machineInterfaces, watchMachine } from './watch.ts'

const SYNC_PROTOCOL = '/relay/sync/1'
const JOIN_PROTOCOL = '/relay/join/1'
/** How often a teammate whose gossip or sync does not run, or not on the best connection, is noticed. */
const UPKEEP_MS = 5_000
const STOP_TIMEOUT_MS = 1_000
/** Whoever comes back dials by itself, so many who are away for long are not worth many questions to the relays. */
const TEAMMATE_BACKOFF: Backoff = { min: 500, max: 30_000 }

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
    expel: (device) => running?.links.hangUp(device, 'its time is over'),
  })
  let team: ReadonlySet<DeviceKey> = new Set()
  let topics: ReadonlySet<string> = new Set()
  let running: Running | undefined
  const attendance = createAttendance({
    system,
    gate,
    book,
    syncProtocol: SYNC_PROTOCOL,
    team: () => team,
    running: () => running,
  })

  function present(): Running {
    if (running === undefined) throw new NetError('NET_CLOSED', 'the net is not running')
    return running
  }

  const teammate = (device: DeviceKey): boolean => gate.standing(device) === 'teammate'

  /** A removed device is told so on a sync stream. */
  const hasSync = (device: DeviceKey): boolean => teammate(device) || gate.standing(device) === 'removed'

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
    if (device !== undefined && hasSync(device)) running?.pairs.accept(frameStream(stream, device))
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
    confirmAddresses(host)
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
      gater: {
        denyDialMultiaddr: () => false, // Private addresses are where teammates are.
        denyDialPeer: (peer) => !mayDial(peer),
        denyOutboundEncryptedConnection: (peer) => !mayDial(peer),
        denyInboundEncryptedConnection: (peer) => !mayEnter(peer),
        denyInboundRelayedConnection: (relay, peer) => noteCall(peer, relay),
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
    confirmAddresses(host)
    for (const { address, error } of failures) log.warn('cannot listen', { address, error: String(error) })
    const guard = (protocols: readonly string[]): Promise<void> =>
      guardHandlers({ host, standing: gate.standing, protocols })
    await guard(host.services.parts.registrar.getProtocols())
    await host.handle(SYNC_PROTOCOL, onSyncStream, { maxInboundStreams: 4 })
    await host.handle(JOIN_PROTOCOL, onJoinStream, { maxInboundStreams: 1 })
    host.addEventListener('connection:open', ({ detail }) => attendance.opened(detail))
    host.addEventListener('connection:close', ({ detail }) => attendance.closed(detail))
    host.addEventListener('peer:identify', ({ detail }) =>
      attendance.identified(detail.peerId, detail.listenAddrs.map(String)),
    )
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
    const keeper = createKeeper({
      system,
      connected: (device) => links.to(device).length > 0,
      reach,
      backoff: (device) => (teammate(device) ? TEAMMATE_BACKOFF : RECONNECT_BACKOFF),
    })
    const pairs = createSyncPairs({
      system,
      self,
      open: (device, signal) => links.openStream(device, SYNC_PROTOCOL, signal),
      onSync: (stream) => handlers.onSync(stream),
    })
    const gossip = createGossip({
      host,
      connectionsTo: links.to,
      meet: attendance.meet,
      log,
      teammate: (device) => device === self || teammate(device),
      onGossip: handlers.onGossip.bind(handlers),
    })
    running = { host, handlers, links, servers, ways, keeper, pairs, gossip, ends: [] }
    gossip.setTopics(topics)
    servers.set(beacons)
    keepAll()
    if (options.lan) running.ends.push(await meetTeammates(host.services.parts, onLanFind))
    if (options.upnp === true) {
      const { openRouterPort } = await import('./router-port.ts')
      running.ends.push(await openRouterPort(host.services.parts))
    }
    running.ends.push(watchMachine({ clock, interfaces: machineInterfaces, onWake, onMove }))
    running.ends.push(clock.every(UPKEEP_MS, attendance.upkeep))
  }

  /** Nobody is turned away here: what matters is the key that they prove to have, and not what a relay says of them. */
  function noteCall(peer: PeerId, relay: PeerId): false {
    const server = deviceOfPeer(relay)
    if (server !== undefined && deviceOfPeer(peer) === self) running?.servers.calledByOurselves(server)
    return false
  }

  /** Another way to everybody is open. */
  function retryAbsent(): void {
    for (const device of team) if (!attendance.isUp(device)) running?.keeper.retry(device)
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
    addresses() {
      const [first, ...others] = running?.host.getMultiaddrs().map(String) ?? []
      // Invites carry the first few: a machine has many interfaces, and seldom is more than one of them of use.
      return tidyAddresses(self, [
        ...(first === undefined ? [] : [first]),
        ...(running?.servers.places() ?? []),
        ...others,
      ])
    },
    setTeam(next, removed = new Set()) {
      const added = [...next.keys()].filter((device) => device !== self && !team.has(device))
      team = new Set([...next.keys()].filter((device) => device !== self))
      for (const device of gate.setTeam(team, removed)) {
        book.forget(device)
        book.given(device, beacons.get(device) ?? [])
        running?.links.hangUp(device, 'no longer a teammate')
      }
      const moved = [...team].filter((device) =>
        book.given(device, [...(next.get(device) ?? []), ...(beacons.get(device) ?? [])]),
      )
      keepAll()
      for (const device of moved) running?.keeper.retry(device)
      for (const device of added) attendance.becameTeammate(device)
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
      attendance.measured(device, roundTripMs)
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
    const roundTripMs = attendance.roundTripMs(device)
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
