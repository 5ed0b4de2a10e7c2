/**
 * Session tokens: what binds a front end of this laptop to less than its user may. The store keeps
 * the hash of each; the token itself is shown once.
 */
import { hash, type Hex, NAME } from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { NewSession, SessionListing, SessionParams, TokenSession } from './api.ts'
import type { Held } from './held.ts'
import { dropSession, putSession, readSessions, type SessionRow } from './rows.ts'
import { timeText } from './shown.ts'

const TOKEN_BYTES = 32
const TOKEN_PREFIX = 'rns_'
const SESSION_TTL_S = 30 * 24 * 60 * 60
const SESSIONS_COUNT_MAX = 64
/** Ended ones are listed, and told by their name to whoever still uses them, for this long. */
const ENDED_KEPT_MS = 30 * 24 * 60 * 60 * 1000
/** A use is written down if the last one that was is older: reading must not cost a write each time. */
const USE_NOTED_MS = 60_000

export interface Sessions {
  create(params: SessionParams): Promise<NewSession>
  list(): { items: SessionListing[] }
  revoke(params: { name: string }): Promise<SessionListing>
  /** Whom a token binds. Throws ApiError unauthenticated, with why. */
  authenticate(token: string): TokenSession
}

export async function openSessions(held: Held): Promise<Sessions> {
  const { system } = held
  const rows = new Map<Hex, SessionRow>()
  for await (const [id, row] of readSessions(held.store)) rows.set(id, row)

  function stateOf(row: SessionRow): SessionListing['state'] {
    if (row.revokedAt !== null) return 'revoked'
    return row.expiresAt <= system.clock.now() ? 'expired' : 'active'
  }

  function listing(row: SessionRow): SessionListing {
    const { name, scope, createdAt, usedAt, expiresAt } = row
    return {
      name,
      scope,
      state: stateOf(row),
      created_at: timeText(createdAt),
      expires_at: timeText(expiresAt),
      ...(usedAt === null ? {} : { last_used_at: timeText(usedAt) }),
    }
  }

  const active = (): [Hex, SessionRow][] => [...rows].filter(([, row]) => stateOf(row) === 'active')

  function freeName(): string {
    const taken = new Set(active().map(([, { name }]) => name))
    for (let number = 1; ; number++) if (!taken.has(`session-${number}`)) return `session-${number}`
  }

  /** Rows that ended so long ago that nobody asks for them any more. */
  function forgotten(): Hex[] {
    const before = system.clock.now() - ENDED_KEPT_MS
    return [...rows].flatMap(([id, row]) => ((row.revokedAt ?? row.expiresAt) < before ? [id] : []))
  }

  function noteUse(id: Hex, row: SessionRow): void {
    const now = system.clock.now()
    if (row.usedAt !== null && now - row.usedAt < USE_NOTED_MS && now >= row.usedAt) return
    const used = { ...row, usedAt: now }
    rows.set(id, used)
    // Whoever reads does not wait for the disk, and is not kept from reading by a full one.
    held.store
      .batch([putSession(id, used)])
      .catch((error: unknown) => system.log.warn('the use of a session was not noted', { error: String(error) }))
  }

  return {
    create({ scope, name: wanted, expires_s = SESSION_TTL_S }) {
      return held.turn(async (turn) => {
        const name = (wanted ?? freeName()).trim().toLowerCase()
        if (!NAME.test(name)) {
          throw new ApiError('invalid_params', `"${wanted}" is not a name.`, {
            hint: 'Take a-z, 0-9 and -, at most 32 characters.',
          })
        }
        if (active().some(([, row]) => row.name === name)) {
          throw new ApiError('invalid_params', `There is a session named ${name} already.`, {
            hint: `Take another name, or end that one: relay-node session revoke ${name}.`,
          })
        }
        if (active().length >= SESSIONS_COUNT_MAX) {
          throw new ApiError('invalid_params', `There are ${SESSIONS_COUNT_MAX} sessions; no more fit.`, {
            hint: 'End some: relay-node session list, then relay-node session revoke NAME.',
          })
        }
        const token = `${TOKEN_PREFIX}${Buffer.from(system.dice(TOKEN_BYTES)).toString('base64url')}`
        const id = hashOf(token)
        const now = system.clock.now()
        const row = { name, scope, createdAt: now, usedAt: null, expiresAt: now + expires_s * 1000, revokedAt: null }
        const old = forgotten()
        turn.writes.push(putSession(id, row), ...old.map(dropSession))
        turn.after.push(() => {
          for (const gone of old) rows.delete(gone)
          rows.set(id, row)
        })
        return { name, scope, token, created_at: timeText(now), expires_at: timeText(row.expiresAt) }
      })
    },

    list: () => ({ items: [...rows.values()].toSorted((a, b) => b.createdAt - a.createdAt).map(listing) }),

    revoke({ name }) {
      return held.turn(async (turn) => {
        const found = active().find(([, row]) => row.name === name.trim().toLowerCase())
        if (!found) {
          throw new ApiError('invalid_params', 'There is no active session of that name.', {
            hint: 'relay-node session list shows them.',
          })
        }
        const [id, row] = found
        const revoked = { ...row, revokedAt: system.clock.now() }
        // At once, so that no use that is noted meanwhile writes it back as it was.
        rows.set(id, revoked)
        turn.undo.push(() => rows.set(id, row))
        turn.writes.push(putSession(id, revoked))
        return listing(revoked)
      })
    },

    authenticate(token) {
      const id = hashOf(token)
      const row = rows.get(id)
      const state = row && stateOf(row)
      if (!row || state !== 'active') throw refusedToken(row?.name, state)
      noteUse(id, row)
      return { name: row.name, scope: row.scope, expires_at: timeText(row.expiresAt) }
    },
  }
}

/** A token is 256 random bits, so one hash of it tells nothing and needs no salt. */
function hashOf(token: string): Hex {
  return hash('payload', ['session', token.toWellFormed()])
}

function refusedToken(name: string | undefined, state: SessionListing['state'] | undefined): ApiError {
  const message =
    name === undefined
      ? 'This session token is none that the node knows.'
      : `The session ${name} ${state === 'revoked' ? 'was revoked' : 'has expired'}.`
  return new ApiError('unauthenticated', message, {
    hint: 'A human makes a new token with relay-node session create, and starts this front end with it.',
    details: { reason: state ?? 'unknown' },
  })
}
