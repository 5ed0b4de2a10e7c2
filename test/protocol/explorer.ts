/**
 * Walks through every history that a few devices can make of one thread, honest or not: whoever
 * writes may pretend to know any part of what exists, and may fork. Each entry is judged and each
 * set of entries reduced by the rules under test, and what the protocol promises is checked on
 * every set and on every step from one set to a larger one.
 *
 * A history is a set of entries closed under pasts, not an order of arrival. Since a past and its
 * author determine prev, number and deps, an entry is a device, what it says, a closed past, and a
 * number that tells apart twins (a fork of two entries that say the same). Signatures are left out:
 * the rules take opened entries, and ids are hashes of that structure. An entry cites the oldest
 * roster point that its past allows and, if it is a fence, that removes its target; citing a newer
 * one would only bind later authors.
 *
 * The walk goes deep first and enters each set once, by whichever order of arrival comes first; the
 * steps into it from all other sets are checked too. Where two devices of a world are alike, one of
 * two histories that differ only by their exchange is walked.
 */
import type { Checked, Entry, Graph, Ground, Hex, Missing, Node, Status, ThreadState } from '../../protocol/index.ts'
import { citedOn, createOf, entryOf, type Lie, liesAbout, liesAboutCreate, liesAboutOutside } from './explorer-entry.ts'
import { copyGraph } from './explorer-graph.ts'
import { allOf, hasBit, isOfSide, mayStore } from './explorer-oracle.ts'
import {
  checkHistory,
  checkOrder,
  checkPlace,
  checkStep,
  type Outcome,
  positionOf,
  type Say,
} from './explorer-promises.ts'
import { isLower, joinKeys, type Key, keyOn, KeyTable } from './explorer-table.ts'
import { describe, type Told } from './explorer-telling.ts'
import { type Cast, castOf, type Item, type Shape, type World } from './explorer-world.ts'

/** The rules under test: the project's own, or a mutant of them. */
export interface Rules {
  readonly authorize: (ground: Ground, entry: Entry) => Checked<Node> | Missing
  readonly emptyGraph: () => Graph
  readonly placeNode: (graph: Graph, entry: Entry, parents: readonly Node[]) => Node
  readonly addNode: (graph: Graph, node: Node) => void
  readonly reduce: (graph: Graph) => ThreadState
  readonly inOrder: (graph: Graph) => Node[]
  readonly stateDigest: (graph: Graph, state: ThreadState) => Hex
}

export interface Violation extends Told {
  readonly promise: string
}

export interface Exploration {
  /** Sets of entries that were walked, by their number of entries after the create. */
  readonly bySize: readonly number[]
  readonly histories: number
  /** Entries that were judged, and how many of them the rules store. */
  readonly judged: number
  readonly stored: number
  /** How many histories have each status, and how many of them are final. */
  readonly statuses: ReadonlyMap<string, number>
  readonly violations: readonly Violation[]
}

export interface ExploreOptions {
  /** In place of the world's own. */
  readonly entriesMax?: number
  readonly stopsAtFirst?: boolean
  /** Called now and then with the number of histories so far. */
  readonly onProgress?: (histories: number) => void
}

/** A set of entries on the way from the create down to the deepest. */
export interface History extends Shape {
  readonly graph: Graph
  readonly state: ThreadState
  readonly outcome: Outcome
  readonly key: Key
  readonly mirror: Key
  readonly closed: readonly Closed[]
}

/** A part of a history that holds the past of all it holds: what an author can pretend to know. */
interface Closed {
  readonly mask: number
  readonly key: Key
  readonly mirror: Key
}

const STATUSES: readonly Status[] = ['pending', 'accepted', 'completed', 'cancelled']
/** Up to this size everything is tried in every context, and the real digest is made. */
const SMALL = 3
/** Of the sets of the greatest size every 16th is looked at in a second order of arrival, of the others all. */
const SECOND_LOOKS = 15
const PROGRESS_EVERY = 1 << 16

export function explore(rules: Rules, world: World, options: ExploreOptions = {}): Exploration {
  const explorer = new Explorer(rules, world, options)
  explorer.expand(explorer.first())
  return explorer.found()
}

