/** The bootstrap servers of a running net: who is connected, where we hold a place, what can be found through them. */
import type { Backoff } from './backoff.ts'
import type { System } from '../system.ts'
import { circuitAddress, placeOf, stunUrl } from './addresses.ts'
import type { LanFind } from './lan.ts'
import { createKeeper } from './keeper.ts'
import type { Host } from './libp2p-host.ts'
import type { Links } from './libp2p-links.ts'
import type { Relaying } from './libp2p-relaying.ts'
import type { BootstrapStatus, DeviceKey } from './net.ts'

/** A server that is full is asked again, though not all the time. */
const PLACE_BACKOFF: Backoff = { min: 1_000, max: 60_000 }
/** How often a search that found nothing is repeated: a person is waiting. */
const SEARCH_PAUSE_MS = 1_000
const TWIN_LOOK_MS = 10 * 60 * 1000
const TWIN_TIMEOUT_MS = 10_000

export interface ServersParts {
  system: System
  host: Host
  links: Links
  self: DeviceKey
  holePunching: boolean
  guard(protocols: readonly string[]): Promise<void>
  /** Others reach us through `server` now. */
  onPlace(server: DeviceKey): void
  /** Somebody else with our key is where this says; see twin.ts. */
  onTwin(where: string): void
}

export interface Servers {
  set(servers: ReadonlyMap<DeviceKey, readonly string[]>): void
  connected(server: DeviceKey): void
  disconnected(server: DeviceKey): void
  /** Loads what it takes to go through a relay, also one that is no server of ours. */
  relaying(): Promise<Relaying>
  /** Remembers a relay that is none of ours, for as long as this runs. */
  visit(address: string): void
  /** Where the connected servers are, each ending in its key: ways to everybody who holds a place there. */
  relays(): string[]
  /** The same of all servers, also of those that have yet to be connected. */
  allRelays(): string[]
  /** Our own addresses at the servers that hold a place for us. */
  places(): string[]
  /** `relay` brings a call from somebody with our own key. */
  calledByOurselves(relay: DeviceKey): void
  /** Addresses that the servers know of a device; none where there are no servers. */
  lookUp(device: DeviceKey, signal: AbortSignal): Promise<string[]>
  /** Makes us findable under `tag` until the returned function is called. */
  advertise(tag: string): () => void
  /** Looks for `tag` again and again until the returned function is called. */
  search(tag: string, onFind: (find: LanFind) => void): () => void
  status(failureOf: (server: DeviceKey) => string | undefined): BootstrapStatus[]
  stop(): Promise<void>
}

