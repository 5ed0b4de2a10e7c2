import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fuzzNode } from '../rpc/fuzz-node.ts'
import { temporaryFolder } from '../rpc/rpc-fixture.ts'
import { fuzzAgent } from './fuzz-lines.ts'

const INPUTS_COUNT = 500
const WARM_UP_COUNT = 100
const SEED = 7
const GROWTH_BYTES_MAX = 32 * 1024 * 1024

it('reads whatever bytes a line was turned into, says nothing but JSON-RPC, lives on and does not grow', async () => {
  await using node = await fuzzNode(join(await temporaryFolder(), 'node.sock'))
  await using agent = await fuzzAgent(node.socketPath, node.threads)
  expect(await agent.run(WARM_UP_COUNT, SEED + 1)).toEqual([])
  const before = await agent.heap.used()
  expect(await agent.run(INPUTS_COUNT, SEED)).toEqual([])
  expect((await agent.heap.used()) - before).toBeLessThan(GROWTH_BYTES_MAX)
  expect(node.errors).toEqual([])
})