export class Explorer {
  readonly cast: Cast
  private readonly rules: Rules
  private readonly entriesMax: number
  private readonly options: ExploreOptions
  /** Sets that were entered: status and final, the complete that leads. */
  private readonly sets = new KeyTable(2)
  /** Entries that were judged: 0 if refused, else the number of the item + 1. */
  private readonly verdicts = new KeyTable(1)
  private readonly items: Item[] = []
  private readonly broken = new Map<string, Violation>()
  private readonly statuses = new Map<string, number>()
  private readonly bySize: number[] = [1]
  private judged = 0
  private stored = 0
  private isDone = false

  constructor(rules: Rules, world: World, options: ExploreOptions = {}) {
    this.rules = rules
    this.options = options
    this.cast = castOf(world)
    this.entriesMax = options.entriesMax ?? world.entriesMax
  }

  found(): Exploration {
    const { bySize, judged, stored, statuses } = this
    const histories = bySize.reduce((sum, count) => sum + count, 0)
    return { bySize, histories, judged, stored, statuses, violations: [...this.broken.values()] }
  }

  /** The history that holds only the create. */
  first(): History {
    const key = keyOn({ high: 1, low: 1 }, 0)
    const entry = createOf(this.cast, key)
    const graph = this.rules.emptyGraph()
    const verdict = this.rules.authorize(this.ground(graph), entry)
    const item: Item = { entry, kind: 'create', device: 0, act: -1, target: undefined, key, mirror: key, numberMax: 1 }
    const shape = { items: [item], pasts: [0] }
    const say = this.sayOf(shape)
    say('what is honest is never refused', verdict.ok === true)
    this.checkLies(graph, liesAboutCreate(this.cast, entry), say)
    const node = this.rules.placeNode(graph, entry, [])
    this.rules.addNode(graph, node)
    checkPlace(this.cast, shape, node, say)
    this.checkLies(graph, [{ what: 'a second create', entry: { ...entry, id: `f${entry.id.slice(1)}` } }], say)
    const state = this.rules.reduce(graph)
    const closed = [{ mask: 1, key, mirror: key }]
    return { ...shape, graph, state, outcome: outcomeOf(shape, state), key, mirror: key, closed }
  }

  /** Tries everything that somebody may say on some part of `history`, and goes on from all that is stored. */
  expand(history: History): void {
    const size = history.items.length - 1
    if (size >= this.entriesMax) return
    const { devices, acts } = this.cast
    for (const past of history.closed)
      for (let device = 0; device < devices.length; device++)
        for (let act = 0; act < acts.length; act++) {
          // Who is of the wrong side is refused on any past: the small ones show it.
          if (size > SMALL && !isOfSide(this.cast, device, acts[act]?.kind ?? 'create')) continue
          const item = this.itemOf(history, past, { device, act })
          const larger = item && this.step(history, item, past)
          if (larger) this.expand(larger)
          if (this.isDone) return
        }
  }

  /** What `device` says on `past`, if it is stored: a twin of what the history has of it already. */
  itemOf(history: History, past: Closed, said: { device: number; act: number }): Item | undefined {
    const isWhole = past.mask === allOf(history)
    for (let twin = 0; ; twin++) {
      const key = keyOn(past.key, codeOf(said.device, said.act, twin))
      const row = this.verdicts.find(key)
      const item = row < 0 ? this.judge(history, past, { ...said, twin, key }) : this.itemAt(row)
      if (row < 0 && !(isWhole && history.items.length === this.entriesMax)) {
        // What builds on a whole history of the size before the last is never asked for again.
        if (item) this.items.push(item)
        this.verdicts.set(this.verdicts.add(key), 0, item ? this.items.length : 0)
      }
      if (item && history.items.includes(item)) continue
      // Whatever builds on a part of a history builds on the whole of a smaller one.
      if (isWhole) this.checkVerdict(history, past, { ...said, key, isStored: item !== undefined })
      else if (row >= 0 && history.items.length - 1 <= SMALL)
        this.checkAgain(history, past, { ...said, key, isStored: item !== undefined })
      return item
    }
  }

  private itemAt(row: number): Item | undefined {
    const number = this.verdicts.get(row, 0)
    return number === 0 ? undefined : this.items[number - 1]
  }

