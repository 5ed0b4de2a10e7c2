/**
 * One seed is one run: a few laptops live through a story of calls and faults, then everything is
 * healed and the checkers look at what is left.
 */
import { CARRIED_SIZE_BYTES_MAX } from '../../protocol/index.ts'
import { DEFAULT_QUOTAS } from '../../src/node/quotas.ts'
import { actor } from '../cast.ts'
import { boundsChecker } from './checkers/bounds.ts'
import { carriedChecker } from './checkers/carried.ts'
import { convergedChecker, missing } from './checkers/converged.ts'
import { digestChecker } from './checkers/digests.ts'
import { finalChecker } from './checkers/final.ts'
import { honestChecker } from './checkers/honest.ts'
import { keptChecker } from './checkers/kept.ts'
import { outboxChecker } from './checkers/outbox.ts'
import { readersChecker } from './checkers/readers.ts'
import { rulesChecker } from './checkers/rules.ts'
import { shutOutChecker } from './checkers/shut-out.ts'
import { toldChecker } from './checkers/told.ts'
import { createHeader, devicesOf, devicesWithReaders } from './checkers/verdicts.ts'
import { type Client, createClient, isOpen } from './client.ts'
import type { CrashPoint, Defects, Laptop } from './laptop.ts'
import { createLiar, type Liar } from './liar.ts'
import { createOwner } from './owner.ts'
import { HEALING_MS, rest } from './quiet.ts'
import { random, type Random } from './random.ts'
import type { Scene } from './scene.ts'
import { createWorld, type Faults, type Help, HONEST, memberOf, NO_FAULTS, type World } from './world.ts'

export interface Outcome {
  readonly seed: number
  readonly violation: Scene['violation']
  readonly traceHash: string
  readonly trace: readonly string[]
  /** What the run was made of, in a line. */
  readonly summary: string
}

export interface StoryOptions {
  readonly defects?: Defects
  /** frank has two laptops, and bob removes somebody, or the liar. */
  readonly removals?: boolean
}

/** What can happen in a step, and how often beside the others. A run leaves some of it out. */
const HAPPENINGS = {
  calls: 16,
  'time passes': 6,
  'a long time passes': 1,
  'a link breaks': 2,
  'a link heals': 2,
  'a link is slow': 1,
  'a crash comes': 3,
  'the power goes': 1,
  'a node stops': 1,
  'a node starts': 4,
  'a backup is made': 3,
  'an old disk is put back': 4,
  'a clock jumps': 1,
  'the liar acts': 8,
} as const
type Happening = keyof typeof HAPPENINGS
/** What no run is without. */
const ALWAYS = new Set<Happening>(['calls', 'time passes', 'a node starts', 'a link heals', 'a backup is made'])

const STEPS_MIN = 12
const STEPS_MAX = 36
/** How often a laptop shares something after a step, in stories of removals. */
const SHARE_CHANCE = 0.1
const DAY_MS = 24 * 60 * 60 * 1000
const POINTS: readonly CrashPoint[] = ['before a batch', 'after a batch', 'before a publish', 'before a send']

