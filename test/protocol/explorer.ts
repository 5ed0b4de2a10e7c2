/**
 * Walks through every history that a few devices can make of one thread, honest or not: whoever
 * writes may pretend to know any part of what exists, and may fork. Each entry is judged and each
 * set of entries reduced by the rules under test, and what the protocol promises is checked on
 * every set and on every step from one set to a larger one.
 *
 * A history is a set of entries closed under pasts, not an order of arrival. Since a past and its
 * author determine prev, number and deps, an entry is a device, a kind, a closed past, and a number
 * that tells apart twins (a fork of two entries that say the same). Signatures are left out: the
 * rules take opened entries, and ids are hashes of that structure.
 */
import type { Entry, Graph, Header, Hex, Kind, Node, Roster, RosterLog, Status, ThreadState } from '../../protocol/index.ts'
import { type Ground, hash, hasBody, type Missing, type Checked, emptyRosterLog, PROTOCOL_VERSION } from '../../protocol/index.ts'
import { wrapFor } from '../cast.ts'

/** The rules under test: the project's own, or a mutant of them. */
export interface Rules {
  readonly authorize: (ground: Ground, entry: Entry) => Checked<Node> | Missing
  readonly emptyGraph: () => Graph
  readonly placeNode: (graph: Graph, entry: Entry, parents: readonly Node[]) => Node
  readonly addNode: (graph: Graph, node: Node) => void
  readonly reduce: (graph: Graph) => ThreadState
}

export interface World {
  readonly senders: number
  readonly recipients: number
  /** Entries after the create. */
  readonly entriesMax: number
  readonly kinds?: readonly WrittenKind[]
  /** Names (s0, r1, x) of devices that are removed at the newer of two roster points: what a fence may name. */
  readonly removed?: readonly string[]
  /** One more recipient device, x, that create does not list and that a wrap adds. */
  readonly added?: boolean
}

export const WRITTEN_KINDS = ['accept', 'cancel', 'complete', 'message', 'ack'] as const
export type WrittenKind = (typeof WRITTEN_KINDS)[number] | 'wrap' | 'fence'

export interface Violation {
  readonly promise: string
  /** The entries of the smallest such history, each with the parents that it names. */
  readonly history: readonly string[]
}

export interface Exploration {
  /** Sets of entries, up to the naming of twins. */
  readonly histories: number
  /** Different entries that were judged. */
  readonly judged: number
  readonly stored: number
  /** How often each promise was broken; the first history of each is in `violations`. */
  readonly broken: ReadonlyMap<string, number>
  readonly violations: readonly Violation[]
}

/** An entry in all histories that hold it. */
interface Item {
  readonly number: number
  readonly entry: Entry
  readonly device: Hex
  readonly kind: Kind
  /** The device that a fence names. */
  readonly target: Hex | undefined
  readonly label: string
}

/** A history: its entries in an order of arrival, and the past of each as a bit mask over that order. */
interface History {
  readonly items: readonly Item[]
  readonly pasts: readonly number[]
  readonly state: ThreadState
}

const MEMBERS = { sender: '0a'.repeat(32), recipient: '0b'.repeat(32) }
/** The roster with everybody in it, which is genesis and names the workspace, and the one after removals. */
const ROSTERS = ['0c'.repeat(32), '0e'.repeat(32)] as const
const ADDED = 'c0'.repeat(32)
const KEY_SHARED = '0d'.repeat(32)

/** States in which a kind may be written, stated once more, apart from the rules under test. */
const ALLOWED: Record<WrittenKind, { side: 'sender' | 'recipient' | undefined; while: readonly Status[] }> = {
  accept: { side: 'recipient', while: ['pending'] },
  cancel: { side: 'sender', while: ['pending'] },
  complete: { side: 'recipient', while: ['accepted'] },
  message: { side: undefined, while: ['pending', 'accepted'] },
  ack: { side: undefined, while: ['pending', 'accepted', 'completed', 'cancelled'] },
  wrap: { side: 'recipient', while: ['pending', 'accepted', 'completed', 'cancelled'] },
  fence: { side: undefined, while: ['pending', 'accepted', 'completed', 'cancelled'] },
}

