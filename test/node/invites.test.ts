/** Invites: one code, one newcomer. */
import { describe, expect, test } from 'vitest'
import { encodeCode, parseCode } from '../../protocol/index.ts'
import { seedOf } from '../cast.ts'
import { inviting, isIn, reason, states } from './inviting.ts'
import { arrives, handOff, type Laptop, refused } from './world.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('a code lets one newcomer in', () => {
  test('standalone: it carries the key and the addresses of the inviter', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const invite = await bob.node.invite({ name: 'Frank ', standalone: true })
    expect(invite).toMatchObject({ handle: 'frank@acme', expires_at: '2026-01-06T09:00:00.000Z' })
    expect(invite.words).toBeUndefined()
    expect(await frank.node.join({ code: invite.code })).toEqual({
      handle: 'frank@acme',
      workspace: 'acme',
      role: 'member',
      kind: 'person',
      inviter: 'bob@acme',
      trust: 'unverified',
    })
    expect(await frank.node.whoami()).toMatchObject({ handle: 'frank@acme', device: 'frank-laptop', owner: false })
    await world.connected()
    const { thread_id } = await handOff(bob, 'frank', 'welcome')
    await arrives(world, frank, thread_id)
    expect(await states(bob)).toEqual(['used'])
  })

  test('short, or as twelve words: the inviter is found on the same network', async () => {
    for (const form of ['code', 'words'] as const) {
      const world = await inviting()
      const { bob, frank } = world
      const { code, words } = await bob.node.invite({ name: 'frank' })
      expect(words).toHaveLength(12)
      const typed = form === 'code' ? ` ${code.toUpperCase()} ` : (words?.join('  ') ?? '')
      expect(await frank.node.join({ code: typed })).toMatchObject({ handle: 'frank@acme' })
    }
  })

  test('that is looked for before the inviter is there: it waits for him', async () => {
    const { bob, frank, clock, until } = await inviting()
    const { code } = await bob.node.invite({ name: 'frank' })
    await bob.stop()
    const joining = frank.node.join({ code })
    await until('it looks for him', () => clock.isAwaited(30_000))
    await bob.start()
    expect(await joining).toMatchObject({ handle: 'frank@acme' })
  })

  test('that was withdrawn from the list of the open ones no longer does', async () => {
    const { bob, frank } = await inviting()
    const { code, invite_id } = await bob.node.invite({ name: 'frank', standalone: true })
    await bob.node.invite({ name: 'carol' })
    expect(await bob.node.revokeInvite({ invite_id })).toMatchObject({ invite_id, state: 'withdrawn' })
    expect(await bob.node.revokeInvite({ invite_id })).toMatchObject({ state: 'withdrawn' })
    expect(await reason(frank.node.join({ code }))).toBe('withdrawn')
    expect(await states(bob)).toEqual(['withdrawn', 'open'])
  })
})

