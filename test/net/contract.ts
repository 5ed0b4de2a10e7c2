/** What every net promises, whatever it is made of. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { FRAME_SIZE_BYTES_MAX, GOSSIP_SIZE_BYTES_MAX, JOIN_STRANGERS_COUNT_MAX } from '../../protocol/index.ts'
import type { FrameStream } from '../../src/net/net.ts'
import {
  connectedTeam,
  type Diary,
  heldSystem,
  netError,
  openAndAsk,
  patience,
  published,
  readAll,
  settled,
  started,
  team,
  until,
  WAIT_MS,
  type World,
} from './world.ts'

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
const texts = (frames: Uint8Array[]): string[] => frames.map((frame) => Buffer.from(frame).toString())

export function netContract(name: string, createWorld: () => World): void {
  describe(name, () => {
    let world = createWorld()
    afterEach(async () => {
      await world.close()
      world = createWorld()
    })

    async function pair(): Promise<[Diary, Diary, FrameStream, FrameStream]> {
      const [a, b] = await connectedTeam(world, 'a', 'b')
      const [near] = a?.syncs ?? []
      const [far] = b?.syncs ?? []
      if (a === undefined || b === undefined || near === undefined || far === undefined)
        throw new Error('not connected')
      return [a, b, near, far]
    }

    test('two teammates get one stream, each with the device of the other', async () => {
      const [a, b, near, far] = await pair()
      expect(near.device).toBe(b.net.device)
      expect(far.device).toBe(a.net.device)
      expect([a.syncs.length, b.syncs.length]).toEqual([1, 1])
      expect(a.changes.some(({ device, connected }) => device === b.net.device && connected)).toBe(true)
      expect(a.net.peers()).toMatchObject([{ device: b.net.device, connected: true, path: 'same network' }])
      expect(await a.net.ping(b.net.device, patience())).toBeGreaterThanOrEqual(0)
    })

    test('frames arrive in order and whole, both ways at once', async () => {
      const [a, b, near, far] = await pair()
      const sent = Array.from({ length: 200 }, (_, index) => `frame ${index}`)
      await Promise.all([...sent.map((text) => near.send(bytes(text))), ...sent.map((text) => far.send(bytes(text)))])
      await until(() => a.frames.length === sent.length && b.frames.length === sent.length)
      expect(texts(a.frames)).toEqual(sent)
      expect(texts(b.frames)).toEqual(sent)
    })

    test('an empty frame and the largest frame arrive, a larger one is refused by the sender', async () => {
      const [, b, near] = await pair()
      const largest = new Uint8Array(FRAME_SIZE_BYTES_MAX).map((_, index) => index * 31)
      await near.send(new Uint8Array(0))
      await near.send(new Uint8Array(300 * 1024).fill(9))
      await near.send(largest)
      expect((await netError(near.send(new Uint8Array(FRAME_SIZE_BYTES_MAX + 1)))).code).toBe('NET_FRAME')
      await near.send(bytes('still here'))
      await until(() => b.frames.length === 4)
      expect(b.frames.map((frame) => frame.length)).toEqual([0, 300 * 1024, FRAME_SIZE_BYTES_MAX, 10])
      expect(Buffer.compare(b.frames[2] ?? largest.subarray(1), largest)).toBe(0)
    })

    test('a sender waits for a reader that does not read, and 20 MB then arrive', async () => {
      const books = await Promise.all(['a', 'b'].map((one) => started(world, one)))
      const [a, b] = books
      if (a === undefined || b === undefined) throw new Error('not started')
      const frame = new Uint8Array(256 * 1024).fill(1)
      const reads = Promise.withResolvers<void>()
      let sent = 0
      let received = 0
      a.onSync = async (stream) => {
        for (let index = 0; index < 80; index += 1) {
          await stream.send(frame)
          sent += 1
        }
        await stream.close()
        await readAll(stream, () => undefined)
      }
      b.onSync = async (stream) => {
        await reads.promise
        await readAll(stream, ({ length }) => (received += length))
      }
      const [lower, higher] = a.net.device < b.net.device ? [a, b] : [b, a]
      ;[lower.onSync, higher.onSync] = [a.onSync, b.onSync]
      team(a, b)
      await until(() => lower.syncsRunning === 1 && higher.syncsRunning === 1)
      const held = await settled(() => sent)
      expect(held).toBeGreaterThan(0)
      expect(held).toBeLessThan(20)
      reads.resolve()
      await until(() => received === 80 * frame.length)
    })

    test('closing ends the frames of the other side, which may still answer', async () => {
      const books = await Promise.all(['a', 'b'].map((one) => started(world, one)))
      const [a, b] = books
      if (a === undefined || b === undefined) throw new Error('not started')
      const heard: string[] = []
      const [lower, higher] = a.net.device < b.net.device ? [a, b] : [b, a]
      lower.onSync = async (stream) => {
        await stream.send(bytes('question'))
        await stream.close()
        await readAll(stream, (frame) => heard.push(Buffer.from(frame).toString()))
      }
      higher.onSync = async (stream) => {
        await readAll(stream, (frame) => heard.push(Buffer.from(frame).toString()))
        await stream.send(bytes('answer'))
      }
      team(a, b)
      await until(() => heard.includes('answer'))
      expect(heard.slice(0, 2)).toEqual(['question', 'answer'])
    })

    test('an aborted stream rejects on both sides, and a new one is opened', async () => {
      const [a, b, near] = await pair()
      near.abort('test')
      expect((await netError(near.send(bytes('late')))).code).toBe('NET_CLOSED')
      await until(() => a.syncs.length === 2 && b.syncs.length === 2 && a.syncsRunning === 1 && b.syncsRunning === 1)
      await a.syncs[1]?.send(bytes('again'))
      await until(() => texts(b.frames).includes('again'))
    })

    test('a handler that settles has its stream closed, and gets a new one without a busy loop', async () => {
      const [a, b] = await pair()
      a.onSync = b.onSync = async () => undefined
      for (const { syncs } of [a, b]) for (const stream of syncs) stream.abort('test')
      await until(() => a.syncs.length >= 3 && b.syncs.length >= 3)
      expect(a.syncs.length).toBeLessThan(6)
    })

    test('a device that is dropped from the team is hung up at once', async () => {
      const [a, b, near] = await pair()
      a.net.setTeam(new Map())
      await until(
        () => b.net.peers().every(({ connected }) => !connected) && a.syncsRunning === 0 && b.syncsRunning === 0,
      )
      expect((await netError(near.send(bytes('late')))).code).toBe('NET_CLOSED')
      expect(a.net.peers()).toEqual([])
      expect(b.changes.at(-1)).toMatchObject({ device: a.net.device, connected: false })
      expect((await netError(a.net.ping(b.net.device, patience()))).code).toBe('NET_UNREACHABLE')
    })

    test('a device that is added to the team is dialled at once', async () => {
      const [a, b] = await pair()
      const c = await started(world, 'c')
      team(a, b, c)
      await until(() => [a, b, c].every(({ syncsRunning }) => syncsRunning === 2))
    })

    test('a peer that restarts where it was is connected again', async () => {
      const [a, b] = await pair()
      await b.net.stop()
      await until(() => a.net.peers().every(({ connected }) => !connected) && a.syncsRunning === 0)
      expect(a.changes.at(-1)).toMatchObject({ device: b.net.device, connected: false })
      const again = await started(world, 'b')
      again.net.setTeam(new Map([[a.net.device, []]]))
      await until(() => again.syncsRunning === 1 && a.syncsRunning === 1)
      await a.syncs.at(-1)?.send(bytes('welcome back'))
      await until(() => texts(again.frames).includes('welcome back'))
    })

    test('a stranger reaches nothing while joining is closed', async () => {
      const [a, mallory] = await Promise.all([started(world, 'a'), started(world, 'm')])
      mallory.net.setTeam(new Map([[a.net.device, a.net.addresses()]]))
      mallory.net.setTopics(['topic'])
      a.net.setTopics(['topic'])
      const error = await netError(openAndAsk(mallory, a))
      expect(['NET_REFUSED', 'NET_UNREACHABLE', 'NET_CLOSED']).toContain(error.code)
      await mallory.net.publish('topic', bytes('hello'))
      expect([a.syncs.length, a.joins.length, a.gossip.length, a.changes.length]).toEqual([0, 0, 0, 0])
      expect(mallory.net.peers()).toMatchObject([{ connected: false }])
    })

    test('while joining is open a stranger gets the join protocol and neither sync nor gossip', async () => {
      const [a, b] = await pair()
      const mallory = await started(world, 'm')
      for (const { net } of [a, b, mallory]) net.setTopics(['topic'])
      a.onJoin = async (stream) => {
        const question = await stream.receive()
        await stream.send(bytes(`hello ${Buffer.from(question ?? []).toString()}`))
        await readAll(stream, () => undefined)
      }
      a.net.setJoinOpen(true)
      mallory.net.setTeam(new Map([[a.net.device, a.net.addresses()]]))
      expect(await openAndAsk(mallory, a)).toBe('hello mallory')
      await until(() => a.joins.length === 1)
      await mallory.net.publish('topic', bytes('from outside'))
      await published(a, 'topic', 'from inside')
      await until(() => b.gossip.some(({ text }) => text === 'from inside'))
      expect(mallory.gossip).toEqual([])
      expect(a.gossip.map(({ text }) => text)).not.toContain('from outside')
      expect(a.syncs.every(({ device }) => device === b.net.device)).toBe(true)
      expect(a.changes.every(({ device }) => device === b.net.device)).toBe(true)
    })

    test('a stranger who becomes a teammate gets sync and gossip on the connection it has', async () => {
      const [a, joiner] = await Promise.all([started(world, 'a'), started(world, 'j')])
      for (const { net } of [a, joiner]) net.setTopics(['topic'])
      a.net.setJoinOpen(true)
      const stream = await joiner.net.openJoin({ device: a.net.device, addresses: a.net.addresses() }, patience())
      await until(() => a.joins.length === 1)
      a.net.setJoinOpen(false)
      a.net.setTeam(new Map([[joiner.net.device, []]])) // No address: only this connection can carry it.
      joiner.net.setTeam(new Map([[a.net.device, []]]))
      await until(() => a.syncsRunning === 1 && joiner.syncsRunning === 1)
      await stream.close()
      await until(() => a.net.peers()[0]?.connected === true)
      await published(a, 'topic', 'one')
      await published(joiner, 'topic', 'two')
      await until(() => joiner.gossip.length === 1 && a.gossip.length === 1)
    })

    test('only so many strangers are in at once, and each only for its time', async () => {
      const { system, release } = heldSystem()
      const a = await started(world, 'a', system)
      a.net.setJoinOpen(true)
      const target = { device: a.net.device, addresses: a.net.addresses() }
      const strangers = await Promise.all(
        Array.from({ length: JOIN_STRANGERS_COUNT_MAX + 1 }, (_, index) => started(world, `s${index}`)),
      )
      const last = strangers.pop()
      const streams = await Promise.all(strangers.map(({ net }) => net.openJoin(target, patience())))
      await until(() => a.joins.length === JOIN_STRANGERS_COUNT_MAX)
      await netError(last === undefined ? Promise.resolve() : openAndAsk(last, a))
      expect(a.joins.length).toBe(JOIN_STRANGERS_COUNT_MAX)
      release()
      const ends = await Promise.all(streams.map((stream) => netError(stream.receive())))
      expect(ends.map(({ code }) => code)).toEqual(streams.map(() => 'NET_CLOSED'))
      if (last === undefined) throw new Error('no stranger')
      a.onJoin = async (stream) => stream.send(bytes('come in'))
      expect(await openAndAsk(last, a)).toBe('come in')
    })

    test('gossip reaches the whole team, with the neighbour that forwarded it, and not the sender', async () => {
      const [a, b, c] = await connectedTeam(world, 'a', 'b', 'c')
      if (a === undefined || b === undefined || c === undefined) throw new Error('not connected')
      for (const { net } of [a, b, c]) net.setTopics(['topic', 'other'])
      await published(a, 'topic', 'news', 2)
      await until(() => b.gossip.length === 1 && c.gossip.length === 1)
      expect([a.net.device, c.net.device]).toContain(b.gossip[0]?.from)
      expect(b.gossip[0]).toMatchObject({ topic: 'topic', text: 'news' })
      expect(a.gossip).toEqual([])
    })

    test('what is rejected goes no further, what is accepted does', async () => {
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((one) => started(world, one)))
      if (a === undefined || b === undefined || c === undefined) throw new Error('not started')
      const everyone = [a, b, c].map(({ net }) => [net.device, [] as string[]] as const)
      const line = (book: Diary, ...neighbours: Diary[]): void =>
        book.net.setTeam(new Map([...everyone, ...neighbours.map(({ net }) => [net.device, net.addresses()] as const)]))
      world.separate(a.net.device, c.net.device)
      line(a, b)
      line(b, a, c)
      line(c, b)
      for (const { net } of [a, b, c]) net.setTopics(['topic'])
      await until(() => b.syncsRunning === 2)
      b.verdict = (text) => (text === 'good' ? 'accept' : text === 'bad' ? 'reject' : 'ignore')
      await published(b, 'topic', 'from the middle', 2)
      await published(a, 'topic', 'bad')
      await published(a, 'topic', 'odd')
      await vi.waitFor(
        async () => {
          await a.net.publish('topic', bytes('good')) // Again and again: what is forwarded may be lost.
          if (!c.gossip.some(({ text }) => text === 'good')) throw new Error('not forwarded yet')
        },
        { timeout: WAIT_MS, interval: 50 },
      )
      expect(new Set(b.gossip.map(({ text }) => text))).toEqual(new Set(['bad', 'odd', 'good']))
      expect(new Set(c.gossip.map(({ text }) => text))).toEqual(new Set(['from the middle', 'good']))
      expect(c.gossip.every(({ from }) => from === b.net.device)).toBe(true)
    })

    test('publishing reaches nobody where nobody is or listens, and does not fail', async () => {
      const alone = await started(world, 'a')
      alone.net.setTopics(['topic'])
      expect(await alone.net.publish('topic', bytes('hello'))).toBe(0)
      const [x, y] = await connectedTeam(world, 'x', 'y')
      x?.net.setTopics(['topic'])
      y?.net.setTopics([])
      expect(await x?.net.publish('topic', bytes('hello'))).toBe(0)
      expect(y?.gossip).toEqual([])
    })

    test('a topic that was left is heard no more; a new one is', async () => {
      const [a, b] = await pair()
      for (const { net } of [a, b]) net.setTopics(['old'])
      await published(a, 'old', 'one')
      await until(() => b.gossip.length === 1)
      for (const { net } of [a, b]) net.setTopics(['new'])
      await published(a, 'new', 'two')
      await until(() => b.gossip.length === 2)
      await a.net.publish('old', bytes('three'))
      await published(a, 'new', 'four')
      await until(() => b.gossip.length === 3)
      expect(b.gossip.map(({ text }) => text)).toEqual(['one', 'two', 'four'])
    })

    test('a gossip message has a bound', async () => {
      const [a, b] = await pair()
      for (const { net } of [a, b]) net.setTopics(['topic'])
      await published(a, 'topic', 'x'.repeat(GOSSIP_SIZE_BYTES_MAX))
      await until(() => b.gossip.length === 1)
      expect((await netError(a.net.publish('topic', new Uint8Array(2 * GOSSIP_SIZE_BYTES_MAX)))).code).toBe('NET_FRAME')
    })

    test('a device that advertises a tag is found under it, by others only, until it ends', async ({ skip }) => {
      const why = await world.whyNoSearch()
      if (why !== undefined) {
        console.warn(`not tested: ${why}`)
        skip(why)
      }
      const tag = `t${process.pid}`
      const [a, b] = await Promise.all([started(world, 'a'), started(world, 'b')])
      const end = await a.net.advertise(tag)
      expect((await netError(a.net.find(tag, patience(300)))).code).toBe('NET_TIMEOUT')
      const found = await b.net.find(tag, patience())
      expect(found.device).toBe(a.net.device)
      a.net.setJoinOpen(true)
      a.onJoin = async (stream) => stream.send(bytes('come in'))
      const stream = await b.net.openJoin(found, patience())
      expect(texts([(await stream.receive()) ?? bytes('')])).toEqual(['come in'])
      expect((await netError(b.net.find(`${tag}x`, patience(300)))).code).toBe('NET_TIMEOUT')
      await end()
      expect((await netError(b.net.find(tag, patience(300)))).code).toBe('NET_TIMEOUT')
    })

    test('whoever looks first finds who advertises later', async ({ skip }) => {
      const why = await world.whyNoSearch()
      if (why !== undefined) {
        console.warn(`not tested: ${why}`)
        skip(why)
      }
      const tag = `u${process.pid}`
      const [a, b] = await Promise.all([started(world, 'a'), started(world, 'b')])
      const found = b.net.find(tag, patience())
      const end = await a.net.advertise(tag)
      expect((await found).device).toBe(a.net.device)
      await end()
    })

    test('joining at a door where nobody is rejects, and so does a signal that was aborted', async () => {
      const a = await started(world, 'a')
      const gone = await started(world, 'g')
      const target = { device: gone.net.device, addresses: gone.net.addresses() }
      await gone.net.stop()
      expect((await netError(a.net.openJoin(target, patience()))).code).toBe('NET_UNREACHABLE')
      await netError(a.net.openJoin(target, AbortSignal.abort()))
      expect((await netError(a.net.openJoin({ ...target, addresses: [] }, patience()))).code).toBe('NET_UNREACHABLE')
    })

    test('before the start and after the stop the net says that it is not running', async () => {
      const net = await world.make('a')
      expect(net.addresses()).toEqual([])
      expect((await netError(net.publish('topic', bytes('x')))).code).toBe('NET_CLOSED')
      const a = await started(world, 'b')
      await a.net.stop()
      await a.net.stop()
      expect(a.net.addresses()).toEqual([])
      expect((await netError(a.net.openJoin({ device: net.device, addresses: [] }, patience()))).code).toBe(
        'NET_CLOSED',
      )
    })

    test('stopping settles the handlers, in bounded time', async () => {
      const [a, b] = await pair()
      const before = performance.now()
      await a.net.stop()
      expect(performance.now() - before).toBeLessThan(10_000)
      expect(a.syncsRunning).toBe(0)
      await until(() => b.syncsRunning === 0)
    })
  })
}
