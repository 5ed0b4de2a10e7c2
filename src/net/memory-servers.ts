/** Bootstrap servers of a hub: they come and go, their links can be cut, and each keeps mailboxes as it likes. */
import { peerIdText } from '../../protocol/index.ts'
import type { System } from '../system.ts'
import { placeOf } from './addresses.ts'
import { memoryStreams } from './memory-stream.ts'
import { type BootstrapStatus, type DeviceKey, type FrameStream, NetError, type NetHandlers } from './net.ts'
import { letGo } from './sync-pairs.ts'

/** Serves one stream of /relay/mailbox/1. The stream is closed when the promise settles. */
export type OnMailbox = (stream: FrameStream) => Promise<void>

export interface MemoryServer {
  /** Where it is found, ending in /p2p/<PeerId>. */
  readonly address: string
  /** Breaks what runs over it. It can be opened anew. */
  close(): void
}

/** One node's way to the servers. */
export interface ServersSeat {
  set(addresses: readonly string[]): void
  status(): BootstrapStatus[]
  openMailbox(server: DeviceKey): FrameStream
  start(handlers: NetHandlers): void
  stop(): void
}

export interface MemoryServers {
  open(device: DeviceKey, onMailbox: OnMailbox): MemoryServer
  seat(device: DeviceKey): ServersSeat
  /** A link was cut or healed. */
  linksChanged(): void
}

interface Seated {
  reconsider(): void
}

const serverAddress = (device: DeviceKey): string => `/memory/${device}/p2p/${peerIdText(device)}`

export function createMemoryServers(parts: {
  system: System
  isCut(one: DeviceKey, other: DeviceKey): boolean
}): MemoryServers {
  const { system, isCut } = parts
  const servers = new Map<DeviceKey, OnMailbox>()
  const seats = new Set<Seated>()

  function linksChanged(): void {
    for (const seat of seats) seat.reconsider()
  }

  async function serve(onMailbox: OnMailbox, stream: FrameStream): Promise<void> {
    try {
      await onMailbox(stream)
    } catch (error) {
      system.log.debug('a mailbox stream ended', { error: String(error) })
    }
    letGo(system, stream)
  }

  return {
    open(device, onMailbox) {
      servers.set(device, onMailbox)
      queueMicrotask(linksChanged)
      return {
        address: serverAddress(device),
        close() {
          if (servers.get(device) === onMailbox) servers.delete(device)
          linksChanged()
        },
      }
    },
    linksChanged,
    seat(self) {
      let handlers: NetHandlers | undefined
      let wanted = new Map<DeviceKey, string[]>()
      /** Open streams to each connected server. */
      const up = new Map<DeviceKey, Set<FrameStream>>()

      const isReachable = (device: DeviceKey): boolean =>
        handlers !== undefined && wanted.has(device) && servers.has(device) && !isCut(self, device)

      function reconsider(): void {
        for (const device of new Set([...up.keys(), ...wanted.keys()])) {
          const connected = isReachable(device)
          if (connected === up.has(device)) continue
          for (const stream of up.get(device) ?? []) stream.abort('disconnected')
          if (connected) up.set(device, new Set())
          else up.delete(device)
          handlers?.onBootstrapChange({ device, connected })
        }
      }

      const seated = { reconsider }
      return {
        set(addresses) {
          const known = new Map([...servers.keys()].map((device) => [serverAddress(device), device]))
          wanted = new Map()
          for (const address of addresses) {
            const device = known.get(address) ?? /^\/memory\/([0-9a-f]{64})\/p2p\//.exec(address)?.[1]
            if (device !== undefined) wanted.set(device, [...(wanted.get(device) ?? []), address])
          }
          queueMicrotask(reconsider)
        },
        status: () =>
          [...wanted].map(([device, addresses]) => {
            const connected = up.has(device)
            return {
              device,
              addresses,
              host: hostOf(addresses[0] ?? ''),
              connected,
              relaying: false,
              ...(connected ? {} : { lastFailure: 'nobody is there' }),
            }
          }),
        openMailbox(server) {
          const onMailbox = servers.get(server)
          const streams = up.get(server)
          if (!onMailbox || !streams) throw new NetError('NET_UNREACHABLE', 'this bootstrap server is not connected')
          const [near, far] = memoryStreams(self, server)
          streams.add(near)
          void serve(onMailbox, far)
          return near
        },
        start(given) {
          handlers = given
          seats.add(seated)
          queueMicrotask(reconsider)
        },
        stop() {
          for (const streams of up.values()) for (const stream of streams) stream.abort('stopped')
          up.clear()
          handlers = undefined
          seats.delete(seated)
        },
      }
    },
  }
}

/** A place in memory has no port; a server may also be known by the address that a real one would have. */
function hostOf(address: string): string {
  const [, device] = /^\/memory\/([0-9a-f]{8})/.exec(address) ?? []
  return device ?? placeOf(address)
}
