/** The record part of a scripted thread: everything in it that a teammate can write is the text that the test chose. */
import type {
  AnnotationView,
  Content,
  EntryView,
  FoundView,
  NodeApi,
  Party,
  RecordView,
  RevisionView,
  ThreadCommon,
  WriteMetadata,
} from '../../src/node/api.ts'
import { untrusted } from '../../src/node/api.ts'
import { recordOf } from './peer-words.ts'
import type { Script } from './script.ts'

export const TIME = '2026-11-30T12:00:00.000Z'

const theirs = <T>(value: T): Content<T> => ({ untrusted: untrusted(value) })

export function scriptedRecord(
  peerText: string,
  author: Party,
): { revisions: RevisionView[]; record: RecordView; annotations: AnnotationView[] } {
  const said = {
    from: author,
    mine: false,
    sent_at: TIME,
    received_at: TIME,
    late: false,
    cut: false,
    body: 'ok' as const,
  }
  return {
    revisions: [{ ...said, revision_id: 'rev_1', parents: [], head: true, note: theirs(peerText) }],
    record: {
      shows: ['rev_1'],
      merged: false,
      content: theirs(recordOf(peerText)),
      conflicts: theirs([{ field: 'ownership.next_actor', values: [peerText, null] }]),
      artifacts: [],
      compared: { with: 'rev_0', changes: theirs([{ field: 'open_questions', before: null, after: peerText }]) },
    },
    annotations: [scriptedAnnotation(peerText, author)],
  }
}

/** Why a search found the thread. */
export function scriptedFound(peerText: string, author: Party): FoundView {
  return {
    revision_id: 'rev_1',
    score: 12.345,
    matches: (['summary', 'artifact_text'] as const).map((field) => ({
      field,
      entry_id: 'e_1',
      revision_id: 'rev_1',
      replaced: false,
      from: author,
      excerpt: theirs(peerText),
    })),
  }
}

export function scriptedAnnotation(peerText: string, author: Party): AnnotationView {
  return {
    annotation_id: 'ann_1',
    from: author,
    mine: false,
    sent_at: TIME,
    received_at: TIME,
    revision_id: 'rev_1',
    entry_id: 'e_1',
    open: false,
    resolved_by: { revision_id: 'rev_1', from: author, received_at: TIME, note: theirs(peerText) },
    late: false,
    cut: false,
    body: 'ok',
    content: theirs({ text: peerText, selector: { exact: peerText } }),
  }
}

/** What somebody wrote. */
export function entry(
  sequence: number,
  from: Party,
  content: Content<{ summary?: string; body?: string; payload?: unknown }>,
): EntryView {
  return {
    entry_id: `e_${sequence}`,
    message_id: `msg_${sequence}`,
    kind: sequence === 1 ? 'create' : 'message',
    from,
    mine: content.own !== undefined,
    sequence_no: sequence,
    sent_at: TIME,
    received_at: TIME,
    late: false,
    cut: false,
    void: false,
    body: 'ok',
    content,
    artifacts: [],
  }
}

/** A call that may carry an idempotency key. */
export interface Keyed {
  metadata?: WriteMetadata | undefined
}

interface CallParts {
  enter: Script['enter']
  once<T>(method: string, params: Keyed, run: () => T): T
  /** Throws where the thread is not open. */
  answers(id: string): ThreadCommon
  annotation: AnnotationView
}

/** What answers calls about the record, and those that only a human makes. */
export function recordCalls(
  parts: CallParts,
): Pick<NodeApi, 'continueHandoff' | 'annotate' | 'resolve' | 'exportThread' | 'approve' | 'reject' | 'share'> {
  const { enter, once, answers, annotation } = parts
  return {
    async continueHandoff(params, caller) {
      await enter('continueHandoff', params, { caller })
      const done = { revision_id: 'rev_2', parents: ['rev_1'], artifact_ids: [], resolved: [], warnings: [] }
      return once('continue', params, () => ({ ...answers(params.thread_id), ...done }))
    },
    async exportThread(params) {
      await enter('exportThread', params)
      return { thread_id: params.thread_id, entries: [{ envelope: 'gA==' }], roster: ['gA=='] }
    },
    async approve(params, caller) {
      await enter('approve', params, { caller })
      return { ...answers(params.thread_id), warnings: [], verdict: 'approved' }
    },
    async reject(params, caller) {
      await enter('reject', params, { caller })
      return { ...answers(params.thread_id), warnings: [], verdict: 'rejected' }
    },
    async share(params, caller) {
      await enter('share', params, { caller })
      return { ...answers(params.thread_id), reader: params.reader, devices: ['carol/carols-mbp'], warnings: [] }
    },
    async annotate(params, caller) {
      await enter('annotate', params, { caller })
      return once('annotate', params, () => ({ ...answers(params.thread_id), warnings: [], annotation_id: 'ann_2' }))
    },
    async resolve(params, caller) {
      await enter('resolve', params, { caller })
      return once('resolve', params, () => ({ ...answers(params.thread_id), warnings: [], annotation }))
    },
  }
}
