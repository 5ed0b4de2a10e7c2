import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRpcClient } from '../../src/rpc/client.ts'
import { running, SESSION, temporaryFolder } from '../rpc/rpc-fixture.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { FRANKS_THREAD } from '../rpc/scripted-node.ts'
import { agentAt, bareProcess, connected, ENTRY, environment } from './mcp-fixture.ts'

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '0' } },
}
const line = (message: unknown) => `${JSON.stringify(message)}\n`
const toolCall = (id: number, name: string, args: unknown = {}) =>
  line({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })

async function read(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

/** Has answered once: everything is set up. */
async function awake(child: ChildProcess): Promise<void> {
  child.stdin?.write(line(INITIALIZE))
  await once(child.stdout ?? child, 'data')
}

describe('stdout', () => {
  it('carries JSON-RPC lines and nothing else, whatever comes in', async () => {
    const { socketPath } = await running()
    const child = bareProcess({ TEST_SOCKET: socketPath })
    const output = read(child.stdout)
    child.stdin.write(line(INITIALIZE))
    child.stdin.write('this is no JSON\n\n[]\n{"jsonrpc":"2.0"}\n\u0000\n')
    child.stdin.write(line({ jsonrpc: '2.0', id: 2, method: 'no/such/method' }))
    child.stdin.write(toolCall(3, 'whoami'))
    child.stdin.write(toolCall(4, 'view_thread', { thread_id: FRANKS_THREAD }))
    child.stdin.end(line({ jsonrpc: '2.0', id: 5, method: 'tools/list' }))
    const lines = (await output)
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as { jsonrpc: string; id: number })
    expect(lines.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true)
    expect(lines.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5])
  })

  it('stays clean when something is printed to the console', async () => {
    const child = bareProcess({ TEST_SOCKET: '/nowhere', NODE_OPTIONS: '--trace-warnings' })
    child.stdin.end(line(INITIALIZE))
    const [output] = await Promise.all([read(child.stdout), once(child, 'exit')])
    expect(output.trimEnd().split('\n')).toHaveLength(1)
  })
})

