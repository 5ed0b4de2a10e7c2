/** A write happens once: the same key with the same payload gives the first result again, in the one batch with the entry. */
import { createHash } from 'node:crypto'
import { type Hex, IDEMPOTENCY_TTL_MS, type Member, WRITES_PER_MINUTE_COUNT_MAX } from '../../protocol/index.ts'
import type { Caller, WriteMetadata } from './api.ts'
import { ApiError } from './api-error.ts'
import type { Held, Turn } from './held.ts'
import { getReceipt, oldReceipts, putReceipt } from './rows.ts'
import { requireMember } from './membership.ts'
import type { Outgoing } from './outgoing.ts'
import { ownMember } from './workspace.ts'

export interface Call {
  readonly method: string
  readonly params: { metadata?: WriteMetadata | undefined }
  readonly caller: Caller
  /** What the call says. It is looked at before the turn, since that takes time, unless the call is a repeated one. */
  readonly says?: Outgoing
}

/** Runs `task` in a turn, unless its idempotency key was used before. */
export async function once<T>(held: Held, call: Call, task: (turn: Turn) => Promise<T>): Promise<T> {
  if (call.says && !(await wasMade(held, call))) await call.says.ahead()
  return held.turn(async (turn) => {
    const member = requireMember(held)
    const key = call.params.metadata?.client_idempotency_key
    if (key === undefined) return task(turn)
    const scope = scopeOf(member, call.method)
    const payload = payloadHash(call.params)
    const receipt = await getReceipt(held.store, scope, key)
    const now = held.system.clock.now()
    if (receipt && now - receipt.at < IDEMPOTENCY_TTL_MS) {
      if (receipt.payload === payload) return receipt.result as T
      throw new ApiError('duplicate_idempotency_key', 'This idempotency key was used for another payload.', {
        hint: 'Use a fresh UUID for each new call; reuse one only to repeat the very same call.',
      })
    }
    const result = await task(turn)
    turn.writes.push(putReceipt(scope, key, { payload, result, at: now }))
    return result
  })
}

async function wasMade(held: Held, { method, params }: Call): Promise<boolean> {
  const member = ownMember(held.workspace)
  const key = params.metadata?.client_idempotency_key
  return (
    member !== undefined &&
    key !== undefined &&
    (await getReceipt(held.store, scopeOf(member, method), key)) !== undefined
  )
}

function scopeOf(member: Member, method: string): string {
  return `${member.id}/${method}`
}

/** SHA-256 of the parameters as JSON with sorted keys, piece by piece: a call may be tens of megabytes, which need not be copied whole. */
function payloadHash(params: Call['params']): Hex {
  const digest = createHash('sha256')
  const add = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) digest.update(JSON.stringify(value) ?? 'null')
    else if (Array.isArray(value)) {
      digest.update('[')
      for (const item of value) {
        add(item)
        digest.update(',')
      }
      digest.update(']')
    } else {
      digest.update('{')
      for (const [key, inner] of Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        if (inner === undefined) continue
        digest.update(`${JSON.stringify(key)}:`)
        add(inner)
        digest.update(',')
      }
      digest.update('}')
    }
  }
  add({ ...params, metadata: undefined })
  return digest.digest('hex')
}

/** Forgets keys after their time. */
export async function dropOldReceipts(held: Held): Promise<void> {
  await held.turn(async (turn) => {
    turn.writes.push(...(await oldReceipts(held.store, held.system.clock.now() - IDEMPOTENCY_TTL_MS)))
  })
}

/** At most so many writes a minute for each session of a front end. */
export interface RateLimit {
  /** Throws ApiError rate_limited with retry_after. */
  check(session: string): void
}

const MINUTE_MS = 60_000
const SESSIONS_COUNT_MAX = 1024

export function createRateLimit(now: () => number): RateLimit {
  const writes = new Map<string, number[]>()
  return {
    check(session) {
      const at = now()
      const recent = (writes.get(session) ?? []).filter((time) => at - time < MINUTE_MS && time <= at)
      const oldest = recent[0]
      if (recent.length >= WRITES_PER_MINUTE_COUNT_MAX && oldest !== undefined) {
        const retryAfter = Math.max(1, Math.ceil((oldest + MINUTE_MS - at) / 1000))
        throw new ApiError('rate_limited', `More than ${WRITES_PER_MINUTE_COUNT_MAX} writes in a minute.`, {
          hint: `Wait ${retryAfter} s, and say more in fewer messages.`,
          details: { retry_after: retryAfter },
        })
      }
      recent.push(at)
      writes.delete(session)
      writes.set(session, recent)
      for (const first of writes.keys()) {
        if (writes.size <= SESSIONS_COUNT_MAX) break
        writes.delete(first)
      }
    },
  }
}
