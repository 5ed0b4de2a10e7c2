import { expect, test } from 'vitest'
import { crash } from './crash.ts'

const ROUNDS_COUNT = 10
const SEED = 1

test('nodes that are killed under load lose nothing that they acknowledged, sign nothing twice, and agree again', async () => {
  const report = await crash({ rounds: ROUNDS_COUNT, seed: SEED })
  expect(report.failures).toEqual([])
  expect(report.rounds).toBe(ROUNDS_COUNT)
  expect(report.acknowledged).toBeGreaterThan(ROUNDS_COUNT)
})
