/**
 * Who may make a call. Whoever reaches the socket is this laptop's user, unless it comes with a
 * session token: then it may do what the token's scope says and no more. A service's node has no
 * human, and a node whose own scope is read writes for nobody.
 */
import { ApiError } from '../node/api-error.ts'
import type { NodeApi, Scope, TokenSession } from '../node/api.ts'
import type { Change } from './schema.ts'

const BEARER = /^Bearer +(\S+)$/i

/** What a session of each scope may change. No token changes this laptop or decides anything in place of a human. */
const MAY_CHANGE: Record<Scope, readonly Change[]> = {
  read: ['nothing'],
  write: ['nothing', 'read mark', 'handoffs'],
}

/**
 * The session that a header `authorization` names; undefined without one.
 *
 * @throws ApiError unauthenticated
 */
export function sessionOfHeader(
  header: string | undefined,
  api: Pick<NodeApi, 'authenticate'>,
): TokenSession | undefined {
  if (header === undefined) return undefined
  const token = BEARER.exec(header)?.[1]
  if (token !== undefined) return api.authenticate(token)
  throw new ApiError('unauthenticated', 'The header authorization is not "Bearer TOKEN".', {
    hint: 'Give the token as relay-node session create printed it, or leave the header out.',
    details: { reason: 'unknown' },
  })
}

export interface Permit {
  api: Pick<NodeApi, 'whoami'>
  /** Of the node, by its settings. */
  scope: Scope
  bound: TokenSession | undefined
}

/** @throws ApiError forbidden where the call may not be made */
export async function requireAccess({ api, scope, bound }: Permit, change: Change): Promise<void> {
  if (bound && !MAY_CHANGE[bound.scope].includes(change)) throw beyondSession(bound, change)
  if (change === 'human' && (await api.whoami()).kind === 'service') {
    throw new ApiError('forbidden', 'This is a service’s node: no human is there to decide this.', {
      hint: 'A person does it on a laptop of their own.',
    })
  }
  if (scope === 'read' && (change === 'handoffs' || change === 'human')) {
    throw new ApiError('forbidden', 'This node only reads: its scope is read.', {
      hint: 'Nothing can be written from here. relay-node config shows where the scope is set.',
      details: { scope },
    })
  }
}

function beyondSession({ name, scope }: TokenSession, change: Change): ApiError {
  const details = { session: name, scope }
  if (scope === 'write') {
    return new ApiError('forbidden', `The session ${name} may write in handoffs, and this is more than that.`, {
      hint: 'A human does it with relay-node on the command line.',
      details,
    })
  }
  return new ApiError('forbidden', `The session ${name} may only read.`, {
    hint:
      change === 'read mark'
        ? 'Leave mark_read out: what a session that may only read has seen still counts as unread.'
        : 'Say what you would do, and let the human do it.',
    details,
  })
}
