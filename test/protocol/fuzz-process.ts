/**
 * `npm run fuzz -- [N] [--seed S] [--minutes M]`: N changed inputs (a million if left out) through
 * every door: bytes of the protocol, calls over the socket, lines of an agent. Its last line counts inputs.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fuzzAgent } from '../mcp/fuzz-lines.ts'
import { fuzzCalls } from '../rpc/fuzz-calls.ts'
import { fuzzNode } from '../rpc/fuzz-node.ts'
import { fuzz, heapUsed } from './fuzz.ts'
import { TARGETS } from './fuzz-targets.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** No new round begins later than this. */
    minutes: { type: 'string', default: '30' },
  },
})
const inputs = Number(positionals[0] ?? '1000000')
const seed = Number(values.seed)
if (!(inputs > 0) || !Number.isInteger(seed)) throw new Error('npm run fuzz -- [how many inputs] [--seed S]')
const end = Date.now() + Number(values.minutes) * 60_000
const CALLS_SHARE = 0.05
const LINES_SHARE = 0.01
const ROUND_COUNT = 1000
/** The million inputs are many times as large. */
const GROWTH_BYTES_MAX = 64 * 1024 * 1024

console.log(`seed ${seed}`)
let passed = 0
const failures: string[] = []
const folder = await mkdtemp(join(tmpdir(), 'rf-'))
const node = await fuzzNode(join(folder, 'node.sock'))
const agent = await fuzzAgent(node.socketPath, node.threads)
try {
  const calls = Math.ceil(inputs * CALLS_SHARE)
  const lines = Math.ceil(inputs * LINES_SHARE)
  const bytes = Math.max(0, inputs - calls - lines)
  for (const target of TARGETS)
    await rounds(target.name, Math.ceil(bytes / TARGETS.length), async (count, seed) => {
      const failure = fuzz(target, count, seed)
      return failure === null ? [] : [failure]
    })
  await rounds('calls over the socket', calls, (count, seed) => fuzzCalls(node, count, seed))
  await rounds(
    'lines of an agent',
    lines,
    (count, seed) => agent.run(count, seed),
    () => agent.heap.used(),
  )
} finally {
  await agent[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
}
for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 && passed > 0 ? 0 : 1)

/** Runs `count` inputs, each round with a seed of its own, until one fails; then compares the heap with what it was after the first round. */
async function rounds(
  name: string,
  count: number,
  run: (count: number, seed: number) => Promise<string[]>,
  heap: () => number | Promise<number> = heapUsed,
): Promise<void> {
  const begun = performance.now()
  let done = 0
  let slowest = 0
  let before: number | undefined
  for (let round = 0; done < count && Date.now() < end; round++) {
    const share = Math.min(ROUND_COUNT, count - done)
    const started = performance.now()
    const found = await run(share, seed + round)
    slowest = Math.max(slowest, (performance.now() - started) / share)
    before ??= await heap()
    done += share
    failures.push(...found)
    passed += share - Math.min(share, found.length)
    if (found.length > 0) break
  }
  const growth = (await heap()) - (before ?? 0)
  if (growth > GROWTH_BYTES_MAX) failures.push(`${name}: ${growth} bytes are left of ${done} inputs`)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const rest = `${Math.round(growth / 1024)} KiB left, at most ${(slowest * 1000).toFixed(0)} us each in any round`
  console.log(`${name}: ${done} of ${count} in ${seconds} s, ${rest}`)
}