describe('the process', () => {
  it('answers what it can without a node', async () => {
    const agent = await agentAt({ TEST_SOCKET: '/nowhere/node.sock', TEST_START: 'refuse' })
    expect((await agent.client.listTools()).tools).toHaveLength(TOOLS.length)
    expect((await agent.client.listResources()).resources).toHaveLength(1)
    expect((await agent.client.listResourceTemplates()).resourceTemplates).toHaveLength(1)
    expect((await agent.client.listPrompts()).prompts).toHaveLength(3)
    const { text, isError } = await agent.tool('whoami')
    expect(isError).toBe(true)
    expect(text).toMatch(/^unauthenticated -32001: .*could not be started: the store is damaged/)
  })

  it('starts the node on the first call that needs it, once', async () => {
    const folder = await temporaryFolder()
    const socketPath = join(folder, 'node.sock')
    onTestFinished(async () => {
      const client = createRpcClient({ socketPath, session: SESSION })
      await client.call('relay/stop', {})
      client.close()
    })
    const agent = await agentAt({ TEST_SOCKET: socketPath, TEST_START: folder })
    await agent.client.listTools()
    await expect(readFile(join(folder, 'starts'))).rejects.toMatchObject({ code: 'ENOENT' })
    const answers = await Promise.all([agent.tool('whoami'), agent.tool('check_inbox'), agent.tool('whoami')])
    expect(answers.map(({ isError }) => isError)).toEqual([false, false, false])
    expect((await readFile(join(folder, 'starts'), 'utf8')).trim().split('\n')).toHaveLength(1)
  })

  it('ends when stdin is closed, in the middle of a call too', async () => {
    const { socketPath, node } = await running()
    const child = bareProcess({ TEST_SOCKET: socketPath })
    await awake(child)
    const held = node.holdNext('listThreads')
    child.stdin.write(toolCall(2, 'check_inbox', { wait_s: 50 }))
    await held.arrived
    const exit = once(child, 'exit')
    child.stdin.end()
    expect(await exit).toEqual([0, null])
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends on %s, in the middle of a call too', async (signal) => {
    const { socketPath, node } = await running()
    const child = bareProcess({ TEST_SOCKET: socketPath })
    await awake(child)
    const held = node.holdNext('listThreads')
    child.stdin.write(toolCall(2, 'check_inbox', { wait_s: 50 }))
    await held.arrived
    const exit = once(child, 'exit')
    child.kill(signal)
    expect(await exit).toEqual([0, null])
  })

  it('ends when its parent is gone, even if stdin stays open', async ({ skip }) => {
    skip(process.platform === 'win32', 'named pipes of this kind do not exist on Windows')
    const pipe = join(await temporaryFolder(), 'stdin')
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])
    // Open for both: it never ends, whoever closes it.
    const stdin = await open(pipe, 'r+')
    onTestFinished(() => stdin.close())
    const script = `require('node:child_process').spawn(process.execPath, [${JSON.stringify(ENTRY)}], { stdio: 'inherit' })
      setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['-e', script], {
      env: environment({ TEST_SOCKET: '/nowhere' }),
      stdio: [stdin.fd, 'pipe', 'inherit'],
    })
    const stdout = parent.stdio[1]
    if (stdout === null) throw new Error('the parent has no stdout')
    await stdin.write(line(INITIALIZE))
    await once(stdout, 'data')
    // The last writer of stdout is the process that lost its parent.
    const closed = once(stdout, 'end')
    stdout.resume()
    parent.kill('SIGKILL')
    await closed
  })

  it('ends when nobody reads its answers', async () => {
    const { socketPath } = await running()
    const child = bareProcess({ TEST_SOCKET: socketPath })
    await awake(child)
    const exit = once(child, 'exit')
    child.stdout.destroy()
    child.stdin.on('error', () => {})
    child.stdin.write(toolCall(2, 'whoami'))
    expect(await exit).toEqual([0, null])
  })

  it('ends at a line that is longer than any call', async () => {
    const child = bareProcess({ TEST_SOCKET: '/nowhere' })
    await awake(child)
    const exit = once(child, 'exit')
    child.stdin.on('error', () => {})
    child.stdin.write('x'.repeat(65 * 1024 * 1024))
    expect(await exit).toEqual([0, null])
  })

  it('hands a cancelled call on to the node', async () => {
    const { agent, node } = await connected()
    const held = node.holdNext('listThreads')
    const abort = new AbortController()
    const answer = agent.tool('check_inbox', { wait_s: 50 }, { signal: abort.signal })
    const signal = await held.arrived
    abort.abort('enough')
    await expect(answer).rejects.toBeDefined()
    const seen = Promise.withResolvers<void>()
    signal?.addEventListener('abort', () => seen.resolve())
    if (signal?.aborted !== true) await seen.promise
  })
})

describe('what is loaded', () => {
  it('is no libp2p, no store and no node', async () => {
    const script = `import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ resolve(name, context, next) { const found = next(name, context); seen.push(found.url); return found } })
      await import(${JSON.stringify(new URL('../../src/mcp/server.ts', import.meta.url).href)})
      console.log(seen.join('\\n'))`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const loaded = (await read(child.stdout)).trim().split('\n')
    expect(loaded.length).toBeGreaterThan(50)
    const ours = loaded.filter((url) => !url.includes('/node_modules/') && url.startsWith('file:'))
    expect(
      ours.filter(
        (url) =>
          !/\/(protocol|src\/(rpc|mcp|record))\/[^/]+\.ts$|\/src\/visible\.ts$|\/src\/node\/api(-error)?\.ts$/.test(
            url,
          ),
      ),
    ).toEqual([])
    expect(ours.filter((url) => /\/src\/rpc\/(server|launch|socket)\.ts$/.test(url))).toEqual([])
    expect(loaded.filter((url) => /libp2p|level|hono|@chainsafe|commander|pino/.test(url))).toEqual([])
  })
})