export function explore(rules: Rules, world: World): Exploration {
  const explorer = new Explorer(rules, world)
  let level = new Map([['', explorer.first()]])
  let histories = 1
  for (let size = 1; size <= world.entriesMax; size++) {
    const next = new Map<string, History>()
    for (const history of level.values()) explorer.extend(history, next)
    histories += next.size
    level = next
  }
  return { histories, judged: explorer.items.size, stored: explorer.stored, broken: explorer.broken, violations: explorer.violations }
}

class Explorer {
  readonly items = new Map<Hex, Item>()
  readonly broken = new Map<string, number>()
  readonly violations: Violation[] = []
  stored = 0
  private readonly rules: Rules
  private readonly kinds: readonly WrittenKind[]
  private readonly senders: readonly Hex[]
  private readonly recipients: readonly Hex[]
  private readonly log: RosterLog = emptyRosterLog()
  private readonly create: Item
  /** A verdict follows from the entry and its past, and so from its id. */
  private readonly verdicts = new Map<Hex, boolean>()

  constructor(rules: Rules, world: World) {
    this.rules = rules
    this.kinds = world.kinds ?? WRITTEN_KINDS
    this.senders = Array.from({ length: world.senders }, (_, i) => `a${i}`.repeat(32))
    this.recipients = Array.from({ length: world.recipients }, (_, i) => `b${i}`.repeat(32))
    this.log.rosters.set(ROSTER_ID, this.roster())
    this.create = this.itemOf({ device: this.senders[0] ?? '', kind: 'create', seq: 0, prev: null, deps: [], twin: 0 })
  }

  /** The history that holds only the create. */
  first(): History {
    const graph = this.rules.emptyGraph()
    const verdict = this.rules.authorize(this.ground(graph), this.create.entry)
    if (verdict.ok !== true) throw new Error('the create is refused')
    this.rules.addNode(graph, verdict.value)
    return { items: [this.create], pasts: [0], state: this.rules.reduce(graph) }
  }

  /** Adds all histories of one entry more to `next`. */
  extend(history: History, next: Map<string, History>): void {
    const graph = this.graphOf(history.items)
    const present = new Set(history.items.map((item) => item.number))
    const all = (1 << history.items.length) - 1
    for (const device of [...this.senders, ...this.recipients])
      for (const past of closedPasts(history.pasts)) {
        const parents = parentsIn(history, device, past)
        for (const kind of this.kinds) {
          let item = this.itemOf({ ...parents, device, kind, twin: 0 })
          for (let twin = 1; present.has(item.number); twin++) item = this.itemOf({ ...parents, device, kind, twin })
          const isStored = this.judge(graph, item, history, past)
          if (past === all) this.checkHonest(history, item, isStored)
          if (isStored) this.step(history, { item, past }, next)
        }
      }
  }

  private step(history: History, added: { item: Item; past: number }, next: Map<string, History>): void {
    const items = [...history.items, added.item]
    const key = items
      .map((item) => item.number)
      .toSorted((a, b) => a - b)
      .join()
    let larger = next.get(key)
    if (!larger) {
      larger = { items, pasts: [...history.pasts, added.past], state: this.rules.reduce(this.graphOf(items)) }
      next.set(key, larger)
      this.checkHistory(larger)
    }
    this.checkStep(history, larger)
  }

  private judge(graph: Graph, item: Item, history: History, past: number): boolean {
    const known = this.verdicts.get(item.entry.id)
    if (known !== undefined) return known
    const verdict = this.rules.authorize(this.ground(graph), item.entry)
    if (verdict.ok === 'missing') throw new Error('a parent is missing')
    this.verdicts.set(item.entry.id, verdict.ok)
    if (verdict.ok) {
      this.stored++
      this.checkStored(history, item, past)
    }
    return verdict.ok
  }

  // Promises.

  private checkStored(history: History, item: Item, past: number): void {
    const side = this.senders.includes(item.device) ? 'sender' : 'recipient'
    const allowed = ALLOWED[item.kind as WrittenKind]
    this.promise('each kind is written by its side alone', allowed.side === undefined || allowed.side === side, history, item)
    const own = history.items.filter((other, i) => hasBit(past, i) && other.device === item.device)
    const numbers = new Set(own.map((other) => other.entry.header.seq))
    this.promise('nobody builds on a fork of his own', numbers.size === own.length, history, item)
  }

