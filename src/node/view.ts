/** A thread as front ends see it: this node's own facts, and, apart from them, what each author wrote. */
import {
  type Artifact,
  artifactId,
  BODY_SIZE_BYTES_MAX,
  type Hex,
  isOfKind,
  type Kind,
  type Node,
  receiptOf,
  recordHeads,
  stateDigest,
  textId,
  verdictOf,
  threadDevices,
} from '../../protocol/index.ts'
import {
  type ActionView,
  type Delivery,
  type EntryContent,
  type EntryView,
  type ThreadCommon,
  type ThreadView,
} from './api.ts'
import { artifactFacts } from './artifacts.ts'
import { carriersOf } from './carriers.ts'
import { type AnyBody, boundAction, openContent, type Opened } from './contents.ts'
import type { Held } from './held.ts'
import { memberView, partyOf } from './membership.ts'
import { readersOf } from './readers.ts'
import { artifactListing, type RecordOptions, recordParts } from './record-view.ts'
import { content, isMine, timeText } from './shown.ts'
import { createOf, receivedAt, sideOf, type Thread } from './threads.ts'
import { stateOf } from './tracker.ts'
import { deviceLabel, handleOf, isRemoved, memberOfDevice } from './workspace.ts'

export function commonView(held: Held, thread: Thread): ThreadCommon {
  const state = stateOf(thread.tracker, thread.graph)
  return {
    thread_id: textId('thread', thread.id),
    status: state.status,
    final: state.final,
    waiting_for: state.waitingFor.map((device) => deviceLabel(held.workspace, device)),
    delivery: deliveryView(held, thread),
  }
}

/** What was observed of the newest thing that this side said: who keeps it, which devices of others have it, and who accepted. */
function deliveryView(held: Held, thread: Thread): Delivery {
  const said =
    thread.graph.nodes.findLast((node) => !isOfKind(node, 'ack') && isMine(held, node.entry.header.dev)) ??
    thread.graph.nodes[0]
  const delivered = threadDevices(thread.graph).flatMap((device) => {
    const receipt = said && !isMine(held, device) ? receiptOf(thread.graph, said, device) : undefined
    return receipt
      ? [{ device: deviceLabel(held.workspace, device), at: timeText(receivedAt(thread, receipt.entry.id)) }]
      : []
  })
  const carriers = said ? carriersOf(held, thread, said.entry.id) : []
  const { lead } = stateOf(thread.tracker, thread.graph)
  const accept = lead.accept === null ? undefined : thread.graph.byId.get(lead.accept)
  return {
    stored_here: true,
    ...(carriers.length > 0 ? { carriers: carriers.map(({ name, at }) => ({ name, at: timeText(at) })) } : {}),
    ...(delivered.length > 0 ? { delivered } : {}),
    ...(accept
      ? {
          accepted: {
            device: deviceLabel(held.workspace, accept.entry.header.dev),
            at: timeText(receivedAt(thread, accept.entry.id)),
          },
        }
      : {}),
  }
}

type ShownKind = EntryView['kind']
const SHOWN: ReadonlySet<Kind> = new Set<ShownKind>([
  'create',
  'accept',
  'cancel',
  'complete',
  'message',
  'revise',
  'annotate',
  'resolve',
  'approve',
  'share',
])

function isShown(kind: Kind): kind is ShownKind {
  return SHOWN.has(kind)
}

interface EntryPage {
  readonly entries: EntryView[]
  /** Arrival number of the last one. */
  readonly last: number
  readonly more: boolean
}

const PAGE_ENTRIES_COUNT = 100
/** Bodies of one page together, sealed; at least one entry is given. */
const PAGE_SIZE_BYTES = 2 * BODY_SIZE_BYTES_MAX

