import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { agree, done, team } from './team.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/relay-node.js', import.meta.url))

test('a handoff is made and kept while there is no network at all, and delivered when there is one', async ({
  skip,
}) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) skip('a network namespace needs Linux and root')
  await using both = await team()
  const { bob } = both
  await done(bob, 'stop')
  // A namespace of its own has nothing but a loopback device that is down.
  const node = spawn('unshare', ['--net', process.execPath, PROGRAM, 'start', '--json'], {
    env: bob.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(node.stdout, 'data')
  const sent = await done(bob, 'send frank --summary "written on a train"')
  expect(sent).toMatchObject({ status: 'pending', delivery: { stored_here: true } })
  expect(sent['delivery']).not.toHaveProperty('delivered')
  await done(bob, 'stop')
  if (node.exitCode === null) await once(node, 'exit')
  await done(bob, 'start --detach')
  const [, ofFrank] = await agree(both, String(sent['thread_id']))
  expect(ofFrank.status).toBe('pending')
})
