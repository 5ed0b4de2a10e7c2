/** Two laptops behind two routers, and a bootstrap server: from the invite to a finished handoff, through everything that happens to a laptop. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockHolder } from '../../src/cli/instance-lock.ts'
import { isRelayed } from '../../src/net/addresses.ts'
import { whyNoLab } from './nat-lab.ts'
import { joinTeam, type NatTeam, natTeam, untilDelivered, untilNode, untilPath, untilWhy } from './nat-team.ts'
import { type Ids, sixteen } from '../node/attachments.ts'
import { done } from './team.ts'

const why = whyNoLab()

describe('behind two routers', () => {
  let team: NatTeam | undefined
  beforeAll(async () => {
    if (why !== undefined) return
    team = await natTeam([{ lan: '192.168.1' }, { lan: '192.168.2' }, { lan: '10.7.0' }])
    await joinTeam(team)
  })
  afterAll(() => team?.[Symbol.asyncDispose]())

  /** The team, or the reason why there is none. */
  function made(skip: (reason: string) => never): NatTeam {
    if (team === undefined) return skip(why ?? 'the team could not be set up')
    return team
  }

  async function handOff({ bob }: NatTeam, summary: string): Promise<string> {
    const { thread_id: thread } = await done(bob, `send frank --summary "${summary}"`)
    return String(thread)
  }

  test('an invite finds its inviter, a handoff is accepted and completed over MCP, and all of it runs through a hole in both routers', async ({
    skip,
  }) => {
    const both = made(skip)
    const { bob, frank } = both
    await using agentOfBob = await both.agent('bob')
    await using agentOfFrank = await both.agent('frank')
    const { thread_id: thread } = await agentOfBob.call('handoff_to_teammate', {
      to: 'frank@acme',
      intent: 'inform',
      summary: '/users is paginated now',
    })
    const { items } = await agentOfFrank.call('check_inbox', { wait_s: 50 })
    expect(items).toMatchObject([{ thread_id: thread }])
    await agentOfFrank.call('accept_handoff', { thread_id: thread })
    await agentOfFrank.call('complete_handoff', { thread_id: thread, result_summary: 'merged' })
    await untilNode(
      bob,
      async (call) => (await call('tasks/get', { thread_id: String(thread) })).status === 'completed',
    )
    await untilPath(bob, 'frank', 'hole-punched')
    await untilPath(frank, 'bob', 'hole-punched')
    const ping = await done(bob, 'ping frank')
    expect(ping).toMatchObject({ items: [{ device: 'frank/frank-xps', path: 'hole-punched' }] })
    const status = await done(bob, 'status')
    expect(status['teammates']).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ handle: 'frank@acme', devices: [expect.objectContaining({ path: 'hole-punched' })] }),
      ]),
    )
  })

  test('the bootstrap server is killed: the two go on; it comes back: both hold a place again', async ({ skip }) => {
    const both = made(skip)
    const { bob, frank } = both
    const holdsPlace = (status: { addresses: string[] }): boolean => status.addresses.some(isRelayed)
    await untilNode(bob, async (call) => holdsPlace(await call('relay/status', {})))
    await both.killServer()
    await untilNode(bob, async (call) => !holdsPlace(await call('relay/status', {})))
    await untilDelivered(bob, await handOff(both, 'without a server'))
    expect(await done(bob, 'ping frank')).toMatchObject({ items: [{ path: 'hole-punched' }] })
    await both.startServer()
    for (const one of [bob, frank]) await untilNode(one, async (call) => holdsPlace(await call('relay/status', {})))
  })

  test('a laptop that goes to another network is reached there', async ({ skip }) => {
    const both = made(skip)
    both.lab.move(1, 2)
    await untilDelivered(both.bob, await handOff(both, 'where are you?'))
    await untilPath(both.bob, 'frank', 'hole-punched')
  })

  test('a laptop that sleeps with its link down gets what was sent meanwhile when it wakes', async ({ skip }) => {
    const both = made(skip)
    const { bob, frank, lab } = both
    const pid = lockHolder(frank.home) ?? 0
    lab.setLink(1, 'down')
    process.kill(pid, 'SIGSTOP')
    // Asleep until bob's laptop has noticed: longer than what counts as a slow moment.
    await untilNode(bob, async (call) => (await call('relay/whoami', {})).reachable_peers === 0)
    const thread = await handOff(both, 'good morning')
    lab.setLink(1, 'up')
    process.kill(pid, 'SIGCONT')
    const woken = performance.now()
    await untilDelivered(bob, thread)
    console.log(`delivered ${((performance.now() - woken) / 1000).toFixed(1)} s after waking`)
  })

  test('five packets of a hundred are lost: a handoff arrives, and a hole is made', async ({ skip }) => {
    const both = made(skip)
    const { bob, frank, lab } = both
    lab.lose(5)
    await done(frank, 'stop')
    const thread = await handOff(both, 'through a bad line')
    await done(frank, 'start --detach')
    await untilDelivered(bob, thread)
    await untilPath(bob, 'frank', 'hole-punched')
  })
})

test('two networks with the same addresses are two networks all the same, also for an invite with addresses in it', async ({
  skip,
}) => {
  if (why !== undefined) skip(why)
  await using team = await natTeam([{ lan: '192.168.1' }, { lan: '192.168.1' }])
  await joinTeam(team, 'standalone')
  const { thread_id: thread } = await done(team.bob, 'send frank --summary hello')
  await untilDelivered(team.bob, String(thread))
  await untilPath(team.bob, 'frank', 'hole-punched')
})

test('behind a router that lets no hole be made, all goes through the relay, and both say why', async ({ skip }) => {
  if (why !== undefined) skip(why)
  await using team = await natTeam([{ lan: '192.168.1', symmetric: true }, { lan: '192.168.2' }])
  await joinTeam(team)
  const { thread_id: thread } = await done(team.bob, 'send frank --summary hello')
  await untilDelivered(team.bob, String(thread))
  for (const [from, to] of [
    [team.bob, 'frank'],
    [team.frank, 'bob'],
  ] as const)
    await untilWhy(from, to, 'a hole through both routers could not be made')

  // Sixteen artifacts of 5 MiB together go the same way.
  const all = sixteen(1024 * 1024)
  let ids: Ids[] = []
  await untilNode(team.bob, async (call) => {
    const message = { parts: [{ type: 'text' as const, text: 'through the relay' }] }
    const artifacts = all.map(([artifact]) => artifact)
    const sent = await call('message/send', { recipient: 'frank@acme', intent: 'inform', message, artifacts })
    ids = sent.artifact_ids.map((artifact_id) => ({ thread_id: sent.thread_id, artifact_id }))
    return true
  })
  await untilDelivered(team.bob, ids[0]?.thread_id ?? '')
  for (const [i, [, bytes]] of all.entries()) {
    const file = join(team.frank.home.home, `${i}`)
    await done(team.frank, `show ${ids[i]?.thread_id} --artifact ${ids[i]?.artifact_id} --out ${file}`)
    expect(Buffer.compare(readFileSync(file), bytes), `${i}`).toBe(0)
  }
  await untilPath(team.bob, 'frank', 'relayed')
})
