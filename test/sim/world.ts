/** A few laptops of acme in virtual time, on a network whose every fault is named. */
import { admitRosterEntry, currentRoster, emptyRosterLog, parseRosterEntry, type Roster } from '../../protocol/index.ts'
import { foundWorkspace } from '../../src/node/found.ts'
import { createMemoryHub, type MemoryHub } from '../../src/net/memory-net.ts'
import type { Quotas } from '../../src/node/quotas.ts'
import { findSecrets } from '../../src/node/secrets.ts'
import { SPACES, type Space, type Write } from '../../src/store/store.ts'
import { SILENT_LOG } from '../../src/system.ts'
import { actor, seedOf } from '../cast.ts'
import { enrolSecond } from '../node/second-laptop.ts'
import { type Hand, simClock, type SimClock } from './clock.ts'
import { createDisk, type Disk, type Row } from './disk.ts'
import { createLaptop, type Defects, type Laptop } from './laptop.ts'
import { createPost, type Post } from './post.ts'
import { holdBackWebCrypto } from './quiet.ts'
import { random, type Random } from './random.ts'
import { type Checker, createScene, emptyHolder, type Scene } from './scene.ts'

/** The members of acme: bob owns it, and mallory lies. */
export const HONEST = ['bob', 'frank', 'carol', 'alice'] as const
export const LIAR = 'mallory'

/** frank's other laptop, in stories of removals. */
export const SECOND_LAPTOP = 'frank2'

/** frank2 is a laptop of frank. */
export function memberOf(laptop: string): string {
  return laptop.replace(/2$/, '')
}

/** How often each fault happens, where it may. */
export interface Faults {
  /** A gossip message on one link is lost. */
  gossipLost: number
  /** … comes later than others. */
  gossipLate: number
  /** … comes twice. */
  gossipTwice: number
  /** The longest delay of gossip, ms. */
  gossipDelayMsMax: number
  /** The delay of every frame on an ordinary link, ms. */
  linkDelayMsMax: number
}

export const NO_FAULTS: Faults = {
  gossipLost: 0,
  gossipLate: 0,
  gossipTwice: 0,
  gossipDelayMsMax: 0,
  linkDelayMsMax: 0,
}

export interface World {
  readonly clock: SimClock
  readonly hub: MemoryHub
  readonly hubClock: Hand
  readonly scene: Scene
  readonly laptops: readonly Laptop[]
  /** The bootstrap server. */
  readonly post: Post
  /** What the liar's disk held when it was replaced by a program that lies. */
  readonly liarsDisk: Disk
  setFaults(faults: Faults): void
  cut(one: Laptop, other: Laptop): void
  heal(one: Laptop, other: Laptop): void
  /** Every frame on the link takes so long from now on, ms; undefined: as on any other. */
  clog(one: Laptop, other: Laptop, delayMs: number | undefined): void
}

export interface WorldOptions {
  readonly random: Random
  /** How many honest laptops run. */
  readonly honest: number
  readonly checkers: (scene: Scene) => Checker[]
  readonly defects: Defects
  readonly help?: Help
  /** frank has a second laptop, and the owner may remove people. */
  readonly removals?: boolean
}

/** How laptops help each other out when somebody is away. */
export interface Help {
  /** They use mailboxes at the bootstrap server. */
  readonly mailbox: boolean
  readonly quotas: Quotas
}

type Rows = ReadonlyMap<Space, readonly Row[]>
let base: Promise<ReadonlyMap<string, Rows>> | undefined
let second: Promise<ReadonlyMap<string, Rows>> | undefined

export async function createWorld(options: WorldOptions): Promise<World> {
  // Loading what searches for secrets takes real time, which no seed decides.
  await findSecrets([])
  holdBackWebCrypto()
  const { honest, checkers, defects, help, removals = false } = options
  const disks = await (removals ? (second ??= withSecond((base ??= makeBase()))) : (base ??= makeBase()))
  const diskOf = (name: string): Promise<Disk> => createDisk(disks.get(name))
  const names: string[] = HONEST.slice(0, honest)
  if (removals) names.splice(2, 0, SECOND_LAPTOP)
  const scene = createScene(
    names.map((name) => emptyHolder(name, actor(name).device)),
    checkers,
  )
  const dice = options.random.fork('network')
  const clock = simClock()
  const hubClock = clock.hand()
  const hub = createMemoryHub({ clock: hubClock, dice: (count) => dice.bytes(count), log: SILENT_LOG })
  const clogged = new Map<string, number>()
  const linkOf = (one: string, other: string): string => [one, other].toSorted().join(' ')
  let faults = NO_FAULTS

  hub.setGossipFault(({ from, to }) => {
    scene.note(`gossip ${from.slice(0, 4)} ${to.slice(0, 4)}`)
    if (dice.chance(faults.gossipLost)) return 'drop'
    if (dice.chance(faults.gossipLate)) return { delayMs: dice.between(1, faults.gossipDelayMsMax) }
    return 'pass'
  })
  const post = await createPost({ hub, clock: hubClock, random: options.random.fork('post') })
  const around = {
    clock,
    hub,
    hubClock,
    scene,
    defects,
    node: help ? { ...help, bootstrap: [post.address] } : {},
    delay: (from: string, to: string) =>
      clogged.get(linkOf(from, to)) ?? (faults.linkDelayMsMax > 0 ? dice.between(0, faults.linkDelayMsMax) : 0),
    gossipComesAgainAfter: () =>
      dice.chance(faults.gossipTwice) ? dice.between(0, faults.gossipDelayMsMax) : undefined,
  }
  const laptops: Laptop[] = []
  for (const holder of scene.holders) {
    const disk = await diskOf(holder.name)
    for (const [, envelope] of await disk.rows('roster')) {
      const entry = parseRosterEntry(envelope)
      if (entry.ok) admitRosterEntry(holder.log, entry.value)
    }
    laptops.push(createLaptop(holder, disk, { ...around, random: options.random.fork(holder.name) }))
  }
  return {
    clock,
    hub,
    hubClock,
    scene,
    laptops,
    post,
    liarsDisk: await diskOf(LIAR),
    setFaults(next) {
      faults = next
    },
    cut(one, other) {
      scene.note(`cut ${one.name} ${other.name}`)
      hub.cut(one.device, other.device)
    },
    heal(one, other) {
      scene.note(`heal ${one.name} ${other.name}`)
      hub.heal(one.device, other.device)
    },
    clog(one, other, delayMs) {
      scene.note(`clog ${one.name} ${other.name} ${delayMs}`)
      if (delayMs === undefined) clogged.delete(linkOf(one.device, other.device))
      else clogged.set(linkOf(one.device, other.device), delayMs)
    },
  }
}