/** Entries in order of their arrival here, after arrival number `after`. */
async function entryPage(held: Held, thread: Thread, after: number): Promise<EntryPage> {
  const entries: EntryView[] = []
  let size = 0
  let last = after
  for (const node of thread.graph.nodes) {
    const arrival = thread.arrivals.get(node.entry.id)?.number ?? 0
    if (arrival <= after) continue
    const { kind, body } = node.entry.header
    size += isShown(kind) ? (body?.n ?? 0) : 0
    if (entries.length >= PAGE_ENTRIES_COUNT || (entries.length > 0 && size > PAGE_SIZE_BYTES))
      return { entries, last, more: true }
    last = arrival
    if (isShown(kind)) entries.push(await entryView(held, thread, node, kind))
  }
  return { entries, last, more: false }
}

async function entryView(held: Held, thread: Thread, node: Node, kind: ShownKind): Promise<EntryView> {
  const { id, header } = node.entry
  const state = stateOf(thread.tracker, thread.graph)
  const mine = isMine(held, header.dev)
  const opened = await openContent(held, thread, node.entry)
  const mark = sequenceMark(thread, node)
  return {
    entry_id: textId('entry', id),
    ...(kind === 'message' || kind === 'create' ? { message_id: textId('message', id) } : {}),
    kind,
    from: partyOf(held, header.dev),
    mine,
    ...(node.number === undefined ? {} : { sequence_no: node.number }),
    ...(mark === undefined ? {} : { sequence_mark: mark }),
    sent_at: timeText(header.ts),
    received_at: timeText(receivedAt(thread, id)),
    late: state.late.has(id),
    cut: state.cut.has(id),
    void: state.void.has(id),
    ...(header.kind === 'complete' ? { outcome: header.ctl.outcome } : {}),
    ...(header.kind === 'approve' ? { verdict: header.ctl.verdict } : {}),
    ...(header.kind === 'share' ? { reader: handleOf(held.workspace, header.ctl.reader) } : {}),
    body: opened.state,
    ...(opened.state === 'ok' ? { content: content(mine, entryContent(thread, opened)) } : {}),
    ...(opened.state === 'ok'
      ? { artifacts: artifactsOf(opened).map((artifact) => artifactListing(held, thread, { artifact, node })) }
      : {}),
  }
}

/** 3′, 3″ …: later ones, in the one order, of several entries with one number. */
function sequenceMark(thread: Thread, node: Node): string | undefined {
  if (node.number === undefined) return undefined
  const same = thread.graph.nodes
    .filter((other) => other.number === node.number)
    .toSorted((a, b) => (a.entry.id < b.entry.id ? -1 : 1))
  const at = same.indexOf(node)
  return at > 0 ? `${node.number}${'′'.repeat(at)}` : undefined
}

function entryContent(thread: Thread, opened: AnyBody): EntryContent {
  switch (opened.kind) {
    case 'create': {
      const { summary, record, question } = opened.body
      const action = boundAction(thread, opened.body)?.action
      return {
        summary,
        ...(record ? { record } : {}),
        ...(question === undefined ? {} : { question }),
        ...(action ? { proposed_action: action } : {}),
      }
    }
    case 'message': {
      const { body, payload } = opened.body
      return { body, ...(payload === undefined ? {} : { payload: parsePayload(payload) }) }
    }
    case 'complete':
      return { result_summary: opened.body.result_summary }
    case 'cancel':
    case 'approve':
      return { reason: opened.body.reason }
    case 'accept':
      return {}
    case 'revise':
      return { record: opened.body.record, note: opened.body.note }
    case 'annotate':
      return { text: opened.body.text }
    case 'resolve':
      return { note: opened.body.note }
  }
}

