/** Entries as the explorer lets devices write them: in their one right place, or with a lie about it. */
import { type Entry, hasBody, type Header, type Hex, type Kind, PROTOCOL_VERSION } from '../../protocol/index.ts'
import { wrapFor } from '../cast.ts'
import { coverOf, hasBit, ofKind, recordHeads } from './explorer-oracle.ts'
import type { Key } from './explorer-table.ts'
import { type Act, ANY, type Cast, MEMBERS, type Shape, WORKSPACE } from './explorer-world.ts'

/** Where an entry stands: what follows from its author and its past. */
export interface Place {
  readonly seq: number
  readonly prev: Hex | null
  readonly deps: readonly Hex[]
  /** Number of the roster point that it cites. */
  readonly cited: number
}

export interface Statement {
  readonly device: number
  readonly act: Act
  /** The past it builds on, a mask over the shape. */
  readonly past: number
}

function idOf({ high, low }: Key): Hex {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0') + '0'.repeat(48)
}

/** The oldest roster point that what is said on `past` may cite: none before those of its past, and a fence one that removes its target. */
export function citedOn(cast: Cast, shape: Shape, past: number, act?: Act): number {
  const needed = act?.kind === 'fence' ? (cast.devices[act.target ?? -1]?.removedAt ?? 0) : 0
  return shape.items.reduce(
    (most, { entry }, i) => (hasBit(past, i) ? Math.max(most, entry.header.ros[0]) : most),
    needed,
  )
}

/** The place of an entry by `device` that builds on `past`. */
function placeOf(cast: Cast, shape: Shape, { device, act, past }: Statement): Place {
  const seqOf = (i: number) => shape.items[i]?.entry.header.seq ?? 0
  let prev = -1
  let covered = 0
  shape.items.forEach((item, i) => {
    if (!hasBit(past, i)) return
    covered |= shape.pasts[i] ?? 0
    if (item.device === device && (prev < 0 || seqOf(i) > seqOf(prev))) prev = i
  })
  const deps = shape.items.flatMap(({ entry }, i) =>
    hasBit(past, i) && i !== prev && !hasBit(covered, i) ? entry.id : [],
  )
  return {
    seq: prev < 0 ? 0 : seqOf(prev) + 1,
    prev: shape.items[prev]?.entry.id ?? null,
    deps: deps.toSorted(),
    cited: citedOn(cast, shape, past, act),
  }
}

export function createOf(cast: Cast, key: Key): Entry {
  const listed = (side: string) => cast.devices.flatMap((one) => (one.listed && one.side === side ? one.key : []))
  const [senders, recipients] = [listed('sender'), listed('recipient')]
  const proposes = cast.world.proposes === true
  const ctl = {
    to: MEMBERS.recipient,
    senders,
    recipients,
    intent: proposes ? 'propose_action' : 'inform',
    action: proposes ? ANY : null,
    parent: null,
    nonce: ANY,
    commit: ANY,
    wraps: [...senders, ...recipients].map(wrapFor),
  }
  const header = {
    v: PROTOCOL_VERSION,
    ws: WORKSPACE,
    th: null,
    dev: senders[0],
    seq: 0,
    prev: null,
    deps: [],
    ros: [0, WORKSPACE],
    kind: 'create',
    ctl,
    body: { h: ANY, n: 272, key: null, iv: ANY },
    ts: 0,
  } as unknown as Header
  const id = idOf(key)
  return { id, thread: id, header, envelope: new Uint8Array(0) }
}

/** The entry that says `statement` in its right place. */
export function entryOf(cast: Cast, shape: Shape, statement: Statement, key: Key): Entry {
  const { device, act } = statement
  const { seq, prev, deps, cited } = placeOf(cast, shape, statement)
  const thread = shape.items[0]?.entry.id ?? ANY
  const header = {
    v: PROTOCOL_VERSION,
    ws: WORKSPACE,
    th: thread,
    dev: cast.devices[device]?.key,
    seq,
    prev,
    deps,
    ros: [cited, cast.points[cited]],
    kind: act.kind,
    ctl: ctlOf(cast, shape, statement, cited),
    body: hasBody(act.kind) ? { h: ANY, n: 272, key: thread, iv: ANY } : null,
    ts: 0,
  } as unknown as Header
  return { id: idOf(key), thread, header, envelope: new Uint8Array(0) }
}