export async function tell(seed: number, options: StoryOptions = {}): Promise<Outcome> {
  const dice = random(`seed ${seed}`)
  const look = lookLater()
  const help = someHelp(dice.fork('help'))
  const honest = dice.between(2, HONEST.length)
  const { defects = {}, removals = false } = options
  let shown: ReturnType<typeof digestChecker>['shown'] = () => undefined
  const world = await createWorld({
    random: dice.fork('world'),
    honest,
    defects,
    help,
    removals,
    checkers(scene) {
      const digests = digestChecker(scene)
      shown = digests.shown
      const looking = look.keep([boundsChecker(scene), carriedChecker(scene, help.quotas)])
      const others = [
        rulesChecker,
        keptChecker,
        toldChecker,
        honestChecker,
        finalChecker,
        convergedChecker,
        outboxChecker,
        shutOutChecker,
        readersChecker,
      ]
      return [digests, ...looking, ...others.map((make) => make(scene))]
    },
  })
  const { scene, laptops, clock } = world
  const happenings = (Object.keys(HAPPENINGS) as Happening[]).filter((one) => ALWAYS.has(one) || dice.chance(0.6))
  const liar = happenings.includes('the liar acts') ? await createLiar(world, dice.fork('liar'), removals) : undefined
  const handles = [...new Set([...scene.holders.map(({ name }) => memberOf(name)), ...(liar ? ['mallory'] : [])])]
  const clients = laptops.map((laptop) =>
    createClient({
      laptop,
      scene,
      random: dice.fork(`client ${laptop.name}`),
      others: handles.filter((name) => name !== memberOf(laptop.name)),
      removals,
      shown: (holder, thread, digest) => shown(holder, thread, digest),
    }),
  )
  const cast = { world, clients, liar, dice, removals, cuts: new Set<string>() }
  world.setFaults(someFaults(dice))
  for (const laptop of laptops) begin(scene, laptop)
  await clock.pass(2000)
  const steps = dice.between(STEPS_MIN, STEPS_MAX)
  const comings = dice.fork('comings and goings')
  const sharing = dice.fork('sharing')
  const owner = removals ? createOwner(world, dice.fork('owner')) : undefined
  for (let step = 0; step < steps && !scene.violation; step++) {
    await happen(cast, pickHappening(dice, happenings))
    const removed = owner?.mayRemove(steps) ?? []
    if (removed.length > 0) await cutOff(cast, sharing, removed)
    if (owner) for (const client of sharing.some(clients, SHARE_CHANCE)) client.share('one')
    if (comings.chance(0.1)) world.post[world.post.isUp ? 'close' : 'open']()
    await rest()
    for (const laptop of laptops) look.at(laptop)
  }
  await heal(cast)
  await owner?.isDone()
  if (!scene.violation) await epilogue(cast)
  if (!scene.violation) scene.tell((checker) => checker.ended?.())
  for (const laptop of laptops) look.at(laptop)
  return {
    seed,
    violation: scene.violation,
    traceHash: scene.traceHash(),
    trace: scene.trace,
    summary: `${honest} honest${liar ? ' and a liar' : ''}${help.mailbox ? ' with mailboxes' : ''}, ${steps} steps, ${scene.entries.size} entries, ${scene.trace.length} events: ${happenings.join(', ')}`,
  }
}

interface Cast {
  readonly world: World
  readonly clients: readonly Client[]
  readonly liar: Liar | undefined
  readonly dice: Random
  readonly cuts: Set<string>
  readonly removals: boolean
}

function pickHappening(dice: Random, happenings: readonly Happening[]): Happening {
  let left = dice.below(happenings.reduce((sum, one) => sum + HAPPENINGS[one], 0))
  return happenings.find((one) => (left -= HAPPENINGS[one]) < 0) ?? 'calls'
}

function someFaults(dice: Random): Faults {
  const maybe = (most: number): number => (dice.chance(0.5) ? dice.below(1000) / 1000 : 0) * most
  return {
    gossipLost: maybe(0.8),
    gossipLate: maybe(0.8),
    gossipTwice: maybe(0.4),
    gossipDelayMsMax: dice.pick([50, 1000, 20_000]) ?? 50,
    linkDelayMsMax: dice.pick([0, 0, 5, 300]) ?? 0,
  }
}

/** What a program does that may die at any moment is not waited for. */
function begin(scene: Scene, laptop: Laptop): void {
  laptop.start().catch((error: unknown) => scene.violated('start', `${laptop.name} does not start: ${String(error)}`))
}

function end(scene: Scene, laptop: Laptop): void {
  laptop.stop().catch((error: unknown) => scene.violated('stop', `${laptop.name} does not stop: ${String(error)}`))
}

