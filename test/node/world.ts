/**
 * A few laptops on one network in memory: whole nodes, each on a disk of its own, with a clock that
 * the test moves. bob owns acme; whoever else is in it joined by a real invite.
 */
import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type {
  Caller,
  Content,
  EntryContent,
  EntryView,
  HandoffResult,
  InboxItem,
  NewHandoffParams,
  ThreadView,
} from '../../src/node/api.ts'
import { ApiError, type ApiSymbol } from '../../src/node/api-error.ts'
import { foundWorkspace } from '../../src/node/found.ts'
import { type Node, type NodeOptions, openNode } from '../../src/node/node.ts'
import { createMemoryHub, type MemoryHub } from '../../src/net/memory-net.ts'
import type { Net } from '../../src/net/net.ts'
import { SILENT_LOG, type System } from '../../src/system.ts'
import { actor, dice, seedOf } from '../cast.ts'
import { type TestClock, testClock } from './clock.ts'
import { createDisk, type Disk } from './disk.ts'
import { enrolSecond, SECOND } from './second-laptop.ts'

/** What a node is told when it starts. */
type Settings = Partial<Pick<NodeOptions, 'rebuild' | 'quotas' | 'bootstrap' | 'mailbox'>>

export interface Laptop {
  readonly name: string
  /** Its device key. */
  readonly device: string
  readonly system: System
  readonly disk: Disk
  /** What is running. */
  readonly node: Node
  /** The net of the node that is running. */
  readonly net: Net
  readonly running: boolean
  /** `rebuild`: as after a repair of its store. `through`: what its node is given in place of the net. */
  start(options?: Settings & { through?: (net: Net) => Net }): Promise<void>
  stop(): Promise<void>
  restart(): Promise<void>
}

export interface World {
  readonly hub: MemoryHub
  readonly clock: TestClock
  laptop(name: string): Laptop
  /** A laptop that is in no workspace, not started. */
  stranger(name: string): Promise<Laptop>
  cut(one: Laptop, other: Laptop): void
  /** Returns once the two are connected again. */
  heal(one: Laptop, other: Laptop): Promise<void>
  /** All that run see each other. */
  connected(): Promise<void>
  /** What `look` finds, as soon as it finds something: looks again whenever something happens at a laptop. */
  until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>>
}

/** A wait that takes so long is one that never ends. */
const HANGING_MS = 60_000
const LOOK_AGAIN_MS = 10
let worlds = 0

async function emptyWorld(): Promise<World & { place(name: string, disk: Disk): Laptop }> {
  const clock = testClock()
  const world = `world ${worlds++}`
  const hub = createMemoryHub({ clock, dice: dice(world), log: SILENT_LOG })
  const laptops = new Map<string, Laptop>()
  let news = Promise.withResolvers<void>()
  const ring = (): void => {
    news.resolve()
    news = Promise.withResolvers()
  }

  function place(name: string, disk: Disk): Laptop {
    const system = { clock, dice: dice(`${world} ${name}`), log: SILENT_LOG }
    const { device } = actor(name)
    let current: { node: Node; net: Net } | undefined
    const running = (): { node: Node; net: Net } => {
      if (!current) throw new Error(`${name} is not running`)
      return current
    }
    const laptop: Laptop = {
      name,
      device,
      system,
      disk,
      get node() {
        return running().node
      },
      get net() {
        return running().net
      },
      get running() {
        return current !== undefined
      },
      async start({ through = (net: Net) => net, ...more } = {}) {
        const net = through(hub.net(device, system))
        const options = { store: disk.open(), net, system, seed: seedOf('device', name), version: '0.0.0' }
        const node = await openNode({ ...options, ...more, deviceName: `${name}-laptop` })
        node.onEvent(ring)
        current = { node, net }
      },
      async stop() {
        const { node } = running()
        current = undefined
        await node.stop()
        ring()
      },
      async restart() {
        await laptop.stop()
        await laptop.start()
      },
    }
    laptops.set(name, laptop)
    return laptop
  }

  async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    const began = Date.now()
    for (;;) {
      const heard = news.promise
      const found = await look()
      if (found) return found as NonNullable<Exclude<T, false>>
      if (Date.now() - began > HANGING_MS) throw new Error(`it never came to pass: ${what}`)
      let timer: NodeJS.Timeout | undefined
      await Promise.race([heard, new Promise<void>((resolve) => (timer = setTimeout(resolve, LOOK_AGAIN_MS)))])
      clearTimeout(timer)
    }
  }

  const sees = (one: Laptop, other: Laptop): boolean =>
    one.net.peers().some(({ device, connected }) => device === other.device && connected)
  onTestFinished(async () => {
    for (const laptop of laptops.values()) if (laptop.running) await laptop.stop()
  })

  return {
    hub,
    clock,
    place,
    laptop(name) {
      const found = laptops.get(name)
      if (!found) throw new Error(`there is no ${name} here`)
      return found
    },
    stranger: async (name) => place(name, await createDisk()),
    cut: (one, other) => hub.cut(one.device, other.device),
    async heal(one, other) {
      hub.heal(one.device, other.device)
      await until(`${one.name} and ${other.name} are connected`, () => sees(one, other) && sees(other, one))
    },
    async connected() {
      const all = [...laptops.values()].filter((laptop) => laptop.running)
      await until('all are connected', () =>
        all.every((one) => all.every((other) => one === other || sees(one, other))),
      )
    },
    until,
  }
}

