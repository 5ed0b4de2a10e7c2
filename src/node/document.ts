/**
 * What a reader is shown where the record forked: a merge of its heads, made by Yjs. It decides
 * nothing; a signed revision that names all heads does.
 *
 * Yjs never reads a peer's bytes: two updates with one client and clock diverge for ever, and anyone
 * could delete anyone's items. Here the base is written under client 0 and what each head changed
 * under client 1, 2, … in the order given, so that everybody who holds the same revisions sees the
 * same merge. Lists merge item by item and texts word by word. What Yjs would have to choose is a
 * conflict, with the value of each head: single values that differ, words that several heads
 * replaced, and items that one head changed and another took out, which stay.
 */
import { diffArrays, diffWordsWithSpace } from 'diff'
import * as Y from 'yjs'
import type { ContinuityRecord } from '../../protocol/index.ts'
import { EMPTY_RECORD, flatten, type FlatRecord, type Item, itemText, unflatten } from './record-shape.ts'

export interface Conflict {
  /** Where in the record, such as `decisions[0].status`; the number is that in the merged list. */
  readonly field: string
  /** The value of each head, in their order; null where a head took it out. */
  readonly values: (string | null)[]
}

export interface Merged {
  readonly record: ContinuityRecord
  readonly conflicts: Conflict[]
}

/** Longer texts that have nothing in common would take for ever: they are replaced as a whole. */
const TEXT_EDITS_COUNT_MAX = 2000

/**
 * Merges what `heads` changed of `base`, in the order of rule E6. `base` is the newest revision that
 * all heads build on; left out, they have none in common.
 */
export function mergeRecords(base: ContinuityRecord | undefined, heads: readonly ContinuityRecord[]): Merged {
  const before = flatten(base ?? EMPTY_RECORD)
  const after = heads.map(flatten)
  const plans = new Map(
    Object.entries(before.lists).map(([path, items]): [string, Plan[]] => [
      path,
      after.map((head) => planOf(items, head.lists[path] ?? [])),
    ]),
  )
  const origin = new Y.Doc({ gc: false })
  origin.clientID = 0
  writeBase(origin, before)
  const start = Y.encodeStateAsUpdate(origin)
  const updates = after.map((_head, i) => {
    const doc = copyOf(start, i + 1)
    const since = Y.encodeStateVector(doc)
    doc.transact(() => edit(doc, { before, after, plans, at: i }))
    return Y.encodeStateAsUpdate(doc, since)
  })
  const merged = copyOf(start, after.length + 1)
  for (const update of updates) Y.applyUpdate(merged, update)
  return read(merged, { before, after, plans })
}

function copyOf(state: Uint8Array, client: number): Y.Doc {
  const doc = new Y.Doc({ gc: false })
  doc.clientID = client
  Y.applyUpdate(doc, state)
  return doc
}

// The plan of a list: which item of the base became which item of the head.

interface Plan {
  /** By number in the base: the number in the head, or undefined where it was taken out. */
  readonly kept: readonly (number | undefined)[]
  /** Numbers in the head of new items, each with the number in the base of what stands before it, −1 for the beginning. */
  readonly added: readonly { item: number; after: number }[]
}

function planOf(base: readonly Item[], head: readonly Item[]): Plan {
  const kept: (number | undefined)[] = base.map(() => undefined)
  const added: { item: number; after: number }[] = []
  let [from, to] = [0, 0]
  let gone: number[] = []
  let come: number[] = []
  const close = (): void => {
    for (const item of come) {
      const partner = gone.find((at) => kept[at] === undefined && areAkin(base[at], head[item]))
      if (partner !== undefined) {
        kept[partner] = item
        // Order holds on both sides: what was passed over stays taken out.
        gone = gone.filter((at) => at > partner)
      } else added.push({ item, after: lastKept(kept, from - 1) })
    }
    gone = []
    come = []
  }
  for (const { added: isNew, removed, count } of diffArrays([...base], [...head], { comparator: areSame })) {
    const span = (start: number): number[] => Array.from({ length: count }, (_, i) => start + i)
    if (removed) {
      gone.push(...span(from))
      from += count
    } else if (isNew) {
      come.push(...span(to))
      to += count
    } else {
      close()
      for (const at of span(0)) kept[from + at] = to + at
      from += count
      to += count
    }
  }
  close()
  return { kept, added }
}

function lastKept(kept: readonly (number | undefined)[], from: number): number {
  for (let at = from; at >= 0; at--) if (kept[at] !== undefined) return at
  return -1
}

function areSame(one: Item, other: Item): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Whether one item looks like a changed form of the other: its first text is the same, or has half of its words. */
function areAkin(one: Item | undefined, other: Item | undefined): boolean {
  const [a = '', b = ''] = [one, other].map((item) => Object.values(item?.texts ?? {})[0])
  if (a === b) return true
  const [words, others] = [a, b].map((text) => new Set(text.toLowerCase().split(/\W+/).filter(Boolean)))
  if (!words || !others || words.size === 0) return false
  const common = [...words].filter((word) => others.has(word)).length
  return 2 * common >= Math.max(words.size, others.size)
}

