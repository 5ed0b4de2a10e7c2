/** After healing all honest laptops hold the same entries; those of a thread, readers too, hold its bodies, and nothing is owed any more. */
import type { Entry, Hex } from '../../../protocol/index.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, devicesOf, forkedIn, readersIn } from './verdicts.ts'

/** What is still missing where, in words; nothing when all is well. */
export function missing(scene: Scene): string[] {
  const faults: string[] = []
  for (const holder of scene.staying) {
    for (const other of scene.staying) {
      for (const id of other.held) {
        if (!holder.held.has(id) && !isApart(scene, id))
          faults.push(`${holder.name} has no ${kindOf(scene, id)} that ${other.name} holds`)
      }
    }
    for (const [thread, { recovering, side }] of holder.rows) {
      const others = participants(scene, thread).filter((device) => device !== holder.device)
      if (recovering && side !== null && others.some((device) => scene.isHonest(device)))
        faults.push(`${holder.name} still waits for what it lost of ${thread.slice(0, 8)}`)
    }
    for (const [thread, held] of holder.entries) {
      const devices = [...participants(scene, thread), ...readers(scene, thread, held)]
      for (const entry of held) {
        if (lacksBody(scene, holder, entry, devices))
          faults.push(`${holder.name} has no body of ${kindOf(scene, entry.id)} in ${thread.slice(0, 8)}`)
        for (const device of owedTo(scene, holder, entry, devices)) {
          const to = scene.holderOf(device)
          if (to) faults.push(`${holder.name} has no receipt of ${to.name} for a ${entry.header.kind}`)
        }
      }
    }
  }
  return faults
}

/** Whoever keeps a thread apart tells nobody of it who has not got it. */
function isApart(scene: Scene, id: Hex): boolean {
  const thread = scene.entries.get(id)?.thread ?? ''
  return scene.staying.some(({ apart }) => apart.has(thread))
}

function kindOf(scene: Scene, id: Hex): string {
  const header = scene.entries.get(id)?.header
  return `${header?.kind} of ${(header && scene.holderOf(header.dev)?.name) ?? 'the liar'}`
}

/** Devices of both sides, but for those that were removed. */
function participants(scene: Scene, thread: Hex): Hex[] {
  const create = createHeader(scene, thread)
  return create ? devicesOf(create).filter((device) => !scene.isRemoved(device)) : []
}

/** Whom the thread was shared with, but for those that were removed. */
function readers(scene: Scene, thread: Hex, held: readonly Entry[]): Hex[] {
  const create = createHeader(scene, thread)
  return create ? [...readersIn(scene, create, held)].filter((device) => !scene.isRemoved(device)) : []
}

/** A device of the thread is without a body that another honest device of it holds. Known exception: whoever keeps a thread apart asks for nothing of it. */
function lacksBody(scene: Scene, holder: Holder, entry: Entry, devices: readonly Hex[]): boolean {
  if (entry.header.body === null || holder.bodies.has(entry.id) || holder.apart.has(entry.thread)) return false
  return (
    devices.includes(holder.device) && devices.some((device) => scene.holderOf(device)?.bodies.has(entry.id) === true)
  )
}

/**
 * Honest devices, of `devices`, that have not acknowledged an own entry of `holder`. Known exceptions: a device
 * that forked says nothing any more, one that misses a body says nothing yet, unless it is of a
 * removed device, and of a thread that one keeps apart nothing is said.
 */
function owedTo(scene: Scene, holder: Holder, entry: Entry, devices: readonly Hex[]): Hex[] {
  if (entry.header.dev !== holder.device || entry.header.kind === 'ack') return []
  const held = holder.entries.get(entry.thread) ?? []
  const forked = forkedIn(held)
  return devices.filter((device) => {
    const to = scene.holderOf(device)
    if (!to || to === holder || forked.has(device) || to.apart.has(entry.thread)) return false
    const isAwaited = ({ id, header }: Entry): boolean =>
      header.body !== null && !to.bodies.has(id) && !scene.isRemoved(header.dev)
    if (held.some(isAwaited)) return false
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
