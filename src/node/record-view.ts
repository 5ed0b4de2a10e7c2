/** Revisions, record and annotations of a thread as a reader sees them. */
import { type ContinuityRecord, type Hex, textId, type Annotation, annotationsOf } from '../../protocol/index.ts'
import type { AnnotationView, ArtifactListing, Content, RecordChange, RecordView, RevisionView } from './api.ts'
import { artifactFacts, artifactLabels } from './artifacts.ts'
import { openContent } from './contents.ts'
import type { Held } from './held.ts'
import { partyOf } from './membership.ts'
import { compareRecords } from './record-shape.ts'
import { type CarriedArtifact, type Revision, revisionsOf, show } from './records.ts'
import { receivedAt, type Thread } from './threads.ts'
import { stateOf } from './tracker.ts'
import { content, isMine, timeText } from './shown.ts'
import { handleOf } from './workspace.ts'

export interface RecordParts {
  forked: boolean
  revisions: RevisionView[]
  record?: RecordView
  annotations: AnnotationView[]
}

export interface RecordOptions {
  /** Left out: all heads. */
  readonly revision?: Hex | undefined
  readonly compareWith?: Hex | undefined
  /** Left out: open. */
  readonly annotations?: 'open' | 'all' | undefined
}

export async function recordParts(held: Held, thread: Thread, options: RecordOptions = {}): Promise<RecordParts> {
  const revisions = await revisionsOf(held, thread)
  const { cut, late } = stateOf(thread.tracker, thread.graph)
  const record = recordView(held, thread, { revisions, options })
  const annotations: AnnotationView[] = []
  for (const annotation of annotationsOf(thread.graph, cut)) {
    if (options.annotations !== 'all' && annotation.resolved) continue
    annotations.push(await annotationView(held, thread, annotation))
  }
  return {
    forked: revisions.filter(({ isHead }) => isHead).length > 1,
    revisions: revisions.map((revision) => {
      const { id, header } = revision.node.entry
      const mine = isMine(held, header.dev)
      return {
        revision_id: textId('revision', id),
        from: partyOf(held, header.dev),
        mine,
        sent_at: timeText(header.ts),
        received_at: timeText(receivedAt(thread, id)),
        parents: revision.parents.map((parent) => textId('revision', parent)),
        head: revision.isHead,
        late: late.has(id),
        cut: cut.has(id),
        body: revision.state,
        ...(revision.note === '' ? {} : { note: content(mine, revision.note) }),
      }
    }),
    ...(record ? { record } : {}),
    annotations,
  }
}

function recordView(
  held: Held,
  thread: Thread,
  { revisions, options }: { revisions: readonly Revision[]; options: RecordOptions },
): RecordView | undefined {
  if (revisions.every(({ record, artifacts }) => !record && artifacts.length === 0)) return undefined
  const find = (id: Hex | undefined): Revision | undefined => revisions.find(({ node }) => node.entry.id === id)
  const shown = show(revisions, find(options.revision))
  const mine = shown.revisions.every(({ node }) => isMine(held, node.entry.header.dev))
  const base = shown.merged?.base
  const other = find(options.compareWith)
  return {
    shows: shown.revisions.map(({ node }) => textId('revision', node.entry.id)),
    merged: shown.merged !== undefined,
    ...(base ? { base_revision_id: textId('revision', base.node.entry.id) } : {}),
    ...(shown.record
      ? {
          content: content(mine, shown.record),
        }
      : {}),
    ...(shown.merged && shown.merged.conflicts.length > 0
      ? { conflicts: content(mine, [...shown.merged.conflicts]) }
      : {}),
    artifacts: shown.artifacts.map((carried) => artifactListing(held, thread, carried)),
    ...(other ? { compared: comparison(held, { before: other, after: shown.record, isAfterMine: mine }) } : {}),
  }
}

function comparison(
  held: Held,
  { before, after, isAfterMine }: { before: Revision; after: ContinuityRecord | undefined; isAfterMine: boolean },
): { with: string; changes: Content<RecordChange[]> } {
  const { id, header } = before.node.entry
  return {
    with: textId('revision', id),
    changes: content(isAfterMine && isMine(held, header.dev), compareRecords(before.record, after)),
  }
}

export function artifactListing(held: Held, thread: Thread, { artifact, node }: CarriedArtifact): ArtifactListing {
  const { id, header } = node.entry
  return {
    ...artifactFacts(thread, artifact, id),
    content: content(isMine(held, header.dev), artifactLabels(artifact)),
  }
}

export async function annotationView(
  held: Held,
  thread: Thread,
  { node, resolved }: Annotation,
): Promise<AnnotationView> {
  const { id, header } = node.entry
  const { cut, late } = stateOf(thread.tracker, thread.graph)
  const mine = isMine(held, header.dev)
  const opened = await openContent(held, thread, node.entry)
  const body = opened.state === 'ok' && opened.kind === 'annotate' ? opened.body : undefined
  const target = thread.graph.byId.get(header.ctl.target)?.entry
  const isRevision = target?.header.kind === 'create' || target?.header.kind === 'revise'
  return {
    annotation_id: textId('annotation', id),
    from: partyOf(held, header.dev),
    mine,
    sent_at: timeText(header.ts),
    received_at: timeText(receivedAt(thread, id)),
    ...(isRevision ? { revision_id: textId('revision', header.ctl.target) } : {}),
    entry_id: textId('entry', header.ctl.target),
    ...(body?.artifact === undefined ? {} : { artifact_id: textId('artifact', body.artifact) }),
    ...(body?.assignee === undefined ? {} : { assignee: handleOf(held.workspace, body.assignee) }),
    open: resolved === undefined,
    ...(resolved ? { resolved_by: await resolution(held, thread, resolved) } : {}),
    late: late.has(id),
    cut: cut.has(id),
    body: opened.state,
    ...(body
      ? { content: content(mine, { text: body.text, ...(body.selector ? { selector: body.selector } : {}) }) }
      : {}),
  }
}

async function resolution(held: Held, thread: Thread, resolve: NonNullable<Annotation['resolved']>) {
  const { id, header } = resolve.entry
  const opened = await openContent(held, thread, resolve.entry)
  const note = opened.state === 'ok' && opened.kind === 'resolve' ? opened.body.note : ''
  return {
    revision_id: textId('revision', header.ctl.revision),
    from: partyOf(held, header.dev),
    received_at: timeText(receivedAt(thread, id)),
    ...(note === '' ? {} : { note: content(isMine(held, header.dev), note) }),
  }
}
