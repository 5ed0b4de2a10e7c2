/** libp2p's many errors, as the few that our callers can act on. */
import { NetError, type NetErrorCode } from './net.ts'

/** The other side ended it while it was being set up: it does not want us, or not for this. */
const REFUSALS = new Set([
  'ConnectionClosedError',
  'EncryptionFailedError',
  'MuxerClosedError',
  'MuxerUnavailableError',
  'StreamClosedError',
  'StreamResetError',
  'StreamStateError',
  'UnexpectedEOFError',
  'UnsupportedProtocolError',
])
const TIMEOUTS = new Set(['AbortError', 'TimeoutError'])

/** `doing` completes the sentence "could not …". */
export function netErrorOf(doing: string, error: unknown): NetError {
  if (error instanceof NetError) return error
  const causes = (error instanceof AggregateError ? error.errors : [error]).map(behindEvent)
  const reasons = [...new Set(causes.map((cause) => (cause instanceof Error ? cause.message : String(cause))))]
  return new NetError(codeOf(causes), `could not ${doing}: ${reasons.join('; ')}`, error)
}

/** A stream that is closed while its protocol is being agreed rejects with the event itself, not with an error. */
function behindEvent(cause: unknown): unknown {
  if (!(cause instanceof Event)) return cause
  const error: unknown = 'error' in cause ? cause.error : undefined
  return error ?? Object.assign(new Error('the other side closed it'), { name: 'StreamClosedError' })
}

function codeOf(causes: readonly unknown[]): NetErrorCode {
  const names = causes.map((cause) => (cause instanceof Error ? cause.name : ''))
  if (names.some((name) => REFUSALS.has(name))) return 'NET_REFUSED'
  if (names.some((name) => TIMEOUTS.has(name))) return 'NET_TIMEOUT'
  return 'NET_UNREACHABLE'
}
