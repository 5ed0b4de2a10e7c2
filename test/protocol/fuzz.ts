/** Runs a target on many inputs, and compares the heap before and after. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fc } from '@fast-check/vitest'
import { KEPT, mutated } from './fuzz-bytes.ts'
import type { Target } from './fuzz-targets.ts'

/** Null where nothing failed, else the smallest input found that fails, and why. */
export function fuzz(target: Target, runs: number, seed: number): string | null {
  for (const [name, input] of KEPT) {
    const why = failureOf(target, input)
    if (why !== undefined) return `${target.name}: ${name}: ${why}`
  }
  const result = fc.check(
    fc.property(mutated(target.samples), (input) => target.check(input)),
    { numRuns: runs, seed },
  )
  if (!result.failed) return null
  const [input] = result.counterexample ?? []
  const why = result.errorInstance instanceof Error ? result.errorInstance.stack : String(result.errorInstance)
  return `${target.name}: ${input && Buffer.from(input).toString('hex')}: ${why}`
}

function failureOf(target: Target, input: Uint8Array): string | undefined {
  try {
    target.check(input)
    return undefined
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}

/** Bytes in use after a collection: objects, and buffers outside of the heap. */
export function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let i = 0; i < 2; i++) collect()
  const { heapUsed: objects, external } = process.memoryUsage()
  return objects + external
}
