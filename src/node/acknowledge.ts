/** Receipts: this device says that it holds and checked all of a thread that it has seen. */
import { hasBit, type Hex, isBefore, LACK_COUNT_MAX, type Node } from '../../protocol/index.ts'
import { openContent } from './contents.ts'
import type { Held, Turn } from './held.ts'
import { hasForked, nextPast, publish, type Published } from './publish.ts'
import { missingBodies, sideOf, type Thread } from './threads.ts'
import { isRemoved, isRosterForked, ownMember } from './workspace.ts'

/**
 * Acknowledges what is new in the thread since this device last wrote, if it takes part and holds
 * every body. Bodies that do not open, or that a removed device did not give out, are named as lacking.
 */
export async function acknowledge(held: Held, turn: Turn, thread: Thread): Promise<Published | undefined> {
  const own = held.workspace.key.public
  // Nothing of our own may rest on a roster that contradicts itself; what others send is kept all the same.
  if (!ownMember(held.workspace) || isRosterForked(held.workspace)) return undefined
  if (held.quarantined.has(thread.id)) return undefined
  if (!sideOf(thread, own) || hasForked(held, thread) || thread.row?.recovering) return undefined
  const last = thread.graph.byDevice.get(own)?.at(-1)
  const unseen = thread.graph.nodes.filter(
    (node) => node !== last && node.entry.header.dev !== own && !(last && isBefore(node, last)),
  )
  if (!unseen.some((node) => node.entry.header.kind !== 'ack')) return undefined
  if (missingBodies(thread).some((id) => !isWithheld(held, thread, id))) return undefined
  const lack = await lacking(held, thread, [...unseen, ...lackedBefore(thread, own)])
  return publish(held, turn, thread, { kind: 'ack', ctl: { lack } })
}

/** The body of what a removed device wrote may never come: nobody asks that device any more. It is named as lacking. */
function isWithheld(held: Held, thread: Thread, id: Hex): boolean {
  return isRemoved(held.workspace, thread.graph.byId.get(id)?.entry.header.dev ?? '')
}

/** The newest receipt is the one that counts, so it names again what still does not open. */
function lackedBefore(thread: Thread, own: Hex): Node[] {
  const ack = thread.graph.byKind.ack.findLast((node) => node.entry.header.dev === own)
  return ack?.entry.header.ctl.lack.flatMap((id) => thread.graph.byId.get(id) ?? []) ?? []
}

async function lacking(held: Held, thread: Thread, nodes: readonly Node[]): Promise<Hex[]> {
  // With more heads than a receipt can name, it speaks of those that it names.
  const past = nextPast(held, thread)
  const lack: Hex[] = []
  for (const { entry, index } of nodes) {
    if (entry.header.body === null || !hasBit(past, index)) continue
    const opened = await openContent(held, thread, entry)
    if (opened.state === 'missing' || (opened.state === 'unreadable' && opened.isSealed)) lack.push(entry.id)
  }
  return lack.toSorted().slice(0, LACK_COUNT_MAX)
}
