/** What people have to be able to trust: who is refused what, over real MCP clients and real nodes, and that nothing changed by it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TOOLS } from '../../src/mcp/tools.ts'
import { type Laptop, laptop, until } from '../cli/laptop.ts'
import { type Agent, agentAt, good, refusal } from './agent.ts'
import { done } from './team.ts'

const LOCAL = '--listen 127.0.0.1:0 --no-lan'
const FORBIDDEN = 'forbidden -32002'
const READING = ['whoami', 'list_teammates', 'search_handoffs', 'check_inbox', 'view_thread', 'read_artifact']
const WRITING = TOOLS.map(({ name }) => name).filter((name) => !READING.includes(name))

interface Shown {
  status: string
  revision_id: string
  state_digest: string
  artifacts: { artifact_id: string }[]
  readers: { handle: string }[]
  entries: { kind: string; body: string }[]
}

async function show(machine: Laptop, thread: string): Promise<Shown | undefined> {
  const ran = await machine.run(`show ${thread} --json`)
  return ran.code === 0 ? (ran.json() as unknown as Shown) : undefined
}

/** The thread at every machine, once all hold the same of it and open all of it. */
async function agreed(thread: string, ...machines: Laptop[]): Promise<Shown> {
  let found: Shown | undefined
  await until(async () => {
    const views = await Promise.all(machines.map((machine) => show(machine, thread)))
    const [first] = views
    const isSame = views.every((view) => view?.state_digest === first?.state_digest)
    const isOpen = views.every((view) => view?.entries.every(({ body }) => body === 'ok' || body === 'none'))
    if (first && isSame && isOpen) found = first
    return found !== undefined
  })
  if (!found) throw new Error('until() returned before it was so')
  return found
}

/** Runs `act` and asserts that it left the thread as it is at every machine. */
async function changesNothing(thread: string, machines: readonly Laptop[], act: () => Promise<void>): Promise<void> {
  const before = await Promise.all(machines.map(async (machine) => (await show(machine, thread))?.state_digest))
  expect(before.every((digest) => digest !== undefined)).toBe(true)
  await act()
  for (const [at, machine] of machines.entries()) expect((await show(machine, thread))?.state_digest).toBe(before[at])
}

/** What each tool that writes is called with; what they name is there. */
function writes(thread: Shown & { thread_id: string }): Record<string, Record<string, unknown>> {
  const { thread_id, revision_id } = thread
  return {
    handoff_to_teammate: { to: 'bob@acme', intent: 'inform', summary: 'from the wrong one' },
    accept_handoff: { thread_id },
    send_message: { thread_id, body: 'me too' },
    continue_handoff: { thread_id, expected_revision_id: revision_id, record: { open_questions: ['why?'] } },
    annotate_handoff: { thread_id, revision_id, body: 'look here' },
    resolve_annotation: { thread_id, annotation_id: 'ann_a', resolved_revision_id: revision_id },
    complete_handoff: { thread_id, result_summary: 'done' },
    cancel_handoff: { thread_id },
  }
}

/** Every tool that writes is refused as `forbidden`; `besides` are left out. */
async function expectForbidden(agent: Agent, thread: Shown & { thread_id: string }, besides: string[] = []) {
  const calls = writes(thread)
  expect(Object.keys(calls).toSorted()).toEqual([...WRITING].toSorted())
  for (const name of WRITING.filter((tool) => !besides.includes(tool)))
    expect([name, await refusal(agent.call(name, calls[name]))]).toEqual([name, FORBIDDEN])
}

/** Every tool that reads works, and says what the thread says. */
async function expectReading(agent: Agent, thread: Shown & { thread_id: string }): Promise<void> {
  const { thread_id } = thread
  expect(await good(agent.call('whoami'))).toMatchObject({ node_state: 'ready' })
  await good(agent.call('list_teammates'))
  const { items } = (await good(agent.call('check_inbox'))) as { items: { thread_id: string }[] }
  expect(items.map((item) => item.thread_id)).toContain(thread_id)
  const seen = await good(agent.call('view_thread', { thread_id }))
  expect(seen).toMatchObject({ thread_id, status: thread.status, state_digest: thread.state_digest })
  expect(JSON.stringify(seen)).toContain('the paginated answer')
  const found = await good(agent.call('search_handoffs', { query: 'paginated' }))
  expect(JSON.stringify(found)).toContain(thread_id)
  const artifact = await good(agent.call('read_artifact', { thread_id, artifact_id: thread.artifacts[0]?.artifact_id }))
  expect(JSON.stringify(artifact)).toContain('pytest tests/users')
}

interface Three extends AsyncDisposable {
  bob: Laptop
  frank: Laptop
  carol: Laptop
}

