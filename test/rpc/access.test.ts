/** Who may make which call: with a session token, on a node that only reads, on a service's node. */
import { describe, expect, it } from 'vitest'
import { createRpcClient, type RpcClient } from '../../src/rpc/client.ts'
import { type Change, METHODS, type MethodName } from '../../src/rpc/schema.ts'
import { examples, names, text } from './examples.ts'
import { type Running, running, SESSION } from './rpc-fixture.ts'
import { FRANKS_THREAD } from './scripted-node.ts'
import { TOKENS } from './script.ts'

/** What each method changes, said a second time: whoever adds one thinks about it twice. */
const CHANGES: Record<MethodName, Change> = {
  'message/send': 'handoffs',
  'tasks/get': 'read mark',
  'tasks/list': 'nothing',
  'tasks/update': 'handoffs',
  'tasks/cancel': 'handoffs',
  'agents/list': 'nothing',
  'relay/hello': 'nothing',
  'relay/whoami': 'nothing',
  'relay/status': 'nothing',
  'relay/stop': 'laptop',
  'relay/artifact': 'nothing',
  'relay/export': 'nothing',
  'relay/continue': 'handoffs',
  'relay/annotate': 'handoffs',
  'relay/resolve': 'handoffs',
  'relay/invite': 'human',
  'relay/invites': 'nothing',
  'relay/invite-revoke': 'human',
  'relay/members': 'nothing',
  'relay/remove': 'human',
  'relay/quarantine': 'nothing',
  'relay/quarantine-admit': 'human',
  'relay/bootstrap': 'nothing',
  'relay/bootstrap-use': 'human',
  'relay/bootstrap-drop': 'human',
  'relay/join': 'laptop',
  'relay/approve': 'human',
  'relay/reject': 'human',
  'relay/share': 'human',
  'relay/role': 'human',
  'relay/session-create': 'laptop',
  'relay/sessions': 'nothing',
  'relay/session-revoke': 'laptop',
  'relay/ping': 'nothing',
}

/** The scripted node holds as much as the example calls need, so whatever is let through succeeds. */
async function outcome({ socketPath, node }: Running, name: MethodName, token?: string) {
  const client = createRpcClient({ socketPath, session: SESSION, token })
  const ask = client.call as (method: string, params: unknown) => Promise<unknown>
  const before = node.calls.length
  try {
    await ask(name, examples[name].params)
    return { symbol: 'ok', asked: node.calls.slice(before).map(({ method }) => method) }
  } catch (error) {
    const { symbol, hint } = error as { symbol: string; hint: string }
    expect(hint).not.toBe('')
    return { symbol, asked: node.calls.slice(before).map(({ method }) => method) }
  } finally {
    client.close()
  }
}

async function expectOnly(allowed: readonly Change[], options: Parameters<typeof running>[0], token?: string) {
  for (const name of names) {
    const { symbol, asked } = await outcome(await running(options), name, token)
    const isAllowed = allowed.includes(CHANGES[name])
    expect([name, symbol]).toEqual([name, isAllowed ? 'ok' : 'forbidden'])
    if (!isAllowed) expect(asked.filter((method) => method !== 'whoami')).toEqual([])
  }
}

describe('what a call changes', () => {
  it('is said of every method', () => {
    expect(Object.keys(METHODS).toSorted()).toEqual(Object.keys(CHANGES).toSorted())
    for (const name of names) {
      const { changes } = METHODS[name] as { changes: Change | ((params: unknown) => Change) }
      expect([name, typeof changes === 'function' ? changes(examples[name].params) : changes]).toEqual([
        name,
        CHANGES[name],
      ])
    }
  })

  it('with a token for reading, nothing', () => expectOnly(['nothing'], {}, TOKENS.read))

  it('with a token for writing, no more than handoffs and what counts as read', () =>
    expectOnly(['nothing', 'read mark', 'handoffs'], {}, TOKENS.write))

  it('without a token, anything', () => expectOnly(['nothing', 'read mark', 'handoffs', 'laptop', 'human'], {}))

  it('on a node that only reads, neither handoffs nor what a human decides, whoever calls', async () => {
    await expectOnly(['nothing', 'read mark', 'laptop'], { scope: 'read' })
    await expectOnly(['nothing', 'read mark'], { scope: 'read' }, TOKENS.write)
  })

  it('on a service’s node, nothing that a human decides', () =>
    expectOnly(['nothing', 'read mark', 'handoffs', 'laptop'], { kind: 'service' }))
})

