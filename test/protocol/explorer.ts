/**
 * Walks through every history that a few devices can make of one thread, honest or not: whoever
 * writes may pretend to know any part of what exists, and may fork. Each entry is judged and each
 * set of entries reduced by the rules under test, and what the protocol promises is checked on
 * every set and on every step from one set to a larger one.
 *
 * A history is a set of entries closed under pasts, not an order of arrival. Since a past and its
 * author determine prev, number and deps, an entry is a device, a kind, a closed past, and a number
 * that tells apart twins (a fork of two entries that say the same). Signatures are left out: the
 * rules take opened entries, and ids are hashes of that structure. An entry cites the newer roster
 * where its past does, or where it is a fence; citing it earlier would only bind later authors.
 */
import type {
  Checked,
  Entry,
  Graph,
  Ground,
  Hex,
  Kind,
  Missing,
  Node,
  Status,
  ThreadState,
} from '../../protocol/index.ts'
import {
  type Cast,
  castOf,
  type Item,
  type Place,
  SIMPLE_KINDS,
  type World,
  type WrittenKind,
} from './explorer-world.ts'

/** The rules under test: the project's own, or a mutant of them. */
export interface Rules {
  readonly authorize: (ground: Ground, entry: Entry) => Checked<Node> | Missing
  readonly emptyGraph: () => Graph
  readonly placeNode: (graph: Graph, entry: Entry, parents: readonly Node[]) => Node
  readonly addNode: (graph: Graph, node: Node) => void
  readonly reduce: (graph: Graph) => ThreadState
}

export interface Violation {
  readonly promise: string
  /** The entries of the first history that breaks it, each with the parents that it names. */
  readonly history: readonly string[]
}

export interface Exploration {
  /** Sets of entries, up to the naming of twins. */
  readonly histories: number
  /** Different entries that were judged, and how many of them the rules store. */
  readonly judged: number
  readonly stored: number
  /** How many histories have each status, and how many of them are final. */
  readonly statuses: ReadonlyMap<string, number>
  readonly violations: readonly Violation[]
}

/** Entries in an order of arrival, and the past of each as a bit mask over that order. */
interface History {
  readonly items: readonly Item[]
  readonly pasts: readonly number[]
  readonly state: ThreadState
}

/** States in which a kind may be written and by whom, stated once more, apart from the rules under test. */
const ALLOWED: Record<WrittenKind, { side?: 'sender' | 'recipient'; while?: readonly Status[] }> = {
  accept: { side: 'recipient', while: ['pending'] },
  cancel: { side: 'sender', while: ['pending'] },
  complete: { side: 'recipient', while: ['accepted'] },
  message: { while: ['pending', 'accepted'] },
  ack: {},
  wrap: { side: 'recipient' },
  fence: {},
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
  const { cast, stored, statuses, broken } = explorer
  return { histories, judged: cast.items.size, stored, statuses, violations: [...broken.values()] }
}

class Explorer {
  readonly cast: Cast
  readonly broken = new Map<string, Violation>()
  readonly statuses = new Map<string, number>()
  stored = 0
  private readonly rules: Rules
  private readonly acts: readonly { kind: WrittenKind; target: Hex | undefined }[]
  /** A verdict follows from the entry and its past, and so from its id. */
  private readonly verdicts = new Map<Hex, boolean>()

  constructor(rules: Rules, world: World) {
    this.rules = rules
    this.cast = castOf(world)
    const added = this.cast.recipients.filter((device) => !this.cast.listed.includes(device))
    this.acts = [
      ...(world.kinds ?? SIMPLE_KINDS).map((kind) => ({ kind, target: undefined })),
      ...[...this.cast.removed].map((target) => ({ kind: 'fence' as const, target })),
      ...added.map((target) => ({ kind: 'wrap' as const, target })),
    ]
  }

  /** The history that holds only the create. */
  first(): History {
    const { create } = this.cast
    const graph = this.rules.emptyGraph()
    if (this.rules.authorize(this.ground(graph), create.entry).ok !== true) throw new Error('the create is refused')
    return { items: [create], pasts: [0], state: this.rules.reduce(this.graphOf([create])) }
  }

