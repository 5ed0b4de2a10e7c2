/**
 * One working day of many workspaces on a few bootstrap servers, minute by minute: a model of
 * messages and bytes. What one connection, one entry and one reservation cost was measured with real
 * nodes (`npm run bench -- workspace`, `npm run bench -- bootstrap`); how people work and where their
 * laptops sit is assumed, and stands in {@link HABITS}. The same seed gives the same figures.
 */
import { parseArgs } from 'node:util'
import { type Random, random } from '../sim/random.ts'

/** Bytes, measured: what a laptop sends and as much as it receives, unless said otherwise. */
const COSTS = {
  /** A connection to a teammate at rest, a minute. */
  rest: 6.7 * 1024,
  /** Opening one until both know that nothing is new, both directions. */
  connect: 23 * 1024,
  /** An entry as it reaches one member who is awake: all copies that gossip makes of it. */
  entryLive: 26.5 * 1024,
  /** An entry that a member pulls after it slept. */
  entryPulled: 0.8 * 1024,
  /** An entry in a mailbox, sealed and padded. */
  entryMailed: 8 * 1024,
  /** A place at a server: taking it, which opens a connection, and keeping it a minute. Both directions. */
  reserve: 23 * 1024,
  reserved: 1.8 * 1024,
} as const

/** Assumed. */
const HABITS = {
  handoffsADay: 6,
  /** create, accept, complete, two messages, and the receipts. */
  entriesAHandoff: 8,
  inOffice: 0.4,
  sameZone: 0.7,
  forwardedPort: 0.05,
  symmetricNat: 0.2,
  /** Of two routers that allow it, how often a hole can be made. */
  holeMade: 0.9,
  serversAWorkspace: 2,
  napsADay: 4,
} as const

const DAY_MINUTES = 24 * 60
const ZONES_HOURS = [0, 1, 8, 16]
/** One server is down for an hour in the middle of the day. */
const OUTAGE = { server: 0, from: 12 * 60, to: 13 * 60 }

interface Laptop {
  awake: Uint8Array
  office: boolean
  nat: 'forwarded' | 'restricted' | 'symmetric'
  bytes: { rest: number; connect: number; live: number; pulled: number }
  connectionsMax: number
}
type Path = 'same network' | 'direct' | 'hole-punched' | 'relayed'
interface Pair {
  one: Laptop
  other: Laptop
  path: Path
}
interface Workspace {
  laptops: Laptop[]
  pairs: Pair[]
  servers: number[]
  /** Mailboxes that are emptied, by minute. */
  emptied: Map<number, number[]>
}
interface Server {
  reservations: number
  reservationsMax: number
  /** Reservations asked for in one minute, at most. */
  rushMax: number
  relayedBytes: number
  relayedByteMinuteMax: number
  otherBytes: number
  mailboxBytes: number
  mailboxBytesMax: number
}

export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      nodes: { type: 'string', default: '10000' },
      workspaces: { type: 'string', default: '1000' },
      servers: { type: 'string', default: '5' },
      seed: { type: 'string', default: '1' },
    },
  })
  const [nodes, workspaces, servers] = [values.nodes, values.workspaces, values.servers].map(Number) as [
    number,
    number,
    number,
  ]
  const dice = random(`scale ${values.seed}`)
  const teams = sizes(dice.fork('sizes'), nodes, workspaces).map((size, i) =>
    makeWorkspace(dice.fork(`workspace ${i}`), size, servers),
  )
  print(teams, liveADay(dice.fork('day'), teams, servers))
}

/** Sizes of workspaces from 2 to 50 that add up to `nodes`. */
function sizes(dice: Random, nodes: number, workspaces: number): number[] {
  const found = Array.from({ length: workspaces }, () => {
    const kind = dice.below(10)
    return kind < 6 ? dice.between(2, 6) : kind < 9 ? dice.between(7, 15) : dice.between(16, 50)
  })
  for (let left = nodes - found.reduce((sum, size) => sum + size, 0); left !== 0;) {
    const at = dice.below(workspaces)
    const size = (found[at] ?? 0) + Math.sign(left)
    if (size < 2 || size > 50) continue
    found[at] = size
    left -= Math.sign(left)
  }
  return found
}

function makeWorkspace(dice: Random, size: number, servers: number): Workspace {
  const home = dice.pick(ZONES_HOURS) ?? 0
  const laptops = Array.from({ length: size }, (): Laptop => {
    const kind = dice.below(100) / 100
    const { forwardedPort, symmetricNat } = HABITS
    return {
      awake: awakeMinutes(dice, dice.chance(HABITS.sameZone) ? home : (dice.pick(ZONES_HOURS) ?? 0)),
      office: dice.chance(HABITS.inOffice),
      nat: kind < forwardedPort ? 'forwarded' : kind < forwardedPort + symmetricNat ? 'symmetric' : 'restricted',
      bytes: { rest: 0, connect: 0, live: 0, pulled: 0 },
      connectionsMax: 0,
    }
  })
  const pairs = laptops.flatMap((one, i) =>
    laptops.slice(i + 1).map((other): Pair => ({ one, other, path: pathBetween(dice, one, other) })),
  )
  const chosen = dice.shuffled(Array.from({ length: servers }, (_, i) => i)).slice(0, HABITS.serversAWorkspace)
  return { laptops, pairs, servers: chosen, emptied: new Map() }
}

