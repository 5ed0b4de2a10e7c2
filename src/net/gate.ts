/**
 * Who may connect, and as what. Only teammates are served; while joining is open a few strangers
 * may come in for the join protocol, for a short time; and we may go to another's door ourselves.
 */
import { JOIN_STRANGERS_COUNT_MAX, JOIN_TTL_MS } from '../../protocol/index.ts'
import type { Clock } from '../system.ts'
import type { DeviceKey } from './net.ts'

/** A guest is a stranger who came in to join, or the one whom we ask to let us join. A beacon is a bootstrap server. */
export type Standing = 'teammate' | 'beacon' | 'guest' | 'stranger'

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
  /** Returns the devices that were teammates and are no longer. */
  setTeam(team: ReadonlySet<DeviceKey>): DeviceKey[]
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
  let joinOpen = false
  /** Strangers inside and the hosts we visit, each with what cancels its time limit. */
  const strangers = new Map<DeviceKey, () => void>()
  const hosts = new Map<DeviceKey, () => void>()

  function limit(guests: Map<DeviceKey, () => void>, device: DeviceKey): void {
    guests.get(device)?.()
    guests.set(
      device,
      clock.after(JOIN_TTL_MS, () => {
        guests.delete(device)
        if (gate.standing(device) === 'stranger') expel(device)
      }),
    )
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
    setTeam(next) {
      const dropped = [...team].filter((device) => !next.has(device))
      team = new Set(next)
      for (const device of team) {
        release(strangers, device)
        release(hosts, device)
      }
      return dropped
    },
    standing(device) {
      if (team.has(device)) return 'teammate'
      if (beacons.has(device)) return 'beacon'
      return strangers.has(device) || hosts.has(device) ? 'guest' : 'stranger'
    },
    isBeacon: (device) => beacons.has(device),
    mayDial: (device) => team.has(device) || beacons.has(device) || hosts.has(device),
    mayEnter(device) {
      if (team.has(device)) return true
      if (!joinOpen) return false
      if (strangers.has(device)) return true
      if (strangers.size >= JOIN_STRANGERS_COUNT_MAX) return false
      limit(strangers, device)
      return true
    },
    visit: (device) => limit(hosts, device),
    left(device) {
      release(strangers, device)
    },
    stop() {
      for (const device of strangers.keys()) release(strangers, device)
      for (const device of hosts.keys()) release(hosts, device)
    },
  }
  return gate
}
