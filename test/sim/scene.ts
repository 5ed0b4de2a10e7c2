/**
 * What an observer sees who stands beside the simulated laptops and reads their disks: every entry
 * that any of them ever wrote, who holds what now, and what was promised to whom. The checkers judge
 * by this and by nothing that a node says of itself.
 */
import { createHash } from 'node:crypto'
import {
  admitRosterEntry,
  currentRoster,
  emptyRosterLog,
  type Entry,
  type Hex,
  openEntry,
  parseEntry,
  parseRosterEntry,
  type RosterLog,
  textId,
} from '../../protocol/index.ts'
import { decodeRow, type RefusedRow, type ThreadRow } from '../../src/node/rows.ts'
import type { Space, Write } from '../../src/store/store.ts'
import type { Row } from './disk.ts'

/** One honest laptop as the observer sees it. */
export interface Holder {
  readonly name: string
  readonly device: Hex
  /** What lies on its disk: thread → entries in order of arrival. */
  entries: Map<Hex, Entry[]>
  /** Ids of `entries`, and of entries whose sealed body is there. */
  held: Set<Hex>
  bodies: Set<Hex>
  /** The summary of each thread as the disk has it. */
  rows: Map<Hex, ThreadRow>
  /** Keys of each space that may grow. */
  keys: Map<Space, Set<string>>
  /** Thread → names of the keys of it that lie there. */
  threadKeys: Map<Hex, Set<Hex>>
  /** What is kept for others: entry → whose it is, and how large. */
  carried: Map<Hex, { thread: Hex; size: number }>
  /** All that its disks ever held. */
  readonly ever: Set<Hex>
  readonly bodiesEver: Set<Hex>
  /** Threads that it keeps apart. */
  apart: Set<Hex>
  /** The roster that its disk holds. */
  log: RosterLog
  /** How often an old copy of its disk was put back. */
  restored: number
}

/** What a node answered to a client: from then on it may be relied on. */
export interface Acknowledged {
  readonly holder: Holder
  readonly kind: Entry['header']['kind']
  readonly thread: Hex
  /** The very entry, where the answer named it. */
  readonly entry: Hex | undefined
}

/** A checker: what it wants to be told of. Each may call `violated`. */
export interface Checker {
  readonly name: string
  /** `entry` is on the disk of `holder`, for the first time since the disk was put in. */
  stored?(holder: Holder, entry: Entry): void
  /** The summary of a thread is on the disk of `holder`. */
  summed?(holder: Holder, thread: Hex, row: ThreadRow): void
  refused?(holder: Holder, row: RefusedRow, entry: Entry | undefined): void
  acknowledged?(told: Acknowledged): void
  /** `holder` noted that the device `where` keeps an entry for others. */
  reported?(holder: Holder, entry: Hex, where: Hex): void
  /** An old copy of its disk was put back, without the entries in `lost`. */
  restored?(holder: Holder, lost: ReadonlySet<Hex>): void
  /** After healing, when everything has come to rest. */
  ended?(): void
}

export interface Scene {
  readonly holders: readonly Holder[]
  /** Everything that anybody wrote to a disk, by id. */
  readonly entries: ReadonlyMap<Hex, Entry>
  /** The entries in the past of an entry, found by following its parents. */
  pastOf(id: Hex): ReadonlySet<Hex>
  isHonest(device: Hex): boolean
  /** Honest laptops that nobody has removed. */
  readonly staying: readonly Holder[]
  /** Whether the owner has removed the device. */
  isRemoved(device: Hex): boolean
  holderOf(device: Hex): Holder | undefined
  /** The id that the text form names. */
  idOf(text: string): Hex | undefined
  /** Adds a line to the trace. */
  note(line: string): void
  /** Hash of the trace so far. */
  traceHash(): string
  readonly trace: readonly string[]
  violated(checker: string, what: string): void
  readonly violation: { checker: string; what: string } | undefined
  tell(tell: (checker: Checker) => void): void
  written(holder: Holder, writes: readonly Write[]): void
  /** The disk of `holder` was replaced by one with these rows. */
  replaced(holder: Holder, rows: ReadonlyMap<Space, readonly Row[]>): void
}

