import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { expect, describe, it, onTestFinished } from 'vitest'
import { createRpcClient, NodeNotRunning } from '../../src/rpc/client.ts'
import { connectOrStart } from '../../src/rpc/launch.ts'
import { createRpcServer } from '../../src/rpc/server.ts'
import { type Clock, realSystem, WALL_CLOCK } from '../../src/system.ts'
import { createScriptedNode } from './scripted-node.ts'
import { running, SESSION, temporaryFolder } from './rpc-fixture.ts'
import { runStartScript } from './start.ts'

const NEVER = () => Promise.reject(new Error('nothing was to be started'))

async function detached() {
  const folder = await temporaryFolder()
  const socketPath = join(folder, 'node.sock')
  const start = () => runStartScript(folder)
  onTestFinished(async () => {
    const client = createRpcClient({ socketPath, session: SESSION })
    await client.call('relay/stop', {}).catch((error: unknown) => expect(error).toBeInstanceOf(NodeNotRunning))
    client.close()
  })
  return { folder, socketPath, options: { socketPath, session: SESSION, clock: WALL_CLOCK, start } }
}

describe('a front end without a node', () => {
  it('starts one; fifty at once end up with the same one', async () => {
    const { folder, options } = await detached()
    const answers = await Promise.all(Array.from({ length: 50 }, () => connectOrStart(options)))
    const starts = (await readFile(join(folder, 'starts'), 'utf8')).trim().split('\n')
    expect(starts).toHaveLength(1)
    expect(new Set(answers.map(({ pid }) => pid))).toEqual(new Set([Number(starts[0])]))
  })

  it('says why none could be started', async () => {
    const { options } = await detached()
    const start = () => Promise.reject(new Error('the store is damaged'))
    await expect(connectOrStart({ ...options, start })).rejects.toThrow('the store is damaged')
  })

  it('gives up when what was started never answers', async () => {
    const { options } = await detached()
    let now = 0
    let starts = 0
    const clock: Clock = { ...WALL_CLOCK, now: () => (now += 1000) }
    const start = async () => void (starts += 1)
    await expect(connectOrStart({ ...options, clock, start })).rejects.toMatchObject({ symbol: 'unauthenticated' })
    expect(starts).toBeGreaterThan(1)
  })
})

describe('a front end and a node', () => {
  it('of one age get along', async () => {
    const { socketPath } = await running()
    const hello = await connectOrStart({ socketPath, session: SESSION, clock: WALL_CLOCK, start: NEVER })
    expect(hello).toEqual({
      name: 'relay-node',
      version: '0.1.0',
      pid: process.pid,
      interface: { min: 1, max: 1 },
      uptime_s: 0,
    })
  })

  it('of which the node is newer part politely', async () => {
    const { socketPath, client } = await running()
    const older = { socketPath, session: SESSION, clock: WALL_CLOCK, start: NEVER, versions: { min: 0, max: 0 } }
    await expect(connectOrStart(older)).rejects.toMatchObject({
      symbol: 'unauthenticated',
      message: expect.stringContaining('newer'),
    })
    expect(await client.call('relay/hello', {})).toMatchObject({ name: 'relay-node' })
  })

  it('of which the node is older part if it was started just now', async () => {
    const { socketPath } = await running()
    const newer = { socketPath, session: SESSION, clock: WALL_CLOCK, start: NEVER, versions: { min: 2, max: 2 } }
    await expect(connectOrStart(newer)).rejects.toMatchObject({
      symbol: 'unauthenticated',
      details: { retry_after: 60 },
    })
  })

  it('of which the node is older: it is drained and replaced', async () => {
    const socketPath = join(await temporaryFolder(), 'node.sock')
    let now = 0
    const system = { ...realSystem(), clock: { ...WALL_CLOCK, now: () => now } }
    const stop = () => void old.stop()
    const old = createRpcServer({ api: createScriptedNode().api, socketPath, version: '0.1.0', system, onStop: stop })
    await old.start()
    now = 60_000
    let replaced: Server | undefined
    onTestFinished(() => void replaced?.close())
    const start = async () => {
      replaced = await helloServer(socketPath, { min: 2, max: 3 })
    }
    const hello = await connectOrStart({
      socketPath,
      session: SESSION,
      clock: WALL_CLOCK,
      start,
      versions: { min: 2, max: 2 },
    })
    expect(hello.interface).toEqual({ min: 2, max: 3 })
  })

  it('of which the node is older: one that took its place meanwhile is not stopped', async () => {
    const socketPath = join(await temporaryFolder(), 'node.sock')
    const stops: unknown[] = []
    const hello = (pid: number, version: number) => ({
      result: { name: 'relay-node', version: '9.0.0', pid, interface: { min: version, max: version }, uptime_s: 99 },
    })
    const replaced = {
      symbol: 'state_changed',
      http_status: 409,
      recoverable: true,
      hint: '',
      request_id: 'r',
      details: {},
    }
    const server = await answering(socketPath, ({ method, params }) => {
      if (method === 'relay/hello') return stops.length === 0 ? hello(4001, 1) : hello(4002, 2)
      stops.push(params)
      return { error: { code: -32010, message: 'it is another process', data: replaced } }
    })
    onTestFinished(() => void server.close())
    const versions = { min: 2, max: 2 }
    const start = () => Promise.resolve()
    expect(await connectOrStart({ socketPath, session: SESSION, clock: WALL_CLOCK, start, versions })).toMatchObject({
      pid: 4002,
    })
    expect(stops).toEqual([{ pid: 4001 }])
  })

  it('that is no node at all is named', async () => {
    const socketPath = join(await temporaryFolder(), 'node.sock')
    const stranger = createServer((_, response) => response.end('hello'))
    await new Promise<void>((resolve) => stranger.listen(socketPath, resolve))
    onTestFinished(() => void stranger.close())
    await expect(
      connectOrStart({ socketPath, session: SESSION, clock: WALL_CLOCK, start: NEVER }),
    ).rejects.toMatchObject({ symbol: 'internal' })
  })
})

function helloServer(socketPath: string, range: { min: number; max: number }): Promise<Server> {
  const result = { name: 'relay-node', version: '9.0.0', pid: 1, interface: range, uptime_s: 0 }
  return answering(socketPath, () => ({ result }))
}

interface RpcRequest {
  method: string
  params: unknown
}

/** A node of another age, as far as a front end can tell. */
async function answering(socketPath: string, answer: (request: RpcRequest) => object): Promise<Server> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.once('end', () =>
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer(JSON.parse(body) as RpcRequest) })),
    )
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  return server
}
