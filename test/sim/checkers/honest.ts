/** What an honest node writes is refused by no honest peer, and honest devices sign no number twice. */
import type { Entry, Hex } from '../../../protocol/index.ts'
import type { Checker, Scene } from '../scene.ts'
import { createHeader, devicesOf } from './verdicts.ts'

export function honestChecker(scene: Scene): Checker {
  const name = 'honest'
  const chains = new Map<string, Hex>()
  const unknownToSome = new Set<Hex>()

  /**
   * Known exception: an entry was lost with an old disk, and at some time from then until it is back
   * another device of its thread did not hold it. Whoever was in sync with that one could not know of it.
   */
  function isExcused(twin: Hex): boolean {
    return unknownToSome.has(twin)
  }

  return {
    name,
    restored(holder, lost) {
      for (const id of lost) {
        const entry = scene.entries.get(id)
        const author = entry && scene.holderOf(entry.header.dev)
        if (!author || (author !== holder && author.held.has(id))) continue
        const create = createHeader(scene, entry.thread)
        const others = create ? devicesOf(create).filter((device) => device !== author.device) : []
        if (!others.every((device) => scene.holderOf(device)?.held.has(id) === true)) unknownToSome.add(id)
      }
    },
    stored(holder, entry) {
      if (!scene.isHonest(entry.header.dev)) return
      const place = `${entry.thread} ${entry.header.dev} ${entry.header.seq}`
      const twin = chains.get(place)
      if (twin === undefined) chains.set(place, entry.id)
      else if (twin !== entry.id && !isExcused(twin) && !isExcused(entry.id))
        scene.violated(
          name,
          `${scene.holderOf(entry.header.dev)?.name} forked: ${wordsFor(entry)}, seen at ${holder.name}`,
        )
    },
    refused(holder, row, entry) {
      const author = entry && scene.holderOf(entry.header.dev)
      if (author) scene.violated(name, `${holder.name} refused what ${author.name} wrote: ${row.refusal} ${row.detail}`)
    },
  }

  function wordsFor(entry: Entry): string {
    return `${entry.header.kind} number ${entry.header.seq} in ${entry.thread.slice(0, 8)}`
  }
}
