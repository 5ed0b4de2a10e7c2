/** The known exceptions to what is promised: each a predicate over a history, with its reason. There are no others. */
import {
  allOf,
  hasBit,
  includes,
  isBefore,
  isConcurrent,
  isCutBy,
  isForked,
  isTakenBack,
  knowsCancel,
  ofDevice,
  ofKind,
} from './explorer-oracle.ts'
import type { Cast, Shape } from './explorer-world.ts'

/**
 * A sender device signed two entries that do not know each other. `final` is said to the sender's
 * own side about its own side: who restores a copy of his own key can undo what he relied on, and
 * no rule for others could prevent it.
 */
export function senderForked(cast: Cast, shape: Shape): boolean {
  return cast.devices.some(({ side }, device) => side === 'sender' && isForked(shape, device))
}

/**
 * A recipient device signed that it knows of a cancel, and also, not knowing the one from the
 * other, an accept or a wrap that adds a device. That takes its own accept back, with what was
 * built on it. It is the whole power of a fork, it needs a cancel that crossed, and it leaves proof:
 * the alternative, to let either side's word alone decide, would let one side undo the other's work.
 */
export function recipientForkedAcrossCancel(cast: Cast, shape: Shape): boolean {
  const isRevocable = (i: number) =>
    shape.items[i]?.kind === 'accept' || (shape.items[i]?.kind === 'wrap' && shape.items[i]?.target !== undefined)
  return cast.devices.some(({ side }, device) => {
    if (side !== 'recipient') return false
    const own = ofDevice(shape, allOf(shape), device)
    return own.some((q) => knowsCancel(shape, q) && own.some((i) => isRevocable(i) && isConcurrent(shape, i, q)))
  })
}

/**
 * Some accept is without effect through fences alone, and a sender device may still have built on it
 * unaware of one of them. Such a word, once it arrives, gives the accept its effect back, so that
 * the cancel cannot be final before every sender device has said that it knows the fence.
 */
export function fenceHoldsBackAccept(cast: Cast, shape: Shape, cancel: number): boolean {
  const all = allOf(shape)
  const settled = ofKind(shape, all, 'fence').filter((fence) => isSettled(cast, shape, { fence, cancel }))
  return ofKind(shape, all, 'accept').some((i) => {
    if (isTakenBack(cast, shape, i)) return false
    // An accept needs its own effect and that of the wraps which brought its device in.
    const needed = [i, ...ofKind(shape, shape.pasts[i] ?? 0, 'wrap')]
    return !needed.some((one) => settled.some((fence) => isCutBy(cast, shape, all, { i: one, fence })))
  })
}

/** A fence by the sender, after the cancel, that every sender device wrote or has in an entry's past, or was added after. */
export function isSettled(cast: Cast, shape: Shape, { fence, cancel }: { fence: number; cancel: number }): boolean {
  if (cast.devices[shape.items[fence]?.device ?? 0]?.side !== 'sender' || !isBefore(shape, cancel, fence)) return false
  const wraps = ofKind(shape, allOf(shape), 'wrap')
  return cast.devices.every(
    ({ side, listed }, device) =>
      side !== 'sender' ||
      !(listed || wraps.some((i) => shape.items[i]?.target === device && !isBefore(shape, fence, i))) ||
      shape.items[fence]?.device === device ||
      includes(shape, device, fence),
  )
}

/**
 * Another of the sender's laptops cancelled too, unaware of the cancel that is final. The record of
 * a cancelled thread is what stands before any of its cancels, final or not, so it grows by what
 * that one stood on; nothing ever leaves it. To make the cancel wait for the sender's own laptops
 * would keep it open for ever when one of them is lost.
 */
export function anotherCancelCrossed(shape: Shape, grown: number, added: number): boolean {
  const isGrowth = (shape.pasts[added] ?? 0) | (1 << added)
  return shape.items[added]?.kind === 'cancel' && (grown & ~isGrowth) === 0 && hasBit(grown, added)
}
