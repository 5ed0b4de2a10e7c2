import { describe, expect, test } from 'vitest'
import { REFUSALS } from '../../protocol/index.ts'
import { ARTIFACT_CASES } from './cases/artifact.ts'
import { COUNT_CASES } from './cases/counts.ts'
import { ENTRY_CASES } from './cases/entry.ts'
import { ROSTER_CASES } from './cases/roster.ts'
import { SEALED_CASES } from './cases/sealed.ts'
import { THREAD_CASES } from './cases/thread.ts'

const CASES = [...ENTRY_CASES, ...THREAD_CASES, ...COUNT_CASES, ...ROSTER_CASES, ...SEALED_CASES, ...ARTIFACT_CASES]

describe('every refusal has a case that is wrong in that one respect', () => {
  test.each(CASES)('$refusal: $what', async ({ refusal, wrong, right }) => {
    expect(await right()).toMatchObject({ ok: true })
    expect(await wrong()).toMatchObject({ ok: false, refusal })
  })

  test('no refusal is without a case', () => {
    const covered = new Set(CASES.map((one) => one.refusal))
    expect(Object.keys(REFUSALS).filter((name) => !covered.has(name as keyof typeof REFUSALS))).toEqual([])
  })

  test('every refusal says what it means in words', () => {
    for (const meaning of Object.values(REFUSALS)) expect(meaning).toMatch(/^[a-z].{10,}[^.]$/)
  })
})