/** Spaces whose rows are counted. */
const COUNTED = ['inbox', 'outbox', 'receipt', 'refused', 'thread', 'body'] as const satisfies Space[]

export function emptyHolder(name: string, device: Hex): Holder {
  return {
    name,
    device,
    entries: new Map(),
    held: new Set(),
    bodies: new Set(),
    rows: new Map(),
    keys: new Map(COUNTED.map((space) => [space, new Set()])),
    threadKeys: new Map(),
    carried: new Map(),
    apart: new Set(),
    log: emptyRosterLog(),
    ever: new Set(),
    bodiesEver: new Set(),
    restored: 0,
  }
}

export function createScene(holders: readonly Holder[], make: (scene: Scene) => Checker[]): Scene {
  const entries = new Map<Hex, Entry>()
  const pasts = new Map<Hex, ReadonlySet<Hex>>()
  const names = new Map<string, Hex>()
  const hash = createHash('sha256')
  const trace: string[] = []
  /** Devices that a roster on some disk has removed. */
  const out = new Set<Hex>()
  let checkers: Checker[] = []
  let violation: Scene['violation']

  function know(entry: Entry): void {
    if (entries.has(entry.id)) return
    entries.set(entry.id, entry)
    for (const sort of ['thread', 'message', 'entry'] as const) names.set(textId(sort, entry.id), entry.id)
  }

  function take(holder: Holder, write: Write): Entry | undefined {
    const keys = holder.keys.get(write.space)
    if (write.type === 'del') {
      keys?.delete(write.key)
      if (write.space === 'body') holder.bodies.delete(write.key)
      if (write.space === 'carried') holder.carried.delete(write.key)
      if (write.space === 'quarantine') holder.apart.delete(write.key)
      return undefined
    }
    keys?.add(write.key)
    if (write.space === 'body') {
      holder.bodies.add(write.key)
      holder.bodiesEver.add(write.key)
    }
    if (write.space === 'carried') {
      const [thread, , size] = decodeRow(write.value) as [Hex, Hex, number]
      holder.carried.set(write.key, { thread, size })
    }
    if (write.space === 'quarantine') holder.apart.add(write.key)
    if (write.space === 'secret') takeSecret(holder, write.key)
    if (write.space === 'roster') takeRoster(holder, write.value)
    if (write.space === 'thread') holder.rows.set(write.key, fromJson(write.value) as ThreadRow)
    if (write.space !== 'entry') return undefined
    const [envelope] = decodeRow(write.value) as [Uint8Array, number]
    const parsed = parseEntry(envelope)
    if (!parsed.ok) throw new Error(`an entry on the disk of ${holder.name} does not parse: ${parsed.refusal}`)
    const entry = entries.get(parsed.value.id) ?? parsed.value
    know(entry)
    holder.held.add(entry.id)
    holder.entries.set(entry.thread, [...(holder.entries.get(entry.thread) ?? []), entry])
    return entry
  }

  function takeSecret(holder: Holder, name: string): void {
    const [sort, thread, key] = name.split('/')
    if (sort !== 'thread' || thread === undefined || key === undefined) return
    holder.threadKeys.set(thread, (holder.threadKeys.get(thread) ?? new Set<Hex>()).add(key))
  }

  function takeRoster(holder: Holder, envelope: Uint8Array): void {
    const entry = parseRosterEntry(envelope)
    if (!entry.ok) throw new Error(`a roster entry on the disk of ${holder.name} does not parse: ${entry.refusal}`)
    admitRosterEntry(holder.log, entry.value)
    const roster = currentRoster(holder.log)
    for (const { key, removed } of roster?.devices.values() ?? []) if (removed) out.add(key)
  }

  const scene: Scene = {
    holders,
    get staying() {
      return holders.filter(({ device }) => !out.has(device))
    },
    isRemoved: (device) => out.has(device),
    entries,
    pastOf(id) {
      const known = pasts.get(id)
      if (known) return known
      const past = new Set<Hex>()
      const header = entries.get(id)?.header
      for (const parent of [...(header?.deps ?? []), ...(header?.prev ? [header.prev] : [])]) {
        past.add(parent)
        for (const before of scene.pastOf(parent)) past.add(before)
      }
      pasts.set(id, past)
      return past
    },
    isHonest: (device) => scene.holderOf(device) !== undefined,
    holderOf: (device) => holders.find((holder) => holder.device === device),
    idOf: (text) => names.get(text),
    note(line) {
      trace.push(line)
      hash.update(`${line}\n`)
    },
    traceHash: () => hash.copy().digest('hex'),
    trace,
    violated(checker, what) {
      violation ??= { checker, what }
      scene.note(`violated ${checker}: ${what}`)
    },
    get violation() {
      return violation
    },
    tell(tell) {
      for (const checker of checkers) tell(checker)
    },
    written(holder, writes) {
      scene.note(`${holder.name} writes ${digestOf(writes)}`)
      const added = writes.flatMap((write) => take(holder, write) ?? [])
      for (const entry of added) {
        holder.ever.add(entry.id)
        scene.note(`  ${describe(entry)}`)
        scene.tell((checker) => checker.stored?.(holder, entry))
      }
      for (const write of writes) {
        if (write.type === 'del') continue
        const body = write.space === 'body' ? entries.get(write.key) : undefined
        if (body) scene.note(`  body of ${describe(body)}`)
        const row = write.space === 'thread' ? holder.rows.get(write.key) : undefined
        if (row) scene.tell((checker) => checker.summed?.(holder, write.key, row))
        if (write.space === 'carrier') {
          const [, entry = '', where = ''] = write.key.split('/')
          scene.tell((checker) => checker.reported?.(holder, entry, where))
        }
        if (write.space === 'meta' && write.key === 'twin')
          scene.violated('twin', `${holder.name} believes that another machine has its key`)
        if (write.space === 'refused') tellRefused(holder, fromJson(write.value) as RefusedRow)
      }
    },
    replaced(holder, rows) {
      const before = holder.held
      Object.assign(holder, {
        ...emptyHolder('', ''),
        name: holder.name,
        device: holder.device,
        ever: holder.ever,
        bodiesEver: holder.bodiesEver,
      })
      for (const [space, found] of rows)
        for (const [key, value] of found) take(holder, { type: 'put', space, key, value })
      const lost = new Set([...before].filter((id) => !holder.held.has(id)))
      scene.note(`${holder.name} has an old disk, without ${lost.size} entries`)
      scene.tell((checker) => checker.restored?.(holder, lost))
    },
  }

  function describe({ header, thread }: Entry): string {
    const author = holders.find(({ device }) => device === header.dev)?.name ?? 'the liar'
    return `${header.kind} ${header.seq} by ${author} in ${textId('thread', thread).slice(0, 9)}`
  }

  function tellRefused(holder: Holder, row: RefusedRow): void {
    const entry = openEntry(new Uint8Array(Buffer.from(row.envelope, 'hex')))
    scene.tell((checker) => checker.refused?.(holder, row, entry.ok ? entry.value : undefined))
  }

  checkers = make(scene)
  return scene
}

function fromJson(value: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(value))
}

function digestOf(writes: readonly Write[]): string {
  const hash = createHash('sha256')
  for (const write of writes) {
    hash.update(`${write.type} ${write.space} ${write.key}\n`)
    if (write.type === 'put') hash.update(write.value)
  }
  return hash.digest('base64url').slice(0, 12)
}
