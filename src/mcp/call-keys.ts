/** Idempotency keys: one for each state-changing call, the same again when that call is repeated because its answer failed to come. */
import { createHash } from 'node:crypto'

const UNANSWERED_COUNT_MAX = 256

export interface CallKeys {
  /** Runs `send` with a key. The key is kept for an equal call if `send` throws, and forgotten if it succeeds. */
  withKey<T>(tool: string, args: unknown, send: (key: string) => Promise<T>): Promise<T>
}

export function createCallKeys(newKey: () => string): CallKeys {
  /** Fingerprint of a call that was not answered well → its key. */
  const unanswered = new Map<string, string>()

  return {
    async withKey(tool, args, send) {
      const fingerprint = createHash('sha256').update(canonical([tool, args])).digest('base64')
      const key = unanswered.get(fingerprint) ?? newKey()
      // Taken out while it is in use: an equal call at the same time is a call of its own.
      unanswered.delete(fingerprint)
      try {
        return await send(key)
      } catch (error) {
        unanswered.set(fingerprint, key)
        const [oldest] = unanswered.keys()
        if (unanswered.size > UNANSWERED_COUNT_MAX && oldest !== undefined) unanswered.delete(oldest)
        throw error
      }
    },
  }
}

/** JSON with sorted keys: an agent that repeats itself need not keep the order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
