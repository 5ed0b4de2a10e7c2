import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../cli/laptop.ts'
import { agree, done, team } from './team.ts'

/** Overwrites the middle of every log and table of a LevelDB folder. */
function smash(store: string): void {
  for (const name of readdirSync(store)) {
    if (!/\.(log|ldb)$/.test(name)) continue
    const bytes = readFileSync(join(store, name))
    bytes.fill(0xa5, Math.floor(bytes.length / 3), Math.floor(bytes.length / 3) + 64)
    writeFileSync(join(store, name), bytes)
  }
}

test('a damaged store is named, copied, repaired, and filled again from the teammate', async () => {
  await using both = await team()
  const { bob, frank } = both
  const threads: string[] = []
  for (let n = 0; n < 5; n++)
    threads.push(String((await done(bob, `send frank --summary "handoff ${n}"`))['thread_id']))
  for (const thread of threads) await agree(both, thread)
  await done(frank, 'stop')
  smash(frank.home.store)

  const refused = await frank.run('start --detach --json')
  expect(refused.code).toBe(1)
  expect(JSON.stringify(refused.json())).toContain('relay-node start --repair')

  await done(bob, 'stop')
  const repaired = await done(frank, 'start --detach --repair')
  expect(String(repaired['copy'])).toContain('.damaged-')
  expect(readdirSync(String(repaired['copy'])).length).toBeGreaterThan(0)
  // Alone it can be read, and says what it waits for.
  const written = await frank.run(`message ${threads[0]} back`)
  expect(written).toMatchObject({ code: 1, stderr: expect.stringContaining('a part of this thread may be missing') })
  expect((await frank.run('status')).stdout).toMatch(
    /\d open handoffs can be changed again once a laptop that has it was met/,
  )
  expect((await frank.run('doctor')).stdout).toContain('! recovery: The store was repaired')
  await done(bob, 'start --detach')
  // Nothing was signed twice on the way, and the threads can be written again.
  await until(async () => (await frank.run(`message ${threads[0]} back`)).code === 0)
  expect((await frank.run('doctor')).stdout).toContain('✓ recovery')
  for (const thread of threads) {
    const [ofBob, ofFrank] = await agree(both, thread)
    expect(ofFrank).toMatchObject({ status: ofBob.status, state_digest: ofBob.state_digest, forks: [] })
  }
})
