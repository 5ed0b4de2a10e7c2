/** The way to the node: starts it when it is first needed, and again when it went away in the middle of a call. */
import { ApiError, NodeNotRunning, type RpcClient } from '../rpc/client.ts'

/** A node that goes away this often during one call is not healthy. */
const ATTEMPTS_COUNT_MAX = 3

export interface NodeLink {
  /**
   * Like the client's own, and resends what was lost; the idempotency key in the parameters makes that safe.
   *
   * @throws ApiError, or the signal's reason
   */
  call: RpcClient['call']
  /** Starts the node unless it is known to run. */
  ready(): Promise<void>
}

export function createNodeLink(client: RpcClient, start: () => Promise<void>): NodeLink {
  let started: Promise<void> | undefined

  async function ready(): Promise<void> {
    started ??= start()
    const waited = started
    try {
      await waited
    } catch (error) {
      if (started === waited) started = undefined
      throw asApiError(error)
    }
  }

  async function call(...[method, params, options]: Parameters<RpcClient['call']>): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      await ready()
      options?.signal?.throwIfAborted()
      const waited = started
      try {
        return await client.call(method, params, options)
      } catch (error) {
        if (!(error instanceof NodeNotRunning)) throw error
        // Only whoever saw this start fail asks for another one; calls beside it wait for the same.
        if (started === waited) started = undefined
        if (attempt === ATTEMPTS_COUNT_MAX) throw asApiError(error)
      }
    }
  }

  return { call: call as RpcClient['call'], ready }
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new ApiError('unauthenticated', `The node is not running and could not be started: ${reason}`, {
    hint: hintOf(error) ?? 'Ask the human to run `relay-node start`, or `relay-node doctor`.',
    cause: error,
  })
}

/** What the starting side says about its own failure is better than anything that could be said here. */
function hintOf(error: unknown): string | undefined {
  const { hint } = Object(error) as { hint?: unknown }
  return typeof hint === 'string' && hint !== '' ? hint : undefined
}
