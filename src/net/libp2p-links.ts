/** Connections and streams to devices, on a running host. */
import type { Connection } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { tidyAddresses } from './addresses.ts'
import { netErrorOf } from './libp2p-errors.ts'
import type { Host } from './libp2p-host.ts'
import { frameStream } from './libp2p-stream.ts'
import { type DeviceKey, type FrameStream, NetError } from './net.ts'
import { peerOfDevice } from './peer-id.ts'

/** Eight addresses at four seconds each would be too long to wait for a fresh one. */
const DIAL_TIMEOUT_MS = 15_000
const LOOK_UP_TIMEOUT_MS = 8_000
const OPEN_TIMEOUT_MS = 10_000
/** A round trip that takes longer than this is no connection worth keeping. */
const PROBE_TIMEOUT_MS = 3_000
export const PING_PROTOCOL = '/ipfs/ping/1.0.0'

export interface Links {
  /** Open connections, oldest first. */
  to(device: DeviceKey): Connection[]
  all(): Connection[]
  /** Rejects with NetError. An open connection is used as it is. */
  dial(device: DeviceKey, addresses: readonly string[], signal: AbortSignal): Promise<void>
  /** Addresses that the bootstrap servers know; none where they know none or there are no servers. */
  lookUp(device: DeviceKey, signal: AbortSignal): Promise<string[]>
  /** On a connection that is open. Rejects with NetError. */
  openStream(device: DeviceKey, protocol: string, signal: AbortSignal): Promise<FrameStream>
  /** Milliseconds. Rejects with NetError. */
  ping(device: DeviceKey, signal: AbortSignal): Promise<number>
  /** Cuts the connection unless it answers at once. */
  probe(connection: Connection): Promise<void>
  hangUp(device: DeviceKey, reason: string): void
}

export function createLinks(host: Host): Links {
  const to = (device: DeviceKey): Connection[] =>
    host.getConnections(peerOfDevice(device)).filter(({ status }) => status === 'open')

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
    async lookUp(device, signal) {
      try {
        const found = await host.peerRouting.findPeer(peerOfDevice(device), {
          signal: AbortSignal.any([signal, AbortSignal.timeout(LOOK_UP_TIMEOUT_MS)]),
          useCache: false, // What we have ourselves was tried already.
        })
        return tidyAddresses(device, found.multiaddrs.map(String))
      } catch {
        return [] // Not found, no server reached, no servers at all: the same to a caller.
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
