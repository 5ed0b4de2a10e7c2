/** The quotas of a bootstrap server: who may come in, hold a place, open a circuit, and how much may pass. Each no is counted by name. */
import { createAllowance } from '../allowance.ts'
import type { Clock } from '../system.ts'
import { BOOTSTRAP_REFUSALS, type BootstrapLimits, type BootstrapRefusal } from './bootstrap-net.ts'
import type { DeviceKey } from './net.ts'

export interface BootstrapGateParts {
  clock: Clock
  limits: BootstrapLimits
}

export interface BootstrapGate {
  readonly refusals: Readonly<Record<BootstrapRefusal, number>>
  /** Counts a no that was found elsewhere. */
  refuse(why: BootstrapRefusal): void
  /** A connection begins; after a yes, leave() has to follow once. */
  mayEnter(source: string): boolean
  leave(source: string): void
  /** Its key is known by now, undefined where it is none of ours; `connections` are those that it has. */
  mayStay(device: DeviceKey | undefined, connections: number): boolean
  /** A place for somebody who has none. `held` are the sources of all that are taken. */
  mayReserve(source: string, held: readonly string[]): boolean
  /** It asks for a place or a circuit. */
  mayAsk(device: DeviceKey): boolean
  /** `open` are the circuits that it dialled and that are open. */
  mayDial(open: number): boolean
  /** It sent bytes through a circuit. */
  mayPass(device: DeviceKey, bytes: number): boolean
  /** It sent bytes to the DHT. */
  mayQuery(device: DeviceKey, bytes: number): boolean
}

const MINUTE_MS = 60_000

export function createBootstrapGate({ clock, limits }: BootstrapGateParts): BootstrapGate {
  const refusals = Object.fromEntries(BOOTSTRAP_REFUSALS.map((why) => [why, 0])) as Record<BootstrapRefusal, number>
  const inside = new Map<string, number>()
  let connections = 0
  const requests = createAllowance({ clock, burst: limits.relayRequestsPerMinute, refillMs: MINUTE_MS })
  const relayed = createAllowance({ clock, burst: limits.relayedBytesPerHour, refillMs: 60 * MINUTE_MS })
  const queries = createAllowance({ clock, burst: limits.dhtBytesPerMinute, refillMs: MINUTE_MS })

  function within(why: BootstrapRefusal, isSo: boolean): boolean {
    if (!isSo) refusals[why] += 1
    return isSo
  }

  return {
    refusals,
    refuse: (why) => void within(why, false),
    mayEnter(source) {
      const before = inside.get(source) ?? 0
      if (!within('connections', connections < limits.connections)) return false
      if (!within('connections_per_source', before < limits.connectionsPerSource)) return false
      inside.set(source, before + 1)
      connections += 1
      return true
    },
    leave(source) {
      const before = inside.get(source) ?? 0
      if (before > 1) inside.set(source, before - 1)
      else inside.delete(source)
      connections -= 1
    },
    mayStay: (device, count) =>
      within('key_type', device !== undefined) && within('connections_per_peer', count < limits.connectionsPerPeer),
    mayReserve: (source, held) =>
      within('reservations', held.length < limits.reservations) &&
      within('reservations_per_source', held.filter((one) => one === source).length < limits.reservationsPerSource),
    mayAsk: (device) => within('relay_requests', requests.take(device)),
    mayDial: (open) => within('circuits_per_peer', open < limits.circuitsPerPeer),
    mayPass: (device, bytes) => within('relayed_bytes', relayed.take(device, bytes)),
    mayQuery: (device, bytes) => within('dht_bytes', queries.take(device, bytes)),
  }
}
