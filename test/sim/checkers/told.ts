/** Nobody is told of an entry before it is on its author's disk; nobody says that he holds what he does not hold. */
import type { Hex } from '../../../protocol/index.ts'
import type { Checker, Scene } from '../scene.ts'

export function toldChecker(scene: Scene): Checker {
  const name = 'told'
  const seen = new Set<Hex>()
  return {
    name,
    stored(holder, entry) {
      const { dev, kind } = entry.header
      const author = scene.holderOf(dev)
      if (author && !author.ever.has(entry.id))
        scene.violated(name, `${holder.name} knows of a ${kind} that never was on the disk of ${author.name}`)
      const isNew = !seen.has(entry.id)
      seen.add(entry.id)
      if (kind !== 'ack' || author !== holder || !isNew) return
      for (const id of scene.pastOf(entry.id)) {
        const before = scene.entries.get(id)
        // What a removed device keeps to itself is named as lacking.
        if (before?.header.body && !holder.bodies.has(id) && !scene.isRemoved(before.header.dev))
          scene.violated(name, `${holder.name} acknowledged a ${before.header.kind} without holding its body`)
      }
    },
  }
}
