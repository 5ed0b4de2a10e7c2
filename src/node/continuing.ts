/** Going on with the record: revisions, annotations and what resolves them. */
import {
  artifactId,
  type BodyOf,
  type Hex,
  REVISE_BASE_COUNT_MAX,
  textId,
  annotationsOf,
} from '../../protocol/index.ts'
import type {
  AnnotateParams,
  AnnotateResult,
  Caller,
  ContinueParams,
  ContinueResult,
  ResolveParams,
  ResolveResult,
} from './api.ts'
import { adviceOn } from './advice.ts'
import { ApiError } from './api-error.ts'
import { artifactTextId, readWhole } from './artifacts.ts'
import {
  requireContentLeft,
  requireOpen,
  requireRevision,
  requireRevisions,
  requireSide,
  requireTurnsLeft,
} from './checks.ts'
import type { Held, Turn } from './held.ts'
import { once } from './idempotency.ts'
import { matchId, requireWriter } from './membership.ts'
import { annotationView } from './record-view.ts'
import { EMPTY_RECORD, textsIn } from './record-shape.ts'
import { type CarriedArtifact, type Revision, revisionsOf, show } from './records.ts'
import { outgoing } from './outgoing.ts'
import { annotationBody, noteBody, revisionBody } from './said.ts'
import { participantsOf, type Thread } from './threads.ts'
import { stateOf } from './tracker.ts'
import { commonView } from './view.ts'
import { handleOf, memberOfDevice, resolveHandle } from './workspace.ts'
import type { Writing } from './writing.ts'

export interface Continuing {
  continueHandoff(params: ContinueParams, caller: Caller): Promise<ContinueResult>
  annotate(params: AnnotateParams, caller: Caller): Promise<AnnotateResult>
  resolve(params: ResolveParams, caller: Caller): Promise<ResolveResult>
}

export function createContinuing({ held, rate, publishIn, threadToWrite }: Writing): Continuing {
  /** The thread, if this device may say something more in it. */
  async function requireWritable(turn: Turn, typed: string, verb: string): Promise<Thread> {
    requireWriter(held)
    const thread = await threadToWrite(turn, typed)
    requireOpen(held, thread)
    requireSide(held, thread, ['sender', 'recipient'], verb)
    return thread
  }

  return {
    continueHandoff(params, caller) {
      const { expected_revision_id: expected, resolves = [] } = params
      const says = outgoing(params)
      return once(held, { method: 'continue', params, caller, says }, async (turn) => {
        const thread = await requireWritable(turn, params.thread_id, 'continue')
        requireRevisions(thread, Array.isArray(expected) ? expected : [expected])
        const revisions = await revisionsOf(held, thread)
        const heads = revisions.filter(({ isHead }) => isHead)
        requireReadable(heads)
        const before = show(revisions)
        const { body, outside } = revisionBody(params, { ...(before.record ?? EMPTY_RECORD), ...givenFields(params) })
        const annotations = resolves.map((typed) => requireAnnotation(thread, typed))
        requireTurnsLeft(thread)
        await requireContentLeft(held, thread, body)
        rate.check(caller.session)
        const warnings = await says.check()
        // A fork of more heads than one revision may name takes several.
        const base = heads
          .map(({ node }) => node.entry.id)
          .toSorted()
          .slice(0, REVISE_BASE_COUNT_MAX)
        const { node } = publishIn(turn, thread, { kind: 'revise', ctl: { base }, body, outside })
        for (const annotation of annotations) {
          const ctl = { annotation, revision: node.entry.id }
          publishIn(turn, thread, { kind: 'resolve', ctl, body: { note: '' } })
        }
        const carried = [...before.artifacts.map(({ artifact }) => artifact), ...body.artifacts]
        return {
          ...commonView(held, thread),
          revision_id: textId('revision', node.entry.id),
          parents: base.map((id) => textId('revision', id)),
          artifact_ids: body.artifacts.map(artifactTextId),
          resolved: annotations.map((id) => textId('annotation', id)),
          warnings: [...warnings, ...adviceOn(body.record, carried)],
        }
      })
    },

    annotate(params, caller) {
      const says = outgoing(params)
      return once(held, { method: 'annotate', params, caller, says }, async (turn) => {
        const thread = await requireWritable(turn, params.thread_id, 'annotate')
        const revisions = await revisionsOf(held, thread)
        const id = requireRevision(thread, params.revision_id)
        const revision = revisions.find(({ node }) => node.entry.id === id)
        if (!revision) throw new Error('a revision of the thread is among its revisions')
        const artifact = params.artifact_id === undefined ? undefined : requireCarried(revision, params.artifact_id)
        const assignee = params.assignee === undefined ? undefined : requireParticipant(held, thread, params.assignee)
        const body = annotationBody(params, { artifact: artifact && artifactId(artifact.artifact), assignee })
        if (body.selector) {
          requireQuoted(body.selector, artifact ? await textOf(held, thread, artifact) : wordsOf(revision))
        }
        requireTurnsLeft(thread)
        rate.check(caller.session)
        const warnings = await says.check()
        const target = artifact?.node.entry.id ?? id
        const { node } = publishIn(turn, thread, { kind: 'annotate', ctl: { target }, body })
        return { ...commonView(held, thread), warnings, annotation_id: textId('annotation', node.entry.id) }
      })
    },

    resolve(params, caller) {
      const body = noteBody(params)
      const says = outgoing(params)
      return once(held, { method: 'resolve', params, caller, says }, async (turn) => {
        const thread = await requireWritable(turn, params.thread_id, 'resolve annotations of')
        const annotation = requireAnnotation(thread, params.annotation_id)
        const revision = requireRevision(thread, params.resolved_revision_id)
        requireTurnsLeft(thread)
        rate.check(caller.session)
        const warnings = await says.check()
        publishIn(turn, thread, { kind: 'resolve', ctl: { annotation, revision }, body })
        const { cut } = stateOf(thread.tracker, thread.graph)
        const resolved = annotationsOf(thread.graph, cut).find(({ node }) => node.entry.id === annotation)
        if (!resolved) throw new Error('the annotation that was resolved is there')
        return { ...commonView(held, thread), warnings, annotation: await annotationView(held, thread, resolved) }
      })
    },
  }
}

