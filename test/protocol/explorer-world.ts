/** The small worlds that the explorer plays in: which devices there are, what they may say, and the roster that names them. */
import {
  emptyRosterLog,
  type Entry,
  type Hex,
  type Kind,
  type Outcome,
  type Roster,
  type RosterLog,
  type Side,
  type Verdict,
} from '../../protocol/index.ts'
import type { Key } from './explorer-table.ts'

/** What can be said, by a short name. `wrap x` adds device x, `wrap` adds none; `lack` is an ack that lacks the create. */
export type ActName =
  | 'accept'
  | 'cancel'
  | 'complete'
  | 'decline'
  | 'message'
  | 'revise'
  | 'annotate'
  | 'resolve'
  | 'approve'
  | 'reject'
  | 'share'
  | 'ack'
  | 'lack'
  | 'wrap'
  | `wrap ${string}`
  | `fence ${string}`

/** The bounds of rule S10 that a world plays with lowered. */
export interface Bounds {
  readonly turns: number
  readonly pendingTurns: number
  readonly wraps: number
  readonly lackChanges: number
}

export interface World {
  readonly name: string
  /** Devices that create lists: s0, s1 … and r0, r1 … */
  readonly senders: number
  readonly recipients: number
  /** Devices that a wrap may add: x and y are the recipient's, t is the sender's. */
  readonly added?: readonly ('x' | 'y' | 't')[]
  /** A third member's device, a, that a share may name. */
  readonly reader?: boolean
  /** Devices that are removed one after the other, each at a roster point of its own: what a fence may name. */
  readonly removed?: readonly string[]
  readonly acts: readonly ActName[]
  /** True if create proposes an action. */
  readonly proposes?: boolean
  readonly bounds?: Bounds
  /** Entries after the create, in the tests. */
  readonly entriesMax: number
  /** How many histories that makes; another number means that other entries are stored. */
  readonly histories: number
}

export interface Device {
  readonly name: string
  readonly key: Hex
  readonly side: Side
  /** True if create lists it. */
  readonly listed: boolean
  /** Number of the roster point that removes it. */
  readonly removedAt: number | undefined
}

export interface Act {
  readonly name: ActName
  readonly kind: Kind
  /** The device that a wrap adds or a fence names. */
  readonly target: number | undefined
  readonly outcome: Outcome
  readonly verdict: Verdict
  readonly lacks: boolean
}

/** An entry, the same in all histories that hold it. */
export interface Item {
  readonly entry: Entry
  readonly kind: Kind
  readonly device: number
  readonly act: number
  readonly target: number | undefined
  readonly key: Key
  /** The key of the same entry with the devices of a symmetric world exchanged. */
  readonly mirror: Key
  /** Its sequence number, or else the greatest of its past, counted apart from the rules under test. */
  readonly numberMax: number
}

/** Entries in an order of arrival, and the past of each as a bit mask over that order. The first is the create. */
export interface Shape {
  readonly items: readonly Item[]
  readonly pasts: readonly number[]
}

export interface Cast {
  readonly world: World
  readonly devices: readonly Device[]
  readonly acts: readonly Act[]
  readonly log: RosterLog
  /** Ids of the roster points: the one with everybody in it, then one for each removal. */
  readonly points: readonly Hex[]
  /** For each device the one that takes its place in the mirror. */
  readonly mirror: readonly number[] | undefined
}

export const MEMBERS: Record<Side, Hex> = {
  sender: '0a'.repeat(32),
  recipient: '0b'.repeat(32),
  reader: '0f'.repeat(32),
}
export const WORKSPACE = '0c'.repeat(32)
export const ANY = '0d'.repeat(32)

export function castOf(world: World): Cast {
  const device = (name: string, key: string, side: Side, listed: boolean): Device => ({
    name,
    key: key.repeat(32),
    side,
    listed,
    removedAt: world.removed?.includes(name) ? world.removed.indexOf(name) + 1 : undefined,
  })
  const devices = [
    ...Array.from({ length: world.senders }, (_, i) => device(`s${i}`, `a${i}`, 'sender', true)),
    ...Array.from({ length: world.recipients }, (_, i) => device(`r${i}`, `b${i}`, 'recipient', true)),
    ...(world.added ?? []).map((name, i) => device(name, `c${i}`, name === 't' ? 'sender' : 'recipient', false)),
    ...(world.reader ? [device('a', 'd0', 'reader', false)] : []),
  ]
  const acts = world.acts.map((name) => actOf(name, devices))
  const points = [WORKSPACE, ...(world.removed ?? []).map((_, i) => `e${i}`.repeat(32))]
  const log = emptyRosterLog()
  points.forEach((id, n) => {
    log.rosters.set(id, rosterOf([n, id], devices))
    // Only the predecessor of an entry is ever asked for.
    log.entries.set(id, { id, header: { prev: points[n - 1] ?? null }, envelope: new Uint8Array(0) } as never)
  })
  return { world, devices, acts, log, points, mirror: mirrorOf(world, devices) }
}

function actOf(name: ActName, devices: readonly Device[]): Act {
  const [word = '', targetName] = name.split(' ')
  const kinds: Record<string, Kind> = { decline: 'complete', reject: 'approve', lack: 'ack' }
  const target = targetName === undefined ? -1 : devices.findIndex((one) => one.name === targetName)
  return {
    name,
    kind: kinds[word] ?? (word as Kind),
    target: target < 0 ? undefined : target,
    outcome: word === 'decline' ? 'declined' : 'done',
    verdict: word === 'reject' ? 'rejected' : 'approved',
    lacks: word === 'lack',
  }
}

/**
 * Two devices that create lists for the recipient can be exchanged in every history, as long as
 * nothing tells them apart: no removal names one, and no complete is led by rank.
 */
function mirrorOf(world: World, devices: readonly Device[]): number[] | undefined {
  if (world.recipients !== 2 || world.removed || world.acts.some((act) => act === 'complete' || act === 'decline'))
    return undefined
  const first = world.senders
  return devices.map((_, i) => (i === first ? first + 1 : i === first + 1 ? first : i))
}

function rosterOf(point: [number, Hex], devices: readonly Device[]): Roster {
  const member = (id: Hex, name: string) => [id, { id, name, role: 'member', kind: 'person', removed: false }] as const
  return {
    point,
    ws: WORKSPACE,
    name: 'acme',
    owner: ANY,
    successor: ANY,
    nonce: ANY,
    epoch: 0,
    commit: ANY,
    members: new Map([
      member(MEMBERS.sender, 'bob'),
      member(MEMBERS.recipient, 'frank'),
      member(MEMBERS.reader, 'alice'),
    ]),
    devices: new Map(
      devices.map(({ key, name, side, removedAt }) => [
        key,
        { key, member: MEMBERS[side], name, removed: removedAt !== undefined && removedAt <= point[0] },
      ]),
    ),
    invites: new Map(),
    bootstrap: [],
  }
}
