/** What a test says about the calls of a scripted node: which fail, which stay open, and which were made. */
import type { Caller, NodeApi } from '../../src/node/api.ts'

export interface ScriptedCall {
  method: keyof NodeApi
  params: unknown
  caller?: Caller
}

export interface Held {
  arrived: Promise<AbortSignal | undefined>
  release(): void
}

export interface Script {
  calls: ScriptedCall[]
  /** The next call of `method` throws. */
  failNext(method: keyof NodeApi, error: Error): void
  /** The next call of `method` stays open: `arrived` tells that it is there, `release` lets it go on. */
  holdNext(method: keyof NodeApi): Held
  /** Every call of the node begins here. */
  enter(
    method: keyof NodeApi,
    params: unknown,
    about?: { caller?: Caller; signal?: AbortSignal | undefined },
  ): Promise<void>
}

export function createScript(): Script {
  const calls: ScriptedCall[] = []
  const failures = new Map<keyof NodeApi, Error>()
  const holds = new Map<keyof NodeApi, { arrive(signal?: AbortSignal): void; released: Promise<void> }>()
  return {
    calls,
    failNext: (method, error) => failures.set(method, error),
    holdNext(method) {
      const arrival = Promise.withResolvers<AbortSignal | undefined>()
      const release = Promise.withResolvers<void>()
      holds.set(method, { arrive: arrival.resolve, released: release.promise })
      return { arrived: arrival.promise, release: release.resolve }
    },
    async enter(method, params, { caller, signal } = {}) {
      calls.push({ method, params, ...(caller === undefined ? {} : { caller }) })
      const hold = holds.get(method)
      holds.delete(method)
      hold?.arrive(signal)
      if (hold !== undefined) await Promise.race([hold.released, aborted(signal)])
      const failure = failures.get(method)
      failures.delete(method)
      if (failure !== undefined) throw failure
    },
  }
}

/** What a node says that uses no bootstrap server. */
export function bootstrapCalls(
  enter: Script['enter'],
): Pick<NodeApi, 'listBootstrap' | 'useBootstrap' | 'dropBootstrap'> {
  const answer =
    (method: keyof NodeApi) =>
    async (params: unknown = {}): Promise<{ items: [] }> => {
      await enter(method, params)
      return { items: [] }
    }
  return {
    listBootstrap: answer('listBootstrap'),
    useBootstrap: answer('useBootstrap'),
    dropBootstrap: answer('dropBootstrap'),
  }
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )
}
