/**
 * Search over many handoffs of one laptop: LevelDB on disk, each measurement in a process of its own.
 * Beside each other stand a start with the kept index and one that has to make it, and a search and a
 * plain scan of all that can be read.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openLevelStore } from '../../src/store/level-store.ts'
import { makeMembers, type MemberPlace } from './members.ts'
import type { Answer, Order } from './search-child.ts'
import { writer } from './search-texts.ts'

const CHILD = join(import.meta.dirname, 'search-child.ts')

export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { threads: { type: 'string', default: '10000' }, queries: { type: 'string', default: '300' } },
  })
  const [threads, rounds] = [Number(values.threads), Number(values.queries)]
  if (!(threads >= 1 && rounds >= 1)) throw new Error('--threads and --queries are 1 or more')
  const root = mkdtempSync(join(tmpdir(), 'relay-node-bench-'))
  try {
    const [bob, other] = await makeMembers(2, root)
    if (!bob || !other) throw new Error('there are two')
    await measure(bob, { to: `${other.name}@acme`, threads, rounds })
  } finally {
    rmSync(root, { recursive: true })
  }
}

async function measure(
  place: MemberPlace,
  { to, threads, rounds }: { to: string; threads: number; rounds: number },
): Promise<void> {
  const filled = await ask({ do: 'fill', place, to, threads })
  console.log(`${threads} handoffs, ${mebibytes(filled.characters ?? 0)} of text, written in ${seconds(filled.took)}`)
  const { query: next } = writer('bench first query')
  const query = next()

  await forgetIndex(place)
  const before = diskBytes(place)
  const anew = await ask({ do: 'start', place, query, rounds: 1 })
  tellStart('no index is kept', anew)
  const made = (anew.ms?.complete ?? 0) - (anew.ms?.list ?? 0)
  console.log(`  indexed ${Math.round((threads * 1000) / made)} handoffs a second`)
  const index = await indexBytes(place)
  console.log(`  the index: ${mebibytes(index)} of values, the store grew by ${mebibytes(diskBytes(place) - before)}`)

  const kept = await ask({ do: 'start', place, query, rounds })
  tellStart('the index is kept', kept)
  tellQueries(`${rounds} searches, ${whole(kept.queryCpuMs)} of processor each`, kept.queriesMs ?? [])
  const scanned = await ask({ do: 'scan', place, queries: [next(), next(), next()] })
  tellQueries('3 plain scans', scanned.queriesMs ?? [])
}

function tellStart(
  how: string,
  { ms, cpuMs, missingAtFirst = 0, heapBytes, rssBytes = 0, blockedMs = 0 }: Answer,
): void {
  console.log(
    `start where ${how}: list answers after ${whole(ms?.list)} (${whole(cpuMs?.list)} of processor), search after ${whole(ms?.search)} (${whole(cpuMs?.search)})` +
      (missingAtFirst > 0
        ? ` with ${missingAtFirst} handoffs missing, all of them in after ${whole(ms?.complete)} (${whole(cpuMs?.complete)})`
        : '') +
      `; heap ${mebibytes(heapBytes?.list ?? 0)}, with the index ${mebibytes(heapBytes?.search ?? 0)}, process ${mebibytes(rssBytes)}; ` +
      `others wait at most ${whole(blockedMs)}`,
  )
}

function tellQueries(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): string => whole(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))])
  console.log(`${what}: p50 ${at(0.5)}, p99 ${at(0.99)}`)
}

async function ask(order: Order): Promise<Answer & { took: number }> {
  const begun = performance.now()
  const child = fork(CHILD, { execArgv: ['--conditions=source', '--expose-gc'] })
  child.send(order)
  const [answer] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error('a process of the bench ended early')
    }),
  ])) as [Answer]
  child.disconnect()
  child.kill()
  await once(child, 'exit')
  return { ...answer, took: performance.now() - begun }
}

/** As after an upgrade whose index has another form. */
async function forgetIndex({ store: folder }: MemberPlace): Promise<void> {
  const store = await openLevelStore(folder)
  const keys: string[] = []
  for await (const [key] of store.range('search')) keys.push(key)
  await store.batch(keys.map((key) => ({ type: 'del', space: 'search', key })))
  await store.close()
}

async function indexBytes({ store: folder }: MemberPlace): Promise<number> {
  const store = await openLevelStore(folder)
  let size = 0
  for await (const [key, value] of store.range('search')) size += key.length + value.length
  await store.close()
  return size
}

function diskBytes({ store }: MemberPlace): number {
  return readdirSync(store).reduce((sum, name) => sum + statSync(join(store, name)).size, 0)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function whole(ms = 0): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
