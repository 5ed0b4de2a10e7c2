import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bootstrapPlaces } from '../../src/home.ts'
import { type Laptop, laptop } from '../cli/laptop.ts'
import { type Front, startFront } from './front.ts'

const LOCAL = '--listen 127.0.0.1:0 --listen /ip4/127.0.0.1/tcp/0/ws --stun-port 0'

function start(host: Laptop, options = ''): Promise<Front> {
  return startFront(host.spawn(`bootstrap ${LOCAL} --json ${options}`))
}

test('prints the addresses that end in its key as soon as it is ready, and a signal ends it in order', async () => {
  await using host = laptop()
  await using front = await start(host)
  expect(front.ready).toMatchObject({
    pid: front.child.pid,
    addresses: [
      expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/12D3/),
      expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/ws\/p2p\/12D3/),
    ],
    stun: expect.any(Number),
    metrics: null,
  })
  const { mode } = statSync(bootstrapPlaces(host.home).key)
  expect(mode & 0o777).toBe(0o600)
  expect(statSync(host.home.home).mode & 0o777).toBe(0o700)
  const ended = once(front.child, 'exit')
  front.child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect((await host.run('logs')).stdout).toContain('bootstrap server stopped')
})

test('a second server in one home is refused with the number of the first', async () => {
  await using host = laptop()
  await using front = await start(host)
  expect(await host.run(`bootstrap ${LOCAL}`)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`already running (pid ${front.child.pid})`),
  })
})

test('after a restart, and after a crash, its key is the same', async () => {
  await using host = laptop()
  const peers: string[] = []
  for (const signal of ['SIGINT', 'SIGKILL', 'SIGTERM'] as const) {
    await using front = await start(host)
    peers.push(front.peer)
    const ended = once(front.child, 'exit')
    front.child.kill(signal)
    await ended
  }
  expect(new Set(peers).size).toBe(1)
})

test('announces what it was told to announce', async () => {
  await using host = laptop()
  await using front = await start(
    host,
    '--announce /dns4/relay.example/tcp/4001 --announce /dns4/relay.example/tcp/443/wss',
  )
  expect(front.ready['addresses']).toEqual([
    `/dns4/relay.example/tcp/4001/p2p/${front.peer}`,
    `/dns4/relay.example/tcp/443/wss/p2p/${front.peer}`,
  ])
})

test.each([
  ['--listen nowhere', '"nowhere" is not an address to listen on.'],
  ['--listen /ip4/127.0.0.1/udp/4001', '"/ip4/127.0.0.1/udp/4001" is not an address to listen on.'],
  ['--announce relay.example', '"relay.example" is not an address that laptops could be told.'],
  ['--stun-port 70000', '--stun-port takes a number from 0 to 65535, not "70000".'],
  ['--metrics 0.0.0.0:9464', '"0.0.0.0:9464" is not a loopback address and port.'],
  ['--per-source none', '--per-source takes a number from 1 to 1000000, not "none".'],
  ['--log-level loud', '--log-level takes one of debug, info, warn, error, not "loud".'],
])('%s is refused in one sentence, before anything is made', async (options, said) => {
  await using host = laptop()
  expect(await host.run(`bootstrap ${options}`)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
  expect(existsSync(host.home.home)).toBe(false)
})

test('a port that is taken is named, for TCP and for UDP', async () => {
  await using host = laptop()
  await using other = laptop()
  await using front = await start(host)
  const [address = ''] = front.ready['addresses'] as string[]
  const taken = address.replace(/\/p2p\/.*/, '')
  expect(await other.run(`bootstrap --listen ${taken} --stun-port 0`)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      new RegExp(`^The bootstrap server cannot start: another program listens on ${taken}\\.`),
    ),
  })
  const stun = Number(front.ready['stun'])
  expect(await other.run(`bootstrap --listen 127.0.0.1:0 --stun-port ${stun}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`another program uses UDP port ${stun}`),
  })
})

test("a home holds a laptop's node or a bootstrap server, never both", async () => {
  await using host = laptop()
  await using front = await start(host)
  expect(front.peer).not.toBe('')
  expect(await host.run('init --yes --name bob --team acme --no-start')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${host.home.home} is the home of a bootstrap server.`),
  })
  await using bob = laptop()
  expect(await bob.run('init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --no-start')).toMatchObject({
    code: 0,
  })
  expect(await bob.run(`bootstrap ${LOCAL}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${bob.home.home} is the home of a laptop's node.`),
  })
})

test('shows its metrics on loopback, and nothing else there', async () => {
  await using host = laptop()
  await using front = await start(host, '--metrics 127.0.0.1:0')
  const base = `http://${String(front.ready['metrics'])}`
  const text = await (await fetch(`${base}/metrics`)).text()
  expect(text).toContain('relay_node_connections 0')
  expect(text).toContain('relay_node_refusals_total{why="relayed_bytes"} 0')
  expect((await fetch(`${base}/`)).status).toBe(404)
})
