/** Whole nodes live through stories of faults and lies; one seed is one story. */
import { describe, expect, test } from 'vitest'
import { type Outcome, tell } from './story.ts'

const SEEDS_COUNT = 150
const REMOVAL_SEEDS_COUNT = 50
const TOGETHER_COUNT = 10

const firstsOf = (count: number): number[] =>
  Array.from({ length: count / TOGETHER_COUNT }, (_, i) => 1 + i * TOGETHER_COUNT)

/** What went wrong, and how to see it again; undefined where nothing did. */
function complaint({ seed, violation, summary }: Outcome, options = ''): string | undefined {
  return (
    violation &&
    `seed ${seed}, ${violation.checker}: ${violation.what}\nreplay: npm run sim -- --seeds ${seed} --trace${options}\n${summary}`
  )
}

describe('every story ends well', () => {
  test.each(firstsOf(SEEDS_COUNT))(`the ${TOGETHER_COUNT} seeds from %i on`, async (first) => {
    for (let seed = first; seed < first + TOGETHER_COUNT; seed++) expect(complaint(await tell(seed))).toBeUndefined()
  })

  test.each(firstsOf(REMOVAL_SEEDS_COUNT))(`the ${TOGETHER_COUNT} seeds of removals from %i on`, async (first) => {
    for (let seed = first; seed < first + TOGETHER_COUNT; seed++)
      expect(complaint(await tell(seed, { removals: true }), ' --removals')).toBeUndefined()
  })
})

test('a seed tells the same story again, event by event', async () => {
  const seeds = [2, 11, 23, 45]
  const first = new Map<number, Outcome>()
  for (const seed of seeds) first.set(seed, await tell(seed))
  for (const seed of seeds.toReversed()) {
    const again = await tell(seed)
    expect(again.trace).toEqual(first.get(seed)?.trace)
    expect(again.traceHash).toBe(first.get(seed)?.traceHash)
  }
  const removals = { removals: true }
  expect((await tell(1, removals)).traceHash).toBe((await tell(1, removals)).traceHash)
  expect(new Set([...first.values()].map(({ traceHash }) => traceHash)).size).toBe(seeds.length)
})

test('a failing seed fails again in the same way, and says how it is replayed', async () => {
  const broken = { defects: { diskLiesForMs: 200 } }
  const outcome = await tell(3, broken)
  expect(complaint(outcome)).toContain('replay: npm run sim -- --seeds 3 --trace')
  expect(await tell(3, broken)).toEqual(outcome)
})
