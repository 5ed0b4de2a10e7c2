/**
 * A workspace of many members on one machine: whole nodes, LevelDB, libp2p over TCP. Prints how long a
 * newcomer takes to be in sync, what a node sends at rest, how often gossip sends one thing, what a
 * reconnection with nothing new costs, and the memory of a node.
 */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeMembers, type MemberPlace } from './members.ts'
import type { Answer, Look, Order } from './workspace-child.ts'

const PROCESSES_COUNT = 4
const REST_MS = 60_000
const LOOK_EVERY_MS = 250
const CHILD = join(import.meta.dirname, 'workspace-child.ts')
const ALONE = 'RELAY_NODE_BENCH_ALONE'

interface Host {
  ask(order: Order): Promise<Answer>
  end(): Promise<void>
}

export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { members: { type: 'string', default: '50' }, threads: { type: 'string', default: '2000' } },
  })
  if (process.env[ALONE] === undefined && canBeAlone()) return runAlone(args)
  const [membersCount, threadsCount] = [Number(values.members), Number(values.threads)]
  if (!(membersCount >= 3 && threadsCount >= membersCount)) {
    throw new Error('--members is 3 or more, --threads at least as many as the members')
  }
  if (process.env[ALONE] === undefined) console.log('not root: other programs on loopback are counted too')
  const root = mkdtempSync(join(tmpdir(), 'relay-node-bench-'))
  const hosts: Host[] = []
  try {
    await measure(await makeMembers(membersCount, root), { threadsCount, hosts })
  } finally {
    for (const host of hosts) await host.end()
    rmSync(root, { recursive: true })
  }
}

/** Whether this process may have a network of its own, on which nobody else is counted. */
function canBeAlone(): boolean {
  return process.platform === 'linux' && spawnSync('unshare', ['--net', 'true']).status === 0
}

async function runAlone(args: string[]): Promise<void> {
  const command = 'ip link set lo up && exec "$@"'
  const node = [process.execPath, ...process.execArgv, ...process.argv.slice(1, 3), ...args]
  const env = { ...process.env, [ALONE]: '1' }
  const child = spawn('unshare', ['--net', 'sh', '-c', command, 'sh', ...node], { stdio: 'inherit', env })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error('the bench did not come to its end')
}

async function measure(
  members: MemberPlace[],
  { threadsCount, hosts }: { threadsCount: number; hosts: Host[] },
): Promise<void> {
  const newcomer = members.at(-1)
  const team = members.slice(0, -1)
  if (!newcomer) throw new Error('there is a newcomer')
  console.log(`${members.length} members, ${threadsCount} threads, ${PROCESSES_COUNT} processes, TCP on loopback`)

  const shares = Array.from({ length: PROCESSES_COUNT }, (_, i) => team.filter((_m, at) => at % PROCESSES_COUNT === i))
  const begun = performance.now()
  for (const share of shares) {
    const host = startHost()
    hosts.push(host)
    await host.ask({ do: 'start', members: share })
  }
  await until(hosts, (looks) => looks.every(({ connected }) => connected === team.length - 1))
  console.log(`all ${team.length} connected to each other after ${seconds(begun)}`)

  const sent = await whileSending({ hosts, shares, team, threadsCount })
  // An entry and its receipt, at every node but the one that wrote it.
  const copies = sent.wire / (threadsCount * 2 * (team.length - 1))
  console.log(
    `${threadsCount} handoffs handed to everybody and acknowledged in ${(sent.ms / 1000).toFixed(1)} s: ` +
      `${(copies / 1024).toFixed(2)} KiB on the wire for one entry at one node`,
  )

  const atRest = wireBytes()
  await new Promise((resolve) => setTimeout(resolve, REST_MS))
  const rest = (wireBytes() - atRest) / team.length / (REST_MS / 60_000)
  console.log(`at rest a node sends ${(rest / 1024).toFixed(1)} KiB a minute, with ${team.length - 1} connections`)
  const memory = await Promise.all(hosts.map(async (host) => (await host.ask({ do: 'look' })).rssBytes ?? 0))
  const share = memory.reduce((sum, bytes) => sum + bytes, 0) / team.length
  console.log(
    `memory: ${mebibytes(share)} a node where about ${Math.ceil(team.length / PROCESSES_COUNT)} share a process`,
  )

  const alone = startHost()
  hosts.push(alone)
  const before = wireBytes()
  const started = performance.now()
  await alone.ask({ do: 'start', members: [newcomer] })
  const [first] = await until([alone], (looks) => looks.every(({ threads }) => threads === threadsCount))
  console.log(
    `a newcomer holds all ${threadsCount} threads ${seconds(started)} after its start, ` +
      `${mebibytes(wireBytes() - before)} on the wire with what all others said, ${mebibytes(first?.syncBytes ?? 0)} of it its sync`,
  )
  await until([alone], (looks) => looks.every(({ connected }) => connected === team.length))
  const { rssBytes = 0 } = await alone.ask({ do: 'look' })
  console.log(`memory: ${mebibytes(rssBytes)} a node alone in its process, with ${team.length} connections`)

  await alone.ask({ do: 'stop' })
  const beforeAgain = wireBytes()
  await alone.ask({ do: 'start', members: [newcomer] })
  const [again] = await until([alone], (looks) => looks.every(({ connected }) => connected === team.length))
  await quiet([alone])
  const wire = wireBytes() - beforeAgain
  const [settled] = (await alone.ask({ do: 'look' })).looks ?? []
  const aPeer = (bytes: number): string => `${(bytes / (again?.connected ?? 1) / 1024).toFixed(1)} KiB`
  console.log(
    `reconnecting with nothing new: ${aPeer(settled?.syncBytes ?? 0)} of sync a peer, both ways; ` +
      `${aPeer(wire)} on the wire with opening the connection, and with what all others say meanwhile`,
  )
}