async function happen(cast: Cast, happening: Happening): Promise<void> {
  const { world, clients, liar, dice, cuts } = cast
  const { clock, laptops, scene } = world
  const some = dice.pick(laptops)
  const up = dice.pick(laptops.filter(({ state }) => state === 'up'))
  const off = dice.pick(laptops.filter(({ state }) => state === 'off'))
  switch (happening) {
    case 'calls': {
      const together = dice.between(1, 6)
      for (let i = 0; i < together; i++) dice.pick(clients)?.ask()
      return rest()
    }
    case 'time passes':
      return clock.pass(dice.between(1, dice.pick([60, 1000, 10_000, 60_000]) ?? 60))
    case 'a long time passes':
      return clock.pass(dice.between(60_000, 12 * 60_000))
    case 'a link breaks': {
      const [one, other] = dice.shuffled(laptops)
      if (one && other) {
        world.cut(one, other)
        cuts.add(`${one.name} ${other.name}`)
      }
      return
    }
    case 'a link heals':
      return healLink(cast, dice.pick([...cuts]))
    case 'a link is slow': {
      const [one, other] = dice.shuffled(laptops)
      if (one && other) world.clog(one, other, dice.pick([undefined, 200, 3000, 30_000]))
      return
    }
    case 'a crash comes':
      return up?.armCrash(dice.pick(POINTS) ?? 'after a batch', dice.between(1, 4))
    case 'the power goes':
      return up?.crash()
    case 'a node stops':
      if (up) end(scene, up)
      return clock.pass(1500)
    case 'a node starts': {
      if (!off) return
      const luck = dice.fork(`start at ${scene.trace.length}`)
      if (luck.chance(0.2)) off.armCrash(luck.pick(POINTS) ?? 'after a batch', luck.between(1, 3))
      begin(scene, off)
      await clock.pass(dice.between(0, 500))
      return clients[laptops.indexOf(off)]?.askAgain()
    }
    case 'a backup is made':
      await some?.backUp()
      // A copy is noticed once the laptop has been started or stopped since.
      if (some?.state === 'up') end(scene, some)
      return clock.pass(1500)
    case 'an old disk is put back': {
      // An owner who forgets what he signed forks the roster, and that ends every story.
      const mayForget = cast.removals ? laptops.slice(1) : laptops
      const restored = dice.pick(mayForget.filter(({ hasBackup }) => hasBackup))
      return restored && putBack(cast, restored)
    }
    case 'a clock jumps':
      if (some) some.skew += dice.between(-2 * DAY_MS, 2 * DAY_MS)
      return
    case 'the liar acts':
      for (let acts = dice.between(1, 3); acts > 0; acts--)
        liar?.act().catch((error: unknown) => scene.violated('liar', String(error)))
      return
  }
}

/** An old copy of a disk is used as if nothing had happened; often enough while no peer is there to tell. */
async function putBack({ world, clients, dice, cuts }: Cast, laptop: Laptop): Promise<void> {
  if (laptop.state !== 'off') laptop.crash()
  await rest()
  await laptop.restore()
  for (const other of dice.some(world.laptops, dice.pick([0, 1]) ?? 0)) {
    if (other === laptop) continue
    world.cut(laptop, other)
    cuts.add(`${laptop.name} ${other.name}`)
  }
  begin(world.scene, laptop)
  await rest()
  const client = clients[world.laptops.indexOf(laptop)]
  const together = dice.between(1, 4)
  for (let i = 0; i < together; i++) client?.ask()
}

/** Somebody does not hear of a removal for some time, and shares meanwhile: a laptop in whose threads a key changes by it. */
async function cutOff({ world, clients, cuts }: Cast, dice: Random, removed: readonly string[]): Promise<void> {
  const out = new Set(removed.map((name) => actor(name).device))
  const others = world.laptops.slice(1).filter(({ device }) => !out.has(device))
  const isIn = ({ holder }: Laptop): boolean =>
    [...holder.entries].some(([thread, held]) => {
      const create = createHeader(world.scene, thread)
      if (!create || !isOpen(holder.rows.get(thread))) return false
      const staying = devicesOf(create).filter((device) => !out.has(device))
      const isKeyDue = devicesWithReaders(create, held).some((device) => out.has(device))
      return isKeyDue && staying.includes(holder.device) && staying.length > 1
    })
  const one = dice.pick(others.filter(isIn))
  if (!one || dice.chance(0.2)) return
  for (const other of world.laptops) {
    if (other === one) continue
    world.cut(one, other)
    cuts.add(`${one.name} ${other.name}`)
  }
  world.scene.note(`${one.name} is cut off`)
  clients[world.laptops.indexOf(one)]?.share('all')
  // The others have made new keys by then.
  return world.clock.pass(3000)
}