  /** What a device writes that has not forked and names all heads it holds is stored by all, in the right states and no others. */
  private checkHonest(history: History, item: Item, isStored: boolean): void {
    if (history.state.forked.has(item.device)) return
    const allowed = ALLOWED[item.kind as WrittenKind]
    const side = this.senders.includes(item.device) ? 'sender' : 'recipient'
    const isRight = (allowed.side === undefined || allowed.side === side) && allowed.while.includes(history.state.status)
    const expected = isRight && (item.kind !== 'ack' || hasNews(history, item))
    this.promise(expected ? 'what is honest is never refused' : 'what the state forbids is never stored', isStored === expected, history, item)
  }

  private checkHistory(history: History): void {
    const { state, items } = history
    const includes = (device: Hex, i: number) => items.some((item, j) => item.device === device && hasBit(history.pasts[j] ?? 0, i))
    items.forEach((item, i) => {
      if (item.kind === 'cancel' && state.status === 'cancelled' && this.recipients.every((device) => includes(device, i)))
        this.promise('an acknowledged cancel is final', state.final, history)
      if (item.kind !== 'accept' || state.forked.has(item.device)) return
      const isAccepted = state.status === 'accepted' || state.status === 'completed'
      this.promise('the accept of a device that has not forked has effect', isAccepted && !state.void.has(item.entry.id), history)
      if (state.status === 'accepted' && this.senders.some((device) => includes(device, i)))
        this.promise('an accept that the sender includes is final', state.final, history)
    })
  }

  private checkStep(before: History, after: History): void {
    if (!before.state.final || this.senders.some((device) => after.state.forked.has(device))) return
    const [was, is] = [before.state.status, after.state.status]
    if (was === 'cancelled') {
      this.promise('a final cancel stays, whatever recipients do', is === 'cancelled' && after.state.final, after)
      return
    }
    // A recipient that forks where a cancel crossed can take its own accept back: a proven fork, and its only power.
    if (this.recipients.some((device) => after.state.forked.has(device)) && items(after, 'cancel').length > 0) return
    if (was === 'accepted') this.promise('a final accept stays', is === 'completed' || (is === 'accepted' && after.state.final), after)
    if (was === 'completed') {
      const isSame = is === 'completed' && after.state.final && after.state.lead.complete === before.state.lead.complete
      this.promise('a final complete stays, and so does the one that leads', isSame, after)
    }
  }

  private promise(promise: string, holds: boolean, history: History, item?: Item): void {
    if (holds) return
    const count = this.broken.get(promise) ?? 0
    this.broken.set(promise, count + 1)
    if (count === 0) this.violations.push({ promise, history: [...history.items, ...(item ? [item] : [])].map(({ label }) => label) })
  }

  // Entries.

  private graphOf(items_: readonly Item[]): Graph {
    const graph = this.rules.emptyGraph()
    for (const { entry } of items_) {
      const parents = [...(entry.header.prev === null ? [] : [entry.header.prev]), ...entry.header.deps]
      this.rules.addNode(graph, this.rules.placeNode(graph, entry, parents.flatMap((id) => graph.byId.get(id) ?? [])))
    }
    return graph
  }

  private itemOf(stated: { device: Hex; kind: Kind; seq: number; prev: Hex | null; deps: readonly Hex[]; twin: number }): Item {
    const { device, kind, seq, prev, deps, twin } = stated
    const structure = [device, kind, prev ?? '', ...deps, twin].join()
    const id = this.ids.get(structure) ?? hash('entry-id', [structure])
    this.ids.set(structure, id)
    const known = this.items.get(id)
    if (known) return known
    const number = this.items.size
    const header = {
      v: PROTOCOL_VERSION,
      ws: ROSTER_ID,
      th: kind === 'create' ? null : this.create.entry.id,
      dev: device,
      seq,
      prev,
      deps,
      ros: [0, ROSTER_ID],
      kind,
      ctl: this.ctlOf(kind),
      body: hasBody(kind) ? { h: KEY_SHARED, n: 272, key: kind === 'create' ? null : this.create.entry.id, iv: KEY_SHARED } : null,
      ts: 0,
    } as unknown as Header
    const thread = header.th ?? id
    const names = [prev, ...deps].flatMap((parent) => (parent === null ? [] : (this.items.get(parent)?.number ?? [])))
    const label = `${number} = ${device.slice(0, 2)} ${kind} on [${names.join(', ')}]`
    const item: Item = { number, device, kind, label, entry: { id, thread, header, envelope: new Uint8Array(0) } }
    this.items.set(id, item)
    return item
  }

