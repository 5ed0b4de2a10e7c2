import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCallKeys } from '../../src/mcp/call-keys.ts'
import { ApiError } from '../../src/rpc/client.ts'
import { createRpcServer } from '../../src/rpc/server.ts'
import { realSystem } from '../../src/system.ts'
import { running } from '../rpc/rpc-fixture.ts'
import type { ScriptedCall } from '../rpc/script.ts'
import { FRANKS_THREAD } from '../rpc/scripted-node.ts'
import { bareProcess, connected } from './mcp-fixture.ts'

const HANDOFF = { to: 'frank@acme', intent: 'inform', summary: 'Done.' }
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function keysOf(calls: ScriptedCall[]): string[] {
  return calls.map(
    ({ params }) => (params as { metadata: { client_idempotency_key: string } }).metadata.client_idempotency_key,
  )
}

describe('the key of a call', () => {
  it('is new for each call that succeeds, even with the same arguments', async () => {
    const { agent, node } = await connected()
    const first = await agent.tool('handoff_to_teammate', HANDOFF)
    const second = await agent.tool('handoff_to_teammate', HANDOFF)
    expect(second.structured['thread_id']).not.toBe(first.structured['thread_id'])
    const keys = keysOf(node.calls)
    expect(new Set(keys).size).toBe(2)
    for (const key of keys) expect(key).toMatch(UUID_V4)
  })

  it('is the same when a call is repeated after an error, in whatever order its arguments come', async () => {
    const { agent, node } = await connected()
    node.failNext('sendHandoff', new ApiError('rate_limited', 'too fast'))
    await agent.tool('handoff_to_teammate', HANDOFF)
    await agent.tool('handoff_to_teammate', { ...HANDOFF, summary: 'Another.' })
    await agent.tool('handoff_to_teammate', Object.fromEntries(Object.entries(HANDOFF).toReversed()))
    const [failed, other, again] = keysOf(node.calls)
    expect(again).toBe(failed)
    expect(other).not.toBe(failed)
  })

  it('is the same when the agent took the call back and asks again: it is done once', async () => {
    const { agent, node } = await connected()
    const held = node.holdNext('sendMessage')
    const abort = new AbortController()
    const args = { thread_id: FRANKS_THREAD, body: 'Hello.' }
    const lost = agent.tool('send_message', args, { signal: abort.signal })
    await held.arrived
    abort.abort('too slow')
    await expect(lost).rejects.toBeDefined()
    held.release()
    const again = await agent.tool('send_message', args)
    expect(again.structured).toMatchObject({ sequence_no: 2 })
    const [first, second] = keysOf(node.calls)
    expect(second).toBe(first)
  })

  it.each([0, 7])('is the same when the answer to request %i crossed its being taken back', async (id) => {
    const { node, socketPath } = await running()
    const child = bareProcess({ TEST_SOCKET: socketPath })
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const say = (message: object): boolean => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const ask = async (request: number, method: string, params: object): Promise<void> => {
      say({ id: request, method, params })
      expect(JSON.parse((await answers.next()).value as string)).toMatchObject({ id: request, result: {} })
    }
    await ask(99, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '0' },
    })
    const call = { name: 'send_message', arguments: { thread_id: FRANKS_THREAD, body: 'Hello.' } }
    await ask(id, 'tools/call', call)
    say({ method: 'notifications/cancelled', params: { requestId: id, reason: 'too slow' } })
    await ask(id + 1, 'tools/call', call)
    const [first, second] = keysOf(node.calls)
    expect(second).toBe(first)
  })

  it('is the same when the node goes away before it answered', async () => {
    const { agent, node, server, socketPath } = await connected()
    const held = node.holdNext('sendMessage')
    // The node dies while it writes: this write is done, and its answer never arrives.
    node.failNext('sendMessage', new Error('killed'))
    const answer = agent.tool('send_message', { thread_id: FRANKS_THREAD, body: 'Hello.' })
    await held.arrived
    const stopped = server.stop()
    held.release()
    await stopped
    const next = createRpcServer({ api: node.api, socketPath, version: '0.1.0', system: realSystem(), onStop() {} })
    await next.start()
    onTestFinished(() => next.stop())
    expect(await answer).toMatchObject({ isError: false, structured: { sequence_no: 2 } })
    const [first, second, ...rest] = keysOf(node.calls)
    expect(second).toBe(first)
    expect(rest).toEqual([])
  })
})

describe('the book of keys', () => {
  function book() {
    let made = 0
    const keys = createCallKeys(() => `key ${(made += 1)}`)
    let requests = 0
    return {
      keys,
      succeed: (tool: string, args: unknown) =>
        keys.withKey({ request: (requests += 1), tool, args, send: (key) => Promise.resolve(key) }),
      fail: (tool: string, args: unknown) =>
        keys
          .withKey({ request: (requests += 1), tool, args, send: (key) => Promise.reject(new Error(key)) })
          .catch((error: unknown) => (error as Error).message),
    }
  }

  it('gives two equal calls at the same time a key each', async () => {
    const { succeed } = book()
    expect(await Promise.all([succeed('a', {}), succeed('a', {})])).toEqual(['key 1', 'key 2'])
  })

  it('gives the key of a call that was taken back to the next one, at once and only once', async () => {
    const { keys, succeed } = book()
    const gone = Promise.withResolvers<never>()
    const first = keys.withKey({ request: 'first', tool: 'a', args: {}, send: () => gone.promise })
    keys.takenBack('first')
    expect(await succeed('a', {})).toBe('key 1')
    gone.reject(new Error('hung up'))
    await expect(first).rejects.toThrow('hung up')
    expect(await succeed('a', {})).toBe('key 2')
  })

  it('gives it also where the answer was on its way by then', async () => {
    const { keys, succeed } = book()
    expect(await succeed('a', {})).toBe('key 1')
    keys.takenBack('some other')
    expect(await succeed('a', {})).toBe('key 2')
    keys.takenBack(2)
    expect(await succeed('a', {})).toBe('key 2')
    expect(await succeed('a', {})).toBe('key 3')
  })

  it('tells tools and nested arguments apart, and forgets the oldest of very many', async () => {
    const { fail } = book()
    expect(await fail('a', { x: { y: 1, z: 2 } })).toBe('key 1')
    expect(await fail('b', { x: { y: 1, z: 2 } })).toBe('key 2')
    expect(await fail('a', { x: { y: 2, z: 2 } })).toBe('key 3')
    expect(await fail('a', { x: { z: 2, y: 1 } })).toBe('key 1')
    for (let count = 0; count < 300; count += 1) await fail('c', { count })
    expect(await fail('a', { x: { y: 1, z: 2 } })).not.toBe('key 1')
  })
})
