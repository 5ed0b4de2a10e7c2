/** The devices, roster points and entries that the explorer plays with. */
import {
  devicesToCover,
  emptyRosterLog,
  type Entry,
  type Graph,
  hasBody,
  hash,
  type Header,
  type Hex,
  type Kind,
  pastOf,
  PROTOCOL_VERSION,
  type Roster,
  type RosterLog,
} from '../../protocol/index.ts'
import { viewOf } from '../../protocol/effect.ts'
import { wrapFor } from '../cast.ts'

export interface World {
  /** Devices that create lists: s0, s1 … and r0, r1 … */
  readonly senders: number
  readonly recipients: number
  /** Entries after the create. */
  readonly entriesMax: number
  readonly kinds?: readonly WrittenKind[]
  /** Names of devices that are removed at the newer of two roster points: what a fence may name. */
  readonly removed?: readonly string[]
  /** One more recipient device, x, that create does not list and that a wrap adds. */
  readonly added?: boolean
}

export type WrittenKind = 'accept' | 'cancel' | 'complete' | 'message' | 'ack' | 'wrap' | 'fence'
export const SIMPLE_KINDS: readonly WrittenKind[] = ['accept', 'cancel', 'complete', 'message', 'ack']

/** An entry, the same in all histories that hold it. */
export interface Item {
  readonly number: number
  readonly entry: Entry
  readonly device: Hex
  readonly kind: Kind
  /** The device that a fence names. */
  readonly target: Hex | undefined
  readonly label: string
}

/** Where an entry stands: what follows from its author and its past. */
export interface Place {
  readonly seq: number
  readonly prev: Hex | null
  readonly deps: readonly Hex[]
  /** True if its past relies on the newer roster. */
  readonly isNewer: boolean
}

export interface Stated {
  readonly device: Hex
  readonly kind: Kind
  readonly target: Hex | undefined
  /** Tells apart entries of one device that say the same on the same past. */
  readonly twin: number
}

const MEMBERS = { sender: '0a'.repeat(32), recipient: '0b'.repeat(32) }
/** The roster with everybody in it, which names the workspace, and the one after the removals. */
const ROSTERS = ['0c'.repeat(32), '0e'.repeat(32)] as const
const ANY = '0d'.repeat(32)

export interface Cast {
  readonly senders: readonly Hex[]
  /** As create lists them. */
  readonly listed: readonly Hex[]
  /** All devices of the recipient, the added one too. */
  readonly recipients: readonly Hex[]
  readonly removed: ReadonlySet<Hex>
  readonly log: RosterLog
  readonly create: Item
  /** All entries ever made. */
  readonly items: ReadonlyMap<Hex, Item>
  itemOf(graph: Graph | undefined, place: Place, stated: Stated): Item
}

