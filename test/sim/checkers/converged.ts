/** After healing all honest laptops hold the same entries; those of a thread hold its bodies, and nothing is owed any more. */
import type { Entry, Hex } from '../../../protocol/index.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, devicesOf, forkedIn } from './verdicts.ts'

/** What is still missing where, in words; nothing when all is well. */
export function missing(scene: Scene): string[] {
  const faults: string[] = []
  for (const holder of scene.holders) {
    for (const other of scene.holders) {
      for (const id of other.held) {
        if (!holder.held.has(id)) faults.push(`${holder.name} has no ${kindOf(scene, id)} that ${other.name} holds`)
      }
    }
    for (const [thread, { recovering, side }] of holder.rows) {
      const others = participants(scene, thread).filter((device) => device !== holder.device)
      if (recovering && side !== null && others.some((device) => scene.isHonest(device)))
        faults.push(`${holder.name} still waits for what it lost of ${thread.slice(0, 8)}`)
    }
    for (const id of holder.held) {
      const entry = scene.entries.get(id)
      if (!entry) continue
      if (lacksBody(scene, holder, entry))
        faults.push(`${holder.name} has no body of ${kindOf(scene, id)} in ${entry.thread.slice(0, 8)}`)
      for (const device of owedTo(scene, holder, entry)) {
        const to = scene.holderOf(device)
        if (to) faults.push(`${holder.name} has no receipt of ${to.name} for a ${entry.header.kind}`)
      }
    }
  }
  return faults
}

function kindOf(scene: Scene, id: Hex): string {
  const header = scene.entries.get(id)?.header
  return `${header?.kind} of ${(header && scene.holderOf(header.dev)?.name) ?? 'the liar'}`
}

function participants(scene: Scene, thread: Hex): Hex[] {
  const create = createHeader(scene, thread)
  return create ? devicesOf(create) : []
}

/** A device of the thread is without a body that another honest device of it holds. */
function lacksBody(scene: Scene, holder: Holder, entry: Entry): boolean {
  if (entry.header.body === null || holder.bodies.has(entry.id)) return false
  const devices = participants(scene, entry.thread)
  return (
    devices.includes(holder.device) && devices.some((device) => scene.holderOf(device)?.bodies.has(entry.id) === true)
  )
}

/**
 * Honest devices that have not acknowledged an own entry of `holder`. Known exceptions: a device
 * that forked says nothing any more, and one that misses a body says nothing yet.
 */
function owedTo(scene: Scene, holder: Holder, entry: Entry): Hex[] {
  if (entry.header.dev !== holder.device || entry.header.kind === 'ack') return []
  const held = holder.entries.get(entry.thread) ?? []
  const forked = forkedIn(held)
  return participants(scene, entry.thread).filter((device) => {
    const to = scene.holderOf(device)
    if (!to || to === holder || forked.has(device)) return false
    if (held.some(({ id, header }) => header.body !== null && !to.bodies.has(id))) return false
    return !held.some(({ id, header }) => header.dev === device && scene.pastOf(id).has(entry.id))
  })
}

export function convergedChecker(scene: Scene): Checker {
  const name = 'converged'
  return {
    name,
    ended() {
      const [first, ...more] = missing(scene)
      if (first !== undefined) scene.violated(name, `${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`)
    },
  }
}
