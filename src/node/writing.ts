/** What every call that writes needs: the rate of its session, and a way to say something that peers then hear of. */
import type { Held, Turn } from './held.ts'
import type { RateLimit } from './idempotency.ts'
import { publish, type Published, type Statement } from './publish.ts'
import type { Thread } from './threads.ts'

export interface WritingParts {
  readonly held: Held
  readonly rate: RateLimit
  /** An own entry is on disk: peers may know. */
  announce(published: Published): void
}

export interface Writing extends WritingParts {
  /** Says something in a thread that is held, and announces it once it is on disk. Throws ApiError as {@link publish} does. */
  publishIn(turn: Turn, thread: Thread, statement: Statement): Published
}

export function createWriting(parts: WritingParts): Writing {
  return {
    ...parts,
    publishIn(turn, thread, statement) {
      const published = publish(parts.held, turn, thread, statement)
      turn.after.push(() => parts.announce(published))
      return published
    },
  }
}