export function castOf(world: World): Cast {
  const names = new Map<Hex, string>()
  const device = (name: string, key: string) => {
    names.set(key.repeat(32), name)
    return key.repeat(32)
  }
  const senders = Array.from({ length: world.senders }, (_, i) => device(`s${i}`, `a${i}`))
  const listed = Array.from({ length: world.recipients }, (_, i) => device(`r${i}`, `b${i}`))
  const recipients = world.added ? [...listed, device('x', 'c0')] : listed
  const removed = new Set([...names].flatMap(([key, name]) => (world.removed?.includes(name) ? [key] : [])))
  const log = emptyRosterLog()
  ROSTERS.forEach((id, n) => log.rosters.set(id, rosterOf(n, { senders, recipients, removed })))
  // Only the predecessor of an entry is ever asked for.
  log.entries.set(ROSTERS[1], { id: ROSTERS[1], header: { prev: ROSTERS[0] }, envelope: new Uint8Array(0) } as never)

  const items = new Map<Hex, Item>()
  const ids = new Map<string, Hex>()
  let create: Item | undefined

  function itemOf(graph: Graph | undefined, place: Place, stated: Stated): Item {
    const { kind, target, twin } = stated
    const { seq, prev, deps } = place
    const structure = [stated.device, kind, target ?? '', prev ?? '', ...deps, twin].join()
    const id = ids.get(structure) ?? hash('entry-id', [structure])
    ids.set(structure, id)
    const known = items.get(id)
    if (known) return known
    const parents = prev === null ? deps : [prev, ...deps]
    const rosterAt = kind === 'fence' || place.isNewer ? 1 : 0
    const thread = create?.entry.id ?? id
    const isCreate = kind === 'create'
    const header = {
      v: PROTOCOL_VERSION,
      ws: ROSTERS[0],
      th: isCreate ? null : thread,
      dev: stated.device,
      seq,
      prev,
      deps,
      ros: [rosterAt, ROSTERS[rosterAt]],
      kind,
      ctl: ctlOf(kind, target, () => coverOf(graph, parents, log.rosters.get(ROSTERS[rosterAt]))),
      body: hasBody(kind) ? { h: ANY, n: 272, key: isCreate ? null : thread, iv: ANY } : null,
      ts: 0,
    } as unknown as Header
    const on = parents.map((parent) => items.get(parent)?.number).join(', ')
    const label = `${items.size} = ${names.get(stated.device)} ${kind}${target ? ` ${names.get(target)}` : ''} on [${on}]`
    const item: Item = {
      number: items.size,
      device: stated.device,
      kind,
      target,
      label,
      entry: { id, thread, header, envelope: new Uint8Array(0) },
    }
    items.set(id, item)
    return item
  }

  function ctlOf(kind: Kind, target: Hex | undefined, cover: () => readonly Hex[]): object {
    switch (kind) {
      case 'create': {
        const lists = { senders, recipients: listed, wraps: [...senders, ...listed].map(wrapFor) }
        return {
          to: MEMBERS.recipient,
          ...lists,
          intent: 'inform',
          action: null,
          parent: null,
          nonce: ANY,
          commit: ANY,
        }
      }
      case 'complete':
        return { outcome: 'done' }
      case 'ack':
        return { lack: [] }
      case 'wrap':
        return {
          commit: ANY,
          older: [],
          adds: target ?? null,
          wraps: [...new Set([...cover(), target ?? ANY])].map(wrapFor),
        }
      case 'fence':
        return { device: target }
      default:
        return {}
    }
  }

  create = itemOf(
    undefined,
    { seq: 0, prev: null, deps: [], isNewer: false },
    { device: senders[0] ?? ANY, kind: 'create', target: undefined, twin: 0 },
  )
  return { senders, listed, recipients, removed, log, create, items, itemOf }
}

function coverOf(graph: Graph | undefined, parents: readonly Hex[], roster: Roster | undefined): readonly Hex[] {
  if (!graph || !roster) return []
  return devicesToCover(
    viewOf(
      graph,
      pastOf(
        graph,
        parents.flatMap((id) => graph.byId.get(id) ?? []),
      ),
    ),
    null,
    roster,
  )
}

function rosterOf(
  n: number,
  who: { senders: readonly Hex[]; recipients: readonly Hex[]; removed: ReadonlySet<Hex> },
): Roster {
  const member = (id: Hex, name: string) => [id, { id, name, role: 'member', kind: 'person', removed: false }] as const
  const laptop = (key: Hex, of: Hex) =>
    [key, { key, member: of, name: key.slice(0, 2), removed: n === 1 && who.removed.has(key) }] as const
  return {
    point: [n, ROSTERS[n] ?? ANY],
    ws: ROSTERS[0],
    name: 'acme',
    owner: ANY,
    successor: ANY,
    nonce: ANY,
    epoch: 0,
    commit: ANY,
    members: new Map([member(MEMBERS.sender, 'bob'), member(MEMBERS.recipient, 'frank')]),
    devices: new Map([
      ...who.senders.map((key) => laptop(key, MEMBERS.sender)),
      ...who.recipients.map((key) => laptop(key, MEMBERS.recipient)),
    ]),
    invites: new Map(),
    bootstrap: [],
  }
}
