/** Who this node is, who its teammates are, and how it is: what front ends get to see; types alone. */
import type { MemberKind, Role, TurnedAway } from '../../protocol/index.ts'
import type { Time, Trust } from './api.ts'
import type { KeyLack } from './fencing.ts'

export interface TeammateDevice {
  /** `member/device` */
  device: string
  peer_id: string
  reachable: boolean
  path?: string
  /** The bootstrap server that relays, where the path is relayed. */
  via?: string
  /** Why no better path is in use. */
  why_not_direct?: string
  round_trip_ms?: number
  last_seen?: Time
  /** Its clock minus ours, where that is more than a minute. */
  clock_skew_ms?: number
  /** Why the last attempt to reach it failed. */
  last_failure?: string
  removed: boolean
}

export interface Teammate {
  handle: string
  kind: MemberKind
  role: Role
  trust: Trust
  me: boolean
  devices: TeammateDevice[]
  reachable: boolean
  last_seen?: Time
  blocked: boolean
}

export interface WhoAmI {
  handle?: string
  member?: string
  device?: string
  peer_id: string
  workspaces: string[]
  role?: 'member' | 'reader'
  kind?: 'person' | 'service'
  owner: boolean
  /** `alone` until a workspace is made or joined. */
  node_state: 'ready' | 'alone' | 'removed'
  reachable_peers: number
}

export interface NodeStatus extends WhoAmI {
  pid: number
  version: string
  protocol: number
  started_at: Time
  addresses: string[]
  store_format: number
  /** Why nothing can be written; absent where it can. */
  store_failure?: { code: string; message: string }
  teammates: Teammate[]
  threads: number
  unread: number
  /** Entries that some device has not acknowledged yet. */
  outbox: number
  /** The same by device, with whoever keeps some of them for it. */
  waiting: { device: string; entries: number; stored_at: string[] }[]
  /** Sealed bodies that are kept here for others. */
  carried: { entries: number; bytes: number }
  /** Whether mailboxes at the bootstrap servers are used. */
  mailbox: boolean
  /** Another machine that runs with this device's key, in words. */
  twin?: string
  /** Refusals by name since the node started. */
  refused: Record<string, number>
  /** Refused entries that are kept as proof, newest first. */
  refused_entries: RefusedEntry[]
  /** Proven: the device signed two entries with one number in that thread. */
  forks: { device: string; thread_id: string }[]
  /** workspace_id: id of its first entry, hex; to compare with that of an export. */
  roster: { position: number; forked: boolean; workspace_id?: string }
  /**
   * What takes nothing new from here, since a part of it may be lost with a part of the store: open
   * handoffs, and the roster where this laptop owns it.
   */
  recovering: { handoffs: number; roster: boolean }
  /** Laptops that have not said yet that they know of every removal. */
  unconfirmed: string[]
  /** Handoffs that have no key yet which every removed device is left out of, and why. */
  keyless: { thread_id: string; why: KeyLack['why']; devices: string[] }[]
  /** Handoffs that are kept apart until a person admits them. */
  quarantined: number
  bootstrap: BootstrapServer[]
  clock_ms: number
}

/** A bootstrap server that this node uses. */
export interface BootstrapServer {
  /** Host and port of its first address. */
  host: string
  peer_id: string
  addresses: string[]
  /** The team's owner for everybody, or the settings of this laptop. */
  named_by: 'team' | 'settings'
  connected: boolean
  /** It holds a place for this laptop, so that teammates reach it through the server. */
  relaying: boolean
  round_trip_ms?: number
  last_failure?: string
  /** Where mailboxes are used. */
  mailbox?: {
    /** Entries that were left there for others since the node started. */
    left: number
    /** Items of one's own there that wait for something else to come. */
    waiting: number
    /** What the server did not take last, for whom. */
    turned_away: { why: TurnedAway; device: string; at: Time }[]
  }
}

export interface RefusedEntry {
  /** The device that sent it, `member/device`. Whose words it is supposed to be is not known. */
  from: string
  /** Name of the rule's no. */
  refusal: string
  at: Time
  size: number
}

export interface PingedDevice {
  /** `member/device` */
  device: string
  round_trip_ms?: number
  path?: string
  via?: string
  why_not_direct?: string
  failure?: string
}
