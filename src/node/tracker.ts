/** The state of a thread kept up entry by entry: always what the reducer says of the whole set, without asking it each time. */
import { type Graph, type Kind, type Node, reduce, type ThreadState } from '../../protocol/index.ts'

export interface Tracker {
  state: ThreadState | undefined
}

export function emptyTracker(): Tracker {
  return { state: undefined }
}

/** Kinds that say something without moving the thread on. */
const QUIET: ReadonlySet<Kind> = new Set(['message', 'annotate', 'resolve', 'revise', 'approve', 'share', 'ack'])

/**
 * Takes note of `node`, which is in the graph by now. Where an entry provably changes nothing (a
 * quiet one, no fork or fence anywhere, and a state that no receipt can move) the state stays;
 * otherwise it is computed anew when it is next asked for.
 */
export function track(tracker: Tracker, graph: Graph, node: Node): void {
  const { state } = tracker
  if (!state) return
  // Of several accepts the lead is the one that the author included first, if only with a receipt.
  const settled =
    state.status === 'pending' || (state.status === 'accepted' && state.final && graph.byKind.accept.length === 1)
  const calm = graph.forked.size === 0 && graph.byKind.fence.length === 0
  if (!settled || !calm || !QUIET.has(node.entry.header.kind)) tracker.state = undefined
}

/** The state of all that `graph` holds. The graph has a create. */
export function stateOf(tracker: Tracker, graph: Graph): ThreadState {
  tracker.state ??= reduce(graph)
  return tracker.state
}
