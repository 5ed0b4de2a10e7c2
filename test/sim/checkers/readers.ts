/**
 * Whom a thread was shared with reads all of it while it goes on: whatever key the laptops that
 * write in it hold, also one that was made at the same moment as the share. And no honest laptop
 * shares with a device that it knows to be removed.
 */
import { currentRoster, type Entry, type Hex } from '../../../protocol/index.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, forkedIn, isNew, readersIn, statusOf } from './verdicts.ts'

export function readersChecker(scene: Scene): Checker {
  const name = 'readers'

  /** Known exceptions: a laptop that forked, or that waits for what an old disk lost, gives nobody a key; nobody does in a thread that one keeps apart. */
  function mayGive(holder: Holder, thread: Hex, held: readonly Entry[]): boolean {
    const row = holder.rows.get(thread)
    return (row?.side === 'in' || row?.side === 'out') && !row.recovering && !forkedIn(held).has(holder.device)
  }

  /**
   * Known exceptions, where a liar made a key, or gave the reader what opens nothing. As long as
   * nobody was removed no honest laptop makes keys, so none looks for readers without one: the reader
   * is given it with the next word in the thread, or is shared with once more. And a reader that
   * misses a body says nothing yet, so nobody knows that it opens nothing.
   */
  function isBetrayed(reader: Holder, held: readonly Entry[]): boolean {
    if (!held.some(({ header }) => ['wrap', 'share'].includes(header.kind) && !scene.isHonest(header.dev))) return false
    const rosters = scene.staying.map(({ log }) => currentRoster(log))
    return (
      rosters.every((roster) => [...(roster?.devices.values() ?? [])].every(({ removed }) => !removed)) ||
      held.some(({ id, header }) => header.body && !reader.bodies.has(id) && !scene.isRemoved(header.dev))
    )
  }

  function check(reader: Holder, thread: Hex, held: readonly Entry[]): void {
    const create = createHeader(scene, thread)
    const status = statusOf(scene, held)
    if (!create || (status !== 'pending' && status !== 'accepted')) return
    if (!readersIn(scene, create, held).has(reader.device)) return
    if (scene.staying.some(({ apart }) => apart.has(thread))) return
    if (reader.rows.get(thread)?.side !== 'reader')
      return scene.violated(name, `${reader.name} does not list what was shared with it`)
    const own = reader.threadKeys.get(thread) ?? new Set()
    for (const writer of scene.staying.filter((holder) => mayGive(holder, thread, held)))
      for (const key of writer.threadKeys.get(thread) ?? [])
        if (!own.has(key) && !isBetrayed(reader, held))
          scene.violated(name, `${reader.name} has not got a key of ${writer.name}, in ${thread.slice(0, 8)}`)
  }

  return {
    name,
    stored(holder, { id, header }) {
      if (header.dev !== holder.device || header.kind !== 'share' || !isNew(scene, holder, id)) return
      const roster = currentRoster(holder.log)
      if (header.ctl.devices.some((device) => roster?.devices.get(device)?.removed === true))
        scene.violated(name, `${holder.name} shares with who was removed`)
    },
    ended() {
      for (const reader of scene.staying) for (const [thread, held] of reader.entries) check(reader, thread, held)
    },
  }
}
