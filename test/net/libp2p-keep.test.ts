/** Connections come back, whatever ended them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Detour, detour, libp2pWorld } from './libp2p-world.ts'
import { connectedTeam, type Diary, diary, jumpingSystem, netError, started, team, until, WAIT_MS } from './world.ts'

describe('connections over libp2p', () => {
  let world = libp2pWorld()
  const processes = new Set<ChildProcess>()
  const detours: Detour[] = []
  afterEach(async () => {
    for (const child of processes) child.kill('SIGKILL')
    await Promise.all([world.close(), ...detours.splice(0).map((way) => way.close())])
    world = libp2pWorld()
  })

  async function way(target: string | undefined, held = false): Promise<Detour> {
    if (target === undefined) throw new Error('no address')
    const made = await detour(target, held)
    detours.push(made)
    return made
  }

  async function two(
    names: [string, string] = ['a', 'b'],
    systems: [Parameters<typeof started>[2]?, Parameters<typeof started>[2]?] = [],
  ): Promise<[Diary, Diary]> {
    const a = await started(world, names[0], systems[0])
    const b = await started(world, names[1], systems[1])
    for (const { net } of [a, b]) net.setTopics(['topic'])
    return [a, b]
  }

  /** Gossip may be lost while connections change, so each says it until the other has heard it. */
  async function gossipBothWays(a: Diary, b: Diary, text: string): Promise<void> {
    const hears = (book: Diary): boolean => book.gossip.some((one) => one.text === text)
    await vi.waitFor(
      async () => {
        if (!hears(b)) await a.net.publish('topic', Buffer.from(text))
        if (!hears(a)) await b.net.publish('topic', Buffer.from(text))
        if (!hears(a) || !hears(b)) throw new Error('not heard')
      },
      { timeout: WAIT_MS, interval: 50 },
    )
  }

  async function child(
    name: string,
    listen: string,
    teammate: string,
  ): Promise<{ process: ChildProcess; address: string }> {
    const script = fileURLToPath(new URL('peer-process.ts', import.meta.url))
    const made = spawn(process.execPath, ['--conditions=source', script, name, listen, teammate], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    processes.add(made)
    made.once('exit', () => processes.delete(made))
    const [line] = await once(made.stdout, 'data')
    return { process: made, address: String(line).trim() }
  }

  test('a process that is killed and started again where it was is connected again', async () => {
    const a = await started(world, 'a')
    const first = await child('b', '/ip4/127.0.0.1/tcp/0', a.net.device)
    const b = diary(await world.make('b')).net.device
    a.net.setTeam(new Map([[b, [first.address]]]))
    await until(() => a.syncsRunning === 1)
    first.process.kill('SIGKILL')
    await until(() => a.syncsRunning === 0 && a.net.peers()[0]?.connected === false)
    await until(() => a.net.peers()[0]?.lastFailure?.includes('nobody listens at') === true)
    await child('b', first.address.replace(/\/p2p\/.*/, ''), a.net.device)
    await until(() => a.syncsRunning === 1)
    expect(a.net.peers()[0]?.lastFailure).toBeUndefined()
    await a.syncs.at(-1)?.send(new Uint8Array([1, 2]))
    await until(() => a.frames.length === 1)
  })

  test('a process whose net was stopped has nothing left to wait for', async () => {
    const a = await started(world, 'a')
    const b = await child('b', '/ip4/127.0.0.1/tcp/0', a.net.device)
    a.net.setTeam(new Map([[diary(await world.make('b')).net.device, [b.address]]]))
    await until(() => a.syncsRunning === 1)
    b.process.kill('SIGTERM')
    expect(await once(b.process, 'exit')).toEqual([0, null])
  })

  test('two that dial each other at the same moment end up with one live stream, and lose nothing when one connection breaks', async () => {
    const [a, b] = await two()
    const [toA, toB] = [await way(a.net.addresses()[0], true), await way(b.net.addresses()[0], true)]
    a.net.setTeam(new Map([[b.net.device, [toB.address]]]))
    b.net.setTeam(new Map([[a.net.device, [toA.address]]]))
    await until(() => toA.arrived() === 1 && toB.arrived() === 1)
    toA.open()
    toB.open()
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    await gossipBothWays(a, b, 'before')
    expect([a.syncsRunning, b.syncsRunning, toA.arrived(), toB.arrived()]).toEqual([1, 1, 2, 2]) // Both ends of both connections.
    toA.cut()
    await gossipBothWays(a, b, 'after')
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    await a.syncs.at(-1)?.send(new Uint8Array([1]))
    await until(() => b.frames.length === 1)
  })

  test('twenty pairs that dial each other at once all get one live stream each', async () => {
    const pairs = await Promise.all(Array.from({ length: 20 }, (_, index) => two([`x${index}`, `y${index}`])))
    for (const [a, b] of pairs) team(a, b)
    await until(() => pairs.flat().every(({ syncsRunning }) => syncsRunning === 1))
    await Promise.all(
      pairs.map(async ([a], index) => {
        await a.syncs.at(-1)?.send(new Uint8Array([index]))
      }),
    )
    await until(() => pairs.every(([, b]) => b.frames.length === 1))
  })

  test('after sleep every connection is made anew at once', async () => {
    const { system, jump } = jumpingSystem()
    const [a, b] = await two(['a', 'b'], [system])
    team(a, b)
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    jump(60_000)
    await until(() => a.syncs.length === 2 && a.syncsRunning === 1 && b.syncsRunning === 1)
    expect(a.changes.filter(({ device }) => device === b.net.device).some(({ connected }) => !connected)).toBe(true)
    await gossipBothWays(a, b, 'awake')
  })

  test('a peer that lost the connection without our noticing is connected again in seconds', async () => {
    const { system, jump } = jumpingSystem()
    const [a, b] = await two(['a', 'b'], [undefined, system])
    const toA = await way(a.net.addresses()[0])
    b.net.setTeam(new Map([[a.net.device, [toA.address]]]))
    a.net.setTeam(new Map([[b.net.device, []]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    await gossipBothWays(a, b, 'before')
    const since = performance.now()
    await until(() => performance.now() - since > 2_500) // Old enough not to be one of two that were dialled at once.
    toA.silence()
    b.net.setTeam(new Map([[a.net.device, a.net.addresses()]]))
    jump(60_000)
    await until(() => b.changes.some(({ connected }) => !connected) && a.syncs.length > 1)
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
    await gossipBothWays(a, b, 'after')
  })

  test('a teammate is told where we now listen, loopback last, with the key', async () => {
    const [a, b] = await connectedTeam(world, 'a', 'b')
    if (a === undefined || b === undefined) throw new Error('not connected')
    await until(() => a.changes.some(({ addresses }) => addresses.includes(b.net.addresses()[0] ?? '')))
    for (const { addresses } of a.changes) for (const address of addresses) expect(address).toMatch(/\/p2p\/12D3Koo/)
  })

  test('a port that is taken is an error that says so', async () => {
    const a = await started(world, 'a')
    const [address = ''] = a.net.addresses()
    const taken = await world.makeWith('c', { listen: [address.replace(/\/p2p\/.*/, '')] })
    const error = await netError(taken.start(diary(taken).handlers))
    expect(error.code).toBe('NET_ADDRESS_IN_USE')
    expect(error.message).toContain(address.split('/')[4])
    expect(taken.addresses()).toEqual([])
  })

  test.each([
    ['nothing to listen on', []],
    ['an address that this machine does not have', ['/ip4/198.51.100.7/tcp/0']],
  ])('a node with %s starts, and can dial', async (_, listen) => {
    const net = await world.makeWith('a', { listen })
    const a = diary(net)
    await net.start(a.handlers)
    const b = await started(world, 'b')
    expect(net.addresses()).toEqual([])
    a.net.setTeam(new Map([[b.net.device, b.net.addresses()]]))
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1)
  })

  test('addresses that are broken or of somebody else are passed over', async () => {
    const [a, b] = await two()
    const [own = ''] = a.net.addresses()
    a.net.setTeam(
      new Map([
        [b.net.device, ['', 'nonsense', '/ip4/999.1.1.1/tcp/1', '/ip4/127.0.0.1/tcp/1', own, ...b.net.addresses()]],
      ]),
    )
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => a.syncsRunning === 1)
  })
})
