/**
 * The roster: a linear log by one writer, the owner's device, that says who is in the workspace as
 * of a given point. Verdicts on thread entries are judged at the point that each entry cites.
 */
import { fromHex, type Hex, toHex } from './canonical.ts'
import { checkSigningKey, hash, sign, type SigningKey, verify } from './crypto.ts'
import type { Wrapped } from './kinds.ts'
import { SIDE_DEVICES_COUNT_MAX } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'
import { isSignedBy, type MemberKind, type Role, type RosterCtl, type RosterEntry } from './roster-entry.ts'

/** A roster point: position and id of a roster entry. */
export type RosterPoint = [position: number, id: Hex]

export interface Member {
  /** Id of its add-member entry; the owner's: of genesis. */
  readonly id: Hex
  readonly name: string
  readonly role: Role
  readonly kind: MemberKind
  readonly removed: boolean
}

export interface Device {
  readonly key: Hex
  readonly member: Hex
  readonly name: string
  readonly removed: boolean
}

export interface Invite {
  readonly id: Hex
  /** Ed25519 key made from its secret. */
  readonly key: Hex
  readonly name: string
  readonly role: Role
  readonly kind: MemberKind
  /** The owner's clock, ms. */
  readonly expires: number
  readonly state: 'open' | 'used' | 'withdrawn'
}

/** The workspace as of one point. */
export interface Roster {
  readonly point: RosterPoint
  readonly ws: Hex
  readonly name: string
  readonly owner: Hex
  readonly successor: Hex
  readonly nonce: Hex
  readonly epoch: number
  readonly commit: Hex
  readonly members: ReadonlyMap<Hex, Member>
  readonly devices: ReadonlyMap<Hex, Device>
  readonly invites: ReadonlyMap<Hex, Invite>
  readonly bootstrap: readonly string[]
}

/** All roster entries that are known, forks of the owner included. */
export interface RosterLog {
  readonly entries: Map<Hex, RosterEntry>
  readonly rosters: Map<Hex, Roster>
  /** Points that no entry builds on: one, unless the owner forked. */
  readonly heads: Set<Hex>
}

export function emptyRosterLog(): RosterLog {
  return { entries: new Map(), rosters: new Map(), heads: new Set() }
}

/** The roster to act by here: the highest point; of a fork's branches, for lack of a better, the one with the lowest id. */
export function currentRoster(log: RosterLog): Roster | undefined {
  let current: Roster | undefined
  for (const id of log.heads) {
    const roster = log.rosters.get(id)
    if (
      roster &&
      (!current ||
        roster.point[0] > current.point[0] ||
        (roster.point[0] === current.point[0] && id < current.point[1]))
    )
      current = roster
  }
  return current
}

/** True if the owner signed two entries with one predecessor. */
export function isForked(log: RosterLog): boolean {
  return log.heads.size > 1
}

/** True if `point` is `ancestor` or descends from it by hash. */
export function descendsFrom(log: RosterLog, point: RosterPoint, ancestor: RosterPoint): boolean {
  let id: Hex | null = point[1]
  for (let n = point[0]; n > ancestor[0] && id !== null; n--) id = log.entries.get(id)?.header.prev ?? null
  return id === ancestor[1]
}

/** `name@workspace` */
export function handleIn(roster: Roster, member: Hex | undefined): string {
  return `${(member !== undefined && roster.members.get(member)?.name) || 'unknown'}@${roster.name}`
}

/** `member/device` */
export function deviceLabelIn(roster: Roster, key: Hex): string {
  const device = roster.devices.get(key)
  const member = device && roster.members.get(device.member)
  return `${member?.name ?? 'unknown'}/${device?.name ?? key.slice(0, 8)}`
}

/** The entries from genesis to `point`. */
export function chainTo(log: RosterLog, point: RosterPoint): RosterEntry[] {
  const chain: RosterEntry[] = []
  for (let id: Hex | null = point[1]; id !== null;) {
    const entry: RosterEntry | undefined = log.entries.get(id)
    if (!entry) break
    chain.push(entry)
    id = entry.header.prev
  }
  return chain.toReversed()
}

/** The entries from genesis to every one of `points`, of a fork both branches, in one order. */
export function chainsTo(log: RosterLog, points: Iterable<RosterPoint>): RosterEntry[] {
  const found = new Map<Hex, RosterEntry>()
  for (const point of points)
    if (!found.has(point[1])) for (const entry of chainTo(log, point)) found.set(entry.id, entry)
  return [...found.values()].toSorted((a, b) => a.header.n - b.header.n || (a.id < b.id ? -1 : 1))
}

/** Devices of a member that are not removed. */
export function devicesOf(roster: Roster, member: Hex): Device[] {
  return [...roster.devices.values()].filter((device) => device.member === member && !device.removed)
}

export function activeDevices(roster: Roster): Device[] {
  return [...roster.devices.values()].filter((device) => !device.removed)
}

export function memberByName(roster: Roster, name: string): Member | undefined {
  return [...roster.members.values()].find((member) => member.name === name && !member.removed)
}