/** The fields of the record that the caller gave. */
function givenFields({ record }: ContinueParams): Partial<BodyOf<'revise'>['record']> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

/** What nobody here has read must not be replaced. */
function requireReadable(heads: readonly Revision[]): void {
  const unread = heads.find(({ state }) => state !== 'ok')
  if (!unread) return
  throw new ApiError('state_changed', 'The text of the current revision is not here yet.', {
    hint: 'It comes as soon as a laptop that has it was reached; view the thread again then.',
    details: { revision_id: textId('revision', unread.node.entry.id), body: unread.state },
  })
}

/** An annotation that is still open. */
function requireAnnotation(thread: Thread, typed: string): Hex {
  const { cut } = stateOf(thread.tracker, thread.graph)
  const annotations = annotationsOf(thread.graph, cut)
  const [id, ...others] = matchId(
    'annotation',
    typed,
    annotations.map(({ node }) => node.entry.id),
  )
  const annotation = annotations.find(({ node }) => node.entry.id === id)
  if (!annotation || others.length > 0) {
    throw new ApiError('invalid_params', 'The thread has no such annotation.', {
      hint: 'View the thread with annotations: all for those there are.',
    })
  }
  if (annotation.resolved) {
    throw new ApiError('state_changed', 'This annotation was resolved already.', {
      hint: 'Nothing is left to do for it; view the thread with annotations: all to see by what.',
      details: { revision_id: textId('revision', annotation.resolved.entry.header.ctl.revision) },
    })
  }
  return annotation.node.entry.id
}

function requireCarried(revision: Revision, typed: string): Revision['artifacts'][number] {
  const found = revision.artifacts.filter(
    ({ artifact }) => matchId('artifact', typed, [artifactId(artifact)]).length > 0,
  )
  const [carried] = found
  if (carried && found.length === 1) return carried
  throw new ApiError('artifact_not_found', 'That revision carries no such artifact.', {
    hint: 'View the thread with that revision_id for the artifacts it carries.',
  })
}

/** A member who takes part in the thread; a reader could do nothing about it. */
function requireParticipant(held: Held, thread: Thread, handle: string): Hex {
  const member = resolveHandle(held.workspace, handle)
  const members = participantsOf(thread).flatMap((device) => memberOfDevice(held.workspace, device) ?? [])
  if (member && members.some(({ id }) => id === member.id)) return member.id
  throw new ApiError('not_a_participant', 'An annotation is assigned to somebody who takes part in the thread.', {
    hint: 'Name its sender or its recipient. Naming somebody gives no access: only relay-node share does, and a human runs it.',
    details: { participants: [...new Set(members.map(({ id }) => handleOf(held.workspace, id)))] },
  })
}

async function textOf(held: Held, thread: Thread, carried: CarriedArtifact): Promise<string> {
  const bytes = await readWhole(held, thread, carried)
  if (bytes) return new TextDecoder().decode(bytes)
  throw new ApiError('state_changed', 'The content of that artifact is not on this laptop yet.', {
    hint: 'Read it to its end first, then quote from it.',
  })
}

/** Everything that a revision says, as one text to quote from. */
function wordsOf({ record, note }: Revision): string {
  return [note, ...textsIn(record)].join('\n')
}

/** What is quoted has to stand there, as often as it wants. */
function requireQuoted({ exact, prefix, suffix }: NonNullable<BodyOf<'annotate'>['selector']>, text: string): void {
  if (text.includes(prefix + exact + suffix)) return
  throw new ApiError('invalid_params', 'The quoted text does not stand there.', {
    hint: 'Copy exact, prefix and suffix as they stand in the revision or the artifact, without quotation marks of your own.',
    details: { field: text.includes(exact) ? 'selector.prefix or selector.suffix' : 'selector.exact' },
  })
}