/** Whether a head kept this item of the base and changed it. */
function isChanged(
  base: readonly Item[],
  from: number,
  { head, plan }: { head: readonly Item[]; plan: Plan },
): boolean {
  const to = plan.kept[from]
  const [was, is] = [base[from], to === undefined ? undefined : head[to]]
  return was !== undefined && is !== undefined && !areSame(was, is)
}

// Writing into the scratch document: what a head changed, and nothing else, so that Yjs sees edits and not copies.

type YItem = Y.Map<Y.Text | string>
const textsIn = (doc: Y.Doc): Y.Map<Y.Text> => doc.getMap('texts')
const listIn = (doc: Y.Doc, path: string): Y.Array<YItem> => doc.getArray(`list ${path}`)

function originOf(map: YItem): string[] {
  const from = map.get('from')
  return typeof from === 'string' ? from.split(' ') : []
}

/** `from` says where an item came from: its number in the base, or the head that added it and its number there. */
function newItem(item: Item, from: string): YItem {
  const map: YItem = new Y.Map()
  map.set('from', from)
  for (const [name, text] of Object.entries(item.texts)) map.set(`text ${name}`, new Y.Text(text))
  return map
}

function writeBase(doc: Y.Doc, { texts, lists }: FlatRecord): void {
  for (const [path, text] of Object.entries(texts)) textsIn(doc).set(path, new Y.Text(text))
  for (const [path, items] of Object.entries(lists))
    listIn(doc, path).push(items.map((item, i) => newItem(item, `base ${i}`)))
}

interface Parts {
  before: FlatRecord
  after: readonly FlatRecord[]
  plans: ReadonlyMap<string, readonly Plan[]>
}

function edit(doc: Y.Doc, { before, after, plans, at }: Parts & { at: number }): void {
  const head = after[at]
  if (!head) return
  for (const [path, text] of Object.entries(head.texts)) {
    const shared = textsIn(doc).get(path)
    const earlier = after.slice(0, at).map((other) => other.texts[path] ?? '')
    if (shared) rewrite(shared, before.texts[path] ?? '', { after: text, earlier })
  }
  for (const [path, base] of Object.entries(before.lists)) {
    const sides = (plans.get(path) ?? []).map((plan, i) => ({ plan, head: after[i]?.lists[path] ?? [] }))
    editList(listIn(doc, path), base, { sides, at })
  }
}

/** A change of a text: what stood from `from` up to `to` became `by`. */
interface Hunk {
  from: number
  to: number
  by: string
}

function hunksOf(before: string, after: string): Hunk[] {
  if (before === after) return []
  const changes = diffWordsWithSpace(before, after, { maxEditLength: TEXT_EDITS_COUNT_MAX })
  if (changes === undefined) return [{ from: 0, to: before.length, by: after }]
  const hunks: Hunk[] = []
  let at = 0
  let open: Hunk | undefined
  for (const { added, removed, value } of changes) {
    if (!added && !removed) {
      open = undefined
      at += value.length
      continue
    }
    if (!open) hunks.push((open = { from: at, to: at, by: '' }))
    if (added) open.by += value
    else open.to = at += value.length
  }
  return hunks
}

const isHunk = (one: Hunk, other: Hunk): boolean =>
  one.from === other.from && one.to === other.to && one.by === other.by

/** Writes the change of a text word by word; what an earlier head changed in the same way stands once. */
function rewrite(shared: Y.Text, before: string, { after, earlier }: { after: string; earlier: string[] }): void {
  const theirs = earlier.flatMap((text) => hunksOf(before, text))
  for (const hunk of hunksOf(before, after).toReversed()) {
    if (theirs.some((other) => isHunk(hunk, other))) continue
    shared.delete(hunk.from, hunk.to - hunk.from)
    // Words of two heads at one place stay two words.
    const meets = theirs.some(({ from, to, by }) => from <= hunk.to && hunk.from <= to && by !== '')
    shared.insert(hunk.from, meets && hunk.by !== '' ? ` ${hunk.by}` : hunk.by)
  }
}

function editList(
  shared: Y.Array<YItem>,
  base: readonly Item[],
  { sides, at }: { sides: readonly { plan: Plan; head: readonly Item[] }[]; at: number },
): void {
  const side = sides[at]
  if (!side) return
  const { plan, head } = side
  const become = (i: number, from: number): Item | undefined => {
    const to = sides[i]?.plan.kept[from]
    return to === undefined ? undefined : sides[i]?.head[to]
  }
  plan.kept.forEach((_to, from) => {
    const [was, is, map] = [base[from], become(at, from), shared.get(from)]
    if (!was || !is) return
    for (const [name, text] of Object.entries(is.texts)) {
      const inside = map.get(`text ${name}`)
      const earlier = sides.slice(0, at).flatMap((_side, i) => become(i, from)?.texts[name] ?? [])
      if (inside instanceof Y.Text) rewrite(inside, was.texts[name] ?? '', { after: text, earlier })
    }
  })
  // From the end, so that the numbers of what lies before stay as they are.
  for (let from = base.length - 1; from >= -1; from--) {
    const come = plan.added.filter(({ after }) => after === from)
    shared.insert(
      from + 1,
      come.flatMap(({ item }) => head[item] ?? []).map((item, i) => newItem(item, `head ${at} ${come[i]?.item}`)),
    )
    // What another head changed stays, and is shown as a conflict.
    const isGone = from >= 0 && plan.kept[from] === undefined
    if (isGone && !sides.some((other) => isChanged(base, from, other))) shared.delete(from, 1)
  }
}

