/**
 * frank's laptop is lost, and bob removes it. Real nodes and a real bootstrap server on loopback,
 * and an agent on frank's laptop that goes on asking.
 */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, test } from 'vitest'
import { bootstrapPlaces } from '../../src/home.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import type { Space } from '../../src/store/store.ts'
import { startFront } from '../bootstrap/front.ts'
import { type Laptop, laptop, until } from '../cli/laptop.ts'
import { done } from './team.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/relay-node.js', import.meta.url))
const LOCAL = '--listen 127.0.0.1:0 --no-lan'

/** frank's coding agent: the text of each answer, and whether it is an error. */
async function agentOn(machine: Laptop) {
  const env = machine.env as Record<string, string>
  const client = new Client({ name: 'agent', version: '0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp'], env }))
  return {
    async call(tool: string, args: Record<string, unknown> = {}): Promise<{ text: string; isError: boolean }> {
      const { content, isError } = await client.callTool({ name: tool, arguments: args })
      return { text: (content as { text: string }[])[0]?.text ?? '', isError: isError === true }
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

async function keysIn(folder: string, space: Space): Promise<string[]> {
  const store = await openLevelStore(folder)
  const keys: string[] = []
  for await (const [key] of store.range(space)) keys.push(key)
  await store.close()
  return keys
}

const inboxOf = async (machine: Laptop): Promise<string[]> =>
  ((await done(machine, 'inbox --all'))['items'] as { thread_id: string }[]).map(({ thread_id }) => thread_id)

test('a laptop that is lost: what stops at once, what at the next contact, and what it still gets, which is nothing', async () => {
  await using host = laptop()
  await using bob = laptop()
  await using frank = laptop()
  await using carol = laptop()
  await using server = await startFront(host.spawn('bootstrap --listen 127.0.0.1:0 --stun-port 0 --json'))
  const [address = ''] = server.ready['addresses'] as string[]
  await done(bob, `init --yes --name bob --team acme --device bobs-mbp ${LOCAL} --bootstrap ${address}`)
  for (const [name, machine] of Object.entries({ frank, carol })) {
    const { code } = await done(bob, `invite ${name} --standalone`)
    await done(machine, `join --code-stdin --device ${name}s-mbp ${LOCAL} --bootstrap ${address}`, String(code))
  }
  await done(bob, `bootstrap use ${address}`)
  for (const machine of [bob, frank, carol]) {
    await done(machine, 'stop')
    appendFileSync(machine.home.config, 'mailbox = true\n')
    await done(machine, 'start --detach')
  }
  const { thread_id: id } = await done(bob, 'send frank --summary "the old plan"')
  await until(async () => (await inboxOf(frank)).length === 1)
  await using agent = await agentOn(frank)
  expect(await agent.call('accept_handoff', { thread_id: id })).toMatchObject({ isError: false })
  await until(async () => (await done(bob, `show ${String(id)}`))['status'] === 'accepted')
  await done(carol, 'stop')
  // An agent that waits for news when it happens.
  const waiting = agent.call('check_inbox', { wait_s: 50, status: ['pending'] })

  const refused = await bob.run('member remove frank')
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('--yes')
  const removed = await done(bob, 'member remove frank --yes')
  expect(removed).toMatchObject({
    handle: 'frank@acme',
    member_removed: true,
    removed: ['frank/franks-mbp'],
    stops_now: ['bob/bobs-mbp'],
    later: ['carol/carols-mbp'],
    unconfirmed: ['carol/carols-mbp'],
  })
  // It waits for no timer: what was asked before the removal ends with it.
  expect(await waiting).toMatchObject({ isError: true, text: expect.stringContaining('unauthenticated') as string })
  const calls: [string, Record<string, unknown>][] = [
    ['whoami', {}],
    ['list_teammates', {}],
    ['check_inbox', {}],
    ['view_thread', { thread_id: id }],
    ['send_message', { thread_id: id, body: 'still here' }],
    ['handoff_to_teammate', { to: 'bob@acme', intent: 'inform', summary: 'still here' }],
  ]
  for (const [tool, args] of calls) {
    const answer = await agent.call(tool, args)
    expect(answer, tool).toMatchObject({ isError: true })
    expect(answer.text, tool).toMatch(/^unauthenticated \(?-32001/)
    expect(answer.text, tool).toContain('This device was removed from its workspace.')
  }

  await until(async () => {
    const { participants } = (await done(bob, `show ${String(id)}`)) as {
      participants: { device: string; fenced: boolean }[]
    }
    return participants.some(({ device, fenced }) => device === 'frank/franks-mbp' && fenced)
  })
  expect((await bob.run(`show ${String(id)}`)).stdout).toContain('frank/franks-mbp (removed, fenced off)')
  await done(bob, `message ${String(id)} "what frank must not read"`)
  const { thread_id: newer } = await done(bob, 'send carol --summary "the new plan"')
  await until(async () => {
    const { waiting: owed } = (await done(bob, 'status')) as { waiting: { device: string; stored_at: string[] }[] }
    return owed.length === 1 && owed[0]?.device === 'carol/carols-mbp' && owed[0].stored_at.length === 1
  })
  expect((await bob.run('status')).stdout).toContain('Has not confirmed a removal yet: carol/carols-mbp.')
  expect((await bob.run('doctor')).stdout).toContain('! removals: not confirmed by carol/carols-mbp')
  expect((await bob.run('member list')).stdout).toContain('frank@acme  removed')
  expect((await bob.run('device list')).stdout).toContain('carol/carols-mbp  not reachable')

  // frank's human is told, and keeps what he had. A node that is started anew finds nobody.
  await done(frank, 'stop')
  await done(frank, 'start --detach')
  const shown = await frank.run(`show ${String(id)}`)
  expect(shown.stdout).toContain('This device was removed from its workspace.')
  expect(shown.stdout).toContain('the old plan')
  expect(shown.stdout).not.toContain('must not read')
  expect(await inboxOf(frank)).toEqual([id])
  expect((await frank.run('status')).stdout).toContain('This device was removed from its workspace.')
  expect((await frank.run('send bob --summary hello')).stderr).toContain('This device was removed from its workspace.')
  expect(await frank.run('doctor')).toMatchObject({ code: 1 })
  await done(frank, 'stop')
  expect((await keysIn(frank.home.store, 'secret')).filter((key) => key.startsWith('workspace/'))).toEqual([
    'workspace/0',
  ])

  // bob goes; carol learns of it, and gets what was said since, from her mailboxes of both epochs.
  await done(bob, 'stop')
  await done(carol, 'start --detach')
  await until(async () => (await inboxOf(carol)).includes(String(newer)))
  expect((await carol.run('member list')).stdout).toContain('frank@acme  removed')
  await done(carol, `accept ${String(newer)}`)
  await until(async () => {
    const { delivery } = (await done(carol, `show ${String(newer)}`)) as { delivery: { carriers?: unknown[] } }
    return delivery.carriers !== undefined
  })
  await done(carol, 'stop')
  await done(bob, 'start --detach')
  await until(async () => (await done(bob, `show ${String(newer)}`))['status'] === 'accepted')
  await done(carol, 'start --detach')
  await until(async () => ((await done(bob, 'status'))['unconfirmed'] as string[]).length === 0)
  await until(async () => (await done(bob, 'status'))['outbox'] === 0)
  expect(await bob.run('doctor')).toMatchObject({ stdout: expect.stringContaining('✓ removals') as string })
  await done(bob, 'stop')
  await done(carol, 'stop')
  const ended = once(server.child, 'exit')
  server.child.kill('SIGTERM')
  await ended
  const { store } = bootstrapPlaces(host.home)
  const left = await keysIn(store, 'item')
  expect(left.length).toBeLessThanOrEqual(1)
})