  private judge(
    history: History,
    past: Closed,
    said: { device: number; act: number; twin: number; key: Key },
  ): Item | undefined {
    const { device, twin, key } = said
    const act = this.cast.acts[said.act]
    if (!act) return undefined
    const statement = { device, act, past: past.mask }
    const entry = entryOf(this.cast, history, statement, key)
    this.judged++
    if (this.rules.authorize(this.ground(history.graph), entry).ok !== true) return undefined
    this.stored++
    const { kind, target } = act
    const exchanged = this.cast.mirror?.[device]
    const mirror = exchanged === undefined ? key : keyOn(past.mirror, codeOf(exchanged, said.act, twin))
    const numberMax = numberAfter(this.cast, history, statement)
    return { entry, kind, device, act: said.act, target, key, mirror, numberMax }
  }

  /** An entry on the whole of a history is stored if and only if the history allows it. */
  private checkVerdict(
    history: History,
    past: Closed,
    said: { device: number; act: number; key: Key; isStored: boolean },
  ): void {
    const { device, isStored } = said
    const act = this.cast.acts[said.act]
    if (!act) return
    const attempt = { device, act, cited: citedOn(this.cast, history, past.mask, act) }
    const isExpected = mayStore(this.cast, history, history.state.status, attempt)
    const isSmall = history.items.length <= SMALL
    if (isStored === isExpected && !(isExpected && isSmall)) return
    const statement = { device, act, past: past.mask }
    const entry = entryOf(this.cast, history, statement, said.key)
    const item: Item = { ...history.items[0], entry, kind: act.kind, device, act: said.act } as Item
    const say = this.sayOf(withItem(history, item, past.mask))
    if (isStored !== isExpected)
      say(isExpected ? 'what is honest is never refused' : 'what its past forbids is never stored', false)
    else this.checkLies(history.graph, liesAbout(this.cast, history, statement, entry), say)
  }

  private checkLies(graph: Graph, lies: readonly Lie[], say: Say): void {
    for (const { what, entry } of lies)
      say(`a lie is never stored: ${what}`, this.rules.authorize(this.ground(graph), entry).ok !== true)
  }

  /** The same entry beside other entries. */
  private checkAgain(
    history: History,
    past: Closed,
    said: { device: number; act: number; key: Key; isStored: boolean },
  ): void {
    const act = this.cast.acts[said.act]
    if (!act) return
    const statement = { device: said.device, act, past: past.mask }
    const entry = entryOf(this.cast, history, statement, said.key)
    const isStored = this.rules.authorize(this.ground(history.graph), entry).ok === true
    const say = this.sayOf(history)
    say('a verdict follows from the past alone', isStored === said.isStored)
    if (isStored) this.checkLies(history.graph, liesAboutOutside(history, statement, entry), say)
  }

  /** Goes from `history` to the one with `item` in it; undefined if it was there before. */
  step(history: History, item: Item, past: Closed): History | undefined {
    const shape = withItem(history, item, past.mask)
    const size = shape.items.length - 1
    const key = joinKeys(history.key, item.key)
    const mirror = this.cast.mirror ? joinKeys(history.mirror, item.mirror) : key
    const name = isLower(mirror, key) ? mirror : key
    const say = this.sayOf(shape)
    const known = this.sets.find(name)
    if (known >= 0) {
      const flags = this.sets.get(known, 0)
      const low = this.sets.get(known, 1)
      const lead = low === 0 ? -1 : shape.items.findIndex(({ key }) => key.low === low)
      const outcome = { status: STATUSES[flags & 3] ?? 'pending', final: flags >= 4, lead }
      checkStep(this.cast, shape, history.outcome, outcome, say)
      return undefined
    }
    const graph = copyGraph(history.graph)
    const node = this.add(graph, item)
    const state = this.rules.reduce(graph)
    const outcome = outcomeOf(shape, state)
    const row = this.sets.add(name)
    this.sets.set(row, 0, STATUSES.indexOf(state.status) + (state.final ? 4 : 0))
    this.sets.set(row, 1, outcome.lead < 0 ? 0 : (shape.items[outcome.lead]?.key.low ?? 0))
    this.count(size, state)
    if (size < this.entriesMax || (key.low & SECOND_LOOKS) === 0)
      say('equal sets give equal states and digests, in any order', this.isSameBackwards(shape, graph, state))
    checkPlace(this.cast, shape, node, say)
    if (size <= SMALL) checkOrder(shape, this.rules.inOrder(graph), say)
    checkHistory(this.cast, shape, state, say)
    checkStep(this.cast, shape, history.outcome, outcome, say)
    const closed = size < this.entriesMax ? extendClosed(history.closed, item, past.mask, size) : []
    return { ...shape, graph, state, outcome, key, mirror, closed }
  }