// Reading the merge, and what Yjs cannot decide.

function read(doc: Y.Doc, parts: Parts): Merged {
  const { before, after, plans } = parts
  const conflicts: Conflict[] = []
  const texts: Record<string, string> = {}
  for (const [path, text] of Object.entries(before.texts)) {
    texts[path] = textsIn(doc).get(path)?.toJSON() ?? ''
    const each = after.map((head) => head.texts[path] ?? '')
    if (areReplaced(text, each)) conflicts.push({ field: path, values: each })
  }
  const values: Record<string, string | undefined> = {}
  for (const [path, value] of Object.entries(before.values)) {
    const each = after.map((head) => head.values[path])
    values[path] = chosen(value, each)
    if (areContrary(value, each)) conflicts.push({ field: path, values: each.map((one) => one ?? null) })
  }
  const lists: Record<string, Item[]> = {}
  for (const [path, base] of Object.entries(before.lists)) {
    const sides = (plans.get(path) ?? []).map((plan, i) => ({ plan, head: after[i]?.lists[path] ?? [] }))
    lists[path] = readList(listIn(doc, path), base, { sides, path, conflicts })
  }
  return { record: unflatten({ texts, values, lists }), conflicts }
}

interface ListParts {
  sides: readonly { plan: Plan; head: readonly Item[] }[]
  path: string
  conflicts: Conflict[]
}

function readList(shared: Y.Array<YItem>, base: readonly Item[], { sides, path, conflicts }: ListParts): Item[] {
  const items: Item[] = []
  /** How often each head added just this item: what several added is shown once. */
  const same = new Map<string, number[]>()
  for (const map of shared) {
    const [origin, number, inHead] = originOf(map)
    const texts: Record<string, string> = {}
    for (const [key, text] of map) if (text instanceof Y.Text) texts[key.slice('text '.length)] = text.toJSON()
    if (origin === 'head') {
      const by = Number(number)
      const item = sides[by]?.head[Number(inHead)]
      if (!item) continue
      const key = JSON.stringify(item)
      const counts = same.get(key) ?? sides.map(() => 0)
      const shown = Math.max(...counts)
      counts[by] = (counts[by] ?? 0) + 1
      same.set(key, counts)
      if ((counts[by] ?? 0) > shown) items.push(item)
      continue
    }
    const from = Number(number)
    const was = base[from]
    if (!was) continue
    const field = `${path}[${items.length}]`
    const each = sides.map(({ plan, head }) => {
      const to = plan.kept[from]
      return to === undefined ? undefined : head[to]
    })
    if (each.includes(undefined)) {
      const changed = sides.some((side) => isChanged(base, from, side))
      if (changed) conflicts.push({ field, values: each.map((item) => (item ? itemText(item) : null)) })
    }
    const present = each.flatMap((item) => item ?? [])
    const values: Record<string, string | undefined> = {}
    for (const [name, text] of Object.entries(was.texts)) {
      const theirs = present.map((item) => item.texts[name] ?? '')
      if (areReplaced(text, theirs)) conflicts.push({ field: fieldOf(field, name), values: textsOf(each, name) })
    }
    for (const [name, value] of Object.entries(was.values)) {
      const theirs = present.map((item) => item.values[name])
      values[name] = chosen(value, theirs)
      if (areContrary(value, theirs)) {
        conflicts.push({ field: fieldOf(field, name), values: each.map((item) => item?.values[name] ?? null) })
      }
    }
    items.push({ texts, values })
  }
  return items
}

const fieldOf = (field: string, name: string): string => (name === '' ? field : `${field}.${name}`)
const textsOf = (items: readonly (Item | undefined)[], name: string): (string | null)[] =>
  items.map((item) => item?.texts[name] ?? null)

/** The value that a head changed; of several that differ the first. */
function chosen(base: string | undefined, each: readonly (string | undefined)[]): string | undefined {
  const changed = each.filter((value) => value !== base)
  return changed.length > 0 ? changed[0] : base
}

function areContrary(base: string | undefined, each: readonly (string | undefined)[]): boolean {
  return new Set(each.filter((value) => value !== base)).size > 1
}

/** Whether two heads made different things of the same words, at least one of them by new ones. */
function areReplaced(base: string, each: readonly string[]): boolean {
  const replaced = each.map((text) => hunksOf(base, text))
  // Also what one put into words that another took out: it would stand beside other words than its author saw.
  const isContrary = (a: Hunk, b: Hunk): boolean =>
    a.from < b.to && b.from < a.to && !isHunk(a, b) && (a.by !== '' || b.by !== '')
  return replaced.some((mine, i) =>
    replaced.slice(i + 1).some((theirs) => mine.some((a) => theirs.some((b) => isContrary(a, b)))),
  )
}
