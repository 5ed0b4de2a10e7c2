/** Idempotency keys: one for each state-changing call, the same again when that call is repeated because its answer failed to come. */
import { createHash } from 'node:crypto'

const UNANSWERED_COUNT_MAX = 256

export interface KeyedCall<T> {
  tool: string
  args: unknown
  /** Aborted when the agent takes the call back. */
  signal: AbortSignal
  send(key: string): Promise<T>
}

export interface CallKeys {
  /** Runs `send` with a key. The key is kept for an equal call if this one fails or is taken back, and forgotten if it succeeds. */
  withKey<T>(call: KeyedCall<T>): Promise<T>
}

export function createCallKeys(newKey: () => string): CallKeys {
  /** Fingerprint of a call that was not answered well → its key. */
  const unanswered = new Map<string, string>()

  return {
    async withKey({ tool, args, signal, send }) {
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
        const [oldest] = unanswered.keys()
        if (unanswered.size > UNANSWERED_COUNT_MAX && oldest !== undefined) unanswered.delete(oldest)
      }
      // Not only when `send` fails, which takes a moment: the agent may repeat itself in the same breath.
      signal.addEventListener('abort', keep, { once: true })
      try {
        return await send(key)
      } catch (error) {
        keep()
        throw error
      } finally {
        signal.removeEventListener('abort', keep)
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
