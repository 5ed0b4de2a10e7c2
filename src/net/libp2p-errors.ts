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

/** What libp2p says in its own words, and what that means to a person. */
const WORDS: readonly [RegExp, string][] = [
  [/identity key (\S+) does not match/, 'another key answers there: $1'],
  [/NO_RESERVATION|CONNECTION_FAILED/, 'it is not at the relay'],
  [/RESERVATION_REFUSED|RESOURCE_LIMIT_EXCEEDED|PERMISSION_DENIED/, 'the relay is full or does not want it'],
  [/ECONNREFUSED (\S+)/, 'nobody listens at $1'],
  [/(?:EHOSTUNREACH|ENETUNREACH) (\S+)/, 'no way leads to $1'],
]

function inWords(message: string): string {
  for (const [pattern, words] of WORDS) {
    const [, detail = ''] = pattern.exec(message) ?? []
    if (pattern.test(message)) return words.replace('$1', detail)
  }
  return message
}

/** `doing` completes the sentence "could not …". */
export function netErrorOf(doing: string, error: unknown): NetError {
  if (error instanceof NetError) return error
  const causes = (error instanceof AggregateError ? error.errors : [error]).map(behindEvent)
  const reasons = [...new Set(causes.map((cause) => inWords(cause instanceof Error ? cause.message : String(cause))))]
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