/** bob's team on loopback. `carol`: how the third laptop comes in. */
async function three(carolJoins: { invite: string; join: string }): Promise<Three> {
  const [bob, frank, carol] = [laptop(), laptop(), laptop()]
  await done(bob, `init --yes --name bob --team acme --device bobs-mbp ${LOCAL}`)
  const forFrank = await done(bob, 'invite frank --standalone')
  await done(frank, `join --code-stdin --device frank-xps ${LOCAL}`, String(forFrank['code']))
  const forCarol = await done(bob, `invite ${carolJoins.invite} --standalone`)
  await done(carol, `${carolJoins.join} --code-stdin --device third ${LOCAL}`, String(forCarol['code']))
  return {
    bob,
    frank,
    carol,
    async [Symbol.asyncDispose]() {
      for (const machine of [bob, frank, carol]) await machine[Symbol.asyncDispose]()
    },
  }
}

const AS_MEMBER = { invite: 'carol', join: 'join' }

/** A handoff from bob to frank that frank works on. */
async function handedOff({ bob, frank }: Pick<Three, 'bob' | 'frank'>) {
  const { thread_id } = await done(bob, 'send frank --summary "the paginated answer" --test "pytest tests/users/"')
  const id = String(thread_id)
  await agreed(id, bob, frank)
  await done(frank, `accept ${id}`)
  return { thread_id: id, ...(await agreed(id, bob, frank)) }
}

describe('denied', () => {
  test('is whoever takes no part, as if there were no such thread; naming somebody gives no access', async () => {
    await using team = await three(AS_MEMBER)
    const { bob, frank, carol } = team
    const thread = await handedOff(team)
    const { thread_id, revision_id } = thread
    await using outsider = await agentAt(carol)
    await using sender = await agentAt(bob)
    await changesNothing(thread_id, [bob, frank], async () => {
      const calls = {
        ...writes(thread),
        view_thread: { thread_id },
        read_artifact: { thread_id, artifact_id: 'art_a' },
      }
      for (const [name, args] of Object.entries(calls).filter(([tool]) => tool !== 'handoff_to_teammate'))
        expect([name, await refusal(outsider.call(name, args))]).toEqual([name, 'thread_not_found -32006'])
      const assigned = { thread_id, revision_id, body: 'carol, look', assignee: 'carol@acme' }
      expect(await refusal(sender.call('annotate_handoff', assigned))).toBe('not_a_participant -32005')
    })
    await good(sender.call('send_message', { thread_id, body: 'carol@acme should see this' }))
    await agreed(thread_id, bob, frank)
    expect(await refusal(outsider.call('view_thread', { thread_id }))).toBe('thread_not_found -32006')
  })

  test('is the wrong side', async () => {
    await using team = await three(AS_MEMBER)
    const { bob, frank } = team
    const { thread_id } = await handedOff(team)
    await using sender = await agentAt(bob)
    await using recipient = await agentAt(frank)
    await changesNothing(thread_id, [bob, frank], async () => {
      const wrong = 'not_authorized_transition -32009'
      expect(await refusal(sender.call('accept_handoff', { thread_id }))).toBe(wrong)
      expect(await refusal(sender.call('complete_handoff', { thread_id, result_summary: 'done' }))).toBe(wrong)
      expect(await refusal(recipient.call('cancel_handoff', { thread_id }))).toBe(wrong)
    })
  })

  test('is a reader who writes; it reads everything, and all three see that it does', async () => {
    await using team = await three(AS_MEMBER)
    const { bob, frank, carol } = team
    const { thread_id } = await handedOff(team)
    const unasked = await bob.run(`share ${thread_id} carol --json`)
    expect(unasked.code).toBe(2)
    expect(unasked.stdout).toContain('also what was written before')
    expect((await done(bob, `share ${thread_id} carol --yes`))['devices']).toEqual(['carol/third'])
    const thread = { thread_id, ...(await agreed(thread_id, bob, frank, carol)) }
    expect(thread.readers).toMatchObject([{ handle: 'carol@acme' }])
    await using reader = await agentAt(carol)
    await using sender = await agentAt(bob)
    await expectReading(reader, thread)
    expect(await good(reader.call('check_inbox', { side: 'reader' }))).toMatchObject({
      items: [{ thread_id, side: 'reader', sender: { handle: 'bob@acme' }, recipient: 'frank@acme' }],
    })
    // What the two sides wrote is told apart where one is neither of them.
    expect(await good(reader.call('search_handoffs', { side: 'reader' }))).toMatchObject({
      items: [{ thread_id, side: 'reader', words: { untrusted: { block: expect.stringContaining('from=bob@acme') } } }],
    })
    expect((await carol.run('search --side reader')).stdout).toContain(thread_id)
    for (const agent of [reader, sender])
      expect(await good(agent.call('view_thread', { thread_id }))).toMatchObject({
        readers: [{ handle: 'carol@acme', devices: ['carol/third'], shared_by: 'bob@acme' }],
      })
    await changesNothing(thread_id, [bob, frank, carol], async () => {
      await expectForbidden(reader, thread, ['handoff_to_teammate'])
      const again = await bob.run(`share ${thread_id} carol --yes`)
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('can read this handoff already') })
      const onwards = await carol.run(`share ${thread_id} bob --yes --json`)
      expect(onwards.json()).toMatchObject({ error: { symbol: 'invalid_params' } })
    })
    const shown = await frank.run(`show ${thread_id}`)
    expect(shown.stdout).toContain('shares it with carol@acme, to read')
    expect(shown.stdout).toContain('Read by carol@acme (unverified) on carol/third, since bob@acme shared it')
    expect((await carol.run(`show ${thread_id}`)).stdout).toContain('Read by carol@acme (you) on carol/third')
    const inbox = await carol.run('inbox --shared')
    expect(inbox.stdout).toContain('shared with you to read')
  })
})