/** Arguments that are as the rules want them. */
function ctlOf(cast: Cast, shape: Shape, { act, past }: Statement, cited: number): object {
  const thread = shape.items[0]?.entry.id ?? ANY
  const keyOf = (device: number | undefined) => cast.devices[device ?? -1]?.key ?? null
  switch (act.kind) {
    case 'complete':
      return { outcome: act.outcome }
    case 'revise':
      return {
        base: recordHeads(shape, past)
          .map((i) => shape.items[i]?.entry.id ?? ANY)
          .toSorted(),
      }
    case 'annotate':
      return { target: thread }
    case 'resolve':
      return { annotation: shape.items[ofKind(shape, past, 'annotate')[0] ?? -1]?.entry.id ?? ANY, revision: thread }
    case 'approve':
      return { action: ANY, verdict: act.verdict }
    case 'share': {
      const readers = cast.devices.flatMap((one) => (one.side === 'reader' ? one.key : []))
      return { reader: MEMBERS.reader, devices: readers, key: thread, wraps: readers.map(wrapFor) }
    }
    case 'wrap': {
      const cover = coverOf(cast, shape, past, { adds: act.target, cited })
      const wraps = cover.flatMap((one) => keyOf(one) ?? []).map(wrapFor)
      return { commit: ANY, older: [], adds: keyOf(act.target), wraps }
    }
    case 'ack':
      return { lack: act.lacks ? [thread] : [] }
    case 'fence':
      return { device: keyOf(act.target) }
    default:
      return {}
  }
}

export interface Lie {
  readonly what: string
  readonly entry: Entry
}

function withHeader(entry: Entry, changed: object): Entry {
  return { ...entry, header: Object.assign({}, entry.header, changed) }
}

/** The same statement with something wrong about it, each in one respect. None may be stored. */
export function liesAbout(cast: Cast, shape: Shape, statement: Statement, entry: Entry): Lie[] {
  const { header } = entry
  const lies: Lie[] = []
  const lie = (what: string, changed: object) => lies.push({ what, entry: withHeader(entry, changed) })
  const other = shape.items.find((item, i) => hasBit(statement.past, i) && item.device !== statement.device)?.entry.id
  const parents = header.prev === null ? header.deps : [header.prev, ...header.deps]
  const below = shape.items.find(({ entry: { id } }, i) => hasBit(statement.past, i) && !parents.includes(id))
  lie('a number skipped', { seq: header.seq + 1 })
  if (header.prev !== null) {
    lie('no prev and number 0 over an entry of its own', { seq: 0, prev: null, deps: parents.toSorted() })
    if (other !== undefined)
      lie('prev by another device', { prev: other, deps: parents.filter((id) => id !== other).toSorted() })
  }
  if (below) lie('a parent that another parent knows', { deps: [...header.deps, below.entry.id].toSorted() })
  if (header.prev !== null) lie('prev once more as a dep', { deps: [...header.deps, header.prev].toSorted() })
  const [cited, point] = header.ros
  if (cited > 0)
    lie('an older roster than its past or its target asks for', { ros: [cited - 1, cast.points[cited - 1]] })
  lie('the number of another roster point', { ros: [cited + 1, point] })
  lie('another version', { v: PROTOCOL_VERSION + 1 })
  lie('another workspace', { ws: ANY })
  lie('another thread', { th: ANY })
  for (const [what, ctl] of falseArguments(cast, shape, statement, header)) lie(what, { ctl })
  return lies
}

const TARGETS: ReadonlySet<Kind> = new Set(['create', 'revise', 'message', 'complete'])

