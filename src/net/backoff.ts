/** The pause before the next attempt: it doubles up to a cap, and is spread so that peers do not move in step. */
import type { System } from '../system.ts'

/** Milliseconds: the first pause and the longest. */
export interface Backoff {
  min: number
  max: number
}

const RECONNECT_BACKOFF: Backoff = { min: 500, max: 10_000 }

/** Milliseconds to wait after `fails` failed attempts in a row (at least one), ± 25 percent. */
export function backoffMs(system: System, fails: number, { min, max } = RECONNECT_BACKOFF): number {
  const [dice = 0] = system.dice(1)
  return Math.min(max, min * 2 ** (fails - 1)) * (0.75 + dice / 510)
}
