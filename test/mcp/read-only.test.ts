/** Front ends that may only read: what they are offered, and that the node says no to the rest. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { TOOLS } from '../../src/mcp/tools.ts'
import { running } from '../rpc/rpc-fixture.ts'
import { TOKENS } from '../rpc/script.ts'
import { FRANKS_THREAD } from '../rpc/scripted-node.ts'
import { agentAt, bareProcess, type ToolResult } from './mcp-fixture.ts'

const READING = ['whoami', 'list_teammates', 'search_handoffs', 'check_inbox', 'view_thread', 'read_artifact']
const message = { thread_id: FRANKS_THREAD, body: 'x' }

const offered = async (agent: Awaited<ReturnType<typeof agentAt>>) =>
  (await agent.client.listTools()).tools.map(({ name }) => name)
const symbolOf = ({ structured }: ToolResult) => structured['symbol']

describe('an agent with a token for reading', () => {
  it('is offered what reads, is told so, and is refused the rest by the node', async () => {
    const { socketPath, node } = await running()
    const agent = await agentAt({ TEST_SOCKET: socketPath, RELAY_NODE_TOKEN: TOKENS.read })
    expect(await offered(agent)).toEqual(READING)
    expect(agent.client.getInstructions()).toContain('READ-ONLY')
    expect(agent.client.getInstructions()).toContain('still counts as unread')
    expect((await agent.client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['inbox', 'review'])
    expect((await agent.tool('whoami')).structured).toMatchObject({ scope: 'read', session: { name: 'read' } })
    expect(symbolOf(await agent.tool('send_message', message))).toBe('forbidden')
    expect(node.calls.some(({ method }) => method === 'sendMessage')).toBe(false)
  })

  it('marks nothing as read', async () => {
    const { socketPath, node } = await running()
    const agent = await agentAt({ TEST_SOCKET: socketPath, RELAY_NODE_TOKEN: TOKENS.read })
    expect((await agent.tool('view_thread', { thread_id: FRANKS_THREAD })).isError).toBe(false)
    const marks = node.calls.flatMap(({ method, params }) => (method === 'getThread' ? [params] : []))
    expect(marks).toMatchObject([{ mark_read: false }])
  })

  it('gets the refusal at its next call once the token is revoked, and no notices', async () => {
    const { socketPath, client: human } = await running()
    const agent = await agentAt({ TEST_SOCKET: socketPath, RELAY_NODE_TOKEN: TOKENS.read })
    await agent.client.subscribeResource({ uri: 'relay://inbox' })
    await human.call('relay/session-revoke', { name: 'read' })
    expect(symbolOf(await agent.tool('check_inbox'))).toBe('unauthenticated')
    await expect(agent.client.readResource({ uri: 'relay://inbox' })).rejects.toMatchObject({ code: -32001 })
    await agent.client.subscribeResource({ uri: 'relay://inbox' })
    expect(symbolOf(await agent.tool('whoami'))).toBe('unauthenticated')
  })
})

it('an agent with a token for writing is offered everything', async () => {
  const { socketPath } = await running()
  const agent = await agentAt({ TEST_SOCKET: socketPath, RELAY_NODE_TOKEN: TOKENS.write })
  expect(await offered(agent)).toHaveLength(TOOLS.length)
  expect((await agent.tool('send_message', message)).isError).toBe(false)
  expect((await agent.tool('whoami')).structured).toMatchObject({ scope: 'write', session: { name: 'write' } })
})

it('where the node does not know the token, or cannot be asked, the least is offered', async () => {
  const { socketPath } = await running()
  for (const env of [
    { TEST_SOCKET: socketPath, RELAY_NODE_TOKEN: 'rns_unknown' },
    { TEST_SOCKET: '/nowhere/node.sock', TEST_START: 'refuse', RELAY_NODE_TOKEN: TOKENS.write },
  ]) {
    const agent = await agentAt(env)
    expect(await offered(agent)).toEqual(READING)
    expect(symbolOf(await agent.tool('whoami'))).toBe('unauthenticated')
  }
})

it('on a node that only reads the tools are those, and what was shown counts as read', async () => {
  const { socketPath, node } = await running({ scope: 'read', kind: 'service' })
  const agent = await agentAt({ TEST_SOCKET: socketPath, TEST_READ_ONLY: '1' })
  expect(await offered(agent)).toEqual(READING)
  expect(agent.client.getInstructions()).not.toContain('still counts as unread')
  expect((await agent.tool('whoami')).structured).toMatchObject({ scope: 'read', kind: 'service' })
  await agent.tool('view_thread', { thread_id: FRANKS_THREAD })
  const marks = node.calls.flatMap(({ method, params }) => (method === 'getThread' ? [params] : []))
  expect(marks).toMatchObject([{ mark_read: false }, { mark_read: true }])
  expect(symbolOf(await agent.tool('send_message', message))).toBe('forbidden')
})

it('a process that waits for the node to say its scope ends with its client all the same', async () => {
  const { socketPath, node } = await running()
  const asked = node.holdNext('whoami')
  const child = bareProcess({ TEST_SOCKET: socketPath, RELAY_NODE_TOKEN: TOKENS.read })
  await asked.arrived
  const exit = once(child, 'exit')
  child.stdin.end()
  expect(await exit).toEqual([0, null])
})
