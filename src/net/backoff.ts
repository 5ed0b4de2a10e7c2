/** The pause before the next attempt: it doubles up to a cap, and is spread so that peers do not move in step. */
import type { System } from '../system.ts'

const BACKOFF_MS_MIN = 500
const BACKOFF_MS_MAX = 10_000

/** Milliseconds to wait after `fails` failed attempts in a row (at least one), ± 25 percent. */
export function backoffMs(system: System, fails: number): number {
  const [dice = 0] = system.dice(1)
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (fails - 1)) * (0.75 + dice / 510)
}
