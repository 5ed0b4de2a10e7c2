/** Memory and disk grow with what is held, and with nothing else. */
import { REFUSED_KEPT_COUNT_MAX, WAITING_ENTRIES_COUNT_MAX } from '../../../protocol/index.ts'
import type { Laptop } from '../laptop.ts'
import type { Checker, Holder, Scene } from '../scene.ts'

/** Timers of a node with a few peers: its own, and what its connections wait for. */
const TIMERS_COUNT_MAX = 64
const REFUSED_IDS_COUNT_MAX = 10_000

export interface BoundsChecker extends Checker {
  /** Looks at what a running node holds in memory. */
  look(laptop: Laptop): void
}

export function boundsChecker(scene: Scene): BoundsChecker {
  const name = 'bounds'

  function atMost(holder: Holder, what: string, count: number, bound: number): void {
    if (count > bound) scene.violated(name, `${holder.name} keeps ${count} ${what}, more than ${bound}`)
  }
  const count = (holder: Holder, space: 'inbox' | 'outbox' | 'refused' | 'thread' | 'body'): number =>
    holder.keys.get(space)?.size ?? 0

  return {
    name,
    look({ holder, node, timers }) {
      if (!node) return
      const { waiting, refusedIds, outbox } = node.memory()
      // The others, and the liar.
      atMost(holder, 'waiting entries', waiting, WAITING_ENTRIES_COUNT_MAX * scene.holders.length)
      atMost(holder, 'refused ids', refusedIds, REFUSED_IDS_COUNT_MAX)
      atMost(holder, 'timers', timers, TIMERS_COUNT_MAX)
      const onDisk = count(holder, 'outbox')
      if (outbox !== onDisk)
        scene.violated(name, `${holder.name} remembers ${outbox} entries in its outbox, its disk ${onDisk}`)
    },
    ended() {
      for (const holder of scene.holders) {
        atMost(holder, 'proofs', count(holder, 'refused'), REFUSED_KEPT_COUNT_MAX)
        atMost(holder, 'summaries', count(holder, 'thread'), holder.entries.size)
        atMost(holder, 'places in the inbox', count(holder, 'inbox'), holder.entries.size)
        atMost(holder, 'bodies', count(holder, 'body'), holder.held.size)
      }
    },
  }
}
