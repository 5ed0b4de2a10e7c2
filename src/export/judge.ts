/** Judges a proof by the rules of the protocol, and by nothing else: no node, no store, no clock. */
import {
  actionMacUnder,
  addNode,
  admitRosterEntry,
  authorize,
  type BodyKind,
  type BodyOf,
  chainsTo,
  currentRoster,
  decodeAction,
  emptyGraph,
  emptyRosterLog,
  type Graph,
  hasBody,
  type Hex,
  inOrder,
  isBodyOf,
  type Node,
  openBodyUnder,
  openEntry,
  parseRosterEntry,
  type ProposedAction,
  reduce,
  type Roster,
  type RosterLog,
  textId,
  type ThreadState,
} from '../../protocol/index.ts'
import { type Proof, type ProofEntry, ROSTER_PATH, THREAD_PATH } from './proof.ts'

/** Something that is not as it was exported. */
export interface Fault {
  /** In the folder, with /. */
  readonly path: string
  readonly what: string
}

export type AnyBody = { [K in BodyKind]: { kind: K; body: BodyOf<K> } }[BodyKind]
/**
 * missing: its sealed bytes are not in the export. sealed: they are, and their key is not. unreadable: its author sealed
 * something that is not of its kind's shape.
 */
export type Opened = { state: 'none' | 'missing' | 'sealed' | 'unreadable' } | ({ state: 'ok' } & AnyBody)

/** A proof that was judged. */
export interface Judged {
  /** In its one form: entries in the one order, and of the roster what they cite. */
  readonly proof: Proof
  /** At the highest point that is cited. */
  readonly roster: Roster
  readonly graph: Graph
  /** In the one order. */
  readonly nodes: readonly Node[]
  readonly state: ThreadState
  readonly bodies: ReadonlyMap<Hex, Opened>
  readonly action: JudgedAction | undefined
}

export interface JudgedAction {
  /** undefined where the body that holds it, or its key, is not here. */
  readonly proposed: ProposedAction | undefined
  /** The action in the body is not the one that the header binds. */
  readonly mismatch: boolean
}

/** Without `judged` nothing can be said of the thread. */
export interface Judgement {
  readonly judged: Judged | undefined
  readonly faults: readonly Fault[]
}

export function judge(proof: Proof): Judgement {
  const faults: Fault[] = []
  const log = judgeRoster(proof.roster, faults)
  const graph = emptyGraph()
  const given = new Map<Hex, ProofEntry>()
  const bodies = new Map<Hex, Opened>()
  for (const [i, entry] of proof.entries.entries()) {
    const fault = (what: string): unknown => faults.push({ path: THREAD_PATH, what: `entry ${i + 1}: ${what}` })
    const node = judgeEntry({ graph, log }, entry, fault)
    if (!node) continue
    addNode(graph, node)
    given.set(node.entry.id, entry)
    bodies.set(node.entry.id, openIn(node, entry, fault))
  }
  const create = graph.byKind.create[0]
  const roster = currentRoster(log)
  if (!create || !roster) {
    faults.push({ path: THREAD_PATH, what: 'there is no handoff in it that could be judged' })
    return { judged: undefined, faults }
  }
  const nodes = inOrder(graph)
  const judged: Judged = {
    proof: {
      roster: chainsTo(
        log,
        nodes.map(({ entry }) => entry.header.ros),
      ).map(({ envelope }) => envelope),
      entries: nodes.flatMap(({ entry }) => given.get(entry.id) ?? []),
      actionKey: proof.actionKey,
    },
    roster,
    graph,
    nodes,
    state: reduce(graph),
    bodies,
    action: actionOf(graph, bodies, proof.actionKey),
  }
  return { judged, faults }
}

function judgeRoster(envelopes: readonly Uint8Array[], faults: Fault[]): RosterLog {
  const log = emptyRosterLog()
  for (const [i, envelope] of envelopes.entries()) {
    const parsed = parseRosterEntry(envelope)
    const admitted = parsed.ok ? admitRosterEntry(log, parsed.value) : parsed
    if (!admitted) faults.push({ path: ROSTER_PATH, what: `entry ${i + 1}: the one before it is missing` })
    else if (!admitted.ok) faults.push({ path: ROSTER_PATH, what: `entry ${i + 1}: ${admitted.refusal}` })
  }
  return log
}

function judgeEntry(
  { graph, log }: { graph: Graph; log: RosterLog },
  { envelope }: ProofEntry,
  fault: (what: string) => unknown,
): Node | undefined {
  const opened = openEntry(envelope)
  if (!opened.ok) {
    fault(opened.refusal)
    return undefined
  }
  if (graph.byId.has(opened.value.id)) {
    fault('it stands there twice')
    return undefined
  }
  const node = authorize({ graph, log, isRefused: () => false }, opened.value)
  if (node.ok === true) return node.value
  const name = textId('entry', opened.value.id)
  if (node.ok === false) fault(`${name} is refused by the rules: ${node.refusal}`)
  else fault(`${name} builds on what is missing: ${missingText(node)}`)
  return undefined
}

function missingText({ entries, roster }: { entries: readonly Hex[]; roster: Hex | undefined }): string {
  return [
    ...entries.map((id) => textId('entry', id)),
    ...(roster === undefined ? [] : [`roster entry ${roster}`]),
  ].join(', ')
}

function openIn({ entry }: Node, { sealed, key }: ProofEntry, fault: (what: string) => unknown): Opened {
  const { kind } = entry.header
  if (!hasBody(kind) || !sealed) {
    if (sealed || key) fault('it has no body, and something is given as one')
    return { state: hasBody(kind) ? 'missing' : 'none' }
  }
  if (!isBodyOf(entry, sealed)) {
    fault('its body is not the one that was signed')
    return { state: 'missing' }
  }
  if (!key) return { state: 'sealed' }
  const body = openBodyUnder(entry, kind, sealed, key)
  if (body.ok) return { state: 'ok', kind, body: body.value } as Opened
  if (body.refusal === 'seal_broken') {
    fault('its key does not open its body')
    return { state: 'sealed' }
  }
  return { state: 'unreadable' }
}

function actionOf(graph: Graph, bodies: ReadonlyMap<Hex, Opened>, key: Uint8Array | null): JudgedAction | undefined {
  const create = graph.byKind.create[0]?.entry
  const named = create?.header.ctl.action
  if (!create || named === null || named === undefined) return undefined
  const opened = bodies.get(create.id)
  if (opened?.state !== 'ok' || opened.kind !== 'create' || !key) return { proposed: undefined, mismatch: false }
  const bytes = opened.body.proposed_action
  const action = bytes && actionMacUnder(key, bytes) === named ? decodeAction(bytes) : undefined
  return action?.ok ? { proposed: action.value, mismatch: false } : { proposed: undefined, mismatch: true }
}