/** The newest roster that a disk holds. */
export async function rosterOn(disk: Disk): Promise<Roster> {
  const log = emptyRosterLog()
  for (const [, envelope] of await disk.rows('roster')) {
    const entry = parseRosterEntry(envelope)
    if (entry.ok) admitRosterEntry(log, entry.value)
  }
  const roster = currentRoster(log)
  if (!roster) throw new Error('there is no roster on the disk')
  return roster
}

/** Founds acme and lets everyone join by a real invite, once for all runs. */
async function makeBase(): Promise<ReadonlyMap<string, Rows>> {
  const names = [...HONEST, LIAR]
  const dice = random('base')
  const clock = simClock()
  const hubClock = clock.hand()
  const system = { clock: hubClock, dice: (count: number) => dice.bytes(count), log: SILENT_LOG }
  const hub = createMemoryHub(system)
  const scene = createScene(
    names.map((name) => emptyHolder(name, actor(name).device)),
    () => [],
  )
  const around = { clock, hub, hubClock, scene, defects: { noStartMark: true }, node: {}, delay: () => 0 }
  const disks = new Map<string, Disk>()
  const laptops: Laptop[] = []
  for (const holder of scene.holders) {
    const disk = await createDisk()
    disks.set(holder.name, disk)
    const gossipComesAgainAfter = (): undefined => undefined
    laptops.push(createLaptop(holder, disk, { ...around, gossipComesAgainAfter, random: dice.fork(holder.name) }))
  }
  const [owner] = laptops
  const first = owner && disks.get(owner.name)
  if (!owner || !first) throw new Error('acme has an owner')
  const store = first.open({
    isAlive: () => true,
    fateOf: () => 'write',
    crash: () => undefined,
    onWritten: () => undefined,
    after: () => undefined,
  })
  const options = { store, system, seed: seedOf('device', owner.name), member: owner.name, team: 'acme' }
  await finish(clock, foundWorkspace({ ...options, deviceName: `${owner.name}-laptop` }))
  for (const laptop of laptops) await finish(clock, laptop.start())
  for (const { name, node } of laptops.slice(1)) {
    const invited = await finish(clock, running(owner).invite({ name, standalone: true }))
    await finish(clock, running({ name, node }).join({ code: invited.code }))
  }
  // A beacon later everybody holds every key.
  await clock.pass(15 * 60_000)
  for (const laptop of laptops) await finish(clock, laptop.stop())
  const rows = new Map<string, Rows>()
  for (const [name, disk] of disks) rows.set(name, new Map(await rowsOf(disk)))
  for (const [name, held] of rows)
    if (held.get('prekey')?.length !== names.length) throw new Error(`${name} does not hold every key`)
  return rows
}

/** The same disks with frank's second laptop in the roster, and one more for that. */
async function withSecond(first: Promise<ReadonlyMap<string, Rows>>): Promise<ReadonlyMap<string, Rows>> {
  const disks = await first
  const clock = simClock()
  const dice = random('second laptop')
  const enrolled = enrolSecond({
    owner: async (space) => disks.get('bob')?.get(space) ?? [],
    name: SECOND_LAPTOP,
    system: { clock: clock.hand(), dice: (count) => dice.bytes(count) },
  })
  const { everybody, own } = await finish(clock, enrolled)
  const all = [...disks].map(([name, rows]): [string, Rows] => [name, grown(rows, everybody)])
  return new Map([...all, [SECOND_LAPTOP, grown(new Map(), own)]])
}

function grown(rows: Rows, writes: readonly Write[]): Rows {
  const spaces = new Map<Space, Row[]>([...rows].map(([space, found]) => [space, [...found]]))
  for (const write of writes)
    if (write.type === 'put') spaces.set(write.space, [...(spaces.get(write.space) ?? []), [write.key, write.value]])
  return spaces
}

function running(laptop: Pick<Laptop, 'name' | 'node'>): NonNullable<Laptop['node']> {
  if (!laptop.node) throw new Error(`${laptop.name} is not running`)
  return laptop.node
}

async function rowsOf(disk: Disk): Promise<[Space, Row[]][]> {
  const all: [Space, Row[]][] = []
  // Where a peer was last seen depends on how the world of the base ran; each run finds out anew.
  for (const space of SPACES) if (space !== 'peer') all.push([space, await disk.rows(space)])
  return all
}

/** What `task` comes to, with as much time as it needs. */
async function finish<T>(clock: SimClock, task: Promise<T>): Promise<T> {
  let done = false
  const end = (): void => {
    done = true
  }
  task.then(end, end)
  for (let step = 0; !done && step < 100; step++) await clock.pass(100)
  if (!done) throw new Error('it never ends')
  return task
}
