/** Receipts: this device says that it holds and checked all of a thread that it has seen. */
import { type Hex, isBefore, LACK_COUNT_MAX, type Node } from '../../protocol/index.ts'
import { openContent } from './contents.ts'
import type { Held, Turn } from './held.ts'
import { hasForked, publish, type Published } from './publish.ts'
import { sideOf, type Thread } from './threads.ts'
import { ownMember } from './workspace.ts'

/**
 * Acknowledges what is new in the thread since this device last wrote, if it takes part and holds
 * every body. Bodies that are here and do not open are named as lacking.
 */
export async function acknowledge(held: Held, turn: Turn, thread: Thread): Promise<Published | undefined> {
  const own = held.workspace.key.public
  if (!ownMember(held.workspace) || !sideOf(thread, own) || hasForked(held, thread) || thread.row?.recovering) return undefined
  const last = thread.graph.byDevice.get(own)?.at(-1)
  const unseen = thread.graph.nodes.filter((node) => node !== last && node.entry.header.dev !== own && !(last && isBefore(node, last)))
  if (!unseen.some((node) => node.entry.header.kind !== 'ack')) return undefined
  if (thread.graph.nodes.some((node) => node.entry.header.body !== null && !thread.bodies.has(node.entry.id))) return undefined
  const lack = await lacking(held, thread, unseen)
  return publish(held, turn, thread, { kind: 'ack', ctl: { lack } })
}

async function lacking(held: Held, thread: Thread, nodes: readonly Node[]): Promise<Hex[]> {
  const lack: Hex[] = []
  for (const { entry } of nodes) {
    if (entry.header.body === null) continue
    const opened = await openContent(held, thread, entry)
    // A body that opens and is not of its kind's shape will never be better.
    if (opened.state === 'unreadable' && opened.why !== 'schema') lack.push(entry.id)
  }
  return lack.toSorted().slice(0, LACK_COUNT_MAX)
}
