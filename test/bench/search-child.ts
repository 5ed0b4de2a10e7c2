/** One laptop with many handoffs, in a process of its own, so that its memory and its start are its own. Told what to do by its parent. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { commitThreadKey, devicesOf, type Hex, signingKey, toHex, type Wrapped } from '../../protocol/index.ts'
import { createMemoryHub } from '../../src/net/memory-net.ts'
import { toArtifacts } from '../../src/node/artifacts.ts'
import { type Held, openHeld, type Turn } from '../../src/node/held.ts'
import { type Node, openNode } from '../../src/node/node.ts'
import { publish, publishCreate } from '../../src/node/publish.ts'
import { passagesOf } from '../../src/node/search-text.ts'
import { fold } from '../../src/node/search-words.ts'
import type { Thread } from '../../src/node/threads.ts'
import { resolveHandle, rosterOf } from '../../src/node/workspace.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import type { Store, Write } from '../../src/store/store.ts'
import { realSystem } from '../../src/system.ts'
import { seedOf } from '../cast.ts'
import type { MemberPlace } from './members.ts'
import { type Handoff, writer } from './search-texts.ts'

export type Order =
  | { do: 'fill'; place: MemberPlace; to: string; threads: number }
  | { do: 'start'; place: MemberPlace; query: string; rounds: number }
  | { do: 'scan'; place: MemberPlace; queries: string[] }

export interface Answer {
  /** From the start of the node until so much was answered, ms. */
  ms?: { list: number; search: number; complete: number }
  /** The same in time of the processor, on which others may run too. */
  cpuMs?: { list: number; search: number; complete: number }
  missingAtFirst?: number
  queriesMs?: number[]
  /** Of the processor, on average. */
  queryCpuMs?: number
  /** What is alive after everything else was cleared away. */
  heapBytes?: { list: number; search: number }
  rssBytes?: number
  /** The longest that something else would have waited, ms. */
  blockedMs?: number
  characters?: number
}

const system = realSystem()

function openBob({ name, device }: MemberPlace, store: Store): Promise<Node> {
  const net = createMemoryHub(system).net(device, system)
  const seed = seedOf('device', name)
  return openNode({ store, net, system, seed, deviceName: `${name}-laptop`, version: '0.0.0' })
}

const THREADS_AT_ONCE_COUNT = 100

/** Says everything by the rules, many handoffs in one batch, with wraps that open for nobody: how long a write takes is not what is measured. */
async function fill({ place, to, threads }: Extract<Order, { do: 'fill' }>): Promise<Answer> {
  const store = await openLevelStore(place.store)
  const held = await openHeld({ store, system, key: signingKey(seedOf('device', place.name)) })
  const { handoff } = writer('bench search')
  let characters = 0
  for (let count = 0; count < threads;) {
    await held.turn(async (turn) => {
      for (const end = Math.min(threads, count + THREADS_AT_ONCE_COUNT); count < end; count++) {
        const written = handoff()
        characters += JSON.stringify(written).length
        const thread = begin(held, turn, to, written)
        for (const text of written.messages)
          publish(held, turn, thread, { kind: 'message', ctl: {}, body: { body: text, artifacts: [] } })
        // Most have ended, as after a year of work.
        if (count % 10 !== 0)
          publish(held, turn, thread, { kind: 'cancel', ctl: {}, body: { reason: written.summary.slice(0, 20) } })
      }
    })
  }
  // As if the other side had acknowledged all of it.
  const owed: Write[] = []
  for await (const [key] of store.range('outbox')) owed.push({ type: 'del', space: 'outbox', key })
  await store.batch(owed)
  await store.close()
  return { characters }
}

const NO_BYTES_32 = '00'.repeat(32)

function begin(held: Held, turn: Turn, to: string, { summary, record, artifacts }: Handoff): Thread {
  const roster = rosterOf(held.workspace)
  const member = resolveHandle(held.workspace, to)
  if (!roster || !member) throw new Error('both are in the workspace')
  const [key, nonce] = [system.dice(32), toHex(system.dice(32))]
  const device = held.workspace.key.public
  const recipients = devicesOf(roster, member.id).map((other) => other.key)
  const ctl = {
    to: member.id,
    senders: [device],
    recipients,
    intent: 'inform' as const,
    action: null,
    parent: null,
    nonce,
    commit: commitThreadKey(key, { nonce, ws: roster.ws, device, prev: null }),
    wraps: [device, ...recipients].map((one): Wrapped => [one, NO_BYTES_32, NO_BYTES_32, '00'.repeat(48)]),
  }
  const body = { summary, artifacts: toArtifacts(artifacts), ...(record ? { record } : {}) }
  return publishCreate(held, turn, { kind: 'create', ctl, body }, key).thread
}

async function start({ place, query, rounds }: Extract<Order, { do: 'start' }>): Promise<Answer> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const begun = performance.now()
  const cpuBefore = process.cpuUsage()
  const cpu = (): number => {
    const { user, system: kernel } = process.cpuUsage(cpuBefore)
    return (user + kernel) / 1000
  }
  const node = await openBob(place, await openLevelStore(place.store))
  await node.listThreads({})
  const [list, listCpu] = [performance.now() - begun, cpu()]
  const heapAtList = heapBytes()
  delay.enable()
  const first = await node.listThreads({ query })
  const [search, searchCpu] = [performance.now() - begun, cpu()]
  let page = first
  // With a result each, so that looking costs little.
  while (page.indexing) page = await node.listThreads({ query, limit: 1 })
  const [complete, completeCpu] = [performance.now() - begun, cpu()]
  delay.disable()
  const { query: next } = writer('bench queries')
  const heapAtSearch = heapBytes()
  const queriesMs: number[] = []
  const cpuAtQueries = cpu()
  for (let round = 0; round < rounds; round++) {
    const asked = performance.now()
    await node.listThreads({ query: next() })
    queriesMs.push(performance.now() - asked)
  }
  const queryCpuMs = (cpu() - cpuAtQueries) / rounds
  const rssBytes = process.memoryUsage.rss()
  await node.stop()
  return {
    ms: { list, search, complete },
    cpuMs: { list: listCpu, search: searchCpu, complete: completeCpu },
    missingAtFirst: first.indexing?.missing ?? 0,
    queriesMs,
    queryCpuMs,
    heapBytes: { list: heapAtList, search: heapAtSearch },
    rssBytes,
    blockedMs: delay.max / 1e6,
  }
}

function heapBytes(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** What a search without an index would do: read every thread, open every body, look for every word. */
async function scan({ place, queries }: Extract<Order, { do: 'scan' }>): Promise<Answer> {
  const store = await openLevelStore(place.store)
  const held = await openHeld({ store, system, key: signingKey(seedOf('device', place.name)) })
  const queriesMs: number[] = []
  for (const query of queries) {
    const asked = performance.now()
    const words = fold(query).split(' ')
    const found = new Set<Hex>()
    for (const id of held.facts.keys()) {
      const left = new Set(words)
      for await (const { text } of passagesOf(held, await held.threads.read(id))) {
        const folded = fold(text)
        for (const word of left) if (folded.includes(word)) left.delete(word)
        if (left.size === 0) break
      }
      if (left.size === 0) found.add(id)
    }
    queriesMs.push(performance.now() - asked)
  }
  await store.close()
  return { queriesMs }
}

process.on('message', (order: Order) => {
  const done = order.do === 'fill' ? fill(order) : order.do === 'start' ? start(order) : scan(order)
  done.then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