/** bob's new workspace on an empty disk. */
export async function foundAcme(laptop: Laptop): Promise<void> {
  const options = { store: laptop.disk.open(), system: laptop.system, seed: seedOf('device', laptop.name) }
  await foundWorkspace({ ...options, member: laptop.name, team: 'acme', deviceName: `${laptop.name}-laptop` })
}

/** bob alone, who has founded acme and runs. */
export async function founder(): Promise<World & { bob: Laptop }> {
  const world = await emptyWorld()
  const bob = world.place('bob', await createDisk())
  await foundAcme(bob)
  await bob.start()
  return { ...world, bob }
}

const bases = new Map<string, Promise<Map<string, Disk>>>()

/** The disks of bob and of `names` after they joined, made once and copied for each world. */
function baseOf(names: readonly string[]): Promise<Map<string, Disk>> {
  const key = names.join(' ')
  let base = bases.get(key)
  if (!base) bases.set(key, (base = makeBase(names)))
  return base
}

async function makeBase(names: readonly string[]): Promise<Map<string, Disk>> {
  const world = await founder()
  const laptops = [world.bob]
  for (const name of names.filter((one) => !SECOND.test(one))) {
    const laptop = await world.stranger(name)
    await laptop.start()
    const { code } = await world.bob.node.invite({ name, standalone: true })
    await laptop.node.join({ code })
    laptops.push(laptop)
  }
  const seconds = names.filter((one) => SECOND.test(one))
  if (seconds.length > 0) await world.bob.stop()
  for (const name of seconds) {
    const laptop = await world.stranger(name)
    const { everybody, own } = await enrolSecond({
      owner: (space) => world.bob.disk.rows(space),
      name,
      system: laptop.system,
    })
    await world.bob.disk.write(everybody)
    await laptop.disk.write(own)
    laptops.push(laptop)
  }
  for (const laptop of laptops) if (!laptop.running) await laptop.start()
  await world.connected()
  await world.until('everybody holds every key', async () => {
    const held = await Promise.all(laptops.map(async ({ disk }) => (await disk.rows('prekey')).length))
    return held.every((count) => count === laptops.length)
  })
  for (const laptop of laptops) await laptop.stop()
  return new Map(laptops.map((laptop) => [laptop.name, laptop.disk]))
}

/** acme with bob and those named, all stopped. frank2 is the second laptop of frank. */
export async function stoppedAcme(...names: string[]): Promise<World> {
  const base = await baseOf(names)
  const world = await emptyWorld()
  for (const [name, disk] of base) world.place(name, await disk.copy())
  return world
}

