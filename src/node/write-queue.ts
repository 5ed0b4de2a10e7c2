/** The one write queue: tasks run one after the other, so that whoever decides on what is held decides on what will be written. */
export interface WriteQueue {
  /** Runs `task` when all earlier ones have ended; its failure is its caller's alone. */
  run<T>(task: () => Promise<T>): Promise<T>
}

export function createWriteQueue(): WriteQueue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(task) {
      const turn = last.then(task, task)
      // The chain itself must not fail; each caller gets its own result.
      last = turn.catch(() => undefined)
      return turn
    },
  }
}
