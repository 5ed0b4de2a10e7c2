/** What was acknowledged to a client is on the disk, and stays there; what an old disk takes away comes back from peers. */
import type { Hex } from '../../../protocol/index.ts'
import type { Acknowledged, Checker, Holder, Scene } from '../scene.ts'

export function keptChecker(scene: Scene): Checker {
  const name = 'kept'
  const promised: { told: Acknowledged; entry: Hex }[] = []

  /** The entry that a promise is about. */
  function entryOf({ holder, kind, thread, entry }: Acknowledged): Hex | undefined {
    if (entry !== undefined) return holder.held.has(entry) ? entry : undefined
    return holder.entries.get(thread)?.findLast((one) => one.header.kind === kind && one.header.dev === holder.device)
      ?.id
  }

  /** Known exception: an old disk was put back while no honest peer held the entry. */
  function isLostForGood(entry: Hex): boolean {
    return !scene.holders.some(({ held }) => held.has(entry))
  }

  /** Known exception: an old disk was put back, and the laptop was removed before peers gave it back what it had lost. */
  function isOut(holder: Holder): boolean {
    return holder.restored > 0 && scene.isRemoved(holder.device)
  }

  function describe(holder: Holder, told: Acknowledged): string {
    return `${holder.name} was told that its ${told.kind} in ${told.thread.slice(0, 8)} is saved`
  }

  return {
    name,
    acknowledged(told) {
      const entry = entryOf(told)
      if (entry === undefined) scene.violated(name, `${describe(told.holder, told)}, and it is not on the disk`)
      else promised.push({ told, entry })
    },
    restored() {
      const left = promised.filter(({ entry }) => !isLostForGood(entry))
      promised.splice(0, promised.length, ...left)
    },
    ended() {
      for (const { told, entry } of promised)
        if (!told.holder.held.has(entry) && !isOut(told.holder))
          scene.violated(name, `${describe(told.holder, told)}, and it is gone`)
    },
  }
}