/** 1 for each minute of the day in which the lid is open: nine hours of work with naps, and sometimes an evening hour. */
function awakeMinutes(dice: Random, zone: number): Uint8Array {
  const awake = new Uint8Array(DAY_MINUTES)
  const set = (from: number, minutes: number, value: 0 | 1): void => {
    for (let at = from; at < from + minutes; at++) awake[(at + DAY_MINUTES) % DAY_MINUTES] = value
  }
  const begin = (zone + 8) * 60 + dice.below(120)
  set(begin, 9 * 60, 1)
  for (let nap = 0; nap < HABITS.napsADay; nap++) set(begin + dice.below(9 * 60), dice.between(5, 60), 0)
  if (dice.chance(0.3)) set(begin + 12 * 60 + dice.below(60), 60, 1)
  return awake
}

function pathBetween(dice: Random, one: Laptop, other: Laptop): Path {
  if (one.office && other.office) return 'same network'
  if (one.nat === 'forwarded' || other.nat === 'forwarded') return 'direct'
  if (one.nat === 'symmetric' || other.nat === 'symmetric') return 'relayed'
  return dice.chance(HABITS.holeMade) ? 'hole-punched' : 'relayed'
}

interface Day {
  servers: Server[]
  entries: number
  mailed: number
  /** Pairs that changed their relay when a server went down and came back. */
  rerouted: number
}

function liveADay(dice: Random, teams: readonly Workspace[], count: number): Day {
  const servers = Array.from({ length: count }, (): Server => ({
    reservations: 0,
    reservationsMax: 0,
    rushMax: 0,
    relayedBytes: 0,
    relayedByteMinuteMax: 0,
    otherBytes: 0,
    mailboxBytes: 0,
    mailboxBytesMax: 0,
  }))
  const day: Day = { servers, entries: 0, mailed: 0, rerouted: 0 }
  for (let minute = 0; minute < DAY_MINUTES; minute++) {
    const relayedBefore = servers.map(({ relayedBytes }) => relayedBytes)
    const rush = servers.map(() => 0)
    for (const team of teams) liveAMinute(dice, team, { day, minute, rush })
    servers.forEach((server, i) => {
      server.reservationsMax = Math.max(server.reservationsMax, server.reservations)
      server.rushMax = Math.max(server.rushMax, rush[i] ?? 0)
      server.mailboxBytesMax = Math.max(server.mailboxBytesMax, server.mailboxBytes)
      const relayed = server.relayedBytes - (relayedBefore[i] ?? 0)
      server.relayedByteMinuteMax = Math.max(server.relayedByteMinuteMax, relayed)
    })
  }
  return day
}

const isDown = (server: number, minute: number): boolean =>
  server === OUTAGE.server && minute >= OUTAGE.from && minute < OUTAGE.to
const isAwake = (laptop: Laptop, minute: number): boolean => laptop.awake[(minute + DAY_MINUTES) % DAY_MINUTES] === 1

function liveAMinute(
  dice: Random,
  team: Workspace,
  { day, minute, rush }: { day: Day; minute: number; rush: number[] },
): void {
  const { servers } = day
  const up = team.servers.filter((server) => !isDown(server, minute))
  const relayBefore = team.servers.find((server) => !isDown(server, minute - 1))
  const relay = servers[up[0] ?? -1]

  for (const at of team.emptied.get(minute) ?? []) {
    const server = servers[at]
    if (server) server.mailboxBytes -= COSTS.entryMailed
  }
  for (const at of team.servers) {
    const server = servers[at]
    if (!server) continue
    for (const laptop of team.laptops) {
      const here = isAwake(laptop, minute) && !isDown(at, minute)
      // A day begins where the one before ended, so at its first minute all that is there comes anew.
      const before = minute > 0 && isAwake(laptop, minute - 1) && !isDown(at, minute - 1)
      if (here) server.otherBytes += COSTS.reserved
      if (here === before) continue
      server.reservations += here ? 1 : -1
      if (!here) continue
      rush[at] = (rush[at] ?? 0) + 1
      server.otherBytes += COSTS.reserve
    }
  }

  const open = new Map<Laptop, number>()
  for (const { one, other, path } of team.pairs) {
    if (!isAwake(one, minute) || !isAwake(other, minute)) continue
    if (path === 'relayed' && relay === undefined) continue
    for (const laptop of [one, other]) {
      laptop.bytes.rest += COSTS.rest
      open.set(laptop, (open.get(laptop) ?? 0) + 1)
    }
    const rerouted = path === 'relayed' && up[0] !== relayBefore
    const isNew = minute === 0 || !isAwake(one, minute - 1) || !isAwake(other, minute - 1) || rerouted
    if (rerouted) day.rerouted++
    if (isNew) for (const laptop of [one, other]) laptop.bytes.connect += COSTS.connect / 2
    // What is relayed enters the server once and leaves it once.
    if (path === 'relayed' && relay) relay.relayedBytes += 2 * (2 * COSTS.rest + (isNew ? COSTS.connect : 0))
  }
  for (const [laptop, connections] of open) laptop.connectionsMax = Math.max(laptop.connectionsMax, connections)

  for (const laptop of team.laptops) {
    if (!isAwake(laptop, minute)) continue
    if (!dice.chance(HABITS.handoffsADay / (9 * 60))) continue
    const to = dice.pick(team.laptops.filter((other) => other !== laptop))
    if (to) handOff(team, { from: laptop, to, minute, day, relay, up })
  }
}

