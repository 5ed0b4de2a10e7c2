/** Members who only read, and services: what the owner says they are, and what they can do. */
import { describe, expect, test } from 'vitest'
import type { JoinParams } from '../../src/node/api.ts'
import { inviting, isIn, reason, states } from './inviting.ts'
import {
  agreed,
  arrives,
  founder,
  handOff,
  type Laptop,
  pair,
  plain,
  refused,
  says,
  SESSION,
  symbolOf,
  view,
  viewOnce,
} from './world.ts'

const roleOf = async (at: Laptop) => (await at.node.whoami()).role

describe('a member who became a reader', () => {
  async function demoted() {
    const world = await pair()
    const { bob, frank } = world
    const accepted = await handOff(bob, 'frank', 'under way')
    const pending = await handOff(bob, 'frank', 'waits')
    const sent = await handOff(frank, 'bob', 'from frank')
    for (const { thread_id } of [accepted, pending]) await arrives(world, frank, thread_id)
    await frank.node.accept({ thread_id: accepted.thread_id }, SESSION)
    await agreed(world, accepted.thread_id, bob, frank)
    expect(await bob.node.setRole({ handle: 'frank', role: 'reader' })).toMatchObject({
      handle: 'frank@acme',
      role: 'reader',
      changed: true,
      open_handoffs: 3,
    })
    await world.until('frank has heard of it', async () => (await roleOf(frank)) === 'reader')
    return { ...world, accepted, pending, sent }
  }

  test('writes nothing, with one reason and what to do; what was open stays as it is', async () => {
    const { bob, frank, accepted, pending, sent } = await demoted()
    const { thread_id, revision_id } = accepted
    const before = await view(frank, thread_id)
    const digest = 'ab'.repeat(32)
    const calls = [
      handOff(frank, 'bob', 'more'),
      frank.node.sendMessage({ thread_id, message: says('x') }, SESSION),
      frank.node.accept({ thread_id: pending.thread_id }, SESSION),
      frank.node.complete({ thread_id, result_summary: 'done' }, SESSION),
      frank.node.cancel({ thread_id: sent.thread_id }, SESSION),
      frank.node.continueHandoff(
        { thread_id, expected_revision_id: revision_id, record: { open_questions: [] } },
        SESSION,
      ),
      frank.node.annotate({ thread_id, revision_id, body: 'why?' }, SESSION),
      frank.node.resolve({ thread_id, annotation_id: 'ann_a', resolved_revision_id: revision_id }, SESSION),
      frank.node.approve({ thread_id, digest }, SESSION),
      frank.node.reject({ thread_id, digest }, SESSION),
      frank.node.share({ thread_id, reader: 'bob' }, SESSION),
    ]
    for (const error of await Promise.all(calls.map(refused))) {
      expect(error.symbol).toBe('forbidden')
      expect(error.message).toContain('You are a reader in this workspace')
      expect(error.hint).toContain('relay-node member role frank member')
    }
    for (const at of [bob, frank]) expect((await view(at, thread_id)).state_digest).toBe(before.state_digest)
  })

  test('still reads and acknowledges, and writes again once it is a member', async () => {
    const { bob, frank, accepted, ...world } = await demoted()
    const { thread_id } = accepted
    const said = await bob.node.sendMessage({ thread_id, message: says('do you see this?') }, SESSION)
    const [, read] = await agreed(world, thread_id, bob, frank)
    expect(read?.entries.map(({ content }) => plain(content)?.body)).toContain('do you see this?')
    expect(said.thread_id).toBe(thread_id)
    await viewOnce(world, bob, thread_id, ({ delivery }) => (delivery.delivered ?? []).length === 1)
    expect(await bob.node.setRole({ handle: 'frank@acme', role: 'member' })).toMatchObject({ changed: true })
    await world.until('frank has heard of it', async () => (await roleOf(frank)) === 'member')
    await frank.node.complete({ thread_id, result_summary: 'done' }, SESSION)
    await viewOnce(world, bob, thread_id, ({ status }) => status === 'completed')
  })

  test('takes no handoff, and shows as what it is', async () => {
    const { bob, frank } = await demoted()
    const error = await refused(handOff(bob, 'frank', 'more'))
    expect(error.symbol).toBe('forbidden')
    expect(error.hint).toContain('relay-node share')
    const { items } = await bob.node.listTeammates({ role: 'reader' })
    expect(items.map(({ handle }) => handle)).toEqual(['frank@acme'])
    expect(await frank.node.whoami()).toMatchObject({ role: 'reader', kind: 'person' })
  })
})

