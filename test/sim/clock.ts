/** Virtual time: nothing happens between two timers, and each timer runs when the world is at rest. */
import type { Clock } from '../../src/system.ts'
import { CLOCK_MS } from '../cast.ts'
import { rest } from './quiet.ts'

export interface Hand extends Clock {
  /** What this clock shows beside true time, ms; timers do not mind it. */
  skew: number
  /** Timers that wait. */
  readonly pending: number
  /** From now on nothing that waits on this clock runs, and nothing can be made to wait. */
  stop(): void
}

export interface SimClock {
  /** True time, ms since 1970. */
  now(): number
  /** A clock of one's own on this time: of a laptop, of the network, of the story. */
  hand(skew?: number): Hand
  /** Lets `ms` pass. Before, after and between any two timers the world comes to rest. */
  pass(ms: number): Promise<void>
}

interface Timer {
  at: number
  order: number
  every: number | undefined
  run: () => void
}

export function simClock(): SimClock {
  const timers = new Set<Timer>()
  let now = CLOCK_MS
  let made = 0

  function hand(skew = 0): Hand {
    const own = new Set<Timer>()
    let stopped = false
    const add = (ms: number, every: number | undefined, run: () => void): (() => void) => {
      if (stopped) return () => undefined
      const timer = { at: now + Math.max(0, Math.ceil(ms)), order: made++, every, run }
      timers.add(timer)
      own.add(timer)
      if (every === undefined) {
        timer.run = () => {
          own.delete(timer)
          run()
        }
      }
      return () => {
        timers.delete(timer)
        own.delete(timer)
      }
    }
    const self: Hand = {
      skew,
      now: () => now + self.skew,
      after: (ms, run) => add(ms, undefined, run),
      every: (ms, run) => add(ms, Math.max(1, Math.ceil(ms)), run),
      get pending() {
        return own.size
      },
      stop() {
        stopped = true
        for (const timer of own) timers.delete(timer)
        own.clear()
      },
    }
    return self
  }

  function nextBefore(end: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of timers) {
      if (timer.at > end) continue
      if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer
    }
    return next
  }

  return {
    now: () => now,
    hand,
    async pass(ms) {
      const end = now + ms
      await rest()
      for (let next = nextBefore(end); next; next = nextBefore(end)) {
        now = next.at
        if (next.every === undefined) timers.delete(next)
        else next.at += next.every
        next.run()
        await rest()
      }
      now = end
    },
  }
}
