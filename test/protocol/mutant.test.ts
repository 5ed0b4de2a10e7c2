import { describe, expect, test } from 'vitest'
import { explore } from './explorer.ts'
import { worldOf } from './explorer-worlds.ts'
import { boundChanges, type Change, type LoadedRules, loadRules, type Mutant } from './mutant.ts'
import { PROBES } from './mutant-probes.ts'
import { agrees } from './mutant-vectors.ts'
import { ARGUMENT_MUTANTS } from './mutants/argument.ts'
import { COUNT_MUTANTS } from './mutants/count.ts'
import { EFFECT_MUTANTS } from './mutants/effect.ts'
import { FENCE_MUTANTS } from './mutants/fence.ts'
import { FINAL_CANCEL_MUTANTS } from './mutants/final-cancel.ts'
import { FINAL_COMPLETE_MUTANTS } from './mutants/final-complete.ts'
import { PLACE_MUTANTS } from './mutants/place.ts'
import { SEAL_MUTANTS } from './mutants/seal.ts'
import { SIDE_MUTANTS } from './mutants/side.ts'
import { STATE_MUTANTS } from './mutants/state.ts'

const MUTANTS: readonly Mutant[] = [
  ...PLACE_MUTANTS,
  ...SIDE_MUTANTS,
  ...STATE_MUTANTS,
  ...ARGUMENT_MUTANTS,
  ...COUNT_MUTANTS,
  ...EFFECT_MUTANTS,
  ...SEAL_MUTANTS,
  ...FENCE_MUTANTS,
  ...FINAL_CANCEL_MUTANTS,
  ...FINAL_COMPLETE_MUTANTS,
]

/** What is wrong with the rules in the eyes of the finder: the first thing, or nothing. */
function fault(mutant: Mutant, changes: readonly Change[], rules: LoadedRules): string | undefined {
  if ('vector' in mutant) return agrees(rules, mutant.vector) ? undefined : mutant.vector
  if ('probe' in mutant) {
    const probe = PROBES.find(({ name }) => name === mutant.probe)
    if (!probe) throw new Error(`no probe is called ${mutant.probe}`)
    return probe.says(rules) === probe.expected ? undefined : probe.says(rules)
  }
  // What nothing can find is at least looked for where everything is said.
  const { world: name, entries } = 'nothing' in mutant ? { world: 'everything', entries: 2 } : mutant
  const world = worldOf(name)
  const bounded = world.bounds ? loadRules([...changes, ...boundChanges(world.bounds)]) : rules
  return explore(bounded, world, { entriesMax: entries, stopsAtFirst: true }).violations[0]?.replay
}

describe('a mutant of the rules is noticed', () => {
  const findable = MUTANTS.filter((mutant) => !('nothing' in mutant))
  test.each(findable)('$rule: $name', (mutant) => {
    expect(fault(mutant, [mutant], loadRules([mutant]))).toBeDefined()
  })
})

describe('a mutant of the rules is none where another rule says the same', () => {
  const same = MUTANTS.flatMap((mutant) => ('nothing' in mutant ? mutant : []))
  test.each(same)('$rule: $name, but $nothing', (mutant) => {
    expect(fault(mutant, [mutant], loadRules([mutant]))).toBeUndefined()
  })
})

describe('the rules as they are', () => {
  test.each(PROBES)('$name', ({ says, expected }) => {
    expect(says(loadRules([]))).toBe(expected)
  })

  test('agree with the vectors that find mutants', () => {
    const paths = new Set(MUTANTS.flatMap((mutant) => ('vector' in mutant ? mutant.vector : [])))
    const rules = loadRules([])
    expect([...paths].filter((path) => !agrees(rules, path))).toEqual([])
  })

  test('have mutants of each rule, under names that differ', () => {
    const rules = new Set(MUTANTS.map(({ rule }) => rule))
    const all = ['S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S10', 'E1', 'E2', 'E3', 'E4', 'E5', 'E6', 'E7']
    expect(all.filter((rule) => !rules.has(rule))).toEqual([])
    expect(new Set(MUTANTS.map(({ rule, name }) => `${rule} ${name}`)).size).toBe(MUTANTS.length)
  })
})
