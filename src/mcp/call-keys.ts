/** Idempotency keys: one for each state-changing call, the same again when that call is repeated because its answer failed to come. */
import { createHash } from 'node:crypto'

const UNANSWERED_COUNT_MAX = 256
/** Calls that the agent may still take back. */
const CALLS_COUNT_MAX = 256

/** The agent's own name for a request, as in JSON-RPC. */
export type RequestId = string | number

export interface KeyedCall<T> {
  request: RequestId
  tool: string
  args: unknown
  send(key: string): Promise<T>
}

export interface CallKeys {
  /** Runs `send` with a key. The key is kept for an equal call if this one fails or is taken back, and forgotten if it succeeds. */
  withKey<T>(call: KeyedCall<T>): Promise<T>
  /**
   * The agent no longer waits for the answer to a request, and may repeat itself in the same breath.
   * The answer may be on its way already: then it was lost all the same.
   */
  takenBack(request: RequestId): void
}

export function createCallKeys(newKey: () => string): CallKeys {
  /** Fingerprint of a call that was not answered well → its key. */
  const unanswered = new Map<string, string>()
  /** Request → what keeps the key of its call, for calls under way and those that were answered last. */
  const calls = new Map<RequestId, () => void>()

  return {
    async withKey({ request, tool, args, send }) {
      const fingerprint = createHash('sha256')
        .update(canonical([tool, args]))
        .digest('base64')
      const key = unanswered.get(fingerprint) ?? newKey()
      // Taken out while it is in use: an equal call at the same time is a call of its own.
      unanswered.delete(fingerprint)
      let kept = false
      const keep = () => {
        if (kept) return
        kept = true
        unanswered.set(fingerprint, key)
        dropOldest(unanswered, UNANSWERED_COUNT_MAX)
      }
      calls.delete(request)
      calls.set(request, keep)
      dropOldest(calls, CALLS_COUNT_MAX)
      try {
        return await send(key)
      } catch (error) {
        keep()
        throw error
      }
    },
    takenBack: (request) => calls.get(request)?.(),
  }
}

function dropOldest(map: Map<unknown, unknown>, countMax: number): void {
  const [oldest] = map.keys()
  if (map.size > countMax) map.delete(oldest)
}

/** JSON with sorted keys: an agent that repeats itself need not keep the order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
