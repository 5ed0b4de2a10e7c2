/** The record of a thread as it is held: its revisions, what each one carries, and what a reader sees of several heads. */
import {
  type Artifact,
  type ContinuityRecord,
  type Hex,
  inOrder,
  isOfKind,
  type Node,
  type NodeOf,
  recordHeads,
} from '../../protocol/index.ts'
import { artifactName } from './artifacts.ts'
import { type Opened, openContent } from './contents.ts'
import { type Conflict, mergeRecords } from './document.ts'
import type { Held } from './held.ts'
import type { Thread } from './threads.ts'

export type RevisionNode = NodeOf<'create' | 'revise'>

export interface CarriedArtifact {
  readonly artifact: Artifact
  /** The entry that carries it. */
  readonly node: Node
}

/** One revision, with what it took over from those that it names. */
export interface Revision {
  readonly node: RevisionNode
  readonly parents: readonly Hex[]
  readonly isHead: boolean
  readonly state: Opened['state']
  /** undefined where it carries none or cannot be read. */
  readonly record: ContinuityRecord | undefined
  readonly note: string
  readonly artifacts: readonly CarriedArtifact[]
}

/** All revisions, in the one order: what a revision names stands before it. */
export async function revisionsOf(held: Held, thread: Thread): Promise<Revision[]> {
  const heads = new Set(recordHeads(thread.graph).map(({ entry }) => entry.id))
  const revisions = new Map<Hex, Revision>()
  for (const node of inOrder(thread.graph)) {
    if (!isOfKind(node, 'create') && !isOfKind(node, 'revise')) continue
    const { id, header } = node.entry
    const parents = header.kind === 'revise' ? header.ctl.base : []
    const opened = await openContent(held, thread, node.entry)
    const body =
      opened.state === 'ok' && (opened.kind === 'create' || opened.kind === 'revise') ? opened.body : undefined
    const own = (body?.artifacts ?? []).map((artifact) => ({ artifact, node }))
    revisions.set(id, {
      node,
      parents,
      isHead: heads.has(id),
      state: opened.state,
      record: body?.record,
      note: body && 'note' in body ? body.note : '',
      artifacts: inherited(
        parents.flatMap((parent) => revisions.get(parent) ?? []),
        own,
      ),
    })
  }
  return [...revisions.values()]
}

/** What the named revisions carry, but for what is given anew under the same name. */
function inherited(parents: readonly Revision[], own: readonly CarriedArtifact[]): CarriedArtifact[] {
  const names = new Set(own.map(({ artifact }) => artifactName(artifact)))
  // What several parents took over from one revision is one and the same.
  const kept = new Set(parents.flatMap(({ artifacts }) => artifacts))
  return [...[...kept].filter(({ artifact }) => !names.has(artifactName(artifact))), ...own]
}

/** What a reader is shown: one revision, or the merge of several heads. */
export interface Shown {
  readonly revisions: readonly Revision[]
  readonly record: ContinuityRecord | undefined
  readonly artifacts: readonly CarriedArtifact[]
  /** There where several were merged. */
  readonly merged?: { base: Revision | undefined; conflicts: readonly Conflict[] }
}

/** The given revision alone, or all heads. */
export function show(revisions: readonly Revision[], one?: Revision): Shown {
  const heads = one ? [one] : revisions.filter(({ isHead }) => isHead)
  const [head] = heads
  if (head && heads.length === 1) return { revisions: heads, record: head.record, artifacts: head.artifacts }
  const base = commonBase(revisions, heads)
  const readable = heads.flatMap(({ record }) => record ?? [])
  const { record, conflicts } = mergeRecords(base?.record, readable)
  return {
    revisions: heads,
    record: readable.length > 0 ? record : undefined,
    artifacts: inherited(heads, []),
    merged: { base, conflicts },
  }
}

/** The newest revision that all heads build on, by way of the revisions that they name. */
function commonBase(revisions: readonly Revision[], heads: readonly Revision[]): Revision | undefined {
  const builtOn = heads.map((head) => ancestors(revisions, head))
  return revisions.findLast(({ node }) => builtOn.every((ids) => ids.has(node.entry.id)))
}

function ancestors(revisions: readonly Revision[], revision: Revision): Set<Hex> {
  const byId = new Map(revisions.map((one) => [one.node.entry.id, one]))
  const found = new Set<Hex>()
  const queue = [...revision.parents]
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (found.has(id)) continue
    found.add(id)
    queue.push(...(byId.get(id)?.parents ?? []))
  }
  return found
}
