/** No input makes the protocol throw, hang or grow. `npm run fuzz` does the same with a million. */
import { expect, test } from 'vitest'
import { toHex } from '../../protocol/index.ts'
import { seedOf } from '../cast.ts'
import { fuzz, heapUsed } from './fuzz.ts'
import { TARGETS } from './fuzz-targets.ts'

const INPUTS_COUNT = 17_500
const RUNS = Math.ceil(INPUTS_COUNT / TARGETS.length)
const GROWTH_BYTES_MAX = 16 * 1024 * 1024
/** Fixed, so that a failure is there again. */
const SEED = 7

test.each(TARGETS.map((target) => [target.name, target] as const))('%s', (_, target) => {
  for (const sample of target.samples) target.check(sample)
  expect(fuzz(target, RUNS, SEED)).toBeNull()
})

test('nothing is left of all that', () => {
  const run = (seed: number): void => TARGETS.forEach((target) => void fuzz(target, 20, seed))
  run(1)
  const before = heapUsed()
  for (let seed = 2; seed < 6; seed++) run(seed)
  expect(heapUsed() - before).toBeLessThan(GROWTH_BYTES_MAX)
})

/** Ids are what a node holds most of, and what a peer can name most of. */
test('an id takes as much memory as its text', () => {
  const bytes = Array.from({ length: 20_000 }, (_, i) => seedOf('id', i))
  const before = heapUsed()
  const ids = bytes.map(toHex)
  expect((heapUsed() - before) / ids.length).toBeLessThan(200)
  expect(new Set(ids).size).toBe(bytes.length)
})
