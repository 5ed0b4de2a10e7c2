import { join } from 'node:path'
import { expect, it } from 'vitest'
import { heapUsed } from '../protocol/fuzz.ts'
import { fuzzCalls } from './fuzz-calls.ts'
import { fuzzNode } from './fuzz-node.ts'
import { temporaryFolder } from './rpc-fixture.ts'

const INPUTS_COUNT = 2000
const WARM_UP_COUNT = 300
const SEED = 7
const GROWTH_BYTES_MAX = 32 * 1024 * 1024

it('answers whatever bytes a call was turned into, and grows by nothing', async () => {
  await using node = await fuzzNode(join(await temporaryFolder(), 'node.sock'))
  expect(await fuzzCalls(node, WARM_UP_COUNT, SEED + 1)).toEqual([])
  const before = heapUsed()
  expect(await fuzzCalls(node, INPUTS_COUNT, SEED)).toEqual([])
  expect(heapUsed() - before).toBeLessThan(GROWTH_BYTES_MAX)
})