/** acme with bob and frank, both running and connected. */
export async function pair(): Promise<World & { bob: Laptop; frank: Laptop }> {
  const world = await stoppedAcme('frank')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  await bob.start()
  await frank.start()
  await world.connected()
  return { ...world, bob, frank }
}

/** acme with bob, frank and carol, all running and connected. */
export async function trio(): Promise<World & { bob: Laptop; frank: Laptop; carol: Laptop }> {
  const world = await stoppedAcme('frank', 'carol')
  const [bob, frank, carol] = [world.laptop('bob'), world.laptop('frank'), world.laptop('carol')]
  for (const laptop of [bob, frank, carol]) await laptop.start()
  await world.connected()
  return { ...world, bob, frank, carol }
}

// What people say.

/** A session of some front end. */
export const SESSION: Caller = { session: '3f0d6c2a-0d5b-4d0e-9a3e-6f3a1c1d2b10' }

export function uuid(): string {
  return randomUUID()
}

export function says(text: string): NewHandoffParams['message'] {
  return { role: 'user', parts: [{ type: 'text', text }] }
}

/** Hands `summary` to someone of acme. */
export function handOff(
  from: Laptop,
  to: string,
  summary: string,
  more: Partial<NewHandoffParams> = {},
): Promise<HandoffResult> {
  const params = { recipient: `${to}@acme`, intent: 'inform' as const, message: says(summary), ...more }
  return from.node.sendHandoff(params, SESSION)
}

/** Returns once the thread is in the laptop's inbox. */
export function arrives(world: World, at: Laptop, threadId: string): Promise<InboxItem> {
  return world.until(`${threadId} arrives at ${at.name}`, () => inboxItem(at, threadId))
}

export async function inboxItem(at: Laptop, threadId: string): Promise<InboxItem | undefined> {
  const status = ['pending', 'accepted', 'completed', 'cancelled'] as const
  const { items } = await at.node.listThreads({ status: [...status], limit: 200 })
  return items.find((item) => item.thread_id === threadId)
}

export function view(at: Laptop, threadId: string): Promise<ThreadView> {
  return at.node.getThread({ thread_id: threadId })
}

/** The thread at `at`, once it is as `is` says. */
export function viewOnce(world: World, at: Laptop, threadId: string, is: (view: ThreadView) => boolean) {
  return world.until(`the thread at ${at.name} is as expected`, async () => {
    const item = await inboxItem(at, threadId)
    const seen = item && (await view(at, threadId))
    return seen && is(seen) ? seen : undefined
  })
}

/** Returns the thread as all of them show it, once they hold the same entries. */
export async function agreed(world: World, threadId: string, ...laptops: Laptop[]): Promise<ThreadView[]> {
  return world.until('all show the same', async () => {
    const views = await Promise.all(
      laptops.map(async (at) => ((await inboxItem(at, threadId)) ? view(at, threadId) : undefined)),
    )
    const [first] = views
    const seen = views.flatMap((one) => one ?? [])
    return first && seen.length === laptops.length && seen.every((one) => one.state_digest === first.state_digest)
      ? seen
      : undefined
  })
}

/** What somebody wrote, own or not. */
export function plain<T>(content: Content<T> | undefined): T | undefined {
  return (content?.own ?? content?.untrusted) as T | undefined
}

export function textsOf(thread: ThreadView): (string | undefined)[] {
  return thread.entries.map((entry) => textOf(entry)).filter((text) => text !== undefined)
}

function textOf(entry: EntryView): string | undefined {
  const content: EntryContent | undefined = plain(entry.content)
  return content?.summary ?? content?.body ?? content?.result_summary
}

/** The error that a call ends with; fails the test where it does not. */
export async function refused(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('the call was not refused')
}

export async function symbolOf(call: Promise<unknown>): Promise<ApiSymbol> {
  return (await refused(call)).symbol
}
