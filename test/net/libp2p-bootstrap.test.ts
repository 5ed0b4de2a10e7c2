/** Bootstrap servers that come, go, and are not what they were said to be; and what else goes through them. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { deviceOfKey, peerOfDevice, privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { type Log, realSystem, SILENT_LOG } from '../../src/system.ts'
import { bootstrapWorld, SHUT_IN } from './bootstrap-world.ts'
import { type Diary, netError, openAndAsk, patience, readAll, seedOf, until, WAIT_MS } from './world.ts'

describe('a bootstrap server', () => {
  let world = bootstrapWorld()
  afterEach(async () => {
    await world.close()
    world = bootstrapWorld()
  })

  const hasPlace = ({ net }: Diary): boolean => net.bootstrap().some(({ relaying }) => relaying)

  test('that was away gives a place again, and both reach each other again', async () => {
    const first = await world.server('s')
    const bootstrap = first.addresses()
    const [a, b] = await Promise.all(['a', 'b'].map((name) => world.startedWith(name, { bootstrap, ...SHUT_IN })))
    if (a === undefined || b === undefined) throw new Error('not started')
    a.net.setTeam(new Map([[b.net.device, []]]))
    b.net.setTeam(new Map([[a.net.device, []]]))
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1 && hasPlace(a) && hasPlace(b))
    await first.stop()
    await until(() => [a, b].every(({ net, syncsRunning }) => !net.bootstrap()[0]?.connected && syncsRunning === 0))
    await until(() => a.net.bootstrap()[0]?.lastFailure?.includes('nobody listens at 127.0.0.1:') === true)
    expect([hasPlace(a), a.net.addresses()]).toEqual([false, []])
    const again = await world.server('s', { at: bootstrap })
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1 && hasPlace(a) && hasPlace(b))
    expect(again.facts().reservations).toBe(2)
    expect(a.net.bootstrap()[0]).not.toHaveProperty('lastFailure')
    expect(a.changedServers).toEqual([true, false, true])
  })

  test('with another key than its address says is named by that key', async () => {
    const server = await world.server('s')
    const expected = peerOfDevice(deviceOfKey(await privateKeyOfSeed(seedOf('t')))).toString()
    const [address = ''] = server.addresses()
    const a = await world.startedWith('a', { bootstrap: [address.replace(/[^/]+$/, expected)] })
    await until(() => a.net.bootstrap()[0]?.lastFailure !== undefined)
    expect(a.net.bootstrap()).toMatchObject([{ connected: false, relaying: false }])
    expect(a.net.bootstrap()[0]?.lastFailure).toContain(
      `another key answers there: ${peerOfDevice(server.device).toString()}`,
    )
  })

  test('that has no place left says so, and stays connected', async () => {
    const server = await world.server('s', { limits: { reservations: 0 } })
    const a = await world.startedWith('a', { bootstrap: server.addresses() })
    await until(() => a.net.bootstrap()[0]?.lastFailure !== undefined)
    expect(a.net.bootstrap()).toMatchObject([
      { connected: true, relaying: false, lastFailure: expect.stringContaining('full or does not want it') },
    ])
  })

  test('without a key in its address is left out, with a word in the log', async () => {
    const warn = vi.fn<Log['warn']>()
    const a = await world.startedWith('a', {
      bootstrap: ['/ip4/127.0.0.1/tcp/1', 'nonsense'],
      system: realSystem({ ...SILENT_LOG, warn }),
    })
    expect(a.net.bootstrap()).toEqual([])
    expect(warn.mock.calls.map(([, fields]) => fields?.['address'])).toEqual(['/ip4/127.0.0.1/tcp/1', 'nonsense'])
  })

  test('that is named later is used at once, and hung up on when it is named no more', async () => {
    const server = await world.server('s')
    const a = await world.startedWith('a', SHUT_IN)
    a.net.setBootstrap(server.addresses())
    await until(() => hasPlace(a))
    a.net.setBootstrap([])
    await until(() => server.facts().connections === 0)
    expect([a.net.bootstrap(), a.net.addresses()]).toEqual([[], []])
  })

  test('opens a mailbox stream to whoever names it, and nobody else is asked for one', async () => {
    const server = await world.server('s', {
      onMailbox: (stream) => readAll(stream, (frame) => void stream.send(frame)),
    })
    const a = await world.startedWith('a', { bootstrap: server.addresses() })
    await until(() => a.net.bootstrap()[0]?.connected === true)
    const stream = await a.net.openMailbox(server.device, patience())
    await stream.send(new Uint8Array([1, 2]))
    expect(await stream.receive()).toEqual(new Uint8Array([1, 2]))
    await stream.close()
    const stranger = deviceOfKey(await privateKeyOfSeed(seedOf('t')))
    expect((await netError(a.net.openMailbox(stranger, patience()))).code).toBe('NET_UNREACHABLE')
  })

  test('lets a stranger find and enter an open door, by a tag', async () => {
    const server = await world.server('s')
    const bootstrap = server.addresses()
    // One that listens somewhere, since who has no address at all is not entered into the DHT.
    const host = await world.startedWith('h', { bootstrap, holePunching: false, listen: ['/ip4/127.0.0.1/tcp/0'] })
    const end = await host.net.advertise('a-tag')
    host.net.setJoinOpen(true)
    host.onJoin = async (stream) => {
      await stream.send(Buffer.from(`hello ${Buffer.from((await stream.receive()) ?? []).toString()}`))
    }
    const joiner = await world.startedWith('j', { bootstrap, ...SHUT_IN })
    const found = await joiner.net.find('a-tag', patience())
    expect(found.device).toBe(host.net.device)
    const stream = await joiner.net.openJoin({ ...found, addresses: [] }, patience())
    await stream.send(Buffer.from('frank'))
    expect(Buffer.from((await stream.receive()) ?? []).toString()).toBe('hello frank')
    await end()
  })

  test('lets a stranger who names no server enter by an address that leads through it, and nobody where no door is open', async () => {
    const server = await world.server('s')
    const host = await world.startedWith('h', { bootstrap: server.addresses(), ...SHUT_IN })
    const joiner = await world.startedWith('j', SHUT_IN)
    await until(() => hasPlace(host))
    expect(['NET_REFUSED', 'NET_CLOSED']).toContain((await netError(openAndAsk(joiner, host))).code)
    host.net.setJoinOpen(true)
    host.onJoin = async (stream) => stream.send(Buffer.from('come in'))
    expect(await openAndAsk(joiner, host)).toBe('come in')
    expect(joiner.net.bootstrap()).toEqual([])
    // Whoever has entered is a teammate on the connection it has, as at a door nearby.
    host.net.setTeam(new Map([[joiner.net.device, []]]))
    joiner.net.setTeam(new Map([[host.net.device, []]]))
    await until(() => host.syncsRunning === 1 && joiner.syncsRunning === 1)
  })

  test('shows two machines that run with one key to each other', async () => {
    const server = await world.server('s')
    const bootstrap = server.addresses()
    const first = await world.startedWith('a', { bootstrap, ...SHUT_IN })
    await until(() => hasPlace(first))
    expect(first.net.twin()).toBeUndefined()
    const second = await world.startedWith('a', { bootstrap, ...SHUT_IN })
    await until(() => first.net.twin() !== undefined && second.net.twin() !== undefined)
    for (const { net } of [first, second])
      expect(net.twin()).toMatch(
        /^another machine runs with this key: it is connected to the bootstrap server 127\.0\.0\.1:/,
      )
  })

  test('carries the gossip of fourteen that it relays', async () => {
    const server = await world.server('s')
    const names = Array.from({ length: 14 }, (_, index) => `n${index}`)
    const books = await Promise.all(
      names.map((name) => world.startedWith(name, { bootstrap: server.addresses(), ...SHUT_IN })),
    )
    for (const { net } of books) {
      net.setTopics(['topic'])
      net.setTeam(new Map(books.map((other) => [other.net.device, []])))
    }
    await until(() => books.every(({ syncsRunning }) => syncsRunning === 13))
    expect(books.flatMap(({ net }) => net.peers()).every(({ path }) => path === 'relayed')).toBe(true)
    const hears = (book: Diary, text: string): boolean => book.gossip.some((one) => one.text === text)
    await vi.waitFor(
      async () => {
        const unheard = books.filter((book, index) =>
          books.some((other) => other !== book && !hears(other, names[index] ?? '')),
        )
        for (const book of unheard) await book.net.publish('topic', Buffer.from(names[books.indexOf(book)] ?? ''))
        if (unheard.length > 0) throw new Error('not all heard')
      },
      { timeout: WAIT_MS, interval: 200 },
    )
  })
})