function healLink({ world, cuts }: Cast, link: string | undefined): void {
  if (link === undefined) return
  cuts.delete(link)
  const [one, other] = link.split(' ').map((name) => world.laptops.find((laptop) => laptop.name === name))
  if (one && other) world.heal(one, other)
}

/** All faults end, everybody runs, and there is time to catch up. */
async function heal(cast: Cast): Promise<void> {
  const { world, clients, cuts, liar } = cast
  const { scene, laptops, clock } = world
  scene.note('all is healed')
  world.setFaults(NO_FAULTS)
  for (const laptop of laptops) {
    laptop.disarm()
    for (const other of laptops) if (laptop !== other) world.clog(laptop, other, undefined)
  }
  for (const link of cuts) healLink(cast, link)
  world.post.open()
  await clock.pass(2000)
  for (const laptop of laptops) if (laptop.state === 'off') begin(scene, laptop)
  await clock.pass(2000)
  for (const client of clients) client.askAgain()
  liar?.stop().catch((error: unknown) => scene.violated('liar', String(error)))
  for (let passed = 0; passed < HEALING_MS && !scene.violation; passed += 60_000) {
    await clock.pass(60_000)
    if (missing(scene).length === 0) break
  }
  // What was on its way arrives, and what was due is done.
  await clock.pass(30_000)
}

/** What people could do before they can do still: a handoff goes its whole way. */
async function epilogue({ world, clients, dice }: Cast): Promise<void> {
  const { scene, laptops, clock } = world
  for (const [i, client] of clients.entries())
    for (const what of client.open) scene.violated('answers', `${laptops[i]?.name} never answers: ${what}`)
  const staying = laptops.filter(({ device }) => !scene.isRemoved(device))
  const [from, ...others] = dice.fork('epilogue').shuffled(staying)
  const to = others.find(({ name }) => memberOf(name) !== memberOf(from?.name ?? ''))
  // Everybody else may have been removed.
  if (from && !to) return
  if (!from?.node || !to?.node) return scene.violated('ends well', 'somebody does not run')
  const caller = { session: 'epilogue' }
  const done = from.node
    .sendHandoff(
      {
        recipient: `${memberOf(to.name)}@acme`,
        intent: 'inform',
        message: { parts: [{ type: 'text', text: 'at last' }] },
      },
      caller,
    )
    .then(async ({ thread_id }) => {
      await atRest()
      await to.node?.accept({ thread_id }, caller)
      await to.node?.complete({ thread_id, result_summary: 'done' }, caller)
      await atRest()
      const views = [await from.node?.getThread({ thread_id }), await to.node?.getThread({ thread_id })]
      for (const view of views)
        if (view?.status !== 'completed' || !view.final || view.state_digest !== views[0]?.state_digest)
          scene.violated('ends well', `the last handoff is ${view?.status}, final ${view?.final}`)
      return true
    })
    .catch((error: unknown) => scene.violated('ends well', `the last handoff failed: ${String(error)}`))
  const settled = { done: false }
  done.finally(() => (settled.done = true)).catch(() => undefined)
  for (let passed = 0; passed < HEALING_MS && !settled.done; passed += 1000) await clock.pass(1000)
  if (!settled.done) scene.violated('ends well', 'the last handoff never ends')

  function atRest(): Promise<void> {
    return new Promise((resolve) => void world.hubClock.after(5000, resolve))
  }
}

/** Some laptops use mailboxes; some keep little for others, or nothing. */
function someHelp(dice: Random): Help {
  const carried = dice.pick([CARRIED_SIZE_BYTES_MAX, CARRIED_SIZE_BYTES_MAX, 30_000, 0]) ?? 0
  const quotas = { ...DEFAULT_QUOTAS, carried, carriedOfAuthor: Math.ceil(carried / 2) }
  return { mailbox: dice.chance(0.6), quotas }
}

/** What is looked at in the course of the story, by checkers that are made with the scene. */
function lookLater() {
  let looking: readonly { look(laptop: Laptop): void }[] = []
  return {
    keep<T extends { look(laptop: Laptop): void }>(made: readonly T[]): readonly T[] {
      looking = made
      return made
    },
    at(laptop: Laptop) {
      for (const one of looking) one.look(laptop)
    },
  }
}
