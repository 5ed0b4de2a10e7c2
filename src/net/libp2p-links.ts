/** Connections and streams to devices, on a running host. */
import type { Connection } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { pathOf, tidyAddresses } from './addresses.ts'
import { netErrorOf } from './libp2p-errors.ts'
import type { Host } from './libp2p-host.ts'
import { frameStream } from './libp2p-stream.ts'
import { type DeviceKey, type FrameStream, NetError } from './net.ts'
import { peerOfDevice } from './peer-id.ts'

/** Eight addresses at four seconds each would be too long to wait for a fresh one. */
const DIAL_TIMEOUT_MS = 15_000
/** Agreeing on a way through two routers takes a handful of round trips, some of which a bad network loses. */
const RELAY_TIMEOUT_MS = 20_000
const OPEN_TIMEOUT_MS = 10_000
/** A round trip that takes longer than this is no connection worth keeping. */
const PROBE_TIMEOUT_MS = 3_000
export const PING_PROTOCOL = '/ipfs/ping/1.0.0'

export interface Links {
  /** Open connections, direct ones before relayed ones, then oldest first. */
  to(device: DeviceKey): Connection[]
  all(): Connection[]
  /** Rejects with NetError. An open connection is used as it is, unless it is relayed. */
  dial(device: DeviceKey, addresses: readonly string[], signal: AbortSignal): Promise<void>
  /** Opens one more connection at an address that leads through a relay. Rejects with NetError. */
  dialThrough(address: string, signal: AbortSignal): Promise<void>
  /** On a connection that is open. Rejects with NetError. */
  openStream(device: DeviceKey, protocol: string, signal: AbortSignal): Promise<FrameStream>
  /** Milliseconds. Rejects with NetError. */
  ping(device: DeviceKey, signal: AbortSignal): Promise<number>
  /** Cuts the connection unless it answers at once. */
  probe(connection: Connection): Promise<void>
  hangUp(device: DeviceKey, reason: string): void
}

export function isRelayedConnection({ remoteAddr }: Connection): boolean {
  return pathOf(remoteAddr) === 'relayed'
}

export function createLinks(host: Host): Links {
  const to = (device: DeviceKey): Connection[] => {
    const open = host.getConnections(peerOfDevice(device)).filter(({ status }) => status === 'open')
    return [...open.filter((one) => !isRelayedConnection(one)), ...open.filter(isRelayedConnection)]
  }

  function connectionTo(device: DeviceKey): Connection {
    const [connection] = to(device)
    if (connection === undefined) throw new NetError('NET_UNREACHABLE', 'not connected')
    return connection
  }

  return {
    to,
    all: () => host.getConnections(),
    async dial(device, addresses, signal) {
      const usable = tidyAddresses(device, addresses)
      if (usable.length === 0) throw new NetError('NET_UNREACHABLE', 'no address of it is known')
      try {
        await host.dial(
          usable.map((address) => multiaddr(address)),
          { signal: AbortSignal.any([signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)]) },
        )
      } catch (error) {
        throw netErrorOf('connect', error)
      }
    },
    async dialThrough(address, signal) {
      try {
        // By the transport itself: the dial queue would join this to what is being dialled already, one after the other.
        await host.services.parts.transportManager.dial(multiaddr(address), {
          signal: AbortSignal.any([signal, AbortSignal.timeout(RELAY_TIMEOUT_MS)]),
        })
      } catch (error) {
        throw netErrorOf('connect through the relay', error)
      }
    },
    async openStream(device, protocol, signal) {
      try {
        const stream = await connectionTo(device).newStream(protocol, {
          signal: AbortSignal.any([signal, AbortSignal.timeout(OPEN_TIMEOUT_MS)]),
        })
        return frameStream(stream, device)
      } catch (error) {
        throw netErrorOf('open a stream', error)
      }
    },
    async ping(device, signal) {
      try {
        connectionTo(device) // The ping service would dial.
        return await host.services.ping.ping(peerOfDevice(device), { signal })
      } catch (error) {
        throw netErrorOf('ping', error)
      }
    },
    async probe(connection) {
      try {
        const stream = await connection.newStream(PING_PROTOCOL, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
        await stream.close() // Agreeing on the protocol was the round trip.
      } catch (error) {
        connection.abort(netErrorOf('reach it', error))
      }
    },
    hangUp(device, reason) {
      for (const connection of host.getConnections(peerOfDevice(device))) connection.abort(new Error(reason))
    },
  }
}