  /** The same entries, those first that came last, as far as their pasts allow. */
  private isSameBackwards(shape: Shape, graph: Graph, state: ThreadState): boolean {
    const other = this.rules.emptyGraph()
    for (let placed = 0; placed !== allOf(shape);) {
      const next = shape.pasts.findLastIndex((past, i) => !hasBit(placed, i) && (past & ~placed) === 0)
      const item = shape.items[next]
      if (!item) return false
      this.add(other, item)
      placed |= 1 << next
    }
    return this.tell(graph, state) === this.tell(other, this.rules.reduce(other))
  }

  private add(graph: Graph, { entry }: Item): Node {
    const { prev, deps } = entry.header
    const parents = (prev === null ? deps : [prev, ...deps]).flatMap((id) => graph.byId.get(id) ?? [])
    const node = this.rules.placeNode(graph, entry, parents)
    this.rules.addNode(graph, node)
    return node
  }

  /** All that a state says. */
  private tell(graph: Graph, state: ThreadState): string {
    const { status, final, waitingFor, lead, conflicting, repudiated } = state
    const sets = [state.void, state.cut, state.late, state.forked].map((set) => [...set].toSorted().join())
    const isSmall = graph.nodes.length - 1 <= SMALL
    const digest = isSmall ? this.rules.stateDigest(graph, state) : ''
    const order = isSmall ? this.rules.inOrder(graph).map((node) => node.entry.id) : []
    const flags = [final, conflicting, repudiated]
    return [status, ...flags, ...waitingFor, lead.accept, lead.complete, ...sets, digest, ...order].join()
  }

  private count(size: number, { status, final }: ThreadState): void {
    this.bySize[size] = (this.bySize[size] ?? 0) + 1
    for (const name of final ? [status, `${status}, final`] : [status])
      this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1)
    if (this.sets.size % PROGRESS_EVERY === 0) this.options.onProgress?.(this.sets.size)
  }

  /** Keeps, of each promise, the smallest history that breaks it. */
  private sayOf(shape: Shape) {
    return (promise: string, holds: boolean): void => {
      if (holds) return
      const known = this.broken.get(promise)
      if (known && known.entries.length <= shape.items.length) return
      this.broken.set(promise, { promise, ...describe(this.cast, shape) })
      this.isDone ||= this.options.stopsAtFirst ?? false
    }
  }

  private ground(graph: Graph): Ground {
    return { graph, log: this.cast.log, isRefused: () => false }
  }
}

function codeOf(device: number, act: number, twin: number): number {
  return (act * 16 + device) * 16 + twin
}

function withItem({ items, pasts }: Shape, item: Item, past: number): Shape {
  return { items: [...items, item], pasts: [...pasts, past] }
}

function outcomeOf(shape: Shape, { status, final, lead }: ThreadState): Outcome {
  return { status, final, lead: positionOf(shape, lead.complete) }
}

/** The number of what is said on `past`, if its kind has one, else the greatest there. */
function numberAfter(cast: Cast, shape: Shape, said: { device: number; act: { kind: string }; past: number }): number {
  const max = shape.items.reduce(
    (most, { numberMax }, i) => (hasBit(said.past, i) ? Math.max(most, numberMax) : most),
    0,
  )
  if (said.act.kind !== 'message' && said.act.kind !== 'complete') return max
  const isOdd = cast.devices[said.device]?.side === 'sender'
  return (max + 1) % 2 === (isOdd ? 1 : 0) ? max + 1 : max + 2
}

/** All closed sets of a history with one entry more: those without it, and with it those that hold its past. */
function extendClosed(closed: readonly Closed[], item: Item, past: number, index: number): Closed[] {
  const larger = closed
    .filter(({ mask }) => (past & ~mask) === 0)
    .map(({ mask, key, mirror }) => ({
      mask: mask | (1 << index),
      key: joinKeys(key, item.key),
      mirror: joinKeys(mirror, item.mirror),
    }))
  return [...closed, ...larger]
}
