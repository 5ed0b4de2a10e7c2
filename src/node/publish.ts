/** Makes an entry of our own: states it, seals its body, judges it by the same rules as a peer's, and takes it in. */
import {
  authorize,
  type Bits,
  type BodyKind,
  type BodyOf,
  type CtlOf,
  DEPS_COUNT_MAX,
  type Draft,
  encodeBody,
  hasBody,
  type Hex,
  isBefore,
  type Kind,
  type Node,
  pastOf,
  PROTOCOL_VERSION,
  REFUSALS,
  sealBody,
  signEntry,
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import { type Chunk, keepChunk, type Outside, withChunks } from './artifacts.ts'
import { keepKey, writingKey } from './contents.ts'
import { groundOf, type Held, keepBody, type Turn } from './held.ts'
import { putEntry } from './rows.ts'
import { newRow, settle } from './settle.ts'
import { emptyThread, takeIn, type Thread } from './threads.ts'
import { isRosterForked, rosterOf } from './workspace.ts'

/** What an own entry says. `body` is there exactly for kinds that have one; `outside`: content of its artifacts that does not fit into it. */
export type Statement = {
  [K in Kind]: { kind: K; ctl: CtlOf<K>; outside?: Outside | undefined } & (K extends BodyKind
    ? { body: BodyOf<K> }
    : { body?: never })
}[Kind]

export interface Published {
  readonly thread: Thread
  readonly node: Node
  readonly sealed: Uint8Array | undefined
}

/** Says something in a thread that is held; its body fits. Throws ApiError where this laptop may not, or may no more. */
export function publish(held: Held, turn: Turn, thread: Thread, statement: Statement): Published {
  if (thread.row?.recovering) {
    throw new ApiError(
      'state_changed',
      'The store of this laptop was repaired or put back from an old copy: a part of this thread may be missing here.',
      {
        hint: 'It can be written again as soon as a laptop of the other side was reachable once. relay-node status shows who is.',
      },
    )
  }
  if (hasForked(held, thread)) {
    throw new ApiError(
      'verification_failed',
      'Two histories of this thread are signed with the key of this laptop: its home was copied or restored from an old copy.',
      {
        hint: 'Use only one of the copies. Run relay-node doctor; the other side can hand off anew.',
      },
    )
  }
  const own = thread.graph.byDevice.get(held.workspace.key.public) ?? []
  const prev = own.at(-1)
  const header = draft(held, statement, {
    th: thread.id,
    seq: own.length,
    prev: prev?.entry.id ?? null,
    deps: depsFor(thread, prev),
  })
  const key = writingKey(held.workspace, thread)
  return seal(held, turn, { thread, header, statement, key: key?.key, keyId: key?.id ?? null })
}

/** Begins a thread with a create, under the key that its wraps carry. */
export function publishCreate(
  held: Held,
  turn: Turn,
  statement: Extract<Statement, { kind: 'create' }>,
  key: Uint8Array,
): Published {
  const header = draft(held, statement, { th: null, seq: 0, prev: null, deps: [] })
  return seal(held, turn, { thread: undefined, header, statement, key, keyId: null })
}

/** A device never builds on its own fork. */
export function hasForked(held: Held, thread: Thread): boolean {
  return thread.graph.forked.has(held.workspace.key.public)
}

function draft(held: Held, statement: Statement, place: Pick<Draft, 'th' | 'seq' | 'prev' | 'deps'>): Draft {
  const roster = rosterOf(held.workspace)
  if (!roster || isRosterForked(held.workspace)) {
    throw new ApiError(
      'verification_failed',
      'The owner of this workspace signed two rosters that contradict each other. Nothing is written until that is settled.',
      {
        hint: 'Run relay-node doctor, and ask the workspace owner in person.',
      },
    )
  }
  const { kind, ctl } = statement
  const ts = held.system.clock.now()
  return {
    v: PROTOCOL_VERSION,
    ws: roster.ws,
    ...place,
    dev: held.workspace.key.public,
    ros: roster.point,
    kind,
    ctl,
    body: null,
    ts,
  } as Draft
}

/** The heads that this device saw beside its own newest entry: those that it, and that no other, includes. */
function depsFor(thread: Thread, prev: Node | undefined): Hex[] {
  const heads = [...thread.graph.heads].filter((id) => id !== prev?.entry.id)
  const unseen = heads.filter((id) => {
    const head = thread.graph.byId.get(id)
    return head && !(prev && isBefore(head, prev))
  })
  return unseen.toSorted().slice(0, DEPS_COUNT_MAX)
}

/** The past that this device's next entry will have. */
export function nextPast(held: Held, thread: Thread): Bits {
  const { graph } = thread
  const prev = graph.byDevice.get(held.workspace.key.public)?.at(-1)
  const deps = depsFor(thread, prev).flatMap((id) => graph.byId.get(id) ?? [])
  return pastOf(graph, prev ? [prev, ...deps] : deps)
}

interface Sealing {
  thread: Thread | undefined
  header: Draft
  statement: Statement
  key: Uint8Array | undefined
  keyId: Hex | null
}

function noKey(thread: Thread | undefined): ApiError {
  if (thread === undefined || thread.keys.size === 0)
    return new ApiError('verification_failed', 'The key of this thread is not on this device.', {
      hint: 'Ask the other side to send the handoff anew.',
    })
  return new ApiError(
    'state_changed',
    'A laptop that has the key of this handoff was removed, and there is no key without it yet.',
    {
      hint: 'relay-node status says what is missing. Try again then, or go on in a new handoff with parent_thread_id.',
    },
  )
}

function seal(held: Held, turn: Turn, sealing: Sealing): Published {
  const { statement, key, keyId } = sealing
  let { header } = sealing
  let sealed: Uint8Array | undefined
  let chunks: Chunk[] = []
  if (hasBody(statement.kind) && statement.body !== undefined) {
    if (!key) throw noKey(sealing.thread)
    const said = withChunks(statement.body, statement.outside, () => held.system.dice(32))
    chunks = said.chunks
    const plain = encodeBody(statement.kind, said.body)
    ;({ header, sealed } = sealBody(header, plain, { key, keyId, iv: held.system.dice(32) }))
  }
  const entry = signEntry(header, held.workspace.key)
  const thread = sealing.thread ?? emptyThread(entry.id)
  turn.touched.add(thread)
  const judged = authorize(groundOf(held, thread), entry)
  if (judged.ok === false && (judged.refusal === 'turns_exceeded' || judged.refusal === 'pending_turns_exceeded')) {
    throw new ApiError('rate_limited', `No more can be said here now: ${REFUSALS[judged.refusal]}.`, {
      hint: 'Wait until the other side accepts, or go on in a new handoff with parent_thread_id.',
    })
  }
  // Whoever calls has checked the rules in the words of the local interface; this is the last line.
  if (judged.ok !== true)
    throw new Error(
      `own ${header.kind} is not admitted: ${judged.ok === false ? `${judged.refusal} ${judged.detail ?? ''}` : 'missing parents'}`,
    )
  const arrival = { number: turn.nextArrival(), at: held.system.clock.now() }
  takeIn(thread, judged.value, arrival)
  turn.writes.push(putEntry(thread.id, { envelope: entry.envelope, arrival: arrival.number, receivedAt: arrival.at }))
  if (sealed) keepBody(held, turn, thread, { entry: entry.id, sealed })
  for (const chunk of chunks) keepChunk(turn, thread, chunk)
  if (statement.kind === 'create' && key) turn.writes.push(keepKey(thread, entry.id, key))
  if (!sealing.thread) {
    held.threads.adopt(thread)
    // Nothing can be lost of what begins here.
    thread.row = { ...newRow(held, thread), recovering: false }
  }
  settle(held, turn, thread, [{ node: judged.value, sealed }])
  return { thread, node: judged.value, sealed }
}
