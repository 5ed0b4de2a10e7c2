import { describe, expect, it, onTestFinished } from 'vitest'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { createRpcServer } from '../../src/rpc/server.ts'
import { realSystem } from '../../src/system.ts'
import { FRANKS_THREAD } from '../rpc/scripted-node.ts'
import { type Agent, connected } from './mcp-fixture.ts'

const THREAD = `relay://thread/${FRANKS_THREAD}`

/** Gives one notice after the other. */
function notices(agent: Agent): () => Promise<string> {
  const arrived: string[] = []
  const waiting: ((uri: string) => void)[] = []
  agent.client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params: { uri } }) => {
    const first = waiting.shift()
    if (first === undefined) arrived.push(uri)
    else first(uri)
  })
  return () =>
    new Promise((resolve) => {
      const first = arrived.shift()
      if (first === undefined) waiting.push(resolve)
      else resolve(first)
    })
}

describe('resources', () => {
  it('show what the tools show, and mark nothing as read', async () => {
    const { agent, node } = await connected()
    const { resources } = await agent.client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['relay://inbox'])
    const { resourceTemplates } = await agent.client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['relay://thread/{id}'])
    const inbox = await agent.client.readResource({ uri: 'relay://inbox' })
    expect(inbox.contents[0]).toMatchObject({
      uri: 'relay://inbox',
      mimeType: 'text/plain',
      text: expect.stringContaining(FRANKS_THREAD),
    })
    await agent.client.readResource({ uri: THREAD })
    expect(node.calls.at(-1)).toMatchObject({ method: 'getThread', params: { mark_read: false } })
  })

  it('that do not exist are refused readably', async () => {
    const { agent } = await connected()
    for (const uri of ['relay://nothing', 'relay://thread/', 'file:///etc/passwd']) {
      await expect(agent.client.readResource({ uri })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('there is no such resource'),
      })
      await expect(agent.client.subscribeResource({ uri })).rejects.toMatchObject({ code: -32602 })
    }
    await expect(agent.client.readResource({ uri: 'relay://thread/th_typo' })).rejects.toMatchObject({ code: -32006 })
  })

  it('send a notice when they change, and only while one is wanted', async () => {
    const { agent, node } = await connected()
    const next = notices(agent)
    await agent.client.subscribeResource({ uri: THREAD })
    await node.listening(1)
    node.emit({ type: 'thread', thread_id: 'th_other', cursor: '1' })
    node.emit({ type: 'thread', thread_id: FRANKS_THREAD, cursor: '2' })
    expect(await next()).toBe(THREAD)
    await agent.client.subscribeResource({ uri: 'relay://inbox' })
    await agent.client.unsubscribeResource({ uri: THREAD })
    node.emit({ type: 'thread', thread_id: FRANKS_THREAD, cursor: '3' })
    expect(await next()).toBe('relay://inbox')
  })

  it('send a notice after the node was away: something may have been missed', async () => {
    const { agent, node, server, socketPath } = await connected()
    const next = notices(agent)
    await agent.client.subscribeResource({ uri: THREAD })
    await node.listening(1)
    await server.stop()
    const back = createRpcServer({ api: node.api, socketPath, version: '0.1.0', system: realSystem(), onStop() {} })
    await back.start()
    onTestFinished(() => back.stop())
    expect(await next()).toBe(THREAD)
  })
})

describe('prompts', () => {
  it('are three, in the words of this program', async () => {
    const { agent } = await connected()
    const { prompts } = await agent.client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['inbox', 'handoff', 'review'])
    const texts = await Promise.all([
      agent.client.getPrompt({ name: 'inbox' }),
      agent.client.getPrompt({ name: 'handoff', arguments: { to: 'frank@acme', about: 'the users endpoint' } }),
      agent.client.getPrompt({ name: 'review', arguments: { thread_id: 'th_1' } }),
    ])
    expect(texts.map(({ messages }) => messages[0]?.content)).toMatchObject([
      { text: expect.stringContaining('check_inbox') },
      { text: expect.stringMatching(/frank@acme about the users endpoint/) },
      { text: expect.stringContaining('th_1') },
    ])
    await expect(agent.client.getPrompt({ name: 'handoff' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('to is required'),
    })
    await expect(agent.client.getPrompt({ name: 'none' })).rejects.toMatchObject({ code: -32602 })
  })
})
