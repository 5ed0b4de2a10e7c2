import { type IncomingMessage, request as httpRequest } from 'node:http'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createRpcClient, type NodeEvent } from '../../src/rpc/client.ts'
import { eventStreams, parseEvents } from '../../src/rpc/event-stream.ts'
import { type Clock, WALL_CLOCK } from '../../src/system.ts'
import { running, SESSION } from './rpc-fixture.ts'
import { createScriptedNode } from './scripted-node.ts'

const EVENT: NodeEvent = { type: 'thread', thread_id: 'th_1', cursor: '7' }

describe('the event stream', () => {
  it('brings every event to every listener, in order', async () => {
    const { client, node, socketPath } = await running()
    const other = createRpcClient({ socketPath, session: SESSION })
    const streams = [client.events(), other.events()]
    const first = streams.map((stream) => stream.next())
    await node.listening(2)
    node.emit(EVENT)
    node.emit({ type: 'inbox', cursor: '8' })
    for (const [index, stream] of streams.entries()) {
      expect(await first[index]).toEqual({ done: false, value: EVENT })
      expect(await stream.next()).toEqual({ done: false, value: { type: 'inbox', cursor: '8' } })
      await stream.return(undefined)
    }
    other.close()
  })

  it('is plain server-sent events', async () => {
    const { node, socketPath } = await running()
    const request = httpRequest({ socketPath, path: '/events', agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.headers['content-type']).toBe('text/event-stream')
    response.setEncoding('utf8')
    expect(await once(response, 'data')).toEqual([': listening\n\n'])
    node.emit(EVENT)
    expect(await once(response, 'data')).toEqual([`id: 7\ndata: ${JSON.stringify(EVENT)}\n\n`])
    request.destroy()
  })

  it('is let go when its listener hangs up', async () => {
    const left = Promise.withResolvers<void>()
    const { node, client } = await running()
    const { onEvent } = node.api
    node.api.onEvent = (listener) => {
      const forget = onEvent(listener)
      return () => {
        forget()
        left.resolve()
      }
    }
    const abort = new AbortController()
    const next = client.events(abort.signal).next()
    await node.listening(1)
    abort.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    await left.promise
  })

  it('ends with NodeNotRunning when the node goes away, and when there is none', async () => {
    const { client, node, server } = await running()
    const next = client.events().next()
    await node.listening(1)
    await server.stop()
    await expect(next).rejects.toMatchObject({ code: 'NODE_NOT_RUNNING' })
    await expect(client.events().next()).rejects.toMatchObject({ code: 'NODE_NOT_RUNNING' })
  })

  it('says now and then that it is there', async () => {
    const beats: (() => void)[] = []
    const clock: Clock = {
      ...WALL_CLOCK,
      every(_, run) {
        beats.push(run)
        return () => {}
      },
    }
    const reader = eventStreams(createScriptedNode().api, clock).open().getReader()
    await reader.read()
    beats[0]?.()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toMatch(/^: .*\n\n$/)
  })

  it('cuts off a listener that does not read', async () => {
    const node = createScriptedNode()
    const reader = eventStreams(node.api, WALL_CLOCK).open().getReader()
    for (let sent = 0; sent < 2000; sent += 1) node.emit(EVENT)
    let read = 0
    while (!(await reader.read()).done) read += 1
    expect(read).toBeLessThan(1100)
  })

  it('is read the same however it is cut', async () => {
    const bytes = new TextEncoder().encode(
      `: hello\n\nid: 1\ndata: ${JSON.stringify({ ...EVENT, thread_id: 'ü🙂' })}\n\n: beat\n\n`,
    )
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      )
      const events = await Array.fromAsync(parseEvents(ReadableStream.from(chunks)))
      expect(events).toEqual([{ ...EVENT, thread_id: 'ü🙂' }])
    }
  })
})
