/** What the tests of the net share: nodes that write down what happens to them. */
import { vi } from 'vitest'
import {
  type DeviceKey,
  type FrameStream,
  type GossipVerdict,
  type Net,
  NetError,
  type NetHandlers,
} from '../../src/net/net.ts'
import { type Clock, realSystem, type System, WALL_CLOCK } from '../../src/system.ts'

/** Passed on by every node and written down by none. */
const PROBE = 'is anyone there?'

/** Catches what hangs. A busy machine may be slow. */
export const WAIT_MS = 60_000

/** A kind of net, so that one suite runs over both. */
export interface World {
  /** A node that is not started. The same name is the same device; made again, it listens where it listened before. */
  make(name: string, system?: System): Promise<Net>
  /** Whatever two devices know of each other, they cannot connect. */
  separate(one: DeviceKey, other: DeviceKey): void
  /** Why nothing can be found on the same network here; undefined where it can. */
  whyNoSearch(): Promise<string | undefined>
  /** Stops whatever still runs. */
  close(): Promise<void>
}

/** A node and what happened to it. */
export interface Diary {
  net: Net
  handlers: NetHandlers
  /** Every sync stream, oldest first, and how many handlers are at work now. */
  syncs: FrameStream[]
  syncsRunning: number
  joins: FrameStream[]
  frames: Uint8Array[]
  gossip: { topic: string; text: string; from: DeviceKey }[]
  changes: { device: DeviceKey; connected: boolean; addresses: string[] }[]
  /** Whether a bootstrap server came or went. */
  changedServers: boolean[]
  /** What the next handlers do; replaced by tests. */
  onSync(stream: FrameStream): Promise<void>
  onJoin(stream: FrameStream): Promise<void>
  verdict(text: string): GossipVerdict | Promise<GossipVerdict>
}

/** Reads until the other side closes or the stream breaks. */
export async function readAll(stream: FrameStream, onFrame: (frame: Uint8Array) => void): Promise<void> {
  for (;;) {
    const frame = await stream.receive()
    if (frame === undefined) return
    onFrame(frame)
  }
}

export function diary(net: Net): Diary {
  const book: Diary = {
    net,
    syncs: [],
    syncsRunning: 0,
    joins: [],
    frames: [],
    gossip: [],
    changes: [],
    changedServers: [],
    onSync: (stream) => readAll(stream, (frame) => void book.frames.push(frame)),
    onJoin: (stream) => readAll(stream, (frame) => void book.frames.push(frame)),
    verdict: () => 'accept',
    handlers: {
      async onSync(stream) {
        book.syncs.push(stream)
        book.syncsRunning += 1
        try {
          await book.onSync(stream)
        } finally {
          book.syncsRunning -= 1
        }
      },
      async onJoin(stream) {
        book.joins.push(stream)
        await book.onJoin(stream)
      },
      async onGossip(topic, data, from) {
        const text = Buffer.from(data).toString()
        if (text === PROBE) return 'accept'
        book.gossip.push({ topic, text, from })
        return book.verdict(text)
      },
      onPeerChange: (change) => void book.changes.push(change),
      onBootstrapChange: ({ connected }) => void book.changedServers.push(connected),
    },
  }
  return book
}

export async function started(world: World, name: string, system?: System): Promise<Diary> {
  const book = diary(await world.make(name, system))
  await book.net.start(book.handlers)
  return book
}

/** Each of them becomes a teammate of all others. */
export function team(...books: Diary[]): void {
  for (const { net } of books) net.setTeam(new Map(books.map((other) => [other.net.device, other.net.addresses()])))
}

export async function connectedTeam(world: World, ...names: string[]): Promise<Diary[]> {
  const books = await Promise.all(names.map((name) => started(world, name)))
  team(...books)
  await until(() =>
    books.every(
      (book) => book.net.peers().every(({ connected }) => connected) && book.syncsRunning === books.length - 1,
    ),
  )
  return books
}

export function until(condition: () => boolean, what = 'it never became true'): Promise<void> {
  return vi.waitFor(
    () => {
      if (!condition()) throw new Error(what)
    },
    { timeout: WAIT_MS, interval: 10 },
  )
}

export async function netError(promise: Promise<unknown>): Promise<NetError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof NetError) return error
    throw error
  }
  throw new Error('it did not reject')
}

export function patience(ms = WAIT_MS): AbortSignal {
  return AbortSignal.timeout(ms)
}

/** The device of `name` in every world: a 32-byte seed. */
export function seedOf(name: string): Uint8Array {
  return new Uint8Array(32).fill(7).map((byte, index) => name.charCodeAt(index) || byte)
}

/** A system whose waits of half a minute and more end when the test says so. */
export function heldSystem(): { system: System; release(): void } {
  const held = new Set<() => void>()
  const clock: Clock = {
    ...WALL_CLOCK,
    after(ms, run) {
      if (ms < 30_000) return WALL_CLOCK.after(ms, run)
      held.add(run)
      return () => void held.delete(run)
    },
  }
  return {
    system: { ...realSystem(), clock },
    release() {
      for (const run of held) {
        held.delete(run)
        run()
      }
    },
  }
}

/** A system whose clock can be set forward, as if the machine had slept. */
export function jumpingSystem(): { system: System; jump(ms: number): void } {
  let offset = 0
  return {
    system: { ...realSystem(), clock: { ...WALL_CLOCK, now: () => WALL_CLOCK.now() + offset } },
    jump: (ms) => void (offset += ms),
  }
}

/** A system whose time moves only when it is told to; each due timer runs at its own moment. */
export function manualSystem(): { system: System; advance(ms: number): void } {
  const timers = new Set<{ at: number; every: number | undefined; run: () => void }>()
  let now = 0
  const add = (ms: number, every: number | undefined, run: () => void): (() => void) => {
    const timer = { at: now + ms, every, run }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const clock: Clock = {
    now: () => now,
    after: (ms, run) => add(ms, undefined, run),
    every: (ms, run) => add(ms, ms, run),
  }
  return {
    system: { ...realSystem(), clock, dice: (count) => new Uint8Array(count).fill(128) },
    advance(ms) {
      const end = now + ms
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)
        if (next === undefined) break
        now = next.at
        if (next.every === undefined) timers.delete(next)
        else next.at += next.every
        next.run()
      }
      now = end
    },
  }
}

/** Opens the join protocol, says a name and returns the answer. */
export async function openAndAsk(book: Diary, host: Diary, name = 'mallory'): Promise<string> {
  const stream = await book.net.openJoin({ device: host.net.device, addresses: host.net.addresses() }, patience())
  await stream.send(Buffer.from(name))
  const answer = await stream.receive()
  if (answer === undefined) throw new NetError('NET_CLOSED', 'no answer')
  return Buffer.from(answer).toString()
}

/** Publishes once `count` peers are there to take it, since subscriptions have to travel too. */
export async function published(book: Diary, topic: string, text: string, count = 1): Promise<void> {
  await vi.waitFor(
    async () => {
      if ((await book.net.publish(topic, Buffer.from(PROBE))) < count) throw new Error('too few listen')
    },
    { timeout: WAIT_MS, interval: 20 },
  )
  await book.net.publish(topic, Buffer.from(text))
}

/** The value once it has stopped changing. */
export async function settled(value: () => number): Promise<number> {
  let last = value()
  let equal = 0
  await until(() => {
    equal = value() === last ? equal + 1 : 0
    last = value()
    return equal >= 30
  })
  return last
}
