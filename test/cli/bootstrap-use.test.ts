/** Bootstrap servers on the command line: what is typed wrongly is said before anything is asked or written. */
import { readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { peerIdText } from '../../protocol/index.ts'
import { actor } from '../cast.ts'
import { laptop } from './laptop.ts'

const ADDRESS = `/ip4/127.0.0.1/tcp/9/p2p/${peerIdText(actor('carol').device)}`

test.each(['init --yes --name bob --team acme', 'join --code-stdin', 'bootstrap use'])(
  '%s refuses what is no address, and makes nothing',
  async (command) => {
    await using bob = laptop()
    const option = command.startsWith('bootstrap') ? '' : '--bootstrap'
    const ran = await bob.run(`${command} ${option} relay.example:4001`, { input: 'relay1code' })
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain('"relay.example:4001" is not the address of a bootstrap server')
    expect(ran.stderr.trim().split('\n')).toHaveLength(1)
    expect(statSync(bob.home.home, { throwIfNoEntry: false })).toBeUndefined()
  },
)

test('init keeps one in the settings; the owner names and drops others; status and doctor show each', async () => {
  await using bob = laptop()
  await bob.run(`init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --bootstrap ${ADDRESS}`)
  expect(readFileSync(bob.home.config, 'utf8')).toContain(ADDRESS)
  const other = ADDRESS.replace('tcp/9', 'tcp/10')
  const used = await bob.run(`bootstrap use ${other} --json`)
  expect(used.json()['items']).toMatchObject([{ addresses: [ADDRESS, other], named_by: 'team', connected: false }])
  expect((await bob.run('bootstrap list')).stdout).toContain(`127.0.0.1:9  not connected`)
  expect((await bob.run('status')).stdout).toContain('Bootstrap  127.0.0.1:9  not connected')
  const doctor = await bob.run('doctor')
  expect(doctor).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('✗ bootstrap server: 127.0.0.1:9') as string,
  })
  expect(await bob.run(`bootstrap drop ${other}`)).toMatchObject({ code: 0 })
  expect(await bob.run(`bootstrap drop ${other}`)).toMatchObject({ code: 1, stdout: '' })
  expect((await bob.run(`bootstrap drop ${ADDRESS}`)).stderr).toContain('It stands in the settings of this laptop')
})

test('a command below another takes --json wherever it stands', async () => {
  await using bob = laptop()
  for (const args of ['invite list --json', 'invite --json list', 'bootstrap list --json'])
    expect((await bob.run(args)).json()['error'], args).toMatchObject({ symbol: 'home_empty' })
})