interface HandOff {
  from: Laptop
  to: Laptop
  minute: number
  day: Day
  relay: Server | undefined
  up: number[]
}

/** All entries of one handoff, as if they were said in the minute of its create. */
function handOff(team: Workspace, { from, to, minute, day, relay, up }: HandOff): void {
  const entries = HABITS.entriesAHandoff
  day.entries += entries
  const relayedTo = new Map<Laptop, { relayed: number; all: number }>()
  for (const { one, other, path } of team.pairs) {
    if (!isAwake(one, minute) || !isAwake(other, minute)) continue
    for (const laptop of [one, other]) {
      const ways = relayedTo.get(laptop) ?? { relayed: 0, all: 0 }
      ways.all++
      if (path === 'relayed') ways.relayed++
      relayedTo.set(laptop, ways)
    }
  }
  for (const laptop of team.laptops) {
    if (laptop === from) continue
    if (!isAwake(laptop, minute)) {
      laptop.bytes.pulled += entries * COSTS.entryPulled
      continue
    }
    const bytes = entries * COSTS.entryLive
    laptop.bytes.live += bytes
    // Copies come over the connections of a laptop alike.
    const ways = relayedTo.get(laptop)
    if (relay && ways && ways.all > 0) relay.relayedBytes += 2 * bytes * (ways.relayed / ways.all)
  }
  if (isAwake(to, minute)) return
  day.mailed++
  for (const at of up) {
    const server = day.servers[at]
    if (!server) continue
    // Put now, taken when the recipient wakes.
    server.mailboxBytes += COSTS.entryMailed
    server.otherBytes += 2 * COSTS.entryMailed
  }
  let wake = minute
  while (!isAwake(to, wake) && wake < DAY_MINUTES) wake++
  team.emptied.set(wake, [...(team.emptied.get(wake) ?? []), ...up])
}

function print(teams: readonly Workspace[], day: Day): void {
  const laptops = teams.flatMap((team) => team.laptops)
  const pairs = teams.flatMap((team) => team.pairs)
  const share = (path: Path): string =>
    `${((100 * pairs.filter((pair) => pair.path === path).length) / pairs.length).toFixed(0)} % ${path}`
  console.log(
    `${laptops.length} laptops in ${teams.length} workspaces, ${pairs.length} pairs: ` +
      (['same network', 'direct', 'hole-punched', 'relayed'] as const).map(share).join(', '),
  )
  console.log(`${day.entries} entries in a day; ${day.mailed} handoffs to somebody asleep`)
  console.log(`${day.rerouted} times a pair changed its relay, when a server went down for an hour and came back`)
  console.log('\na laptop, a day        median       95 %      most')
  const row = (name: string, of: (laptop: Laptop) => number, unit: (value: number) => string): void => {
    const sorted = laptops.map(of).toSorted((a, b) => a - b)
    const at = (part: number): string =>
      unit(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0)
    console.log(`${name.padEnd(18)} ${at(0.5).padStart(10)} ${at(0.95).padStart(10)} ${at(1).padStart(10)}`)
  }
  row('connections', (laptop) => laptop.connectionsMax, String)
  row('at rest', (laptop) => laptop.bytes.rest, mebibytes)
  row('connecting', (laptop) => laptop.bytes.connect, mebibytes)
  row('live', (laptop) => laptop.bytes.live, mebibytes)
  row('caught up', (laptop) => laptop.bytes.pulled, mebibytes)
  console.log('\nserver   reservations   most in a minute    relayed   busiest minute      other   mailbox, most')
  day.servers.forEach((server, i) => {
    const { reservationsMax, rushMax, relayedBytes, relayedByteMinuteMax, otherBytes, mailboxBytesMax } = server
    console.log(
      `${String(i + 1).padStart(6)} ${String(reservationsMax).padStart(14)} ${String(rushMax).padStart(18)} ` +
        `${mebibytes(relayedBytes).padStart(10)} ${megabits(relayedByteMinuteMax / 60).padStart(16)} ` +
        `${mebibytes(otherBytes).padStart(10)} ${mebibytes(mailboxBytesMax).padStart(15)}`,
    )
  })
}

function mebibytes(bytes: number): string {
  return bytes >= 1024 ** 3 ? `${(bytes / 1024 ** 3).toFixed(1)} GiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

function megabits(bytesASecond: number): string {
  return `${((8 * bytesASecond) / 1e6).toFixed(1)} Mbit/s`
}
