/** A thread as an agent reads it: entry by entry, each author's words in one block, cut where an answer would be too long. */
import { ANSWER_LENGTH_CHARS_MAX } from '../../protocol/index.ts'
import type { ArtifactFacts, EntryView, InboxItem, Party, SaidResult, ThreadCommon, ThreadView } from '../rpc/client.ts'
import { answer, type Answer, fits, lengthOf } from './answer.ts'
import { encodePlace, type Place } from './place.ts'
import { type PeerFacts, type Shown, withArtifacts, withoutRecord, type Wrapper } from './provenance.ts'
import { RECORD_LENGTH_CHARS_MAX, recordFacts } from './record-view.ts'

const ARTIFACTS_SHOWN_COUNT_MAX = 64
/** A piece of a long content is shortened until its answer fits; below this it is no longer the piece that is too long. */
const PIECE_LENGTH_CHARS_MIN = 16
/** A piece escapes worse than the average of the longer one that it was cut from. */
const PIECE_MARGIN = 0.95

/** The part that every answer on a thread has in common. Fields are named one by one: nothing unknown passes. */
function commonOf({ thread_id, status, final, waiting_for, delivery }: ThreadCommon) {
  return { thread_id, status, final, waiting_for, delivery }
}

/** The part that every answer to something said has in common. */
export function saidOf(said: SaidResult) {
  return { ...commonOf(said), warnings: said.warnings }
}

export interface ThreadPage {
  answer: Answer
  /** False if the node's page holds more than was shown. */
  whole: boolean
}

export interface PageOptions {
  wrapper: Wrapper
  place: Place
  /** Facts to stand beside the thread's own. */
  extra?: { checklist?: string[]; next?: string }
}

/** As much of the node's page as fits, from `place` on. */
export function threadPage(view: ThreadView, options: PageOptions): ThreadPage {
  const { wrapper, place } = options
  const start = place.after === undefined ? 0 : view.entries.findIndex(({ entry_id }) => entry_id === place.after) + 1
  const waiting = view.entries.slice(start)
  const [first] = waiting
  if (
    first !== undefined &&
    (place.offset !== undefined || !fits(build([showEntry(first, view, wrapper)], 1).answer))
  ) {
    return partOf(first)
  }
  const empty = lengthOf(build([], 0).answer)
  const shown: ShownEntry[] = []
  let length = empty
  for (const entry of waiting) {
    const next = showEntry(entry, view, wrapper)
    length += lengthOf(build([next], 1).answer) - empty
    if (length > ANSWER_LENGTH_CHARS_MAX) break
    shown.push(next)
  }
  // The sum is a good guess, and the answer itself the judge.
  while (shown.length > 1 && !fits(build(shown, shown.length).answer)) shown.pop()
  return build(shown, shown.length)

  function build(entries: ShownEntry[], count: number, offset?: number): ThreadPage {
    const left = waiting.length - count
    const after = offset === undefined ? (waiting[count - 1]?.entry_id ?? place.after) : place.after
    const rest: Place = {
      ...(place.page === undefined ? {} : { page: place.page }),
      ...(after === undefined ? {} : { after }),
    }
    const whole = left === 0
    const next = whole ? nextPage(view) : encodePlace(offset === undefined ? rest : { ...rest, offset })
    const isFirst = place.page === undefined && place.after === undefined && place.offset === undefined
    const facts = factsOf(view)
    const value = {
      ...facts,
      ...(isFirst ? recordFacts(view, wrapper, JSON.stringify(facts).length) : {}),
      ...options.extra,
      entries,
      ...(next === undefined
        ? {}
        : { next_cursor: next, left: { entries: left, and_more: view.next_cursor !== undefined } }),
    }
    return { answer: answer(wrapper, value), whole }
  }

  /** A piece of the JSON text of one entry's words that do not fit into an answer as a whole. */
  function partOf(entry: EntryView): ThreadPage {
    const words = wordsOf(entry) ?? { own: {} }
    const pieces = wrapper.inPieces(words, peerFacts(entry, view))
    const from = place.offset ?? 0
    for (let length = ANSWER_LENGTH_CHARS_MAX; ;) {
      const { shown: content, to } = pieces.show(from, length)
      const part = { ...entryFacts(entry), content, content_part: { from, to, of: pieces.length } }
      const page = to < pieces.length ? build([part], 0, to) : build([part], 1)
      const size = lengthOf(page.answer)
      if (size <= ANSWER_LENGTH_CHARS_MAX || length <= PIECE_LENGTH_CHARS_MIN) return page
      length = Math.max(
        PIECE_LENGTH_CHARS_MIN,
        Math.floor(((to - from) * ANSWER_LENGTH_CHARS_MAX * PIECE_MARGIN) / size),
      )
    }
  }
}

