import type { Clock } from '../../src/system.ts'
import { CLOCK_MS } from '../cast.ts'

/** Waits up to here pass by themselves: what a node gives gossip before it asks. Longer ones end when the test says so. */
const SHORT_MS_MAX = 100

export interface TestClock extends Clock {
  /** Lets `ms` pass; each timer that is due runs at its own moment. */
  advance(ms: number): void
  /** True while something waits for just so long from now. */
  isAwaited(ms: number): boolean
}

interface Timer {
  at: number
  every: number | undefined
  run: () => void
}

/** A clock that stands still at Monday morning until it is moved. */
export function testClock(): TestClock {
  const timers = new Set<Timer>()
  let now = CLOCK_MS
  const add = (ms: number, every: number | undefined, run: () => void): (() => void) => {
    const timer = { at: Math.ceil(now + ms), every, run }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  return {
    now: () => now,
    after(ms, run) {
      if (ms > SHORT_MS_MAX) return add(ms, undefined, run)
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    every: (ms, run) => add(ms, ms, run),
    advance(ms) {
      const end = now + ms
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)
        if (next === undefined) break
        now = next.at
        if (next.every === undefined) timers.delete(next)
        else next.at += next.every
        next.run()
      }
      now = end
    },
    isAwaited: (ms) => [...timers].some(({ at, every }) => every === undefined && at === now + ms),
  }
}
