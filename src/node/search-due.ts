/** Threads whose words have changed since they were indexed. */
import type { Hex } from '../../protocol/index.ts'
import type { Held, Turn } from './held.ts'
import { dropDoc } from './search-rows.ts'
import type { Thread } from './threads.ts'

interface Mark {
  /** Grows with every change of any thread. */
  readonly version: number
  /** This node's own front ends changed it: whoever searches next has to see that. */
  readonly isOwn: boolean
}

export interface Due {
  /** In order of the changes, the oldest first. */
  readonly marks: Map<Hex, Mark>
  mark(thread: Hex, isOwn: boolean): void
  /** Called after each mark. */
  onMark(listener: () => void): void
}

export function createDue(): Due {
  const marks = new Map<Hex, Mark>()
  let listener = (): void => undefined
  let version = 0
  return {
    marks,
    mark(thread, isOwn) {
      const before = marks.get(thread)
      marks.delete(thread)
      marks.set(thread, { version: ++version, isOwn: isOwn || before?.isOwn === true })
      listener()
    },
    onMark(next) {
      listener = next
    },
  }
}

/** Notes in the batch of the turn that the words of a thread change with it. */
export function markDue(held: Held, turn: Turn, thread: Thread, isOwn: boolean): void {
  if (!thread.row || thread.row.side === null) return
  turn.writes.push(dropDoc(thread.id))
  turn.after.push(() => held.due.mark(thread.id, isOwn))
}