  /** Adds all histories of one entry more to `next`. */
  extend(history: History, next: Map<string, History>): void {
    const graph = this.graphOf(history.items)
    const present = new Set(history.items.map((item) => item.number))
    const all = (1 << history.items.length) - 1
    const pasts = closedPasts(history.pasts)
    for (const device of [...this.cast.senders, ...this.cast.recipients])
      for (const past of pasts) {
        const place = placeOf(history, device, past)
        for (const act of this.acts) {
          let item = this.cast.itemOf(graph, place, { ...act, device, twin: 0 })
          for (let twin = 1; present.has(item.number); twin++)
            item = this.cast.itemOf(graph, place, { ...act, device, twin })
          const isStored = this.judge(graph, item, { history, past })
          if (past === all) this.checkHonest(history, item, { isStored, place })
          if (isStored) this.step(history, { item, past }, next)
        }
      }
  }

  private step(history: History, added: { item: Item; past: number }, next: Map<string, History>): void {
    const items = [...history.items, added.item]
    const numbers = items.map((item) => item.number).toSorted((a, b) => a - b)
    const key = numbers.join()
    let larger = next.get(key)
    if (!larger) {
      larger = { items, pasts: [...history.pasts, added.past], state: this.rules.reduce(this.graphOf(items)) }
      next.set(key, larger)
      const { status, final } = larger.state
      for (const name of final ? [status, `${status}, final`] : [status])
        this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1)
      this.checkHistory(larger)
    }
    this.checkStep(history, larger)
  }

  private judge(graph: Graph, item: Item, on: { history: History; past: number }): boolean {
    const known = this.verdicts.get(item.entry.id)
    if (known !== undefined) return known
    const verdict = this.rules.authorize(this.ground(graph), item.entry)
    if (verdict.ok === 'missing') throw new Error('a parent is missing')
    this.verdicts.set(item.entry.id, verdict.ok)
    if (verdict.ok) {
      this.stored++
      this.checkStored(item, on)
    }
    return verdict.ok
  }

  // Promises.

  private sideOf(device: Hex): 'sender' | 'recipient' {
    return this.cast.senders.includes(device) ? 'sender' : 'recipient'
  }

  private checkStored(item: Item, { history, past }: { history: History; past: number }): void {
    const { side } = ALLOWED[item.kind as WrittenKind]
    this.promise(
      'each kind is written by its side alone',
      side === undefined || side === this.sideOf(item.device),
      history,
      item,
    )
    const own = history.items.filter((other, i) => hasBit(past, i) && other.device === item.device)
    const numbers = new Set(own.map((other) => other.entry.header.seq))
    this.promise('nobody builds on a fork of his own', numbers.size === own.length, history, item)
  }

  /** What a device writes that has not forked and names all heads it holds is stored by all, in the right states and no others. */
  private checkHonest(history: History, item: Item, { isStored, place }: { isStored: boolean; place: Place }): void {
    if (history.state.forked.has(item.device) || item.kind === 'wrap' || item.kind === 'fence') return
    const allowed = ALLOWED[item.kind as WrittenKind]
    const isListed =
      this.cast.senders.includes(item.device) ||
      this.cast.listed.includes(item.device) ||
      itemsOf(history, 'wrap').length > 0
    const isIn = isListed && !(place.isNewer && this.cast.removed.has(item.device))
    const isRight =
      (!allowed.side || allowed.side === this.sideOf(item.device)) &&
      (allowed.while?.includes(history.state.status) ?? true)
    const expected = isIn && isRight && (item.kind !== 'ack' || hasNews(history, item))
    this.promise(
      expected ? 'what is honest is never refused' : 'what the state forbids is never stored',
      isStored === expected,
      history,
      item,
    )
  }

  private checkHistory(history: History): void {
    const { state, items, pasts } = history
    /** Entries of `devices` that have entry i in their past. */
    const including = (devices: readonly Hex[], i: number) =>
      items.flatMap((item, j) => (devices.includes(item.device) && hasBit(pasts[j] ?? 0, i) ? [j] : []))
    items.forEach((item, i) => {
      if (item.kind === 'cancel' && state.status === 'cancelled' && itemsOf(history, 'fence').length === 0) {
        const isAdded = items.some(
          (other, j) => other.kind === 'wrap' && !state.void.has(other.entry.id) && !hasBit(pasts[j] ?? 0, i),
        )
        const waitedFor = isAdded ? this.cast.recipients : this.cast.listed
        if (waitedFor.every((device) => including([device], i).length > 0))
          this.promise('an acknowledged cancel is final', state.final, history)
      }
      if (item.kind !== 'accept' || !this.cast.listed.includes(item.device) || state.forked.has(item.device)) return
      const fences = items.flatMap((other, j) => (other.target === item.device && other.kind === 'fence' ? [j] : []))
      const seen = including(this.cast.senders, i)
      const isSafe =
        fences.length === 0 || seen.some((j) => !fences.some((fence) => fence === j || hasBit(pasts[j] ?? 0, fence)))
      if (!isSafe) return
      const isAccepted = state.status === 'accepted' || state.status === 'completed'
      this.promise(
        'the accept of a device that has not forked has effect',
        isAccepted && !state.void.has(item.entry.id) && !state.cut.has(item.entry.id),
        history,
      )
      if (state.status === 'accepted' && seen.length > 0)
        this.promise('an accept that the sender includes is final', state.final, history)
    })
  }

  private checkStep(before: History, after: History): void {
    if (!before.state.final || this.cast.senders.some((device) => after.state.forked.has(device))) return
    const [was, is] = [before.state.status, after.state.status]
    if (was === 'cancelled')
      this.promise('a final cancel stays, whatever recipients do', is === 'cancelled' && after.state.final, after)
    // A recipient that forks where a cancel crossed can take its own accept back: a proven fork, and its only power.
    if (this.cast.recipients.some((device) => after.state.forked.has(device)) && itemsOf(after, 'cancel').length > 0)
      return
    if (was === 'accepted')
      this.promise('a final accept stays', is === 'completed' || (is === 'accepted' && after.state.final), after)
    if (was === 'completed') {
      const isSame = is === 'completed' && after.state.final && after.state.lead.complete === before.state.lead.complete
      this.promise('a final complete stays, and so does the one that leads', isSame, after)
    }
  }

  private promise(promise: string, holds: boolean, history: History, item?: Item): void {
    if (holds || this.broken.has(promise)) return
    this.broken.set(promise, {
      promise,
      history: [...history.items, ...(item ? [item] : [])].map(({ label }) => label),
    })
  }

  private graphOf(items: readonly Item[]): Graph {
    const graph = this.rules.emptyGraph()
    for (const { entry } of items) {
      const { prev, deps } = entry.header
      const parents = (prev === null ? deps : [prev, ...deps]).flatMap((id) => graph.byId.get(id) ?? [])
      this.rules.addNode(graph, this.rules.placeNode(graph, entry, parents))
    }
    return graph
  }

  private ground(graph: Graph): Ground {
    return { graph, log: this.cast.log, isRefused: () => false }
  }
}

