/** Whatever a device of the thread, or one that reads it, has not acknowledged stands in the outbox, on disk, until it has, or is removed. */
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, devicesWithReaders } from './verdicts.ts'

export function outboxChecker(scene: Scene): Checker {
  const name = 'outbox'

  /** Own entries and who has not acknowledged them, as the keys of the outbox. */
  function owed(holder: Holder): Set<string> {
    const keys = new Set<string>()
    for (const [thread, held] of holder.entries) {
      const create = createHeader(scene, thread)
      const devices = create ? devicesWithReaders(create, held) : []
      for (const entry of held) {
        if (entry.header.dev !== holder.device || entry.header.kind === 'ack') continue
        for (const device of devices) {
          const isKnown = held.some(
            ({ id, header }) =>
              header.dev === device &&
              scene.pastOf(id).has(entry.id) &&
              !(header.kind === 'ack' && header.ctl.lack.includes(entry.id)),
          )
          if (device !== holder.device && !isKnown && !scene.isRemoved(device)) keys.add(`${device}/${entry.id}`)
        }
      }
    }
    return keys
  }

  function check(holder: Holder): void {
    const kept = holder.keys.get('outbox') ?? new Set()
    const due = owed(holder)
    for (const key of due)
      if (!kept.has(key)) return scene.violated(name, `${holder.name} forgot that something is owed to a peer`)
    for (const key of kept)
      if (!due.has(key)) return scene.violated(name, `${holder.name} still owes what was acknowledged`)
  }

  return {
    name,
    ended() {
      for (const holder of scene.staying) check(holder)
    },
  }
}
