/** How much each source may do: a burst, then a steady rate. */
import type { Clock } from './system.ts'

export interface AllowanceOptions {
  clock: Clock
  /** What a source that was quiet may take at once. */
  burst: number
  /** How long it takes until all of the burst is there again, milliseconds. */
  refillMs: number
}

export interface Allowance {
  /** Takes `amount`; false, and nothing taken, where less is left. */
  take(source: string, amount?: number): boolean
}

/** Sources that are remembered at once; beyond this a source that is not known has to wait. */
const SOURCES_COUNT_MAX = 100_000
const SWEEP_COUNT_MIN = 1_024

export function createAllowance({ clock, burst, refillMs }: AllowanceOptions): Allowance {
  const spent = new Map<string, { amount: number; at: number }>()
  let sweepAt = SWEEP_COUNT_MIN

  const stillSpent = ({ amount, at }: { amount: number; at: number }, now: number): number =>
    Math.max(0, amount - ((now - at) / refillMs) * burst)

  /** Whoever has all of it again need not be remembered. */
  function sweep(now: number): void {
    for (const [source, state] of spent) if (stillSpent(state, now) === 0) spent.delete(source)
    sweepAt = Math.max(SWEEP_COUNT_MIN, spent.size * 2)
  }

  return {
    take(source, amount = 1) {
      const now = clock.now()
      const state = spent.get(source)
      // A clock that was set back must not keep anybody waiting until it has caught up.
      if (state !== undefined) state.at = Math.min(state.at, now)
      if (state === undefined && spent.size >= Math.min(sweepAt, SOURCES_COUNT_MAX)) sweep(now)
      if (state === undefined && spent.size >= SOURCES_COUNT_MAX) return false
      const before = state === undefined ? 0 : stillSpent(state, now)
      if (before + amount > burst) return false
      spent.set(source, { amount: before + amount, at: now })
      return true
    },
  }
}
