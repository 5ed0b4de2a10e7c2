/** Whatever differs between two runs of the same program enters through here: clock, timers, dice, log. */
import { randomBytes } from 'node:crypto'

/** Wall clock and timers. Tests pass a clock of their own. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Calls `run` once after `ms` milliseconds; the returned function cancels it. A pending timer never keeps the process alive. */
  after(ms: number, run: () => void): () => void
  /** Calls `run` every `ms` milliseconds until cancelled. */
  every(ms: number, run: () => void): () => void
}

export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

export interface System {
  readonly clock: Clock
  /** `count` bytes that nobody can predict. */
  dice(count: number): Uint8Array
  readonly log: Log
}

export const SILENT_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} }

export const WALL_CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
  every(ms, run) {
    const timer = setInterval(run, ms)
    timer.unref()
    return () => clearInterval(timer)
  },
}

export function realSystem(log: Log = SILENT_LOG): System {
  return { clock: WALL_CLOCK, dice: (count) => new Uint8Array(randomBytes(count)), log }
}
