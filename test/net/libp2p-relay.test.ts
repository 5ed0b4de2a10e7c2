/** Teammates that only a bootstrap server can bring together. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { PeerStatus } from '../../src/net/net.ts'
import { BEHIND_ROUTER, bootstrapWorld, SHUT_IN } from './bootstrap-world.ts'
import type { NodeOptions } from './libp2p-world.ts'
import { type Diary, until, WAIT_MS } from './world.ts'

describe('through a bootstrap server', () => {
  let world = bootstrapWorld()
  afterEach(async () => {
    await world.close()
    world = bootstrapWorld()
  })

  /** Two teammates that know no address of each other. */
  async function two(bootstrap: readonly string[], ...options: NodeOptions[]): Promise<[Diary, Diary]> {
    const [a, b] = await Promise.all(
      ['a', 'b'].map((name, index) => world.startedWith(name, { bootstrap, ...(options[index] ?? options[0]) })),
    )
    if (a === undefined || b === undefined) throw new Error('not started')
    a.net.setTeam(new Map([[b.net.device, []]]))
    b.net.setTeam(new Map([[a.net.device, []]]))
    for (const { net } of [a, b]) net.setTopics(['topic'])
    return [a, b]
  }

  const peer = (book: Diary): PeerStatus | undefined => book.net.peers()[0]
  const areSyncing = (...books: Diary[]): boolean => books.every(({ syncsRunning }) => syncsRunning === 1)

  /** Says something new on the live stream, and by gossip until it was heard. */
  async function talk(a: Diary, b: Diary, text: string): Promise<void> {
    await until(() => areSyncing(a, b))
    await vi.waitFor(
      async () => {
        const hears = (book: Diary): boolean => book.gossip.some((one) => one.text === text)
        if (!hears(b)) await a.net.publish('topic', Buffer.from(text))
        if (!hears(a)) await b.net.publish('topic', Buffer.from(text))
        if (!hears(a) || !hears(b)) throw new Error('not heard')
      },
      { timeout: WAIT_MS, interval: 50 },
    )
    const frame = new Uint8Array(Buffer.from(text))
    await vi.waitFor(
      async () => {
        const said = b.frames.some((one) => Buffer.compare(one, frame) === 0)
        if (!said) await a.syncs.at(-1)?.send(frame)
        if (!said) throw new Error('not said')
      },
      { timeout: WAIT_MS, interval: 50 },
    )
  }

  test('two that nobody can reach meet at the relay, which is told, and why it stays so', async () => {
    const server = await world.server('s')
    const [a, b] = await two(server.addresses(), SHUT_IN)
    await talk(a, b, 'hello')
    const [, , host, , port] = server.addresses()[0]?.split('/') ?? []
    expect(peer(a)).toMatchObject({ connected: true, path: 'relayed', via: `${host}:${port}` })
    await until(() => peer(a)?.whyNotDirect === 'none of its addresses answers')
    expect(a.net.bootstrap()).toMatchObject([{ device: server.device, connected: true, relaying: true }])
    expect(a.net.addresses()).toEqual([expect.stringContaining(`${server.addresses()[0]}/p2p-circuit/p2p/12D3Koo`)])
  })

  test('two behind routers make a hole, move there, and go on without the server', async () => {
    const server = await world.server('s')
    const [a, b] = await two(server.addresses(), BEHIND_ROUTER)
    await until(() => [a, b].every((book) => peer(book)?.path === 'hole-punched'))
    await talk(a, b, 'one')
    await until(() => server.facts().circuits === 0)
    await talk(a, b, 'two')
    const { length } = a.changes
    await server.stop()
    await until(() => a.net.bootstrap()[0]?.connected === false)
    await talk(a, b, 'three')
    expect(a.changes.length).toBe(length)
    expect(peer(a)).toMatchObject({ connected: true, path: 'hole-punched' })
    expect(peer(a)).not.toHaveProperty('whyNotDirect')
  })

  test('two that can reach each other after all do so, without a hole', async () => {
    const server = await world.server('s')
    const [a, b] = await two(server.addresses(), { holePunching: false })
    await until(() => [a, b].every((book) => peer(book)?.path === 'same network'))
    await talk(a, b, 'one')
    await until(() => server.facts().circuits === 0)
    await talk(a, b, 'two')
  })
})
