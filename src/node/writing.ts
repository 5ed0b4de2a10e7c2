/** What every call that writes needs: the rate of its session, and a way to say something that peers then hear of. */
import { secure } from './fencing.ts'
import type { Held, Turn } from './held.ts'
import type { RateLimit } from './idempotency.ts'
import { requireThread } from './membership.ts'
import { publish, type Published, type Statement } from './publish.ts'
import type { Thread } from './threads.ts'

export interface WritingParts {
  readonly held: Held
  readonly rate: RateLimit
  /** An own entry is on disk: peers may know. */
  announce(published: Published): void
}

export interface Writing extends WritingParts {
  /**
   * The thread that an id names, to be written in: whoever was removed is fenced, and has not the
   * key that is written with. Throws ApiError as {@link requireThread} does.
   */
  threadToWrite(turn: Turn, typed: string): Promise<Thread>
  /** Says something in a thread that is held, and announces it once it is on disk. Throws ApiError as {@link publish} does. */
  publishIn(turn: Turn, thread: Thread, statement: Statement): Published
}

export function createWriting(parts: WritingParts): Writing {
  const { held, announce } = parts
  return {
    ...parts,
    async threadToWrite(turn, typed) {
      const thread = await requireThread(held, typed)
      const isOpen = held.facts.get(thread.id)?.open === true
      const { said } = isOpen ? await secure(held, turn, thread) : { said: [] }
      for (const one of said) turn.after.push(() => announce(one))
      return thread
    },
    publishIn(turn, thread, statement) {
      const published = publish(held, turn, thread, statement)
      turn.after.push(() => announce(published))
      return published
    },
  }
}
