/** Who keeps sealed bodies for others keeps them within its quota, only while somebody waits for them, and says that it does only if it does. */
import type { Quotas } from '../../../src/node/quotas.ts'
import type { Laptop } from '../laptop.ts'
import type { Checker, Holder, Scene } from '../scene.ts'
import { createHeader, devicesWithReaders, sideOf } from './verdicts.ts'

export interface CarriedChecker extends Checker {
  /** Looks at what a running node keeps for others. */
  look(laptop: Laptop): void
}

export function carriedChecker(scene: Scene, quotas: Quotas): CarriedChecker {
  const name = 'carried'

  /** Whether the thread is one that the laptop has itself, or reads. */
  function isOwn(holder: Holder, thread: string): boolean {
    const create = createHeader(scene, thread)
    return create !== undefined && devicesWithReaders(create, holder.entries.get(thread) ?? []).includes(holder.device)
  }

  function check(holder: Holder): void {
    let size = 0
    for (const [id, row] of holder.carried) {
      size += row.size
      const entry = scene.entries.get(id)
      if (!entry || !createHeader(scene, row.thread))
        return scene.violated(name, `${holder.name} carries what is no entry`)
      if (!holder.bodies.has(id)) return scene.violated(name, `${holder.name} says that it carries a body that is gone`)
      if (isOwn(holder, row.thread)) return scene.violated(name, `${holder.name} carries for others what is its own`)
    }
    if (size > quotas.carried) scene.violated(name, `${holder.name} carries ${size} bytes, more than ${quotas.carried}`)
  }

  /** Bodies of others that are here and not carried: nobody would ever let go of them. */
  function strays(holder: Holder): number {
    return [...holder.bodies].filter((id) => {
      const thread = scene.entries.get(id)?.thread ?? ''
      return createHeader(scene, thread) && !isOwn(holder, thread) && !holder.carried.has(id)
    }).length
  }

  /** Whether every device of the other side, and every reader, is honest and has acknowledged what it holds of it. */
  function isDelivered(holder: Holder, id: string): boolean {
    const entry = scene.entries.get(id)
    const create = entry && createHeader(scene, entry.thread)
    if (!create) return false
    const held = holder.entries.get(entry.thread) ?? []
    const side = sideOf(create, entry.header.dev)
    const others = devicesWithReaders(create, held).filter((device) => sideOf(create, device) !== side)
    return others.every((device) => {
      const own = held.filter(({ header }) => header.dev === device)
      const ack = own.findLast(({ header }) => header.kind === 'ack')?.header
      const cannotOpen = ack?.kind === 'ack' && ack.ctl.lack.includes(id)
      return scene.isHonest(device) && !cannotOpen && own.some((one) => scene.pastOf(one.id).has(id))
    })
  }

  return {
    name,
    look({ holder, node }) {
      if (!node) return
      check(holder)
      const onDisk = [...holder.carried.values()].reduce((sum, { size }) => sum + size, 0)
      const { carried } = node.memory()
      if (carried !== onDisk)
        scene.violated(name, `${holder.name} remembers ${carried} bytes that it carries, its disk ${onDisk}`)
    },
    reported(holder, entry, where) {
      const carrier = scene.holderOf(where)
      if (carrier && !carrier.bodiesEver.has(entry))
        scene.violated(name, `${holder.name} believes that ${carrier.name} carries what it never held`)
    },
    ended() {
      for (const holder of scene.holders) {
        check(holder)
        if (strays(holder) > 0)
          scene.violated(name, `${holder.name} keeps ${strays(holder)} bodies that it does not carry`)
        for (const id of holder.carried.keys())
          if (isDelivered(holder, id)) scene.violated(name, `${holder.name} still carries what was acknowledged`)
      }
    },
  }
}