test('a role is the owner’s to give, to others, and only where it changes something', async () => {
  const { bob, frank } = await pair()
  expect(await symbolOf(frank.node.setRole({ handle: 'bob', role: 'reader' }))).toBe('forbidden')
  expect(await symbolOf(bob.node.setRole({ handle: 'bob', role: 'reader' }))).toBe('invalid_params')
  expect(await symbolOf(bob.node.setRole({ handle: 'erin', role: 'reader' }))).toBe('recipient_not_found')
  const { roster } = await bob.node.status()
  expect(await bob.node.setRole({ handle: 'frank', role: 'member' })).toMatchObject({ changed: false })
  expect((await bob.node.status()).roster).toEqual(roster)
})

describe('an invite', () => {
  test('takes in a reader as a reader', async () => {
    const { bob, frank } = await inviting()
    const invite = await bob.node.invite({ name: 'frank', role: 'reader' })
    expect(invite).toMatchObject({ role: 'reader', kind: 'person' })
    expect(await frank.node.join({ code: invite.code })).toMatchObject({ role: 'reader', kind: 'person' })
    expect(await roleOf(frank)).toBe('reader')
  })

  test.each([
    ['write', 'member'],
    ['read', 'reader'],
  ] as const)('takes in a service with scope %s', async (service, role) => {
    const { bob, frank, ...world } = await inviting()
    const { code } = await bob.node.invite({ name: 'ci', kind: 'service', role })
    expect(await frank.node.join({ code, service })).toMatchObject({ handle: 'ci@acme', role, kind: 'service' })
    expect(await frank.node.whoami()).toMatchObject({ handle: 'ci@acme', role, kind: 'service' })
    const { items } = await bob.node.listTeammates({})
    expect(items.find(({ handle }) => handle === 'ci@acme')).toMatchObject({ kind: 'service', role })
    if (role === 'reader') return
    await world.connected()
    const { thread_id } = await handOff(frank, 'bob', 'the build is red')
    expect(await arrives(world, bob, thread_id)).toMatchObject({ sender: { handle: 'ci@acme', kind: 'service' } })
    const seen = await view(bob, thread_id)
    expect([seen.from.kind, seen.entries[0]?.from.kind]).toEqual(['service', 'service'])
    expect((await view(frank, thread_id)).to).not.toHaveProperty('kind')
  })

  test.each<[string, Parameters<Laptop['node']['invite']>[0], Omit<JoinParams, 'code'>, string, string]>([
    ['a person', { name: 'ci' }, { service: 'read' }, 'kind', 'relay-node join'],
    ['a service', { name: 'ci', kind: 'service', role: 'reader' }, {}, 'kind', 'init --service --scope read'],
    [
      'a service that reads',
      { name: 'ci', kind: 'service', role: 'reader' },
      { service: 'write' },
      'scope',
      'init --service --scope read',
    ],
    ['a service that writes', { name: 'ci', kind: 'service' }, { service: 'read' }, 'scope', '--scope write'],
  ])('for %s takes in nothing else, and stays good', async (_, params, as, why, hint) => {
    const { bob, frank } = await inviting()
    const { code } = await bob.node.invite(params)
    const error = await refused(frank.node.join({ code, ...as }))
    expect(error).toMatchObject({ symbol: 'forbidden', details: { reason: why } })
    expect(error.hint).toContain(hint)
    expect(await isIn(frank)).toBe(false)
    expect(await states(bob)).toEqual(['open'])
    const { items } = await bob.node.listTeammates({})
    expect(items).toHaveLength(1)
  })
})

test('an owner who says one thing in the offer and another in the roster is not believed', async () => {
  const { bob, frank } = await inviting()
  const { code } = await bob.node.invite({ name: 'frank', kind: 'service' })
  await frank.stop()
  // The stream between them says `person` where bob’s node said `service`.
  await frank.start({
    through: (net) => ({
      ...net,
      async openJoin(...args) {
        const stream = await net.openJoin(...args)
        return {
          ...stream,
          device: stream.device,
          async receive() {
            const frame = await stream.receive()
            const text = frame && Buffer.from(frame).toString('latin1')
            if (!text?.includes('offer')) return frame
            return new Uint8Array(Buffer.from(text.replace('gservice', 'fperson'), 'latin1'))
          },
        }
      },
    }),
  })
  expect(await reason(frank.node.join({ code }))).toBe('proof')
  expect(await isIn(frank)).toBe(false)
})

test('nobody is a reader or a service by founding', async () => {
  const { bob } = await founder()
  expect(await bob.node.whoami()).toMatchObject({ role: 'member', kind: 'person' })
})
