/** What a test says about the calls of a scripted node: which fail, which stay open, and which were made. */
import { ApiError } from '../../src/node/api-error.ts'
import type { Caller, InviteListing, NodeApi, SessionListing } from '../../src/node/api.ts'

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

const TIME = '2026-11-30T12:00:00.000Z'
/** Tokens that the scripted node knows, by the scope that they give. */
export const TOKENS = { read: 'rns_read', write: 'rns_write' } as const

/** Invites, joining, roles, sessions, and the way to others. A token is known as long as it was not revoked by the name of its scope. */
export function teamCalls(
  enter: Script['enter'],
): Pick<
  NodeApi,
  | 'invite'
  | 'join'
  | 'ping'
  | 'listInvites'
  | 'revokeInvite'
  | 'setRole'
  | 'createSession'
  | 'listSessions'
  | 'revokeSession'
  | 'authenticate'
> {
  const invited = {
    invite_id: 'inv_1',
    handle: 'frank@acme',
    role: 'member',
    kind: 'person',
    expires_at: TIME,
  } as const
  const listing = (state: InviteListing['state']): InviteListing => ({ ...invited, state })
  const session = { name: 'read', scope: 'read', created_at: TIME, expires_at: TIME } as const
  const ended = new Set<string>()
  return {
    async invite(params) {
      await enter('invite', params)
      return { ...invited, code: 'relay1code', handle: `${params.name}@acme` }
    },
    async listInvites() {
      await enter('listInvites', {})
      return { items: [listing('open')] }
    },
    async revokeInvite(params) {
      await enter('revokeInvite', params)
      return listing('withdrawn')
    },
    async join(params, signal) {
      await enter('join', params, { signal })
      return {
        handle: 'bob@acme',
        workspace: 'acme',
        inviter: 'frank@acme',
        trust: 'unverified',
        role: 'member',
        kind: 'person',
      }
    },
    async ping(params, signal) {
      await enter('ping', params, { signal })
      return { items: [{ device: 'frank/frank-xps', round_trip_ms: 3, path: 'direct' }] }
    },
    async setRole(params) {
      await enter('setRole', params)
      return { handle: params.handle, trust: 'unverified', role: params.role, changed: true, open_handoffs: 0 }
    },
    async createSession(params) {
      await enter('createSession', params)
      return { ...session, token: TOKENS.read }
    },
    async listSessions() {
      await enter('listSessions', {})
      return { items: [{ ...session, state: 'active' }] }
    },
    async revokeSession(params) {
      await enter('revokeSession', params)
      ended.add(params.name)
      return { ...session, state: 'revoked' } satisfies SessionListing
    },
    authenticate(token) {
      for (const scope of ['read', 'write'] as const)
        if (token === TOKENS[scope] && !ended.has(scope)) return { name: scope, scope, expires_at: TIME }
      throw new ApiError('unauthenticated', 'This session token is none that the node knows.', {
        hint: 'Ask for another.',
      })
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