export function createServers(parts: ServersParts): Servers {
  const { system, host, links, self } = parts
  const { clock, log } = system
  let servers: ReadonlyMap<DeviceKey, readonly string[]> = new Map()
  let loading: Promise<Relaying> | undefined
  let loaded: Relaying | undefined
  const visited = new Set<string>()
  const tags = new Set<string>()
  /** Relays through which we call ourselves right now, and whether the call came back to us. */
  const calls = new Map<DeviceKey, { cameBack: boolean }>()
  const places = createKeeper({
    system,
    connected: (server) => loaded?.hasPlace(server) === true,
    reach: takePlace,
    backoff: () => PLACE_BACKOFF,
  })
  const endLooks = clock.every(TWIN_LOOK_MS, () => {
    for (const server of servers.keys()) if (loaded?.hasPlace(server) === true) void lookForTwin(server)
  })

  function relaying(): Promise<Relaying> {
    loading ??= load()
    return loading
  }

  async function load(): Promise<Relaying> {
    const { createRelaying } = await import('./libp2p-relaying.ts')
    loaded = await createRelaying({
      host,
      log,
      self,
      holePunching: parts.holePunching,
      guard: parts.guard,
      stunUrls: () => [
        ...new Set([...[...servers.values()].flat(), ...visited].flatMap((address) => stunUrl(address) ?? [])),
      ],
      onPlaceLost: (server) => places.disconnected(server),
    })
    return loaded
  }

  const isUp = (server: DeviceKey): boolean => links.to(server).length > 0

  function keepPlaces(): void {
    places.keep(new Set([...servers.keys()].filter(isUp)))
  }

  async function takePlace(server: DeviceKey): Promise<void> {
    await (await relaying()).reserve(server)
    places.connected(server)
    parts.onPlace(server)
    for (const tag of tags) void provide(tag)
    void lookForTwin(server)
  }

  const relayAt = (server: DeviceKey): string | undefined => links.to(server)[0]?.remoteAddr.toString()

  /** A relay leads whoever calls us to one of the connections with our key: if that is not ours, it is a twin's. */
  async function lookForTwin(server: DeviceKey): Promise<void> {
    const relay = relayAt(server)
    if (loaded === undefined || relay === undefined || calls.has(server)) return
    const call = { cameBack: false }
    calls.set(server, call)
    const answered = await loaded.answersAsUs(relay, AbortSignal.timeout(TWIN_TIMEOUT_MS))
    calls.delete(server)
    if (answered && !call.cameBack) twinAt(server)
  }

  function twinAt(server: DeviceKey): void {
    const [address = ''] = servers.get(server) ?? []
    parts.onTwin(`is connected to the bootstrap server ${placeOf(address)}`)
  }

  async function provide(tag: string): Promise<void> {
    try {
      await loaded?.provide(tag)
    } catch (error) {
      log.debug('not findable through the bootstrap servers', { error: String(error) })
    }
  }

  return {
    set(next) {
      servers = new Map(next)
      if (servers.size > 0) relaying().catch((error: unknown) => log.error('cannot relay', { error: String(error) }))
      keepPlaces()
    },
    connected: keepPlaces,
    disconnected: keepPlaces,
    relaying,
    visit: (address) => void visited.add(address),
    relays: () => [...servers.keys()].flatMap((server) => relayAt(server) ?? []),
    allRelays: () => [...servers].flatMap(([server, [address]]) => relayAt(server) ?? address ?? []),
    places: () =>
      [...servers].flatMap(([server, [address]]) =>
        address !== undefined && loaded?.hasPlace(server) === true ? [circuitAddress(address, self)] : [],
      ),
    calledByOurselves(relay) {
      const call = calls.get(relay)
      if (call?.cameBack === false) call.cameBack = true
      else twinAt(relay) // A call of ours comes back once at most. A relay that lies causes a false alarm, and no more.
    },
    lookUp: async (device, signal) => (servers.size === 0 ? [] : (await relaying()).lookUp(device, signal)),
    advertise(tag) {
      tags.add(tag)
      void provide(tag)
      return () => void tags.delete(tag)
    },
    search(tag, onFind) {
      const controller = new AbortController()
      let cancelPause = (): void => undefined
      async function look(): Promise<void> {
        try {
          if ([...servers.keys()].some(isUp))
            for (const find of await (await relaying()).providers(tag, controller.signal)) onFind(find)
        } catch (error) {
          log.debug('search failed', { error: String(error) })
        }
        if (!controller.signal.aborted) cancelPause = clock.after(SEARCH_PAUSE_MS, () => void look())
      }
      void look()
      return () => {
        controller.abort(new Error('found, or given up'))
        cancelPause()
      }
    },
    status: (failureOf) =>
      [...servers].map(([device, addresses]) => {
        const [connection] = links.to(device)
        const lastFailure = connection === undefined ? failureOf(device) : places.lastFailure(device)
        return {
          device,
          addresses: [...addresses],
          host: placeOf(addresses[0] ?? ''),
          connected: connection !== undefined,
          relaying: loaded?.hasPlace(device) === true,
          ...(connection?.rtt === undefined ? {} : { roundTripMs: connection.rtt }),
          ...(lastFailure === undefined ? {} : { lastFailure }),
        }
      }),
    async stop() {
      endLooks()
      places.stop()
      await loading?.then(
        (made) => made.stop(),
        () => undefined, // Logged where it was wanted.
      )
    },
  }
}
