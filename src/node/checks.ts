/** What a thread has to be before something is written to it. Each throws the ApiError that says what to do. */
import {
  type Artifact,
  type Hex,
  isOfKind,
  textId,
  THREAD_ARTIFACTS_SIZE_BYTES_MAX,
  THREAD_TURNS_COUNT_MAX,
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import { contentHeld, contentSize } from './chunks.ts'
import type { Held } from './held.ts'
import { matchId } from './membership.ts'
import { tooMuch } from './said.ts'
import { sideOf, type Thread } from './threads.ts'
import { stateOf } from './tracker.ts'
import { commonView, revisionIds } from './view.ts'

export function requireOpen(held: Held, thread: Thread): void {
  const { status } = stateOf(thread.tracker, thread.graph)
  if (status === 'pending' || status === 'accepted') return
  throw new ApiError('thread_terminal', `This handoff is ${status}: it can be read, and nothing can be added.`, {
    hint: 'To go on, hand off anew with parent_thread_id.',
    details: { ...commonView(held, thread) },
  })
}

export function requireSide(
  held: Held,
  thread: Thread,
  sides: readonly ('sender' | 'recipient')[],
  verb: string,
): void {
  const side = sideOf(thread, held.workspace.key.public)
  if (side === 'reader')
    throw new ApiError('forbidden', 'This thread was shared with you to read.', {
      hint: 'Only its sender and recipient write.',
    })
  if (side && sides.includes(side)) return
  throw new ApiError(
    'not_authorized_transition',
    `Only the ${sides.join(' or ')} of a handoff may ${verb} it; here you are the ${side ?? 'outsider'}.`,
    {
      hint:
        side === 'sender'
          ? 'You may send messages, and cancel while it is pending.'
          : 'You may accept, send messages and complete.',
    },
  )
}

export function requireTurnsLeft(thread: Thread): void {
  const turns = thread.graph.nodes.filter((node) => isOfKind(node, 'message')).length
  if (turns < THREAD_TURNS_COUNT_MAX) return
  throw new ApiError('rate_limited', `${turns} messages in one thread: now a human should look at it.`, {
    hint: 'Ask your human. Complete this handoff, or go on in a new one with parent_thread_id.',
    details: { turns, limit: THREAD_TURNS_COUNT_MAX },
  })
}

/** What is added has room among what the artifacts of the thread hold. */
export async function requireContentLeft(
  held: Held,
  thread: Thread,
  { artifacts }: { readonly artifacts: readonly Artifact[] },
): Promise<void> {
  const size = contentSize(artifacts)
  if (size === 0) return
  const total = size + (await contentHeld(held, thread))
  if (total > THREAD_ARTIFACTS_SIZE_BYTES_MAX) throw tooMuch(total)
}

/** Every revision of the thread, as what an id may name. */
function revisionHexes(thread: Thread): Hex[] {
  return [...thread.graph.byKind.create, ...thread.graph.byKind.revise].map((node) => node.entry.id)
}

/** The revision that an id names; there is no other than those of the thread. */
export function requireRevision(thread: Thread, typed: string): Hex {
  const [id, ...others] = matchId('revision', typed, revisionHexes(thread))
  if (id !== undefined && others.length === 0) return id
  throw new ApiError('invalid_params', 'The thread has no such revision.', {
    hint: 'View the thread for those there are; leave revision_id out for the newest.',
    details: { current: revisionIds(thread) },
  })
}

/**
 * The revisions that a caller has read are all that there is: the one current revision, or all heads
 * of a fork. Nothing expected: not looked at.
 */
export function requireRevisions(thread: Thread, expected: readonly string[] | undefined): void {
  if (expected === undefined) return
  const current = revisionIds(thread)
  const named = expected.flatMap((typed) => {
    const [id, ...others] = matchId('revision', typed, revisionHexes(thread))
    return id !== undefined && others.length === 0 ? [textId('revision', id)] : []
  })
  const isWhole = named.length === expected.length && new Set(named).size === current.length
  if (isWhole && current.every((id) => named.includes(id))) return
  throw new ApiError(
    'stale_revision',
    current.length > 1
      ? 'The record is forked: two revisions were written without knowing of each other.'
      : 'The record has moved on since that revision.',
    {
      hint:
        current.length > 1
          ? 'View the thread again, settle what differs, and expect all of the current revisions.'
          : 'View the thread again and expect the current revision.',
      details: { current },
    },
  )
}
