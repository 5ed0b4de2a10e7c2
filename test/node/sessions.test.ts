/** Session tokens at the node: what is kept of them, and how they end. */
import { describe, expect, test } from 'vitest'
import type { Laptop } from './world.ts'
import { founder, refused, symbolOf } from './world.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const names = async (at: Laptop) =>
  (await at.node.listSessions()).items.map(({ name, state }) => `${name} ${state}`).toSorted()
const reasonOf = (at: Laptop, token: string): unknown => {
  try {
    at.node.authenticate(token)
    return 'none'
  } catch (error) {
    const { symbol, hint, details } = error as { symbol: string; hint: string; details: Record<string, unknown> }
    expect(symbol).toBe('unauthenticated')
    expect(hint).toContain('relay-node session create')
    return details['reason']
  }
}

describe('a session token', () => {
  test('binds to its scope until it is revoked, also after a restart', async () => {
    const { bob } = await founder()
    const made = await bob.node.createSession({ scope: 'read', name: 'review' })
    expect(made.token).toMatch(/^rns_[A-Za-z0-9_-]{43}$/)
    expect(bob.node.authenticate(made.token)).toMatchObject({ name: 'review', scope: 'read' })
    await bob.restart()
    expect(bob.node.authenticate(made.token)).toMatchObject({ name: 'review', scope: 'read' })
    expect(await bob.node.revokeSession({ name: 'review' })).toMatchObject({ state: 'revoked' })
    expect(reasonOf(bob, made.token)).toBe('revoked')
    await bob.restart()
    expect(reasonOf(bob, made.token)).toBe('revoked')
    expect(await names(bob)).toEqual(['review revoked'])
  })

  test('ends on its day, and is forgotten a month later', async () => {
    const { bob, clock } = await founder()
    const { token } = await bob.node.createSession({ scope: 'write', expires_s: 60 })
    const long = await bob.node.createSession({ scope: 'read' })
    clock.advance(60_000)
    expect(reasonOf(bob, token)).toBe('expired')
    expect(reasonOf(bob, long.token)).toBe('none')
    expect(await names(bob)).toEqual(['session-1 expired', 'session-2 active'])
    clock.advance(31 * DAY_MS)
    await bob.node.createSession({ scope: 'read' })
    expect(await names(bob)).toEqual(['session-1 active', 'session-2 expired'])
    expect(reasonOf(bob, token)).toBe('unknown')
  })

  test('that is not known is refused, whatever it looks like', async () => {
    const { bob } = await founder()
    for (const token of ['', 'rns_', `rns_${'A'.repeat(43)}`, 'ü\ud800', 'x'.repeat(10_000)])
      expect(reasonOf(bob, token)).toBe('unknown')
  })

  test('is not on the disk: its hash, name and times are', async () => {
    const { bob } = await founder()
    const { token } = await bob.node.createSession({ scope: 'read', name: 'review' })
    bob.node.authenticate(token)
    await bob.stop()
    const rows = await bob.disk.rows('secret')
    const texts = rows.map(([key, value]) => `${key} ${Buffer.from(value).toString('latin1')}`)
    expect(texts.filter((text) => text.includes('review'))).toHaveLength(1)
    const secret = token.slice('rns_'.length)
    for (const text of texts) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret, 'base64url').toString('latin1'))
    }
    await bob.start()
    const [item] = (await bob.node.listSessions()).items
    expect(item?.last_used_at).toBeDefined()
  })

  test('that is used while it is revoked stays revoked', async () => {
    const { bob, clock } = await founder()
    const { token } = await bob.node.createSession({ scope: 'read', name: 'review' })
    clock.advance(120_000)
    const revoked = bob.node.revokeSession({ name: 'review' })
    for (let use = 0; use < 5; use++) {
      reasonOf(bob, token)
      await Promise.resolve()
    }
    await revoked
    await bob.restart()
    expect(reasonOf(bob, token)).toBe('revoked')
  })
})

test('a session needs a name that is free and fits', async () => {
  const { bob } = await founder()
  await bob.node.createSession({ scope: 'read', name: ' Review ' })
  expect((await refused(bob.node.createSession({ scope: 'read', name: 'review' }))).hint).toContain(
    'session revoke review',
  )
  expect(await symbolOf(bob.node.createSession({ scope: 'read', name: 'not a name' }))).toBe('invalid_params')
  expect(await symbolOf(bob.node.revokeSession({ name: 'other' }))).toBe('invalid_params')
  await bob.node.revokeSession({ name: 'review' })
  await bob.node.createSession({ scope: 'read', name: 'review' })
  for (let more = 1; more < 64; more++) await bob.node.createSession({ scope: 'read' })
  expect((await refused(bob.node.createSession({ scope: 'read' }))).message).toContain('64 sessions')
})
