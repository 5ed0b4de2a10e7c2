/** Whether rules come to what a vector in protocol/vectors says. Entries are opened once, by the rules as they are. */
import {
  admitRosterEntry,
  emptyRosterLog,
  type Entry,
  type Graph,
  type Ground,
  type Hex,
  openEntry,
  parseRosterEntry,
  type Refusal,
} from '../../protocol/index.ts'
import type { LoadedRules } from './mutant.ts'
import { vectorAt } from './vector-files.ts'
import { type Fields, type Json, readHex } from './vector-form.ts'

const opened = new Map<string, Entry | Refusal>()

function open(text: string): Entry | Refusal {
  let entry = opened.get(text)
  if (entry === undefined) {
    const checked = openEntry(readHex(text))
    entry = checked.ok ? checked.value : checked.refusal
    opened.set(text, entry)
  }
  return entry
}

function mustOpen(text: string): Entry {
  const entry = open(text)
  if (typeof entry === 'string') throw new Error(entry)
  return entry
}

function texts(json: Json | undefined): readonly string[] {
  return (json ?? []) as readonly string[]
}

const rosters = new Map<string, Ground['log']>()

function rosterOf(context: Fields): Ground['log'] {
  const name = texts(context['roster']).join()
  const known = rosters.get(name)
  if (known) return known
  const log = emptyRosterLog()
  for (const text of texts(context['roster'])) {
    const parsed = parseRosterEntry(readHex(text))
    if (!parsed.ok || !admitRosterEntry(log, parsed.value)?.ok) throw new Error('a roster that is not in order')
  }
  rosters.set(name, log)
  return log
}

/** True if the rules do as the vector says. */
export function agrees(rules: LoadedRules, path: string): boolean {
  const { check, input, context, expected, repaired } = vectorAt(path)
  if (check === 'history') return agreesOnHistory(rules, { input, context, expected })
  if (check !== 'authorize') throw new Error(`${path} asks for ${check}`)
  const right = { input: { ...input, ...repaired?.input }, context: { ...context, ...repaired?.context } }
  return verdictOn(rules, { input, context }) === expected['refusal'] && verdictOn(rules, right) === 'stored'
}

function verdictOn(rules: LoadedRules, { input, context }: { input: Fields; context: Fields }): string {
  const graph = rules.emptyGraph()
  const refused = new Set<Hex>()
  const elsewhere = new Map(texts(context['elsewhere']).map((text) => [mustOpen(text).id, mustOpen(text).thread]))
  const ground: Ground = {
    graph,
    log: rosterOf(context),
    isRefused: (id) => refused.has(id),
    threadOf: (id) => elsewhere.get(id),
  }
  for (const text of texts(context['stored'])) {
    const verdict = rules.authorize(ground, mustOpen(text))
    // What is there to be built on is in order by the rules as they are.
    if (verdict.ok !== true) return 'nothing'
    rules.addNode(graph, verdict.value)
  }
  for (const text of texts(context['refused'])) refused.add(mustOpen(text).id)
  const entry = open(input['envelope'] as string)
  if (typeof entry === 'string') return entry
  const verdict = rules.authorize(ground, entry)
  return verdict.ok === true ? 'stored' : verdict.ok === 'missing' ? 'missing' : verdict.refusal
}

function agreesOnHistory(rules: LoadedRules, vector: { input: Fields; context: Fields; expected: Fields }): boolean {
  const graphs = new Map<Hex, Graph>()
  const refusals = new Map<number, string>()
  const refused = new Set<Hex>()
  const log = rosterOf(vector.context)
  const threadOf = (id: Hex) => [...graphs].find(([, graph]) => graph.byId.has(id))?.[0]
  const settle = ([position, entry]: readonly [number, Entry]): boolean => {
    const graph = graphs.get(entry.thread) ?? rules.emptyGraph()
    graphs.set(entry.thread, graph)
    if (graph.byId.has(entry.id)) return true
    const verdict = rules.authorize({ graph, log, isRefused: (id) => refused.has(id), threadOf }, entry)
    if (verdict.ok === 'missing') return false
    if (verdict.ok) rules.addNode(graph, verdict.value)
    else {
      refusals.set(position, verdict.refusal)
      refused.add(entry.id)
    }
    return true
  }
  let waiting: (readonly [number, Entry])[] = []
  texts(vector.input['entries']).forEach((text, position) => {
    const entry = open(text)
    if (typeof entry === 'string') {
      refusals.set(position, entry)
      return
    }
    waiting.push([position, entry])
    for (let isSettled = true; isSettled;) {
      const still = waiting.filter((one) => !settle(one))
      isSettled = still.length < waiting.length
      waiting = still
    }
  })
  const graph = graphs.get(vector.input['thread'] as Hex)
  const told: Fields = {
    ...(graph && graph.nodes.length > 0 ? tell(rules, graph) : { status: null }),
    refused: [...refusals].toSorted(([a], [b]) => a - b),
    waiting: waiting.map(([position]) => position).toSorted((a, b) => a - b),
  }
  return Object.entries(told).every(([key, value]) => JSON.stringify(value) === JSON.stringify(vector.expected[key]))
}

function tell(rules: LoadedRules, graph: Graph): Fields {
  const state = rules.reduce(graph)
  const order = rules.inOrder(graph)
  return {
    status: state.status,
    final: state.final,
    waiting_for: state.waitingFor.toSorted(),
    lead: { ...state.lead },
    conflicting: state.conflicting,
    repudiated: state.repudiated,
    void: [...state.void].toSorted(),
    cut: [...state.cut].toSorted(),
    late: [...state.late].toSorted(),
    forked: [...state.forked].toSorted(),
    numbers: order.flatMap(({ entry, number }) => (number === undefined ? [] : [[entry.id, number]])),
    order: order.map(({ entry }) => entry.id),
    heads: [...graph.heads].toSorted(),
    record_heads: rules
      .recordHeads(graph)
      .map(({ entry }) => entry.id)
      .toSorted(),
    verdict: rules.verdictOf(graph) ?? null,
    digest: rules.stateDigest(graph, state),
  }
}