describe('read-only', () => {
  test('is a member with the role reader', async () => {
    await using team = await three({ invite: 'carol --role reader', join: 'join' })
    const { bob, frank, carol } = team
    const { thread_id } = await handedOff(team)
    await done(bob, `share ${thread_id} carol --yes`)
    const thread = { thread_id, ...(await agreed(thread_id, bob, frank, carol)) }
    await using agent = await agentAt(carol)
    await expectReading(agent, thread)
    expect(await good(agent.call('whoami'))).toMatchObject({ role: 'reader', scope: 'read' })
    await changesNothing(thread_id, [bob, frank, carol], () => expectForbidden(agent, thread))
    await using sender = await agentAt(bob)
    const handoff = { to: 'carol@acme', intent: 'inform', summary: 'x' }
    expect(await refusal(sender.call('handoff_to_teammate', handoff))).toBe(FORBIDDEN)
    for (const command of [
      'send bob --summary x',
      `message ${thread_id} x`,
      `share ${thread_id} frank --yes`,
      'invite eve',
    ])
      expect((await carol.run(`${command} --json`)).json()).toMatchObject({ error: { symbol: 'forbidden' } })
    expect((await bob.run('status')).stdout).toContain('carol@acme (unverified)  reader, reachable')
    // The owner takes it back: from then on carol can be handed something, and write.
    await done(bob, 'member role carol member')
    await until(async () => (await good(agent.call('whoami')))['role'] === 'member')
    await good(agent.call('handoff_to_teammate', { to: 'bob@acme', intent: 'inform', summary: 'I am back' }))
    expect(await refusal(agent.call('send_message', { thread_id, body: 'x' }))).toBe(FORBIDDEN)
  })

  test('is a service with the scope read, for every caller on its machine; nothing there is a human', async () => {
    await using team = await three({ invite: 'ci --service --scope read', join: 'init --service --scope read' })
    const { bob, frank, carol: machine } = team
    const { thread_id } = await handedOff(team)
    await done(bob, `share ${thread_id} ci --yes`)
    const thread = { thread_id, ...(await agreed(thread_id, bob, frank, machine)) }
    await using agent = await agentAt(machine)
    expect((await agent.client.listTools()).tools.map(({ name }) => name)).toEqual(READING)
    expect(agent.client.getInstructions()).toContain('READ-ONLY')
    await expectReading(agent, thread)
    expect(await good(agent.call('whoami'))).toMatchObject({ handle: 'ci@acme', kind: 'service', scope: 'read' })
    // It is the only one who reads here, so what it read is read.
    expect(await good(agent.call('check_inbox'))).toMatchObject({ unread_on_this_page: 0 })
    await changesNothing(thread_id, [bob, frank, machine], () => expectForbidden(agent, thread))
    for (const command of [
      'send bob --summary x',
      'invite eve',
      `share ${thread_id} frank --yes`,
      'member role bob reader',
    ])
      expect([command, (await machine.run(`${command} --json`)).json()]).toMatchObject([
        command,
        { error: { symbol: 'forbidden' } },
      ])
    expect((await machine.run('config')).stdout).toContain('scope       = "read"  (settings file)')
    expect((await bob.run('status')).stdout).toContain('ci@acme (service, unverified)  reader, reachable')
  })

  test('is an agent with a token for reading, on a laptop whose user writes', async () => {
    await using team = await three(AS_MEMBER)
    const { bob, frank } = team
    const { thread_id } = await handedOff(team)
    await using human = await agentAt(frank)
    await good(human.call('view_thread', { thread_id }))
    await done(bob, `message ${thread_id} "one more thing"`)
    const thread = { thread_id, ...(await agreed(thread_id, bob, frank)) }
    await done(bob, `message ${thread_id} "and another"`)
    await until(async () => JSON.stringify(await done(frank, 'inbox')).includes('"unread_count":1'))
    const { token } = await done(frank, 'session create --scope read --name review')
    const file = join(frank.home.home, 'token')
    writeFileSync(file, `${String(token)}\n`, { mode: 0o600 })
    await using bound = await agentAt(frank, { token: String(token) })
    await using fromFile = await agentAt(frank, { args: ['--token-file', file] })
    for (const agent of [bound, fromFile]) {
      expect((await agent.client.listTools()).tools.map(({ name }) => name)).toEqual(READING)
      expect(agent.client.getInstructions()).toContain('READ-ONLY')
      expect(await good(agent.call('whoami'))).toMatchObject({ scope: 'read', session: { name: 'review' } })
    }
    const { state_digest } = await agreedNow(thread_id, bound)
    await expectReading(bound, { ...thread, state_digest })
    await expectForbidden(bound, thread)
    // What it looked at counts as unread still: the mark is the human's.
    expect(await good(bound.call('check_inbox'))).toMatchObject({ unread_on_this_page: 1 })
    expect((await agreedNow(thread_id, bound)).state_digest).toBe(state_digest)
    expect((await human.client.listTools()).tools).toHaveLength(TOOLS.length)
    await good(human.call('send_message', { thread_id, body: 'the human’s own agent writes' }))
  })
})

