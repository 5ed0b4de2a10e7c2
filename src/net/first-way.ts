/** Several ways to one peer, tried at once; the first that opens wins and the others are given up. */
import type { Clock } from '../system.ts'
import { NetError } from './net.ts'

/** How long the best way is tried alone. On one network it needs less. */
const HEAD_START_MS = 300

/** Tries one way; rejects with NetError. */
export type Way = (signal: AbortSignal) => Promise<void>

export interface Ways {
  clock: Clock
  /** Tried first, and alone until it fails or its head start is over. */
  best: Way
  others: readonly Way[]
  signal: AbortSignal
}

/** Rejects with NetError once all have failed: a refusal if one was refused, since somebody answered there. */
export async function openFirst({ clock, best, others, signal }: Ways): Promise<void> {
  const controller = new AbortController()
  const patience = AbortSignal.any([signal, controller.signal])
  const headStart = Promise.withResolvers<void>()
  const cancelHeadStart = clock.after(HEAD_START_MS, headStart.resolve)
  const first = best(patience)
  first.catch(headStart.resolve)
  const later = others.map(async (way) => {
    await headStart.promise
    patience.throwIfAborted()
    await way(patience)
  })
  try {
    await Promise.any([first, ...later])
  } catch (error) {
    throw failureOf(error instanceof AggregateError ? error.errors : [error])
  } finally {
    cancelHeadStart()
    controller.abort(new Error('another way was faster'))
    headStart.resolve()
  }
}

function failureOf(failures: readonly unknown[]): NetError {
  const known = failures.filter((failure) => failure instanceof NetError)
  const { code } = known.find((failure) => failure.code === 'NET_REFUSED') ?? known[0] ?? { code: 'NET_UNREACHABLE' }
  const reasons = [
    ...new Set(failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)))),
  ]
  return new NetError(code, reasons.join('; '), failures[0])
}