/** Judges an entry against the roster before it, and takes it in. A missing predecessor is not a refusal: `undefined`. */
export function admitRosterEntry(log: RosterLog, entry: RosterEntry): Checked<Roster> | undefined {
  const known = log.rosters.get(entry.id)
  if (known) return pass(known)
  const { prev } = entry.header
  const before = prev === null ? undefined : log.rosters.get(prev)
  if (prev !== null && !before) return undefined
  if (prev === null && log.entries.size > 0) return refuse('roster_chain', 'another genesis')
  const next = before ? extend(before, entry) : begin(entry)
  if (!next.ok) return next
  log.entries.set(entry.id, entry)
  log.rosters.set(entry.id, next.value)
  if (prev !== null) log.heads.delete(prev)
  log.heads.add(entry.id)
  return next
}

function begin(entry: RosterEntry): Checked<Roster> {
  const { header, id } = entry
  if (header.kind !== 'genesis') return refuse('roster_chain')
  const { ctl } = header
  const key = checkSigningKey(ctl.device)
  if (!key.ok) return key
  if (!isSignedBy(entry, ctl.device)) return refuse('bad_signature')
  if (!covers(ctl.wraps, [ctl.device])) return refuse('wrap_cover')
  return pass({
    point: [0, id],
    ws: id,
    name: ctl.name,
    owner: ctl.device,
    successor: ctl.successor,
    nonce: ctl.nonce,
    epoch: 0,
    commit: ctl.commit,
    members: new Map([[id, { id, name: ctl.member, role: 'member', kind: 'person', removed: false }]]),
    devices: new Map([[ctl.device, { key: ctl.device, member: id, name: ctl.device_name, removed: false }]]),
    invites: new Map(),
    bootstrap: [],
  })
}

function extend(before: Roster, entry: RosterEntry): Checked<Roster> {
  const { header, id } = entry
  if (header.ws !== before.ws) return refuse('workspace_mismatch')
  if (header.n !== before.point[0] + 1 || header.prev !== before.point[1]) return refuse('roster_chain')
  const signer = header.kind === 'handover' ? header.ctl.key : before.owner
  if (header.kind === 'handover' && hash('successor', [fromHex(signer)]) !== before.successor)
    return refuse('roster_author')
  if (!isSignedBy(entry, signer)) return refuse(header.kind === 'handover' ? 'bad_signature' : 'roster_author')
  const point: RosterPoint = [header.n, id]
  switch (header.kind) {
    case 'genesis':
      return refuse('roster_chain', 'another genesis')
    case 'add-member':
      return addMember(before, point, header.ctl)
    case 'add-device':
      return addDevice(before, point, header.ctl)
    case 'remove-device': {
      const device = before.devices.get(header.ctl.device)
      if (!device || device.removed || device.key === before.owner)
        return refuse('roster_state', 'no such device to remove')
      return pass({ ...before, point, devices: withSet(before.devices, device.key, { ...device, removed: true }) })
    }
    case 'remove-member':
      return removeMember(before, point, header.ctl.member)
    case 'set-role': {
      const member = before.members.get(header.ctl.member)
      if (!member || member.removed || member.id === ownerMember(before))
        return refuse('roster_state', 'no such member to change')
      return pass({
        ...before,
        point,
        members: withSet(before.members, member.id, { ...member, role: header.ctl.role }),
      })
    }
    case 'invite': {
      const { key, name, role, kind, expires } = header.ctl
      const weak = checkSigningKey(key)
      if (!weak.ok) return weak
      if ([...before.invites.values()].some((invite) => invite.key === key))
        return refuse('roster_state', 'an invite with this key exists')
      if (memberByName(before, name)) return refuse('roster_state', 'the name is taken')
      return pass({
        ...before,
        point,
        invites: withSet(before.invites, id, { id, key, name, role, kind, expires, state: 'open' }),
      })
    }
    case 'revoke-invite': {
      const invite = before.invites.get(header.ctl.invite)
      if (invite?.state !== 'open') return refuse('roster_state', 'no such open invite')
      return pass({ ...before, point, invites: withSet(before.invites, invite.id, { ...invite, state: 'withdrawn' }) })
    }
    case 'rekey': {
      const { epoch, commit, wraps } = header.ctl
      if (epoch !== before.epoch + 1) return refuse('roster_state', 'epochs count up by one')
      if (
        !covers(
          wraps,
          activeDevices(before).map((device) => device.key),
        )
      )
        return refuse('wrap_cover')
      return pass({ ...before, point, epoch, commit })
    }
    case 'set-bootstrap':
      return pass({ ...before, point, bootstrap: header.ctl.addresses })
    case 'handover': {
      const device = before.devices.get(header.ctl.device)
      if (!device || device.removed) return refuse('roster_state', 'the new owner is not an enrolled device')
      return pass({ ...before, point, owner: device.key, successor: header.ctl.successor })
    }
  }
}

function ownerMember(roster: Roster): Hex | undefined {
  return roster.devices.get(roster.owner)?.member
}

