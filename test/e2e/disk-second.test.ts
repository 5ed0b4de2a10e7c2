/** One store, one process: whoever comes second is refused in plain words, in whatever order they start. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { lockHolder } from '../../src/cli/instance-lock.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { type Laptop, laptop } from '../cli/laptop.ts'
import { type NodeProcess, nodeProcess } from './crash-node.ts'

const LOCK_TAKER = fileURLToPath(new URL('../cli/lock-taker.ts', import.meta.url))

/** bob's workspace, its node not started. */
async function founder(): Promise<NodeProcess> {
  const bob = nodeProcess('bob', laptop())
  const init = 'init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --no-start'
  expect(await bob.laptop.run(init)).toMatchObject({ code: 0 })
  return bob
}

async function pidOf(node: NodeProcess): Promise<number> {
  const client = node.session()
  try {
    return (await client.call('relay/hello', {})).pid
  } finally {
    client.close()
  }
}

/** What an agent hears that starts `relay-node mcp` and asks who it is. */
async function whoamiByMcp({ spawn: start }: Laptop): Promise<string> {
  const child = start('mcp')
  const send = (message: object): void => void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '0' } }
  send({ id: 1, method: 'initialize', params })
  send({ id: 2, method: 'tools/call', params: { name: 'whoami', arguments: {} } })
  for await (const line of createInterface({ input: child.stdout ?? process.stdin })) {
    if ((JSON.parse(line) as { id?: number }).id !== 2) continue
    const exit = once(child, 'exit')
    child.stdin?.end()
    await exit
    return line
  }
  throw new Error('the agent got no answer')
}

/** The first line of a node that answers; undefined where the process ends without one. */
async function firstLine(child: ChildProcess): Promise<Record<string, unknown>> {
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part))
  await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')])
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

test('while a node runs: a second one, a repair, an init and whoever opens the store itself', async () => {
  await using bob = await founder()
  await bob.start()
  const running = new RegExp(`already running \\(pid ${bob.pid}\\)`)
  for (const args of ['start', 'start --repair'])
    expect(await bob.laptop.run(args), args).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(running),
    })
  const repair = await bob.laptop.run('start --detach --repair')
  expect(repair).toMatchObject({ code: 1, stderr: expect.stringContaining(`The node is running (pid ${bob.pid})`) })
  expect((await bob.laptop.run('start --detach --json')).json()).toEqual({ pid: bob.pid, started: false })
  expect(await bob.laptop.run('init --yes --name bob --team acme')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('belongs to a workspace already'),
  })
  await expect(openLevelStore(bob.laptop.home.store)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  expect(await bob.laptop.run('doctor')).toMatchObject({ code: 0 })
  expect(await whoamiByMcp(bob.laptop)).toContain('bob@acme')
  expect(await pidOf(bob)).toBe(bob.pid)
})

test('while another program has the store open: a start in front, one apart, and an agent’s', async () => {
  await using bob = await founder()
  const store = await openLevelStore(bob.laptop.home.store)
  for (const args of ['start', 'start --detach', 'inbox'])
    expect(await bob.laptop.run(args), args).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('is in use already. Only one node can have it open'),
    })
  expect(await whoamiByMcp(bob.laptop)).toContain('is in use already')
  const { findings } = (await bob.laptop.run('doctor --json')).json() as { findings: object[] }
  expect(findings).toContainEqual(expect.objectContaining({ check: 'store', state: 'failed' }))
  await store.close()
  await bob.start()
  expect(await pidOf(bob)).toBe(bob.pid)
})

test('while doctor, or an init, has the lock: a start', async () => {
  await using bob = await founder()
  const taker = spawn(process.execPath, [LOCK_TAKER], { env: bob.laptop.env, stdio: ['pipe', 'pipe', 'inherit'] })
  await once(taker.stdout, 'data')
  const held = expect.stringContaining(`(pid ${taker.pid})`)
  expect(await bob.laptop.run('start')).toMatchObject({ code: 1, stdout: '', stderr: held })
  const { findings } = (await bob.laptop.run('doctor --json')).json() as { findings: object[] }
  expect(findings).toContainEqual(expect.objectContaining({ check: 'store', evidence: `in use by pid ${taker.pid}` }))
  const ended = once(taker, 'exit')
  taker.stdin.end()
  await ended
  await bob.start()
  expect(await bob.laptop.run('doctor')).toMatchObject({ code: 0 })
})

test('all at once: of starts in front and apart, agents, an init and a doctor one becomes the node, and all that ask get it', async () => {
  await using bob = await founder()
  const fronts = Array.from({ length: 3 }, () => bob.laptop.spawn('start --json'))
  try {
    const [said, apart, agents, init] = await Promise.all([
      Promise.all(fronts.map(firstLine)),
      Promise.all([1, 2].map(async () => bob.laptop.run('start --detach --json'))),
      Promise.all([1, 2].map(async () => whoamiByMcp(bob.laptop))),
      bob.laptop.run('init --yes --name bob --team acme'),
      bob.laptop.run('doctor'),
    ])
    // Neither a second workspace nor an end of the node that was just starting comes of it.
    expect(init.code).toBe(1)
    const pid = lockHolder(bob.laptop.home)
    expect(await pidOf(bob)).toBe(pid)
    for (const answer of agents) expect(answer).toContain('bob@acme')
    for (const ran of apart) expect(ran.json()).toMatchObject({ pid })
    const ready = said.filter((line) => line['ready'] === true)
    expect(ready.every((line) => line['pid'] === pid)).toBe(true)
    const started = apart.filter((ran) => ran.json()['started'] === true)
    // An agent may have been the one.
    expect(ready.length + started.length).toBeLessThanOrEqual(1)
    expect(fronts.filter(({ exitCode }) => exitCode === null)).toHaveLength(ready.length)
    expect(await bob.laptop.run('doctor')).toMatchObject({ code: 0 })
  } finally {
    for (const front of fronts) front.kill('SIGKILL')
  }
})
