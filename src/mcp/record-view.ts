/** The record of a thread as an agent reads it: what stands now, the annotations, and its revisions; as much as there is room for. */
import type { ContinuityRecord } from '../../protocol/index.ts'
import { compactRecord } from '../record/markdown.ts'
import type { AnnotationView, RecordView, RevisionView, ThreadView } from '../rpc/client.ts'
import { type PeerFacts, quotedLength, quotedLinesLength, type Shown, type Wrapper } from './provenance.ts'

/** As it stands in an answer. A longer record is read in pieces, in the entry that carries it. */
export const RECORD_LENGTH_CHARS_MAX = 8_000
/** What is always there, so that a record that is short enough is shown whatever else there is. */
const ROOM_LENGTH_CHARS_MIN = RECORD_LENGTH_CHARS_MAX + 2_000
const ROOM_LENGTH_CHARS_MAX = 22_000
const IDS_SHOWN_COUNT_MAX = 32

/** Stands on the first page of a thread beside its other facts, which take `taken` characters. */
export function recordFacts(view: ThreadView, wrapper: Wrapper, taken: number) {
  const { record, revisions, annotations, thread_id } = view
  let room = Math.max(ROOM_LENGTH_CHARS_MIN, ROOM_LENGTH_CHARS_MAX - taken)
  const fits = (value: unknown, textLength = 0): boolean => {
    const length = Math.max(JSON.stringify(value).length, textLength)
    if (length > room) return false
    room -= length
    return true
  }
  const shownRecord = record && showRecord(record, view, { wrapper, fits })
  const shownAnnotations = takeWhile(annotations, (annotation) => showAnnotation(annotation, thread_id, wrapper), fits)
  const newest = takeWhile(
    revisions.toReversed(),
    (revision) => showRevision(revision, thread_id, wrapper),
    fits,
  ).toReversed()
  return {
    forked: view.forked,
    ...(shownRecord ? { record: shownRecord } : {}),
    annotations: shownAnnotations,
    annotations_left: leftOf(annotations, shownAnnotations),
    revisions: newest,
    older_revisions: leftOf(revisions, newest),
  }
}

function takeWhile<T, S>(items: readonly T[], show: (item: T) => S, fits: (shown: S) => boolean): S[] {
  const taken: S[] = []
  for (const item of items) {
    const shown = show(item)
    if (!fits(shown)) break
    taken.push(shown)
  }
  return taken
}

/** How many there are beyond those that are shown; undefined for none. */
function leftOf(all: readonly unknown[], shown: readonly unknown[]): number | undefined {
  return shown.length < all.length ? all.length - shown.length : undefined
}

function showRecord(
  record: RecordView,
  view: ThreadView,
  { wrapper, fits }: { wrapper: Wrapper; fits: (value: unknown, textLength?: number) => boolean },
) {
  const { shows, merged, base_revision_id, content, conflicts, compared, artifacts } = record
  const facts: PeerFacts = { from: authorOf(shows, view), thread_id: view.thread_id }
  const isShort = content !== undefined && quotedLength(content) <= RECORD_LENGTH_CHARS_MAX
  const shown = isShort ? wrapper.show(content, facts, readable) : undefined
  const shownConflicts = conflicts && wrapper.show<unknown>(conflicts, facts)
  const changes = compared && wrapper.show<unknown>(compared.changes, facts)
  return {
    shows,
    merged,
    base_revision_id,
    ...(shown && fits(shown, textLength(shown, wrapper)) ? { content: shown } : {}),
    ...(content !== undefined && !isShort
      ? { too_long: 'Each revision stands whole in its entry, which is read in pieces with next_cursor.' }
      : {}),
    ...(shownConflicts
      ? fits(shownConflicts)
        ? { conflicts: shownConflicts }
        : { conflicts_too_long: 'Read the heads one after the other with revision_id, and compare_with.' }
      : {}),
    artifacts: artifacts.slice(0, IDS_SHOWN_COUNT_MAX).map(({ artifact_id }) => artifact_id),
    ...(compared && changes
      ? fits(changes)
        ? { compared: { with: compared.with, changes } }
        : { compared_too_long: 'Read the two revisions one after the other with revision_id.' }
      : {}),
  }
}

function textLength(shown: Shown<unknown>, wrapper: Wrapper): number {
  return wrapper.linesOf('own' in shown ? shown : shown.untrusted)?.join('\n').length ?? 0
}

/** As Markdown, where that takes no more room than the data does; it can, where a text is full of what cannot be seen. */
function readable(record: ContinuityRecord): string[] | undefined {
  const lines = compactRecord(record)
  return quotedLinesLength(lines) <= RECORD_LENGTH_CHARS_MAX ? lines : undefined
}

/** The one author of what is shown; nobody where several were merged. */
function authorOf(shows: readonly string[], view: ThreadView): NonNullable<PeerFacts['from']> {
  const [author, ...others] = view.revisions.filter(({ revision_id }) => shows.includes(revision_id))
  return author && others.length === 0 ? author.from : { handle: 'several' }
}

function showRevision(revision: RevisionView, thread_id: string, wrapper: Wrapper) {
  const { revision_id, from, mine, received_at, parents, head, late, cut, body, note } = revision
  return {
    revision_id,
    from: from.handle,
    device: from.device,
    mine,
    received_at,
    parents,
    head,
    late,
    cut,
    body,
    // What older ones said stands in their entries.
    ...(head && note ? { note: wrapper.show(note, { from, thread_id, received_at }) } : {}),
  }
}

export function showAnnotation(annotation: AnnotationView, thread_id: string, wrapper: Wrapper) {
  const { annotation_id, from, mine, received_at, revision_id, entry_id, artifact_id } = annotation
  const { assignee, open, resolved_by: resolved, late, cut, body, content } = annotation
  return {
    annotation_id,
    from: from.handle,
    device: from.device,
    mine,
    received_at,
    revision_id,
    entry_id,
    artifact_id,
    assignee,
    open,
    ...(resolved
      ? {
          resolved_by: {
            revision_id: resolved.revision_id,
            from: resolved.from.handle,
            received_at: resolved.received_at,
            ...(resolved.note ? { note: wrapper.show(resolved.note, { from: resolved.from, thread_id }) } : {}),
          },
        }
      : {}),
    late,
    cut,
    body,
    ...(content ? { content: wrapper.show<unknown>(content, { from, thread_id, received_at }) } : {}),
  }
}