describe('a code is refused with its reason', () => {
  test('where a character is wrong: nothing is sent', async () => {
    const { bob, frank } = await inviting()
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    for (const at of [8, 20, code.length - 1]) {
      const wrong = code.slice(0, at) + (code[at] === 'q' ? 'p' : 'q') + code.slice(at + 1)
      const error = await refused(frank.node.join({ code: wrong }))
      expect(error).toMatchObject({ symbol: 'invalid_params', details: { reason: 'code' } })
    }
    for (const junk of ['', 'relay1', 'hello world', 'a b c d e f g h i j k l'])
      expect(await reason(frank.node.join({ code: junk }))).toBe('code')
    expect(await frank.node.join({ code })).toMatchObject({ handle: 'frank@acme' })
  })

  test('after its time, which is a day where nothing else was said', async () => {
    for (const [expires_s, ms] of [
      [undefined, DAY_MS],
      [60, 60_000],
    ] as const) {
      const { bob, frank, clock } = await inviting()
      const { code } = await bob.node.invite({ name: 'frank', standalone: true, ...(expires_s ? { expires_s } : {}) })
      clock.advance(ms - 1)
      expect(await states(bob)).toEqual(['open'])
      clock.advance(1)
      expect(await reason(frank.node.join({ code }))).toBe('expired')
      expect(await states(bob)).toEqual(['expired'])
      expect(await isIn(frank)).toBe(false)
    }
  })

  test('a second time, from another laptop', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    await bob.node.invite({ name: 'dave' })
    await frank.node.join({ code })
    const carol = await world.stranger('carol')
    await carol.start()
    const error = await refused(carol.node.join({ code }))
    expect(error).toMatchObject({ symbol: 'forbidden', details: { reason: 'used' } })
    expect(error.hint).toContain('tell the inviter')
    expect((await bob.node.listTeammates({})).items).toHaveLength(2)
  })

  test('at two laptops at once: one is in', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const carol = await world.stranger('carol')
    await carol.start()
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    const calls = await Promise.allSettled([frank.node.join({ code }), carol.node.join({ code })])
    expect(calls.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect((await bob.node.listTeammates({})).items).toHaveLength(2)
    expect([await isIn(frank), await isIn(carol)].filter(Boolean)).toHaveLength(1)
  })

  test('where another code for the same name was used: it adds no second laptop to the newcomer', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const [first, second] = [
      await bob.node.invite({ name: 'frank', standalone: true }),
      await bob.node.invite({ name: 'frank', standalone: true }),
    ]
    await frank.node.join({ code: second.code })
    const mallory = await world.stranger('mallory')
    await mallory.start()
    expect(await reason(mallory.node.join({ code: first.code }))).toBe('used')
    const { items } = await bob.node.listTeammates({})
    expect(items.map(({ devices }) => devices.length)).toEqual([1, 1])
  })

  test('where the inviter made no such invite', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    const parsed = parseCode(code)
    if (!parsed.ok || !parsed.value.inviter) throw new Error('a standalone code')
    const other = encodeCode({ secret: seedOf('another secret').slice(0, 16), inviter: parsed.value.inviter })
    expect(await reason(frank.node.join({ code: other }))).toBe('unknown')
  })

  test('where the inviter cannot be reached, after half a minute', async () => {
    const { bob, frank, clock, until } = await inviting()
    const [{ code: short }, { code: standalone }] = [
      await bob.node.invite({ name: 'frank' }),
      await bob.node.invite({ name: 'carol', standalone: true }),
    ]
    await bob.stop()
    expect(await reason(frank.node.join({ code: standalone }))).toBe('unreachable')
    const joining = reason(frank.node.join({ code: short }))
    await until('it looks for him', () => clock.isAwaited(30_000))
    clock.advance(30_000)
    expect(await joining).toBe('unreachable')
  })

  test('when the caller gives up', async () => {
    const { bob, frank, clock, until } = await inviting()
    const { code } = await bob.node.invite({ name: 'frank' })
    await bob.stop()
    const controller = new AbortController()
    const joining = reason(frank.node.join({ code }, controller.signal))
    await until('it looks for him', () => clock.isAwaited(30_000))
    controller.abort()
    expect(await joining).toBe('unreachable')
  })

  test('to a member of a workspace, the owner included', async () => {
    const { bob, frank } = await inviting()
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    expect(await reason(bob.node.join({ code }))).toBe('member')
    await frank.node.join({ code })
    expect(await reason(frank.node.join({ code }))).toBe('member')
  })
})

describe('a welcome that was lost', () => {
  /** Lets `count` frames through in each direction of the next conversation, then breaks it. */
  function breakAfter(laptop: Laptop, received: number): void {
    const { net } = laptop
    const openJoin = net.openJoin
    net.openJoin = async (target, signal) => {
      net.openJoin = openJoin
      const stream = await openJoin(target, signal)
      let left = received
      return {
        ...stream,
        async receive() {
          if (left-- > 0) return stream.receive()
          // The answer is on its way before the line breaks.
          await stream.receive()
          stream.abort('the line broke')
          return stream.receive()
        },
      }
    }
  }

  test('is asked for again with the same code, by the same laptop; nobody is admitted twice', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    breakAfter(frank, 1)
    expect(await reason(frank.node.join({ code }))).toBe('unreachable')
    expect(await isIn(frank)).toBe(false)
    expect((await bob.node.listTeammates({})).items).toHaveLength(2)
    expect(await states(bob)).toEqual(['used'])
    await frank.restart()
    await bob.restart()
    expect(await frank.node.join({ code })).toMatchObject({ handle: 'frank@acme' })
    expect((await bob.node.listTeammates({})).items).toHaveLength(2)
    await world.connected()
    const { thread_id } = await handOff(bob, 'frank', 'welcome')
    await arrives(world, frank, thread_id)
  })

  test('keeps the door open for that laptop alone, until it has been heard of', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    breakAfter(frank, 1)
    await refused(frank.node.join({ code }))
    const carol = await world.stranger('carol')
    await carol.start()
    expect(await reason(carol.node.join({ code }))).toBe('used')
    await frank.node.join({ code })
    await world.until('the door is closed', async () => (await reason(carol.node.join({ code }))) === 'closed')
  })

  test('before the claim costs nothing: the invite is still open', async () => {
    const { bob, frank } = await inviting()
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    breakAfter(frank, 0)
    await refused(frank.node.join({ code }))
    expect(await states(bob)).toEqual(['open'])
    await frank.node.join({ code })
  })
})

test('an invite is advertised once and no longer than it is open, however much happens at once', async () => {
  const { bob, clock, until } = await inviting()
  const { net } = bob
  const advertise = net.advertise
  const advertised: string[] = []
  net.advertise = async (tag) => {
    advertised.push(tag)
    const stop = await advertise(tag)
    return async () => {
      advertised.splice(advertised.indexOf(tag), 1)
      await stop()
    }
  }
  await Promise.all(['frank', 'carol', 'dave'].map((name) => bob.node.invite({ name })))
  expect(advertised).toHaveLength(3)
  expect(new Set(advertised).size).toBe(3)
  clock.advance(DAY_MS + 1)
  await until('none is advertised', () => advertised.length === 0)
})