/** Everybody hands off to the next ones, all at the same time, until everybody holds all of it and every receipt is back. */
async function whileSending(parts: {
  hosts: Host[]
  shares: MemberPlace[][]
  team: MemberPlace[]
  threadsCount: number
}): Promise<{ ms: number; wire: number }> {
  const { hosts, shares, team, threadsCount } = parts
  const each = Math.floor(threadsCount / team.length)
  const [before, begun] = [wireBytes(), performance.now()]
  await Promise.all(
    shares.map(async (share, i) => {
      for (const { name } of share) {
        const at = team.findIndex((member) => member.name === name)
        const count = at === 0 ? threadsCount - each * (team.length - 1) : each
        // A receiver takes 50 open handoffs of one sender, so they go round.
        for (let sent = 0; sent < count; sent++) {
          const to = team[(at + 1 + (sent % (team.length - 1))) % team.length]?.name ?? ''
          await hosts[i]?.ask({ do: 'send', from: name, to, count: 1 })
        }
      }
    }),
  )
  await until(hosts, (looks) => looks.every(({ threads, outbox }) => threads === threadsCount && outbox === 0))
  return { ms: performance.now() - begun, wire: wireBytes() - before }
}

function startHost(): Host {
  const child: ChildProcess = fork(CHILD, { execArgv: ['--conditions=source'], serialization: 'advanced' })
  const waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = []
  child.on('message', (answer: Answer) => waiting.shift()?.resolve(answer))
  child.on('exit', (code) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`a process of the bench ended with ${code}`))
  })
  return {
    ask(order) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      waiting.push({ resolve, reject })
      child.send(order)
      return promise
    },
    async end() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

/** Looks until all is as wanted; returns what was seen then. */
async function until(hosts: Host[], isDone: (looks: Look[]) => boolean): Promise<Look[]> {
  for (;;) {
    const looks = (await Promise.all(hosts.map((host) => host.ask({ do: 'look' })))).flatMap(
      (answer) => answer.looks ?? [],
    )
    if (isDone(looks)) return looks
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

/** Returns once nothing was said over sync for a second. */
async function quiet(hosts: Host[]): Promise<void> {
  let last = -1
  let since = performance.now()
  await until(hosts, (looks) => {
    const bytes = looks.reduce((sum, { syncBytes }) => sum + syncBytes, 0)
    if (bytes !== last) since = performance.now()
    last = bytes
    return performance.now() - since > 1000
  })
}

/** Bytes that the loopback interface has carried, headers of TCP and IP included; 0 where that is not told. */
function wireBytes(): number {
  try {
    const line =
      readFileSync('/proc/net/dev', 'utf8')
        .split('\n')
        .find((text) => text.trim().startsWith('lo:')) ?? ''
    return Number(line.trim().split(/\s+/)[1] ?? 0)
  } catch {
    return 0
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
