/** What was shown as final stays: an accepted thread can be completed, and nothing else changes. */
import type { Hex } from '../../../protocol/index.ts'
import type { ThreadRow } from '../../../src/node/rows.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, entriesOfThread, forkedIn } from './verdicts.ts'

export function finalChecker(scene: Scene): Checker {
  const name = 'final'
  const shown = new Map<string, ThreadRow['status']>()

  /** Known exception: `final` assumes that the devices of the sender, and of one's own side, do not fork. */
  function isMisled(holder: Holder, thread: Hex): boolean {
    const forked = forkedIn(entriesOfThread(scene, thread))
    return (
      forked.has(holder.device) ||
      (createHeader(scene, thread)?.ctl.senders.some((sender) => forked.has(sender)) ?? true)
    )
  }

  /** Known exception: where a cancel crossed, a recipient device that forks takes back its own accept and what was built on it. */
  function isTakenBack(thread: Hex): boolean {
    const entries = entriesOfThread(scene, thread)
    const forked = forkedIn(entries)
    const hasCancel = entries.some((entry) => entry.header.kind === 'cancel')
    return hasCancel && (createHeader(scene, thread)?.ctl.recipients.some((device) => forked.has(device)) ?? false)
  }

  return {
    name,
    restored(holder) {
      // What was shown rested on entries that are not here now.
      for (const key of shown.keys()) if (key.startsWith(`${holder.name} `)) shown.delete(key)
    },
    summed(holder, thread, row) {
      const key = `${holder.name} ${thread}`
      const before = shown.get(key)
      if (before !== undefined) {
        const stays = row.final && (row.status === before || (before === 'accepted' && row.status === 'completed'))
        const moves = before === 'accepted' && row.status === 'completed'
        const isKnown = before !== 'cancelled' && row.status === 'cancelled' && isTakenBack(thread)
        if (!stays && !moves && !isKnown && !isMisled(holder, thread))
          scene.violated(
            name,
            `${holder.name} showed ${thread.slice(0, 8)} as finally ${before}, and now as ${row.status}, final ${row.final}`,
          )
      }
      if (row.final) shown.set(key, row.status)
    },
  }
}