function nextPage(view: ThreadView): string | undefined {
  return view.next_cursor === undefined ? undefined : encodePlace({ page: view.next_cursor })
}

function factsOf(view: ThreadView) {
  const { intent, side, from, to, created_at, parent_thread_id, revision_id, action, lead } = view
  const { conflicting, repudiated, forks, unread_count, state_digest, readers, participants } = view
  const unlisted = view.artifacts.length - ARTIFACTS_SHOWN_COUNT_MAX
  return {
    ...commonOf(view),
    intent,
    side,
    from: partyOf(from),
    to: { handle: to.handle, trust: to.trust, kind: to.kind },
    created_at,
    parent_thread_id,
    revision_id,
    action: action && { digest: action.digest, verdict: action.verdict, mismatch: action.mismatch },
    lead: lead && { accepted: lead.accepted, completed: lead.completed },
    conflicting,
    repudiated,
    forks,
    unread_count,
    state_digest,
    readers: readers.map(({ handle, trust, kind, devices, shared_by, shared_at }) => ({
      handle,
      trust,
      kind,
      devices,
      shared_by,
      shared_at,
    })),
    participants: participants.map(({ handle, device, side: where, removed, fenced }) => ({
      handle,
      device,
      side: where,
      removed,
      fenced,
    })),
    artifacts: view.artifacts.slice(0, ARTIFACTS_SHOWN_COUNT_MAX).map(artifactFacts),
    ...(unlisted > 0 ? { artifacts_left: unlisted } : {}),
  }
}

function wordsOf({ content, artifacts = [] }: EntryView) {
  return withArtifacts(withoutRecord(content, RECORD_LENGTH_CHARS_MAX), artifacts)
}

type EntryFacts = ReturnType<typeof entryFacts>
type ShownEntry = EntryFacts & { content?: Shown<unknown>; content_part?: { from: number; to: number; of: number } }

function showEntry(entry: EntryView, view: ThreadView, wrapper: Wrapper): ShownEntry {
  const facts = entryFacts(entry)
  const words = wordsOf(entry)
  return words === undefined ? facts : { ...facts, content: wrapper.show(words, peerFacts(entry, view)) }
}

function entryFacts(entry: EntryView) {
  const { entry_id, message_id, kind, mine, sequence_no, sequence_mark, sent_at, received_at } = entry
  const { late, cut, void: isVoid, outcome, verdict, reader, body } = entry
  return {
    entry_id,
    message_id,
    kind,
    from: partyOf(entry.from),
    mine,
    sequence_no,
    sequence_mark,
    sent_at,
    received_at,
    late,
    cut,
    void: isVoid,
    outcome,
    verdict,
    reader,
    body,
    artifacts: (entry.artifacts ?? []).map(artifactFacts),
  }
}

function artifactFacts({ artifact_id, type, size, sha256, here, here_bytes, entry_id }: ArtifactFacts): ArtifactFacts {
  return { artifact_id, type, size, sha256, here, ...(here_bytes === undefined ? {} : { here_bytes }), entry_id }
}

export function partyOf({ handle, device, trust, kind }: Party): Party {
  return { handle, device, trust, ...(kind === undefined ? {} : { kind }) }
}

/** Who wrote the preview of a listed handoff. Of one that was made before its writer was kept, only the side is known. */
export function writerOf({ side, sender, recipient, preview_from: writer }: InboxItem): NonNullable<PeerFacts['from']> {
  if (writer) return writer
  return side === 'in' ? { handle: sender.handle, trust: sender.trust } : { handle: recipient }
}

function peerFacts(entry: EntryView, view: ThreadView): PeerFacts {
  return {
    from: entry.from,
    thread_id: view.thread_id,
    entry_id: entry.entry_id,
    received_at: entry.received_at,
    ...(entry.sequence_no === undefined ? {} : { sequence_no: entry.sequence_no }),
  }
}