function addMember(before: Roster, point: RosterPoint, ctl: RosterCtl<'add-member'>): Checked<Roster> {
  const { name, role, kind } = ctl
  if (memberByName(before, name)) return refuse('roster_state', 'the name is taken')
  if (ctl.invite !== null) {
    const invite = before.invites.get(ctl.invite)
    if (invite?.state !== 'open') return refuse('roster_state', 'no such open invite')
    if (invite.name !== name || invite.role !== role || invite.kind !== kind)
      return refuse('roster_state', 'not what the invite says')
  }
  return pass({
    ...before,
    point,
    members: withSet(before.members, point[1], { id: point[1], name, role, kind, removed: false }),
  })
}

function addDevice(before: Roster, point: RosterPoint, ctl: RosterCtl<'add-device'>): Checked<Roster> {
  const member = before.members.get(ctl.member)
  if (!member || member.removed) return refuse('roster_state', 'no such member')
  // A key that was removed never comes back: what it signed in between must stay worthless.
  if (before.devices.has(ctl.device)) return refuse('roster_state', 'the device is or was enrolled')
  const siblings = devicesOf(before, member.id)
  if (siblings.length >= SIDE_DEVICES_COUNT_MAX)
    return refuse('roster_state', `at most ${SIDE_DEVICES_COUNT_MAX} devices a member`)
  if (siblings.some((device) => device.name === ctl.name))
    return refuse('roster_state', 'the member has a device of this name')
  const key = checkSigningKey(ctl.device)
  if (!key.ok) return key
  if (!covers(ctl.wraps, [ctl.device])) return refuse('wrap_cover')
  const proof: JoinProof = { inviteSignature: ctl.invite_signature, deviceSignature: ctl.device_signature }
  let invites = before.invites
  let inviteKey: Hex | null = null
  if (ctl.invite !== null) {
    const invite = before.invites.get(ctl.invite)
    if (invite?.state !== 'open') return refuse('roster_state', 'no such open invite')
    if (invite.name !== member.name) return refuse('roster_state', 'not what the invite says')
    inviteKey = invite.key
    invites = withSet(invites, invite.id, { ...invite, state: 'used' })
  }
  const stated: JoinStatement = { ws: before.ws, invite: ctl.invite, device: ctl.device, prekey: ctl.prekey }
  if (!checkJoinProof(stated, inviteKey, proof)) return refuse('roster_proof')
  const device: Device = { key: ctl.device, member: member.id, name: ctl.name, removed: false }
  return pass({ ...before, point, invites, devices: withSet(before.devices, device.key, device) })
}

function removeMember(before: Roster, point: RosterPoint, id: Hex): Checked<Roster> {
  const member = before.members.get(id)
  if (!member || member.removed || id === ownerMember(before)) return refuse('roster_state', 'no such member to remove')
  const devices = new Map(
    [...before.devices].map(([key, device]) => [key, device.member === id ? { ...device, removed: true } : device]),
  )
  return pass({ ...before, point, devices, members: withSet(before.members, id, { ...member, removed: true }) })
}

function withSet<V>(map: ReadonlyMap<Hex, V>, key: Hex, value: V): Map<Hex, V> {
  return new Map(map).set(key, value)
}

/** True if `wraps` has exactly one wrap for each of `devices`. */
export function covers(wraps: readonly Wrapped[], devices: readonly Hex[]): boolean {
  const wrappedTo = new Set(wraps.map(([device]) => device))
  return (
    wraps.length === devices.length &&
    wrappedTo.size === devices.length &&
    devices.every((device) => wrappedTo.has(device))
  )
}

// The joiner's proof: it binds the joiner's keys to the invite.

export interface JoinStatement {
  readonly ws: Hex
  readonly invite: Hex | null
  readonly device: Hex
  /** Id of the joiner's prekey record, which names its other public keys. */
  readonly prekey: Hex
}

export interface JoinProof {
  readonly inviteSignature: Hex | null
  readonly deviceSignature: Hex
}

function joinParts(stated: JoinStatement) {
  return [
    fromHex(stated.ws),
    stated.invite === null ? null : fromHex(stated.invite),
    fromHex(stated.device),
    fromHex(stated.prekey),
  ]
}

/** Signs the statement with the joiner's device key and, where there is one, the invite's key. */
export function signJoin(stated: JoinStatement, device: SigningKey, invite: SigningKey | null): JoinProof {
  const parts = joinParts(stated)
  return {
    inviteSignature: invite === null ? null : toHex(sign(invite, 'invite', parts)),
    deviceSignature: toHex(sign(device, 'join', parts)),
  }
}

export function checkJoinProof(stated: JoinStatement, inviteKey: Hex | null, proof: JoinProof): boolean {
  const parts = joinParts(stated)
  if (!verify(stated.device, fromHex(proof.deviceSignature), 'join', parts)) return false
  if (inviteKey === null) return proof.inviteSignature === null
  return proof.inviteSignature !== null && verify(inviteKey, fromHex(proof.inviteSignature), 'invite', parts)
}
