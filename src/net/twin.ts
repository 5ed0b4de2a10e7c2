/** Another machine that runs with our key: a home that was copied. It answers in our place, and forks what we sign. */
import type { Clock } from '../system.ts'

/** What was not seen again for so long is over. Longer than the pauses between two looks. */
const FORGET_MS = 30 * 60 * 1000

export interface TwinWatch {
  /** `where` completes the sentence "another machine runs with this key: it …". */
  seen(where: string): void
  /** The sentence; undefined while there is no reason for it. */
  words(): string | undefined
}

export function createTwinWatch(clock: Clock): TwinWatch {
  let last: { at: number; where: string } | undefined
  return {
    seen: (where) => void (last = { at: clock.now(), where }),
    words: () =>
      last === undefined || clock.now() - last.at > FORGET_MS
        ? undefined
        : `another machine runs with this key: it ${last.where}`,
  }
}