/** The payload as its author gave it; as plain text where a peer sent what is no JSON. */
function parsePayload(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function artifactsOf(opened: Opened | AnyBody): readonly Artifact[] {
  return 'body' in opened && 'artifacts' in opened.body ? opened.body.artifacts : []
}

/** The earliest artifact of the thread whose id is wanted, among those that can be read here; one whose content is here before any other. */
export async function findArtifact(
  held: Held,
  thread: Thread,
  isWanted: (id: Hex) => boolean,
): Promise<{ artifact: Artifact; node: Node } | undefined> {
  let found: { artifact: Artifact; node: Node } | undefined
  for (const node of thread.graph.nodes) {
    const artifact = artifactsOf(await openContent(held, thread, node.entry)).find((candidate) =>
      isWanted(artifactId(candidate)),
    )
    if (!artifact) continue
    if (artifactFacts(thread, artifact, node.entry.id).here) return { artifact, node }
    found ??= { artifact, node }
  }
  return found
}

async function actionView(held: Held, thread: Thread): Promise<ActionView | undefined> {
  const create = createOf(thread)
  if (!create || create.header.ctl.action === null) return undefined
  const opened = await openContent(held, thread, create)
  const bound = opened.state === 'ok' && opened.kind === 'create' ? boundAction(thread, opened.body) : undefined
  return {
    digest: create.header.ctl.action,
    verdict: verdictOf(thread.graph) ?? 'none',
    mismatch: opened.state !== 'missing' && !bound,
  }
}

export function revisionIds(thread: Thread): string[] {
  return recordHeads(thread.graph).map((node) => textId('revision', node.entry.id))
}

export interface ViewOptions extends RecordOptions {
  /** Arrival number after which entries are shown. */
  readonly after?: number | undefined
}

/** The thread with its record and a page of its entries. */
export async function threadView(
  held: Held,
  thread: Thread,
  { after = 0, ...options }: ViewOptions = {},
): Promise<{ view: ThreadView; last: number }> {
  const create = createOf(thread)
  const { row } = thread
  if (!create || !row || row.side === null) throw new Error('only a thread of this member has a view')
  const state = stateOf(thread.tracker, thread.graph)
  const page = await entryPage(held, thread, after)
  const action = await actionView(held, thread)
  const lead = leadView(state.lead)
  const { parent, to } = create.header.ctl
  const view: ThreadView = {
    ...commonView(held, thread),
    intent: create.header.ctl.intent,
    side: row.side,
    from: partyOf(held, create.header.dev),
    to: memberView(held, to),
    created_at: timeText(create.header.ts),
    ...(parent === null ? {} : { parent_thread_id: textId('thread', parent) }),
    revision_id: revisionIds(thread)[0] ?? '',
    ...(await recordParts(held, thread, options)),
    ...(action ? { action } : {}),
    ...(lead ? { lead } : {}),
    conflicting: state.conflicting,
    repudiated: state.repudiated,
    forks: [...state.forked].map((device) => deviceLabel(held.workspace, device)),
    unread_count: row.unread,
    entries: page.entries,
    artifacts: page.entries.flatMap((entry) => entry.artifacts ?? []),
    state_digest: stateDigest(thread.graph, state),
    readers: readersOf(held, thread),
    participants: threadDevices(thread.graph).flatMap((device) => {
      const side = sideOf(thread, device)
      const member = memberOfDevice(held.workspace, device)
      return side
        ? [
            {
              handle: member ? handleOf(held.workspace, member.id) : 'unknown',
              device: deviceLabel(held.workspace, device),
              side,
              removed: isRemoved(held.workspace, device),
              fenced: thread.graph.byKind.fence.some(({ entry }) => entry.header.ctl.device === device),
            },
          ]
        : []
    }),
    ...(page.more ? { next_cursor: String(page.last) } : {}),
  }
  return { view, last: page.last }
}

function leadView(lead: { accept: Hex | null; complete: Hex | null }): ThreadView['lead'] {
  const shown = {
    ...(lead.accept === null ? {} : { accepted: textId('entry', lead.accept) }),
    ...(lead.complete === null ? {} : { completed: textId('entry', lead.complete) }),
  }
  return Object.keys(shown).length > 0 ? shown : undefined
}
