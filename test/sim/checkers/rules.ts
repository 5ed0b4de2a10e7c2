/** Nothing that the rules forbid is stored, and each summary says what the entries amount to. */
import { hash } from '../../../protocol/index.ts'
import type { Checker, Scene } from '../scene.ts'
import { fault, statusOf } from './verdicts.ts'

export function rulesChecker(scene: Scene): Checker {
  const judged = new Set<string>()
  const name = 'rules'
  return {
    name,
    stored(holder, entry) {
      if (judged.has(entry.id)) return
      judged.add(entry.id)
      const why = fault(scene, entry)
      if (why !== undefined) scene.violated(name, `${holder.name} stored a ${entry.header.kind}: ${why}`)
    },
    summed(holder, thread, row) {
      const expected = statusOf(scene, holder.entries.get(thread) ?? [])
      if (row.status !== expected)
        scene.violated(name, `${holder.name} calls ${thread.slice(0, 8)} ${row.status}, and it is ${expected}`)
    },
  }
}

/** A name for a set of entries. */
export function setName(ids: Iterable<string>): string {
  return hash('payload', [[...ids].toSorted()])
}
