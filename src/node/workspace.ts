/** The workspace of this node: its roster, prekeys and workspace keys, and who is who in it. */
import {
  activeDevices,
  admitRosterEntry,
  chainTo,
  type Checked,
  currentRoster,
  descendsFrom,
  type Device,
  deviceLabelIn,
  devicesOf,
  emptyRosterLog,
  handleIn,
  type Hex,
  isForked,
  type Member,
  memberByName,
  openPrekey,
  parseRosterEntry,
  pass,
  type Prekey,
  prekeysDigest,
  type Refused,
  refuse,
  type Roster,
  type RosterEntry,
  type RosterKind,
  type RosterLog,
  type RosterPoint,
  type SigningKey,
  topicOf,
  unwrapWorkspaceKey,
  type Wrapped,
} from '../../protocol/index.ts'
import type { Store, Write } from '../store/store.ts'
import { putPrekey, putRosterEntry, putSecret, readSecrets } from './rows.ts'

/** What shuts somebody out. */
const CLOSING: ReadonlySet<RosterKind> = new Set(['remove-device', 'remove-member', 'rekey'])

export interface Workspace {
  readonly log: RosterLog
  /** Seeds of this device's prekeys, by prekey id. */
  readonly prekeySeeds: Map<Hex, Uint8Array>
  /** Newest prekey record of each device. */
  readonly prekeys: Map<Hex, Prekey>
  /** Workspace keys by epoch. */
  readonly keys: Map<number, Uint8Array>
  readonly key: SigningKey
}

/** Reads what the store holds; an empty workspace where it holds none. */
export async function loadWorkspace(store: Store, key: SigningKey): Promise<Workspace> {
  const workspace: Workspace = {
    log: emptyRosterLog(),
    prekeySeeds: new Map(),
    prekeys: new Map(),
    keys: new Map(),
    key,
  }
  for await (const [, envelope] of store.range('roster')) {
    const entry = parseRosterEntry(envelope)
    if (entry.ok) admitRosterEntry(workspace.log, entry.value)
  }
  for await (const [device, record] of store.range('prekey')) {
    const prekey = openPrekey(record)
    if (prekey.ok) workspace.prekeys.set(device, prekey.value)
  }
  for await (const [id, seed] of readSecrets(store, 'prekey')) workspace.prekeySeeds.set(id, seed)
  for await (const [epoch, w] of readSecrets(store, 'workspace')) workspace.keys.set(Number(epoch), w)
  return workspace
}

export function rosterOf(workspace: Workspace): Roster | undefined {
  return currentRoster(workspace.log)
}

export function isRosterForked(workspace: Workspace): boolean {
  return isForked(workspace.log)
}

/** This node's own device in the current roster. */
export function ownDevice(workspace: Workspace): Device | undefined {
  return rosterOf(workspace)?.devices.get(workspace.key.public)
}

/** This node's own member, unless it or this device is removed. */
export function ownMember(workspace: Workspace): Member | undefined {
  const device = ownDevice(workspace)
  return device && !device.removed ? rosterOf(workspace)?.members.get(device.member) : undefined
}

/** The member that this device speaks for, or did before it was removed. */
export function boundMember(workspace: Workspace): Member | undefined {
  return memberOfDevice(workspace, workspace.key.public)
}

export function memberOfDevice(workspace: Workspace, device: Hex): Member | undefined {
  const roster = rosterOf(workspace)
  const member = roster?.devices.get(device)?.member
  return member === undefined ? undefined : roster?.members.get(member)
}

/** `name@workspace` */
export function handleOf(workspace: Workspace, member: Hex): string {
  const roster = rosterOf(workspace)
  return roster ? handleIn(roster, member) : 'unknown@unknown'
}

/** `member/device` */
export function deviceLabel(workspace: Workspace, key: Hex): string {
  const roster = rosterOf(workspace)
  return roster ? deviceLabelIn(roster, key) : `unknown/${key.slice(0, 8)}`
}

