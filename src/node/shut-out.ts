/**
 * Keeps removed devices out of the threads of this node: looks whenever the roster, a prekey or a
 * thread changed, and at the start, whether a fence, a new key or a reader's share of one is due, and
 * writes it. Of several laptops that could, the first by rank that is connected does it; the others
 * look again later. That nothing is written under an old key, nor built on what a removed device
 * wrote, does not wait for it.
 */
import { compareRank, type Hex } from '../../protocol/index.ts'
import { type Duties, hasSay, type KeyLack, needsKeys, secure, unfenced } from './fencing.ts'
import type { Held } from './held.ts'
import type { Published } from './publish.ts'
import { participantsOf, sideOf, type Thread } from './threads.ts'
import { isRemoved, removedDevices, rosterOf } from './workspace.ts'

/** What comes together with the news, such as another laptop's fence, is let come first. */
const GRACE_MS = 100
/** How long it is left to another laptop that is connected. */
const LEFT_TO_OTHERS_MS = 2000

export interface ShutOut {
  /** Something changed in these threads; left out: anywhere. */
  look(threads?: Iterable<Hex>): void
  /** Threads that need a key without a removed device, and why it cannot be made here now. */
  lacks(): ReadonlyMap<Hex, KeyLack>
  stop(): void
}

export function createShutOut(parts: {
  held: Held
  isConnected(device: Hex): boolean
  announce(said: Published): void
}): ShutOut {
  const { held, isConnected, announce } = parts
  const { workspace, system } = held
  const due = new Set<Hex>()
  /** What each thread was like when it needed nothing. */
  const settled = new Map<Hex, string>()
  const lacks = new Map<Hex, KeyLack>()
  /** Threads that are left to others for now, with what ends that. */
  const left = new Map<Hex, () => void>()
  /** Threads that were left to others long enough. */
  const overdue = new Set<Hex>()
  let working = false
  let cancelGrace: (() => void) | undefined
  let stopped = false

  /** The roster and the entries that it is judged by. */
  function stateOf(thread: Hex): string {
    return `${rosterOf(workspace)?.point[1]} ${held.facts.get(thread)?.headsDigest}`
  }

  function look(threads: Iterable<Hex> = held.facts.keys()): void {
    if (stopped || removedDevices(workspace).length === 0) return
    for (const thread of threads) {
      const facts = held.facts.get(thread)
      if (facts?.open !== true || facts.side === null) {
        settled.delete(thread)
        lacks.delete(thread)
      } else if (settled.get(thread) !== stateOf(thread)) due.add(thread)
    }
    if (due.size > 0) cancelGrace ??= system.clock.after(GRACE_MS, begin)
  }

  function begin(): void {
    cancelGrace = undefined
    if (working || stopped) return
    working = true
    void work()
  }

  async function work(): Promise<void> {
    for (const thread of due) {
      if (stopped) break
      due.delete(thread)
      try {
        await attend(thread)
      } catch (error) {
        // A disk that fails says so in status and doctor; the thread is looked at again with the next news.
        system.log.warn('a removed device could not be fenced off', { thread, error: String(error) })
      }
    }
    working = false
  }

  async function attend(id: Hex): Promise<void> {
    const { said, lack, isLeft, mayWrite } = await held.turn(async (turn) => {
      const thread = await held.threads.load(id)
      const duties = dutiesIn(thread, overdue.delete(id))
      const secured = await secure(held, turn, thread, duties)
      return { ...secured, isLeft: duties.isLeft, mayWrite: hasSay(held, thread) }
    })
    left.get(id)?.()
    left.delete(id)
    if (isLeft)
      left.set(
        id,
        system.clock.after(LEFT_TO_OTHERS_MS, () => takeOver(id)),
      )
    else if (lack) lacks.set(id, lack)
    else {
      lacks.delete(id)
      // A thread that recovers has to be looked at again.
      if (mayWrite) settled.set(id, stateOf(id))
    }
    for (const one of said) announce(one)
  }

  function takeOver(id: Hex): void {
    left.delete(id)
    overdue.add(id)
    look([id])
  }

  /** What is this laptop's to do now, and whether anything is left to another one. */
  function dutiesIn(thread: Thread, isOverdue: boolean): Duties & { isLeft: boolean } {
    if (isOverdue || !hasSay(held, thread)) return { fence: true, keys: true, isLeft: false }
    const own = workspace.key.public
    const side = sideOf(thread, own)
    const before = participantsOf(thread).filter(
      (device) =>
        device !== own &&
        compareRank(thread.graph, device, own) < 0 &&
        !isRemoved(workspace, device) &&
        isConnected(device),
    )
    const fence = !before.some((device) => sideOf(thread, device) === side)
    const keys = before.length === 0
    const isLeft = (!fence && unfenced(held, thread).length > 0) || (!keys && needsKeys(held, thread))
    return { fence, keys, isLeft }
  }

  return {
    look,
    lacks: () => lacks,
    stop() {
      stopped = true
      cancelGrace?.()
      for (const cancel of left.values()) cancel()
    },
  }
}
