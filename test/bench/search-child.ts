/** One laptop with many handoffs, in a process of its own, so that its memory and its start are its own. Told what to do by its parent. */
import { randomUUID } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type Hex, signingKey } from '../../protocol/index.ts'
import { createMemoryHub } from '../../src/net/memory-net.ts'
import { openHeld } from '../../src/node/held.ts'
import { type Node, openNode } from '../../src/node/node.ts'
import { passagesOf } from '../../src/node/search-text.ts'
import { fold } from '../../src/node/search-words.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { SPACES, type Space, type Store, type Write } from '../../src/store/store.ts'
import { realSystem } from '../../src/system.ts'
import { seedOf } from '../cast.ts'
import { createDisk } from '../node/disk.ts'
import type { MemberPlace } from './members.ts'
import { writer } from './search-texts.ts'

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
  rssBytes?: { list: number; search: number }
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

async function fill({ place, to, threads }: Extract<Order, { do: 'fill' }>): Promise<Answer> {
  // On a disk in memory, and written at the end: how long a write takes is not what is measured.
  const [store, disk] = [await openLevelStore(place.store), await createDisk()]
  await copy((space) => store.range(space), disk.write)
  const node = await openBob(place, disk.open())
  const { handoff } = writer('bench search')
  let characters = 0
  for (let count = 0; count < threads; count++) {
    const { summary, record, artifacts, messages } = handoff()
    characters += JSON.stringify([summary, record, artifacts, messages]).length
    // Of each: a session may write only so much a minute, which is not what is measured.
    const caller = { session: randomUUID() }
    const says = (text: string) => ({ parts: [{ type: 'text' as const, text }] })
    const { thread_id } = await node.sendHandoff(
      { recipient: to, intent: 'inform', message: says(summary), record, artifacts },
      caller,
    )
    for (const text of messages) await node.sendMessage({ thread_id, message: says(text) }, caller)
    // Most have ended, as after a year of work.
    if (count % 10 !== 0) await node.cancel({ thread_id, reason: summary.slice(0, 20) }, caller)
  }
  await node.stop()
  await copy(disk.rows, (writes) => store.batch(writes))
  await store.close()
  return { characters }
}

const BATCH_COUNT = 1000

async function copy(
  rows: (space: Space) => AsyncIterable<[string, Uint8Array]> | Promise<[string, Uint8Array][]>,
  write: (writes: Write[]) => Promise<void>,
): Promise<void> {
  for (const space of SPACES) {
    const writes: Write[] = []
    for await (const [key, value] of await rows(space)) {
      writes.push({ type: 'put', space, key, value })
      if (writes.length === BATCH_COUNT) await write(writes.splice(0))
    }
    await write(writes)
  }
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
  const rssAtList = process.memoryUsage.rss()
  delay.enable()
  const first = await node.listThreads({ query })
  const [search, searchCpu] = [performance.now() - begun, cpu()]
  let page = first
  // With a result each, so that looking costs little.
  while (page.indexing) page = await node.listThreads({ query, limit: 1 })
  const [complete, completeCpu] = [performance.now() - begun, cpu()]
  delay.disable()
  const { query: next } = writer('bench queries')
  const queriesMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const asked = performance.now()
    await node.listThreads({ query: next() })
    queriesMs.push(performance.now() - asked)
  }
  const rssAtSearch = process.memoryUsage.rss()
  await node.stop()
  return {
    ms: { list, search, complete },
    cpuMs: { list: listCpu, search: searchCpu, complete: completeCpu },
    missingAtFirst: first.indexing?.missing ?? 0,
    queriesMs,
    rssBytes: { list: rssAtList, search: rssAtSearch },
    blockedMs: delay.max / 1e6,
  }
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
