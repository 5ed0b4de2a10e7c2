/** How a process ends that stays in front: when it is asked to, or when something happens that nobody foresaw. */
import { inspect } from 'node:util'
import type { Log } from '../system.ts'
import { EXIT, type ExitCode } from './failure.ts'

/** What hangs while it stops is ended all the same. What was acknowledged is on disk. */
const STOP_TIMEOUT_MS = 15_000

export interface Ending {
  /** Resolves when the process shall end. */
  begun: Promise<void>
  begin(reason: string, error?: unknown): void
  code(): ExitCode
}

/** Waits for whatever ends a process: a call, a signal, or a fault that nobody caught. */
export function endOfProcess(log: Log): Ending {
  let code: ExitCode = EXIT.done
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  const begin = (reason: string, error?: unknown): void => {
    if (error === undefined) log.info(reason)
    else {
      log.error(reason, { error: inspect(error) })
      code = EXIT.refused
    }
    setTimeout(() => process.exit(EXIT.refused), STOP_TIMEOUT_MS).unref()
    resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.once(signal, () => begin(`stopping: ${signal}`))
  // A promise that nobody waited for arrives here too.
  process.on('uncaughtException', (error) => begin('stopping: an unexpected fault', error))
  return { begun, begin, code: () => code }
}
