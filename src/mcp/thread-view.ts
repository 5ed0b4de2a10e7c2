/** A thread as an agent reads it: entry by entry, each author's words in one block, cut where an answer would be too long. */
import { ANSWER_LENGTH_CHARS_MAX } from '../../protocol/index.ts'
import type { ArtifactFacts, EntryView, Party, ThreadCommon, ThreadView } from '../rpc/client.ts'
import { answer, type Answer, fits, lengthOf } from './answer.ts'
import { encodePlace, type Place } from './place.ts'
import { type PeerFacts, type Shown, withArtifacts, type Wrapper } from './provenance.ts'

const ARTIFACTS_SHOWN_COUNT_MAX = 64
/** A piece of a long content is shortened until its answer fits; below this it is no longer the piece that is too long. */
const PART_SHRINKS_BY = 0.8
const PART_LENGTH_CHARS_MIN = 16

/** The part that every answer on a thread has in common. Fields are named one by one: nothing unknown passes. */
export function commonOf({ thread_id, status, final, waiting_for, delivery }: ThreadCommon) {
  return { thread_id, status, final, waiting_for, delivery }
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
  if (first !== undefined && (place.offset !== undefined || !fits(build([showEntry(first, view, wrapper)], 1).answer))) {
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
    const rest: Place = { ...(place.page === undefined ? {} : { page: place.page }), ...(after === undefined ? {} : { after }) }
    const whole = left === 0
    const next = whole ? nextPage(view) : encodePlace(offset === undefined ? rest : { ...rest, offset })
    const value = {
      ...factsOf(view),
      ...options.extra,
      entries,
      ...(next === undefined ? {} : { next_cursor: next, left: { entries: left, and_more: view.next_cursor !== undefined } }),
    }
    return { answer: answer(wrapper, value), whole }
  }

  /** A piece of the JSON text of one entry's words that do not fit into an answer as a whole. */
  function partOf(entry: EntryView): ThreadPage {
    const content = withArtifacts(entry.content, entry.artifacts ?? []) ?? { own: {} }
    const from = place.offset ?? 0
    for (let length = ANSWER_LENGTH_CHARS_MAX; ; length = Math.floor(length * PART_SHRINKS_BY)) {
      let part = { from, to: from, of: from }
      const words = wrapper.showPart(content, peerFacts(entry, view), (json) => {
        const to = pieceEnd(json, from, length)
        part = { from, to, of: json.length }
        return json.slice(from, to)
      })
      const piece = { ...entryFacts(entry), content: words, content_part: part }
      const page = part.to < part.of ? build([piece], 0, part.to) : build([piece], 1)
      if (fits(page.answer) || length <= PART_LENGTH_CHARS_MIN) return page
    }
  }
}

function nextPage(view: ThreadView): string | undefined {
  return view.next_cursor === undefined ? undefined : encodePlace({ page: view.next_cursor })
}

/** Never between the halves of a surrogate pair. */
function pieceEnd(json: string, from: number, length: number): number {
  const to = Math.min(json.length, from + length)
  const unit = json.charCodeAt(to - 1)
  return to < json.length && unit >= 0xd800 && unit <= 0xdbff ? to - 1 : to
}

function factsOf(view: ThreadView) {
  const { intent, side, from, to, created_at, parent_thread_id, revision_id, action, lead } = view
  const { conflicting, repudiated, forks, unread_count, state_digest, participants } = view
  const unlisted = view.artifacts.length - ARTIFACTS_SHOWN_COUNT_MAX
  return {
    ...commonOf(view),
    intent,
    side,
    from: partyOf(from),
    to: { handle: to.handle, trust: to.trust },
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
    participants: participants.map(({ handle, device, side: where }) => ({ handle, device, side: where })),
    artifacts: view.artifacts.slice(0, ARTIFACTS_SHOWN_COUNT_MAX).map(artifactFacts),
    ...(unlisted > 0 ? { artifacts_left: unlisted } : {}),
  }
}

type EntryFacts = ReturnType<typeof entryFacts>
type ShownEntry = EntryFacts & { content?: Shown<unknown>; content_part?: { from: number; to: number; of: number } }

function showEntry(entry: EntryView, view: ThreadView, wrapper: Wrapper): ShownEntry {
  const facts = entryFacts(entry)
  const words = withArtifacts(entry.content, entry.artifacts ?? [])
  return words === undefined ? facts : { ...facts, content: wrapper.show(words, peerFacts(entry, view)) }
}

function entryFacts(entry: EntryView) {
  const { entry_id, message_id, kind, mine, sequence_no, sequence_mark, sent_at, received_at } = entry
  const { late, cut, void: isVoid, outcome, verdict, body } = entry
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
    body,
    artifacts: (entry.artifacts ?? []).map(artifactFacts),
  }
}

function artifactFacts({ artifact_id, type, size, sha256, entry_id }: ArtifactFacts): ArtifactFacts {
  return { artifact_id, type, size, sha256, entry_id }
}

export function partyOf({ handle, device, trust }: Party): Party {
  return { handle, device, trust }
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