function falseArguments(cast: Cast, shape: Shape, { past, device }: Statement, header: Header): [string, object][] {
  const { ctl } = header
  const wrong: [string, object][] = []
  const otherKeys = cast.devices.flatMap((one, i) => (i === device ? [] : one.key))
  switch (header.kind) {
    case 'revise': {
      const stale = shape.items.find(
        ({ kind, entry: { id } }, i) =>
          hasBit(past, i) && (kind === 'create' || kind === 'revise') && !header.ctl.base.includes(id),
      )
      if (stale)
        wrong.push(
          ['a base that was revised', { base: [stale.entry.id] }],
          ['a base too many', { base: [...header.ctl.base, stale.entry.id].toSorted() }],
        )
      if (header.ctl.base.length > 1) wrong.push(['a head left out', { base: header.ctl.base.slice(1) }])
      break
    }
    case 'annotate': {
      const untargetable = shape.items.find(({ kind }, i) => hasBit(past, i) && !TARGETS.has(kind))
      wrong.push(['about what does not exist', { target: ANY }])
      if (untargetable) wrong.push(['about what has no content', { target: untargetable.entry.id }])
      break
    }
    case 'resolve':
      wrong.push(
        ['an annotation that is none', { ...ctl, annotation: header.ctl.revision }],
        ['a revision that its past does not hold', { ...ctl, revision: ANY }],
      )
      break
    case 'approve':
      wrong.push(['another action', { ...ctl, action: WORKSPACE }])
      break
    case 'share':
      wrong.push(
        ['a key that nobody introduced', { ...ctl, key: ANY }],
        ['no wrap for the reader', { ...ctl, wraps: [] }],
        ['a participant as reader', { ...ctl, reader: MEMBERS.recipient }],
        [
          'somebody else’s device',
          { ...ctl, devices: otherKeys.slice(0, 1), wraps: otherKeys.slice(0, 1).map(wrapFor) },
        ],
      )
      break
    case 'wrap': {
      const { wraps } = header.ctl
      const stranger = cast.devices.find((one) => !wraps.some(([key]) => key === one.key))
      wrong.push(['one device left out', { ...ctl, wraps: wraps.slice(1) }])
      if (stranger) wrong.push(['one device too many', { ...ctl, wraps: [...wraps, wrapFor(stranger.key)] }])
      break
    }
    case 'ack':
      wrong.push(['lacks what its past does not hold', { lack: [ANY] }])
      break
    case 'fence': {
      const present = cast.devices.find(
        ({ removedAt, listed, side }) => removedAt === undefined && listed && side !== cast.devices[device]?.side,
      )
      if (present) wrong.push(['of a device that is not removed', { device: present.key }])
      break
    }
    default:
  }
  return wrong
}

/** The same statement on a part of a history, with an argument that lies outside that part. */
export function liesAboutOutside(shape: Shape, { past }: Statement, entry: Entry): Lie[] {
  const { header } = entry
  return shape.items.flatMap((item, i) => {
    const { id } = item.entry
    const ctl =
      header.kind === 'annotate'
        ? { target: id }
        : header.kind === 'share'
          ? { ...header.ctl, key: id }
          : header.kind === 'ack'
            ? { lack: [id] }
            : undefined
    if (!ctl || hasBit(past, i)) return []
    return { what: 'an argument from outside its past', entry: withHeader(entry, { ctl }) }
  })
}

/** A create with something wrong about whom it lists. */
export function liesAboutCreate(cast: Cast, entry: Entry): Lie[] {
  const { header } = entry
  if (header.kind !== 'create') return []
  const { ctl } = header
  const { senders, recipients } = ctl
  const keysOf = (side: string) => cast.devices.flatMap((one) => (one.side === side ? one.key : []))
  const listing = (changed: { senders?: readonly Hex[]; recipients?: readonly Hex[] }) => {
    const lists = { senders, recipients, ...changed }
    return { ctl: { ...ctl, ...lists, wraps: [...lists.senders, ...lists.recipients].map(wrapFor) } }
  }
  const lie = (what: string, changed: object) => ({ what, entry: withHeader(entry, changed) })
  return [
    lie('to nobody', { ctl: { ...ctl, to: ANY } }),
    lie('to its own member', { ctl: { ...ctl, to: MEMBERS.sender } }),
    lie('a handoff to oneself', {
      ctl: { ...listing({ recipients: keysOf('sender').slice(-1) }).ctl, to: MEMBERS.sender },
    }),
    lie('a recipient device twice', listing({ recipients: [...recipients, ...recipients.slice(0, 1)] })),
    lie('a device that nobody has', listing({ recipients: [ANY] })),
    lie('somebody else’s device as the recipient’s', listing({ recipients: keysOf('sender').slice(1).concat(ANY) })),
    lie('somebody else’s device as the sender’s', listing({ senders: [...senders, ANY] })),
    lie('written by one that it does not list', { dev: keysOf('recipient')[0] }),
    lie('a key wrapped to one fewer', { ctl: { ...ctl, wraps: ctl.wraps.slice(1) } }),
    lie('number 1', { seq: 1 }),
    lie('a parent', { deps: [ANY] }),
    lie('another workspace', { ws: ANY }),
    lie('the number of another roster point', { ros: [1, WORKSPACE] }),
    ...cast.points.slice(1).flatMap((id, i) => {
      const removed = cast.devices.find(({ removedAt }) => removedAt === i + 1)
      return removed?.listed ? lie('a removed device', { ros: [i + 1, id] }) : []
    }),
  ]
}