  private readonly ids = new Map<string, Hex>()

  private ctlOf(kind: Kind): object {
    if (kind === 'complete') return { outcome: 'done' }
    if (kind === 'ack') return { lack: [] }
    if (kind !== 'create') return {}
    const wraps = [...this.senders, ...this.recipients].map(wrapFor)
    const lists = { senders: this.senders, recipients: this.recipients, wraps }
    return { to: MEMBERS.recipient, ...lists, intent: 'inform', action: null, parent: null, nonce: KEY_SHARED, commit: KEY_SHARED }
  }

  private ground(graph: Graph): Ground {
    return { graph, log: this.log, isRefused: () => false }
  }

  private roster(): Roster {
    const member = (id: Hex, name: string) => [id, { id, name, role: 'member', kind: 'person', removed: false }] as const
    const laptop = (key: Hex, of: Hex) => [key, { key, member: of, name: key.slice(0, 2), removed: false }] as const
    return {
      point: [0, ROSTER_ID],
      ws: ROSTER_ID,
      name: 'acme',
      owner: this.senders[0] ?? '',
      successor: KEY_SHARED,
      nonce: KEY_SHARED,
      epoch: 0,
      commit: KEY_SHARED,
      members: new Map([member(MEMBERS.sender, 'bob'), member(MEMBERS.recipient, 'frank')]),
      devices: new Map([...this.senders.map((key) => laptop(key, MEMBERS.sender)), ...this.recipients.map((key) => laptop(key, MEMBERS.recipient))]),
      invites: new Map(),
      bootstrap: [],
    }
  }
}

function hasBit(mask: number, bit: number): boolean {
  return (mask & (1 << bit)) !== 0
}

function items(history: History, kind: Kind): Item[] {
  return history.items.filter((item) => item.kind === kind)
}

/** All sets that hold the create and the past of each of their entries. */
function closedPasts(pasts: readonly number[]): number[] {
  const closed: number[] = []
  for (let mask = 1; mask < 1 << pasts.length; mask += 2)
    if (pasts.every((past, i) => !hasBit(mask, i) || (past & ~mask) === 0)) closed.push(mask)
  return closed
}

/** prev, number and deps of an entry by `device` that builds on `past`. */
function parentsIn(history: History, device: Hex, past: number): { seq: number; prev: Hex | null; deps: readonly Hex[] } {
  let prev = -1
  const seqOf = (i: number) => history.items[i]?.entry.header.seq ?? 0
  history.items.forEach((item, i) => {
    if (hasBit(past, i) && item.device === device && (prev < 0 || seqOf(i) > seqOf(prev))) prev = i
  })
  let covered = 0
  history.pasts.forEach((below, i) => {
    if (hasBit(past, i)) covered |= below
  })
  const deps = history.items.flatMap((item, i) => (hasBit(past, i) && i !== prev && !hasBit(covered, i) ? item.entry.id : []))
  return { seq: prev < 0 ? 0 : seqOf(prev) + 1, prev: history.items[prev]?.entry.id ?? null, deps: deps.toSorted() }
}

/** True if an entry of another device that is no ack lies outside the past of the device's last entry. */
function hasNews(history: History, item: Item): boolean {
  const last = history.items.findIndex((other) => other.entry.id === item.entry.header.prev)
  const known = last < 0 ? 0 : (history.pasts[last] ?? 0)
  return history.items.some((other, i) => other.device !== item.device && other.kind !== 'ack' && !hasBit(known, i))
}