/** The member that a handle or plain name means here. */
export function resolveHandle(workspace: Workspace, text: string): Member | undefined {
  const roster = rosterOf(workspace)
  if (!roster) return undefined
  const [name = '', team, ...rest] = text.trim().toLowerCase().split('@')
  if (rest.length > 0 || (team !== undefined && team !== roster.name)) return undefined
  return memberByName(roster, name)
}

/** Devices of a member to which something can be sealed now: enrolled, with a prekey that is known. */
export function reachableKeys(workspace: Workspace, member: Hex): { device: Hex; prekey: Prekey }[] {
  const roster = rosterOf(workspace)
  if (!roster) return []
  return devicesOf(roster, member).flatMap((device) => {
    const prekey = workspace.prekeys.get(device.key)
    return prekey ? [{ device: device.key, prekey }] : []
  })
}

/** Devices of teammates: whom to serve and keep connected. */
export function teamDevices(workspace: Workspace): Hex[] {
  const roster = rosterOf(workspace)
  if (!roster || !ownMember(workspace)) return []
  return activeDevices(roster).flatMap((device) => (device.key === workspace.key.public ? [] : [device.key]))
}

export function currentKey(workspace: Workspace): { epoch: number; key: Uint8Array } | undefined {
  const epoch = rosterOf(workspace)?.epoch
  const key = epoch === undefined ? undefined : workspace.keys.get(epoch)
  return epoch === undefined || key === undefined ? undefined : { epoch, key }
}

/** The topic of this epoch; none for who is no member. */
export function currentTopic(workspace: Workspace): string | undefined {
  const current = ownMember(workspace) && currentKey(workspace)
  return current && topicOf(current.key, current.epoch)
}

export function heldPrekeysDigest(workspace: Workspace): Hex {
  return prekeysDigest([...workspace.prekeys.values()].map((prekey) => prekey.id))
}

/** Whether the device was in the workspace and is no longer. */
export function isRemoved(workspace: Workspace, device: Hex): boolean {
  return rosterOf(workspace)?.devices.get(device)?.removed === true
}

export function removedDevices(workspace: Workspace): Hex[] {
  const roster = rosterOf(workspace)
  return roster ? [...roster.devices.values()].flatMap(({ key, removed }) => (removed ? [key] : [])) : []
}

/** What of the roster a removed device is told, which holds it up to `point`: up to and with the entry that removes it. */
export function rosterForRemoved(workspace: Workspace, device: Hex, point: RosterPoint): RosterEntry[] {
  const roster = rosterOf(workspace)
  if (!roster) return []
  const chain = chainTo(workspace.log, roster.point)
  const last = chain.findIndex(({ id }) => workspace.log.rosters.get(id)?.devices.get(device)?.removed === true)
  const known = chain[point[0]]?.id === point[1] ? point[0] + 1 : 0
  return chain.slice(known, last + 1)
}

/** Where the newest removal was complete: the entry with which everybody else changed the workspace key. Undefined where nobody was removed. */
export function removalPoint(workspace: Workspace): RosterPoint | undefined {
  const roster = rosterOf(workspace)
  if (!roster) return undefined
  const last = chainTo(workspace.log, roster.point).findLast(({ header: { kind } }) => CLOSING.has(kind))
  return last && [last.header.n, last.id]
}

/** Whether a peer that says it holds the roster up to `point` knows of every removal. */
export function knowsRemovals(workspace: Workspace, point: RosterPoint | undefined): boolean {
  const removal = removalPoint(workspace)
  if (!removal) return true
  return point !== undefined && workspace.log.entries.has(point[1]) && descendsFrom(workspace.log, point, removal)
}

/** The roster entries that a peer at `point` lacks; all of them where its point is not on this chain. */
export function rosterSuffix(workspace: Workspace, point: RosterPoint): RosterEntry[] {
  const roster = rosterOf(workspace)
  if (!roster) return []
  // Branches of a fork are always passed on, so that everyone sees the proof.
  if (isForked(workspace.log)) return [...workspace.log.entries.values()].toSorted((a, b) => a.header.n - b.header.n)
  const chain = chainTo(workspace.log, roster.point)
  if (chain[point[0]]?.id === point[1]) return chain.slice(point[0] + 1)
  return point[0] > roster.point[0] ? [] : chain
}