function hasBit(mask: number, bit: number): boolean {
  return (mask & (1 << bit)) !== 0
}

function itemsOf(history: History, kind: Kind): Item[] {
  return history.items.filter((item) => item.kind === kind)
}

/** All sets that hold the create and the past of each of their entries. */
function closedPasts(pasts: readonly number[]): number[] {
  const closed: number[] = []
  for (let mask = 1; mask < 1 << pasts.length; mask += 2)
    if (pasts.every((past, i) => !hasBit(mask, i) || (past & ~mask) === 0)) closed.push(mask)
  return closed
}

/** The place of an entry by `device` that builds on `past`. */
function placeOf(history: History, device: Hex, past: number): Place {
  const headerOf = (i: number) => history.items[i]?.entry.header
  const seqOf = (i: number) => headerOf(i)?.seq ?? 0
  let prev = -1
  let covered = 0
  let isNewer = false
  history.pasts.forEach((below, i) => {
    if (!hasBit(past, i)) return
    covered |= below
    isNewer ||= headerOf(i)?.ros[0] === 1
    if (history.items[i]?.device === device && (prev < 0 || seqOf(i) > seqOf(prev))) prev = i
  })
  const deps = history.items.flatMap((item, i) =>
    hasBit(past, i) && i !== prev && !hasBit(covered, i) ? item.entry.id : [],
  )
  return {
    seq: prev < 0 ? 0 : seqOf(prev) + 1,
    prev: history.items[prev]?.entry.id ?? null,
    deps: deps.toSorted(),
    isNewer,
  }
}

/** True if an entry of another device that is no ack lies outside the past of the device's last entry. */
function hasNews(history: History, item: Item): boolean {
  const last = history.items.findIndex((other) => other.entry.id === item.entry.header.prev)
  const known = last < 0 ? 0 : (history.pasts[last] ?? 0)
  return history.items.some((other, i) => other.device !== item.device && other.kind !== 'ack' && !hasBit(known, i))
}
