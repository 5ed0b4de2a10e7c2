/**
 * Who may connect, and as what. Only teammates are served; while joining is open a few strangers
 * may come in for the join protocol, for a short time; a device that was removed may come in for as
 * long as it takes to tell it so; and we may go to another's door ourselves.
 */
import { FAREWELL_TTL_MS, FAREWELLS_COUNT_MAX, JOIN_STRANGERS_COUNT_MAX, JOIN_TTL_MS } from '../../protocol/index.ts'
import type { Clock } from '../system.ts'
import type { DeviceKey } from './net.ts'

/** A guest is a stranger who came in to join, or the one whom we ask to let us join. A beacon is a bootstrap server. */
export type Standing = 'teammate' | 'beacon' | 'removed' | 'guest' | 'stranger'

export interface GateParts {
  clock: Clock
  /** Those of the moment. */
  beacons: { has(device: DeviceKey): boolean }
  /** Its time is over: hang up. */
  expel(device: DeviceKey): void
}

export interface Gate {
  readonly joinOpen: boolean
  setJoinOpen(open: boolean): void
  /** `removed`: those that were teammates once. Returns the devices that were teammates and are no longer. */
  setTeam(team: ReadonlySet<DeviceKey>, removed?: ReadonlySet<DeviceKey>): DeviceKey[]
  standing(device: DeviceKey): Standing
  /** A bootstrap server, which may be a teammate too. */
  isBeacon(device: DeviceKey): boolean
  /** May we open a connection to it? */
  mayDial(device: DeviceKey): boolean
  /** May it open a connection to us? Takes a stranger's place where that is what it needs. */
  mayEnter(device: DeviceKey): boolean
  /** We are about to join at its door, or to go through it on the way there, so it may be dialled for JOIN_TTL_MS. */
  visit(device: DeviceKey): void
  /** Its last connection is gone. */
  left(device: DeviceKey): void
  stop(): void
}

export function createGate({ clock, beacons, expel }: GateParts): Gate {
  let team: ReadonlySet<DeviceKey> = new Set()
  let removed: ReadonlySet<DeviceKey> = new Set()
  let joinOpen = false
  /** Strangers inside, the removed inside, and the hosts we visit, each with what cancels its time limit. */
  const farewells = new Map<DeviceKey, () => void>()
  const strangers = new Map<DeviceKey, () => void>()
  const hosts = new Map<DeviceKey, () => void>()

  function limit(guests: Map<DeviceKey, () => void>, device: DeviceKey, ttlMs = JOIN_TTL_MS): void {
    guests.get(device)?.()
    guests.set(
      device,
      clock.after(ttlMs, () => {
        guests.delete(device)
        const standing = gate.standing(device)
        if (standing === 'stranger' || standing === 'removed') expel(device)
      }),
    )
  }

  /** Takes one of `count` places. */
  function enter(guests: Map<DeviceKey, () => void>, device: DeviceKey, bounds: { count: number; ttlMs: number }) {
    if (guests.has(device)) return true
    if (guests.size >= bounds.count) return false
    limit(guests, device, bounds.ttlMs)
    return true
  }

  function release(guests: Map<DeviceKey, () => void>, device: DeviceKey): void {
    guests.get(device)?.()
    guests.delete(device)
  }

  const gate: Gate = {
    get joinOpen() {
      return joinOpen
    },
    setJoinOpen(open) {
      joinOpen = open
    },
    setTeam(next, nextRemoved = new Set()) {
      const dropped = [...team].filter((device) => !next.has(device))
      team = new Set(next)
      removed = new Set(nextRemoved)
      for (const device of team) {
        release(farewells, device)
        release(strangers, device)
        release(hosts, device)
      }
      return dropped
    },
    standing(device) {
      if (team.has(device)) return 'teammate'
      if (beacons.has(device)) return 'beacon'
      if (removed.has(device)) return 'removed'
      return strangers.has(device) || hosts.has(device) ? 'guest' : 'stranger'
    },
    isBeacon: (device) => beacons.has(device),
    mayDial: (device) => team.has(device) || beacons.has(device) || hosts.has(device),
    mayEnter(device) {
      if (team.has(device)) return true
      if (removed.has(device)) return enter(farewells, device, { count: FAREWELLS_COUNT_MAX, ttlMs: FAREWELL_TTL_MS })
      return joinOpen && enter(strangers, device, { count: JOIN_STRANGERS_COUNT_MAX, ttlMs: JOIN_TTL_MS })
    },
    visit: (device) => limit(hosts, device),
    left(device) {
      release(farewells, device)
      release(strangers, device)
    },
    stop() {
      for (const guests of [farewells, strangers, hosts]) for (const device of guests.keys()) release(guests, device)
    },
  }
  return gate
}
