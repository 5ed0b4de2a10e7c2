/** Whoever holds the same entries shows the same state, in whatever order they came. */
import {
  addNode,
  authorize,
  emptyGraph,
  type Entry,
  type Hex,
  reduce,
  type RosterLog,
  stateDigest,
} from '../../../protocol/index.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { setName } from './rules.ts'

export interface DigestChecker extends Checker {
  /** The digest that the node of `holder` shows for what it holds of a thread now. */
  shown(holder: Holder, thread: Hex, digest: string): void
}

export function digestChecker(scene: Scene): DigestChecker {
  const name = 'digests'
  const known = new Map<string, string>()

  function compare(holder: Holder, thread: Hex, digest: string): void {
    const held = holder.entries.get(thread) ?? []
    const set = `${thread} ${setName(held.map(({ id }) => id))}`
    const before = known.get(set)
    known.set(set, digest)
    if (before !== undefined && before !== digest)
      scene.violated(name, `${holder.name} shows another state of ${thread.slice(0, 8)} than who holds the same`)
  }

  return {
    name,
    shown: compare,
    ended() {
      for (const holder of scene.holders)
        for (const [thread, held] of holder.entries) {
          const digest = digestOf(holder.log, held)
          if (digest === undefined) scene.violated(name, `what ${holder.name} stored is not allowed in its order`)
          else compare(holder, thread, digest)
        }
    },
  }
}

/** The state of entries taken in, in that order, by one who holds nothing else. */
function digestOf(log: RosterLog, entries: readonly Entry[]): string | undefined {
  const graph = emptyGraph()
  for (const entry of entries) {
    const node = authorize({ graph, log, isRefused: () => false }, entry)
    if (node.ok !== true) return undefined
    addNode(graph, node.value)
  }
  return stateDigest(graph, reduce(graph))
}
