/** Who is here: what follows when a connection opens, when a better one opens beside it, and when one ends. */
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import type { System } from '../system.ts'
import type { AddressBook } from './addresses.ts'
import type { Gate } from './gate.ts'
import type { Keeper } from './keeper.ts'
import type { Gossip } from './libp2p-gossip.ts'
import type { Host } from './libp2p-host.ts'
import { isRelayedConnection, type Links, PING_PROTOCOL } from './libp2p-links.ts'
import type { Servers } from './libp2p-servers.ts'
import type { Ways } from './libp2p-ways.ts'
import type { DeviceKey, NetHandlers } from './net.ts'
import { deviceOfPeer } from './peer-id.ts'
import type { SyncPairs } from './sync-pairs.ts'

/** Of two connections, how much older one is than what a simultaneous dial explains. */
const OLDER_MS = 2_000
const SOON_MS = 10

/** What exists between start() and stop(). */
export interface Running {
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

export interface AttendanceParts {
  system: System
  gate: Gate
  book: AddressBook
  syncProtocol: string
  team(): Iterable<DeviceKey>
  running(): Running | undefined
}

export interface Attendance {
  /** Whether keeper and pairs have been told that it is connected. */
  isUp(device: DeviceKey): boolean
  opened(connection: Connection): void
  closed(connection: Connection): void
  identified(peer: PeerId, addresses: readonly string[]): void
  /** Asks who is there; the answer makes libp2p start gossip, and gives us its addresses. */
  meet(connection: Connection): void
  /** A device has just become a teammate; it may be connected as something else. */
  becameTeammate(device: DeviceKey): void
  /** Gossip that stopped is begun again, and relayed connections beside a direct one are closed once nothing runs there. */
  upkeep(): void
  /** Milliseconds of the last ping on the way that is in use, undefined where there was none. */
  roundTripMs(device: DeviceKey): number | undefined
  measured(device: DeviceKey, roundTripMs: number): void
}

export function createAttendance({ system, gate, book, syncProtocol, team, running }: AttendanceParts): Attendance {
  const { clock, log } = system
  const up = new Set<DeviceKey>()
  const roundTrips = new Map<DeviceKey, number>()

  async function identify(connection: Connection): Promise<void> {
    try {
      await running()?.host.services.identify.identify(connection)
    } catch (error) {
      log.debug('identify failed', { address: connection.remoteAddr.toString(), error: String(error) })
    }
  }

  const meet = (connection: Connection): void => void identify(connection)

  function report(device: DeviceKey): void {
    const { handlers } = running() ?? {}
    const connected = up.has(device)
    if (gate.standing(device) === 'teammate')
      handlers?.onPeerChange({ device, connected, addresses: book.fresh(device) })
    if (gate.isBeacon(device)) handlers?.onBootstrapChange({ device, connected })
  }

  /** A device that we serve has a connection. */
  function welcome(device: DeviceKey, { keeper, servers, pairs, ways }: Running): void {
    if (!up.has(device)) {
      up.add(device)
      keeper.connected(device)
      report(device)
    }
    if (gate.isBeacon(device)) servers.connected(device)
    if (gate.standing(device) === 'teammate') pairs.connected(device)
    ways.improve(team())
  }

  /** Above the connection limit libp2p closes whoever has the lowest tags. */
  async function protect(peer: PeerId): Promise<void> {
    try {
      await running()?.host.peerStore.merge(peer, { tags: { teammate: { value: 100 } } })
    } catch (error) {
      log.debug('tagging failed', { error: String(error) })
    }
  }

  return {
    isUp: (device) => up.has(device),
    meet,
    opened(connection) {
      const device = deviceOfPeer(connection.remotePeer)
      const now = running()
      if (device === undefined || now === undefined) return
      const standing = gate.standing(device)
      if (standing === 'removed') now.pairs.connected(device)
      if (standing !== 'teammate' && standing !== 'beacon') return
      if (connection.direction === 'outbound') book.proven(device, connection.remoteAddr.toString())
      const others = now.links.to(device).filter((other) => other !== connection)
      const better = others.length > 0 && others.every(isRelayedConnection) && !isRelayedConnection(connection)
      // It may have dialled because it lost an older one, which we would only notice much later. Two that are as new
      // as each other come from dialling at the same moment.
      for (const other of others)
        if (!better && connection.timeline.open - other.timeline.open > OLDER_MS) void now.links.probe(other)
      meet(connection)
      welcome(device, now)
      if (!better) return
      roundTrips.delete(device)
      now.pairs.renew(device)
      now.gossip.attend(device)
    },
    closed(connection) {
      const device = deviceOfPeer(connection.remotePeer)
      const now = running()
      if (device === undefined || now === undefined) return
      if (now.links.to(device).length > 0) {
        // Gossip may have run on the one that is gone. Not at once: where a stream is opened on a connection that ends
        // in the same moment, libp2p throws an error that nobody can catch.
        clock.after(SOON_MS, () => running()?.gossip.attend(device))
        return now.ways.improve(team())
      }
      gate.left(device)
      now.pairs.disconnected(device)
      if (!up.delete(device)) return
      roundTrips.delete(device)
      now.keeper.disconnected(device)
      now.servers.disconnected(device)
      now.ways.improve(team())
      report(device)
    },
    identified(peer, addresses) {
      const device = deviceOfPeer(peer)
      if (device === undefined || gate.standing(device) !== 'teammate' || addresses.length === 0) return
      book.announced(device, addresses)
      running()?.ways.retry(device)
      void protect(peer)
      report(device)
    },
    becameTeammate(device) {
      const now = running()
      const connections = now?.links.to(device) ?? []
      for (const connection of connections) meet(connection)
      if (up.has(device)) report(device) // As a bootstrap server, which nobody was told.
      if (now !== undefined && connections.length > 0) welcome(device, now)
    },
    upkeep() {
      const now = running()
      if (now === undefined) return
      for (const device of up) {
        if (gate.standing(device) !== 'teammate') continue
        now.gossip.attend(device)
        const [best, ...others] = now.links.to(device)
        if (best === undefined || isRelayedConnection(best)) continue
        const spare = others.filter(isRelayedConnection)
        if (spare.some(({ streams }) => streams.some(({ protocol }) => protocol === syncProtocol)))
          now.pairs.renew(device)
        for (const one of spare) if (one.streams.every(isPassing)) void retire(one)
      }
    },
    roundTripMs: (device) => roundTrips.get(device),
    measured: (device, roundTripMs) => void roundTrips.set(device, roundTripMs),
  }
}

async function retire(connection: Connection): Promise<void> {
  try {
    await connection.close()
  } catch {
    connection.abort(new Error('a direct connection is in use'))
  }
}

/** What comes and goes by itself on every connection. */
function isPassing({ protocol }: Stream): boolean {
  return protocol === PING_PROTOCOL || protocol.startsWith('/ipfs/id/')
}