/**
 * Takes in roster entries as received, in order. Workspace keys wrapped to this device are opened.
 * `pinned` is the workspace that a joiner expects; an empty log accepts no other genesis.
 */
export async function admitRoster(
  workspace: Workspace,
  envelopes: readonly Uint8Array[],
  pinned?: Hex,
): Promise<{ writes: Write[]; refused: Refused[] }> {
  const writes: Write[] = []
  const refused: Refused[] = []
  for (const envelope of envelopes) {
    const result = await admitOne(workspace, envelope, pinned)
    if (result.ok) writes.push(...result.value)
    else refused.push(result)
  }
  return { writes, refused }
}

async function admitOne(
  workspace: Workspace,
  envelope: Uint8Array,
  pinned: Hex | undefined,
): Promise<Checked<Write[]>> {
  const parsed = parseRosterEntry(envelope)
  if (!parsed.ok) return parsed
  const entry = parsed.value
  if (workspace.log.entries.has(entry.id)) return pass([])
  if (entry.header.kind === 'genesis' && entry.id !== pinned) return refuse('workspace_mismatch')
  const admitted = admitRosterEntry(workspace.log, entry)
  if (!admitted) return refuse('roster_chain', 'its predecessor is not here')
  if (!admitted.ok) return admitted
  return pass([
    putRosterEntry(entry.header.n, entry.id, envelope),
    ...(await openKeys(workspace, entry, admitted.value)),
  ])
}

/** Opens the workspace key that an entry wraps to this device. */
async function openKeys(workspace: Workspace, entry: RosterEntry, roster: Roster): Promise<Write[]> {
  const { header } = entry
  const wraps: readonly Wrapped[] =
    header.kind === 'genesis' || header.kind === 'rekey' || header.kind === 'add-device' ? header.ctl.wraps : []
  const wrap = wraps.find(([device]) => device === workspace.key.public)
  const seed = wrap && workspace.prekeySeeds.get(wrap[1])
  if (!wrap || !seed || workspace.keys.has(roster.epoch)) return []
  const opened = await unwrapWorkspaceKey(
    wrap,
    { nonce: roster.nonce, epoch: roster.epoch },
    { seed, commit: roster.commit },
  )
  if (!opened.ok) return []
  workspace.keys.set(roster.epoch, opened.value)
  return [putSecret(`workspace/${roster.epoch}`, opened.value)]
}

/** Takes in a prekey record: of an enrolled device of this workspace, and newer than the one held. */
export function admitPrekey(workspace: Workspace, record: Uint8Array): Checked<Write[]> {
  const opened = openPrekey(record)
  if (!opened.ok) return opened
  const prekey = opened.value
  const roster = rosterOf(workspace)
  if (prekey.ws !== roster?.ws) return refuse('workspace_mismatch')
  if (!roster.devices.has(prekey.device)) return refuse('device_not_enrolled')
  const held = workspace.prekeys.get(prekey.device)
  if (held && held.counter >= prekey.counter) return pass([])
  workspace.prekeys.set(prekey.device, prekey)
  return pass([putPrekey(prekey.device, prekey.bytes)])
}

/** Remembers the roster as it is, for a turn whose batch fails: entries must not rest on a roster that is not on disk. */
export function rosterUndo(workspace: Workspace): () => void {
  const { log, prekeys, keys } = workspace
  const before = {
    entries: [...log.entries],
    rosters: [...log.rosters],
    heads: [...log.heads],
    prekeys: [...prekeys],
    keys: [...keys],
  }
  return () => {
    refill(log.entries, before.entries)
    refill(log.rosters, before.rosters)
    refill(prekeys, before.prekeys)
    // A key that is held is not written again.
    refill(keys, before.keys)
    log.heads.clear()
    for (const head of before.heads) log.heads.add(head)
  }
}

function refill<K, V>(map: Map<K, V>, pairs: readonly (readonly [K, V])[]): void {
  map.clear()
  for (const [key, value] of pairs) map.set(key, value)
}
