/**
 * Who was removed is shut out: whoever knows of it writes nothing under a key that the device was
 * given; what the device wrote and the other side did not know then has no effect; and at the end
 * every open thread has a fence by the other side and a key without the device.
 */
import { currentRoster, type Entry, type Hex, type Roster } from '../../../protocol/index.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, devicesOf, devicesWithReaders, forkedIn, isCut, isNew, sideOf, statusOf } from './verdicts.ts'

const CUTTABLE: ReadonlySet<Entry['header']['kind']> = new Set([
  'accept',
  'complete',
  'approve',
  'wrap',
  'share',
  'message',
  'revise',
])

export function shutOutChecker(scene: Scene): Checker {
  const name = 'shut out'
  /** Entries of removed devices that came to a laptop of the other side that knew. */
  const late: { holder: Holder; entry: Entry; restored: number }[] = []

  /** Whom the entry that introduced a key, or a share among `held`, gave it to. */
  function holdersOf(key: Hex, held: readonly Entry[]): Hex[] {
    const entry = scene.entries.get(key)
    if (entry?.header.kind !== 'create' && entry?.header.kind !== 'wrap') return []
    const shares = held.filter(({ header }) => header.kind === 'share' && header.ctl.key === key)
    const given = [entry, ...shares].flatMap(({ header }) => ('wraps' in header.ctl ? header.ctl.wraps : []))
    return [entry.header.dev, ...given.map(([device]) => device)]
  }

  const isOut = (roster: Roster | undefined, device: Hex): boolean => roster?.devices.get(device)?.removed === true

  /** Removed devices of a thread, readers too, as far as `holder` knows. */
  function outIn(holder: Holder, thread: Hex): Hex[] {
    const create = createHeader(scene, thread)
    const roster = currentRoster(holder.log)
    const devices = create ? devicesWithReaders(create, holder.entries.get(thread) ?? []) : []
    return devices.filter((device) => isOut(roster, device))
  }

  /**
   * Whether the laptop can do something about it. Known exceptions: one that forked, or that waits
   * for what an old disk lost, writes nothing; nobody of a reader or of a thread that is kept apart does.
   */
  function mayWrite(holder: Holder, thread: Hex): boolean {
    const held = holder.entries.get(thread) ?? []
    const row = holder.rows.get(thread)
    return (
      row !== undefined &&
      (row.side === 'in' || row.side === 'out') &&
      !row.recovering &&
      !forkedIn(held).has(holder.device)
    )
  }

  function check(holder: Holder, thread: Hex, held: readonly Entry[]): void {
    const create = createHeader(scene, thread)
    const side = create && sideOf(create, holder.device)
    const status = statusOf(scene, held)
    if (!create || !side || (status !== 'pending' && status !== 'accepted') || !mayWrite(holder, thread)) return
    for (const device of outIn(holder, thread)) {
      const fences = held.filter(({ header }) => header.kind === 'fence' && header.ctl.device === device)
      const isFenced = fences.some(({ header }) => sideOf(create, header.dev) === side)
      if (devicesOf(create).includes(device) && sideOf(create, device) !== side && !isFenced)
        return scene.violated(name, `${holder.name} has not fenced who was removed in ${thread.slice(0, 8)}`)
      // A thread whose first key never came to this laptop is none that it could write in.
      const isSafe = ({ id, header }: Entry): boolean => header.kind === 'wrap' && !holdersOf(id, held).includes(device)
      if (!held.some(isSafe))
        return scene.violated(name, `${holder.name} has no key without who was removed in ${thread.slice(0, 8)}`)
    }
  }

  return {
    name,
    stored(holder, entry) {
      const { id, thread, header } = entry
      noteLate(holder, entry)
      if (header.dev !== holder.device || header.body === null) return
      const given = holdersOf(header.body.key ?? id, holder.entries.get(thread) ?? [])
      const thief = outIn(holder, thread).find((device) => given.includes(device))
      if (thief !== undefined && isNew(scene, holder, id))
        scene.violated(name, `${holder.name} wrote a ${header.kind} that who was removed can read`)
    },
    ended() {
      for (const { holder, entry, restored } of late)
        if (holder.restored === restored && scene.staying.includes(holder) && !isWithoutEffect(holder, entry))
          scene.violated(name, `a late ${entry.header.kind} of who was removed has effect at ${holder.name}`)
      for (const holder of scene.staying) for (const [thread, held] of holder.entries) check(holder, thread, held)
    },
  }

  function noteLate(holder: Holder, entry: Entry): void {
    const { thread, header } = entry
    const create = createHeader(scene, thread)
    const side = create && sideOf(create, holder.device)
    if (!create || !side || !CUTTABLE.has(header.kind) || !mayWrite(holder, thread)) return
    const isOther = sideOf(create, header.dev) !== side && sideOf(create, header.dev) !== undefined
    if (isOther && outIn(holder, thread).includes(header.dev)) late.push({ holder, entry, restored: holder.restored })
  }

  /** Known exception: another laptop of that side built on it before it knew of the fence. */
  function isWithoutEffect(holder: Holder, entry: Entry): boolean {
    const create = createHeader(scene, entry.thread)
    if (isCut(scene, entry, holder.held)) return true
    return (holder.entries.get(entry.thread) ?? []).some(
      ({ id, header }) =>
        create !== undefined &&
        header.dev !== holder.device &&
        sideOf(create, header.dev) === sideOf(create, holder.device) &&
        scene.pastOf(id).has(entry.id),
    )
  }
}