describe('a session token', () => {
  const withToken = (socketPath: string, token: string): RpcClient =>
    createRpcClient({ socketPath, session: SESSION, token })

  it('that is unknown, or no token at all, is refused whatever is asked but who the node is', async () => {
    const at = await running()
    for (const name of names) {
      const { symbol, asked } = await outcome(at, name, 'rns_unknown')
      expect([name, symbol]).toEqual([name, name === 'relay/hello' ? 'ok' : 'unauthenticated'])
      expect(asked).toEqual([])
    }
    for (const token of ['', 'a b']) {
      const client = withToken(at.socketPath, token)
      await expect(client.call('relay/whoami', {})).rejects.toMatchObject({ symbol: 'unauthenticated' })
      client.close()
    }
  })

  it('is looked at after the shape of the call', async () => {
    const { socketPath } = await running()
    const client = withToken(socketPath, 'rns_unknown')
    const call = client.call as (method: string, params: unknown) => Promise<unknown>
    await expect(call('tasks/get', {})).rejects.toMatchObject({ symbol: 'invalid_params' })
    await expect(call('tasks/none', {})).rejects.toMatchObject({ symbol: 'method_not_found' })
    client.close()
  })

  it('sends nothing that looks like a secret: that is a human’s to decide', async () => {
    const { socketPath, client: human } = await running()
    const client = withToken(socketPath, TOKENS.write)
    const params = { thread_id: FRANKS_THREAD, message: text('x'), allow_secrets: true }
    await expect(client.call('message/send', params)).rejects.toMatchObject({ symbol: 'forbidden' })
    await expect(client.call('tasks/cancel', params)).rejects.toMatchObject({ symbol: 'invalid_params' })
    expect(await human.call('message/send', params)).toMatchObject({ thread_id: FRANKS_THREAD })
    client.close()
  })

  it('says what it binds to, and reads a thread without marking it', async () => {
    const { socketPath, client: human } = await running()
    const client = withToken(socketPath, TOKENS.read)
    expect(await client.call('relay/whoami', {})).toMatchObject({ scope: 'read', session: { name: 'read' } })
    expect(await human.call('relay/whoami', {})).toMatchObject({ scope: 'write' })
    expect(await client.call('tasks/get', { thread_id: FRANKS_THREAD })).toMatchObject({ thread_id: FRANKS_THREAD })
    await expect(client.call('tasks/get', { thread_id: FRANKS_THREAD, mark_read: true })).rejects.toMatchObject({
      symbol: 'forbidden',
      hint: expect.stringContaining('mark_read'),
    })
    client.close()
  })

  it('ends at the next call once it is revoked, and no event comes any more', async () => {
    const { socketPath, client: human, node } = await running()
    const client = withToken(socketPath, TOKENS.read)
    const opened = Promise.withResolvers<void>()
    const events = client.events(undefined, opened.resolve)
    const first = events.next()
    await opened.promise
    node.emit({ type: 'inbox', cursor: '1' })
    expect(await first).toMatchObject({ value: { cursor: '1' } })
    await human.call('relay/session-revoke', { name: 'read' })
    await expect(client.call('relay/whoami', {})).rejects.toMatchObject({ symbol: 'unauthenticated' })
    node.emit({ type: 'inbox', cursor: '2' })
    await expect(events.next()).rejects.toMatchObject({ code: 'NODE_NOT_RUNNING' })
    await expect(client.events().next()).rejects.toMatchObject({ symbol: 'unauthenticated' })
    client.close()
  })
})