/** The thread as an agent sees it. */
async function agreedNow(thread_id: string, agent: Agent): Promise<{ state_digest: string }> {
  return (await good(agent.call('view_thread', { thread_id }))) as { state_digest: string }
}

test('stale revision: of two agents that go on from one, the second is told, rereads and succeeds', async () => {
  await using team = await three(AS_MEMBER)
  const { bob, frank } = team
  const { thread_id, revision_id } = await handedOff(team)
  await using first = await agentAt(frank)
  await using second = await agentAt(frank)
  const go = (agent: Agent, expected: string, open_questions: string[]) =>
    agent.call('continue_handoff', { thread_id, expected_revision_id: expected, record: { open_questions } })
  const done1 = await good(go(first, revision_id, ['which page size?']))
  await agreed(thread_id, bob, frank)
  await changesNothing(thread_id, [bob, frank], async () => {
    const stale = await go(second, revision_id, ['which order?'])
    expect(stale.data).toMatchObject({
      symbol: 'stale_revision',
      code: -32014,
      details: { current: [done1['revision_id']] },
    })
  })
  const reread = await good(second.call('view_thread', { thread_id }))
  expect(reread['revision_id']).toBe(done1['revision_id'])
  const done2 = await good(go(second, String(reread['revision_id']), ['which page size?', 'which order?']))
  expect(done2).toMatchObject({ parents: [done1['revision_id']] })
  const settled = await agreed(thread_id, bob, frank)
  expect(settled.revision_id).toBe(done2['revision_id'])
})

test('revoked credential: a token ends the session that runs with it, at its next call and for good', async () => {
  await using team = await three(AS_MEMBER)
  const { bob, frank } = team
  const { thread_id } = await handedOff(team)
  const { token } = await done(frank, 'session create --scope write --name night')
  const given = { token: String(token) }
  await using bound = await agentAt(frank, given)
  expect((await bound.client.listTools()).tools).toHaveLength(TOOLS.length)
  await good(bound.call('send_message', { thread_id, body: 'before' }))
  // The node goes and comes back: the session is what it was, and no more.
  await done(frank, 'stop')
  expect(await good(bound.call('whoami'))).toMatchObject({ session: { name: 'night', scope: 'write' } })
  expect((await frank.run('session list')).stdout).toMatch(/^night {2}write {2}active until .+, last used /)
  await agreed(thread_id, bob, frank)
  await done(frank, 'session revoke night')
  await changesNothing(thread_id, [bob, frank], async () => {
    const calls: [string, Record<string, unknown>][] = [
      ['whoami', {}],
      ['view_thread', { thread_id }],
      ['send_message', { thread_id, body: 'after' }],
    ]
    for (const [name, args] of calls) {
      const { data, text } = await bound.call(name, args)
      expect([name, data['symbol'], data['code']]).toEqual([name, 'unauthenticated', -32001])
      expect(text).toContain('The session night was revoked.')
    }
    await using anew = await agentAt(frank, given)
    expect((await anew.client.listTools()).tools.map(({ name }) => name)).toEqual(READING)
    expect(await refusal(anew.call('whoami'))).toBe('unauthenticated -32001')
  })
  expect((await frank.run('session revoke night')).code).toBe(1)
  expect(JSON.stringify(await done(frank, 'session list'))).not.toContain(String(token))
})
