/**
 * Who was removed is shut out: whoever knows of it writes nothing under a key that the device was
 * given, and at the end every open thread has a fence by the other side and a key without it.
 */
import { currentRoster, type Entry, type Hex, type Roster } from '../../../protocol/index.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, devicesOf, forkedIn, sideOf, statusOf } from './verdicts.ts'

export function shutOutChecker(scene: Scene): Checker {
  const name = 'shut out'

  /** Whom the entry that introduced a key gave it to. */
  function holdersOf(key: Hex): Hex[] {
    const header = scene.entries.get(key)?.header
    return header?.kind === 'create' || header?.kind === 'wrap'
      ? [header.dev, ...header.ctl.wraps.map(([device]) => device)]
      : []
  }

  const isOut = (roster: Roster | undefined, device: Hex): boolean => roster?.devices.get(device)?.removed === true

  /** Removed devices of a thread, as far as `holder` knows. */
  function outIn(holder: Holder, thread: Hex): Hex[] {
    const create = createHeader(scene, thread)
    const roster = currentRoster(holder.log)
    return create ? devicesOf(create).filter((device) => isOut(roster, device)) : []
  }

  /**
   * Whether the laptop can do something about it. Known exceptions: one that forked, or that waits
   * for what an old disk lost, writes nothing; nobody of a reader or of a thread that is kept apart does.
   */
  function mayWrite(holder: Holder, thread: Hex): boolean {
    const held = holder.entries.get(thread) ?? []
    const row = holder.rows.get(thread)
    return row !== undefined && row.side !== null && !row.recovering && !forkedIn(held).has(holder.device)
  }

  function check(holder: Holder, thread: Hex, held: readonly Entry[]): void {
    const create = createHeader(scene, thread)
    const side = create && sideOf(create, holder.device)
    const status = statusOf(scene, held)
    if (!create || !side || (status !== 'pending' && status !== 'accepted') || !mayWrite(holder, thread)) return
    for (const device of outIn(holder, thread)) {
      const fences = held.filter(({ header }) => header.kind === 'fence' && header.ctl.device === device)
      const isFenced = fences.some(({ header }) => sideOf(create, header.dev) === side)
      if (sideOf(create, device) !== side && !isFenced)
        return scene.violated(name, `${holder.name} has not fenced who was removed in ${thread.slice(0, 8)}`)
      // A thread whose first key never came to this laptop is none that it could write in.
      const isSafe = ({ id, header }: Entry): boolean => header.kind === 'wrap' && !holdersOf(id).includes(device)
      if (!held.some(isSafe))
        return scene.violated(name, `${holder.name} has no key without who was removed in ${thread.slice(0, 8)}`)
    }
  }

  return {
    name,
    stored(holder, { id, thread, header }) {
      if (header.dev !== holder.device || header.body === null) return
      const given = holdersOf(header.body.key ?? id)
      const thief = outIn(holder, thread).find((device) => given.includes(device))
      if (thief !== undefined && isNew(holder, id))
        scene.violated(name, `${holder.name} wrote a ${header.kind} that who was removed can read`)
    },
    ended() {
      for (const holder of scene.staying) for (const [thread, held] of holder.entries) check(holder, thread, held)
    },
  }

  /** Own words that an old disk had lost come back as they were. */
  function isNew(holder: Holder, id: Hex): boolean {
    return !scene.holders.some((other) => other !== holder && other.ever.has(id))
  }
}
