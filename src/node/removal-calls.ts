/** What callers get back who look at who is in, shut somebody out, or look at what came from there too late; types alone. */
import type { Intent, MemberKind, Role } from '../../protocol/index.ts'
import type { Content, Party, Status, Time } from './api.ts'

export interface MemberListing {
  handle: string
  role: Role
  kind: MemberKind
  me: boolean
  owner: boolean
  removed: boolean
  devices: {
    /** `member/device` */
    device: string
    peer_id: string
    removed: boolean
    reachable: boolean
    /** It has said that it knows of every removal. Absent where it was removed itself. */
    confirmed?: boolean
    last_seen?: Time
  }[]
}

export interface RemovalResult {
  /** Whose laptops they are. */
  handle: string
  /** The member is out; else only the laptop. */
  member_removed: boolean
  /** Laptops that are shut out now, `member/device`. */
  removed: string[]
  /** It was the member's last one. */
  last_device: boolean
  /** Laptops that act by it already, this one among them. */
  stops_now: string[]
  /** Laptops that are away: they act by it when they next meet one that knows. */
  later: string[]
  /** Laptops that have not said yet that they know, those that are away among them. */
  unconfirmed: string[]
  /** Invites by which somebody can still come in. */
  open_invites: number
}

/** A handoff that a device began which was removed before it came here. */
export interface QuarantinedThread {
  thread_id: string
  intent: Intent
  from: Party
  to: string
  status: Status
  received_at: Time
  preview?: Content<string>
}
