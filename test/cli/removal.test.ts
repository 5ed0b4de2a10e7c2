/** Removing on the command line: nothing without a yes, and what is said then. */
import { expect, test } from 'vitest'
import { team } from '../e2e/team.ts'
import { laptop } from './laptop.ts'

test.each(['member remove frank', 'device revoke frank/frank-xps', 'quarantine admit ho_x'])(
  '%s needs a yes, and where nobody can give it says so and does nothing',
  async (command) => {
    await using bob = laptop()
    await bob.run('init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan')
    for (const args of [command, `${command} --json`]) {
      const ran = await bob.run(args)
      expect(ran.code, args).toBe(2)
      expect(ran.stdout + ran.stderr, args).toContain('Add --yes if that is wanted')
    }
  },
)

test('what names nobody is refused with what there is', async () => {
  await using bob = laptop()
  await bob.run('init --yes --name bob --team acme --device bobs-mbp --listen 127.0.0.1:0 --no-lan')
  const cases: [args: string, code: number, words: string][] = [
    ['member remove --yes', 2, 'missing required argument'],
    ['device revoke frank --yes', 2, 'Write NAME/DEVICE'],
    ['member remove frank --yes', 1, 'No member of this workspace has that name.'],
    ['device revoke frank/xps --yes', 1, 'No member of this workspace has that name.'],
    ['device revoke bob/xps --yes', 1, 'bob has no laptop of that name.'],
    ['member remove bob --yes', 1, 'The owner cannot be removed.'],
    ['device revoke bob/bobs-mbp --yes', 1, 'The owner’s laptop cannot be removed.'],
    ['quarantine admit ho_x --yes', 1, 'No handoff like this is in quarantine.'],
  ]
  for (const [args, code, words] of cases) {
    const ran = await bob.run(args)
    expect({ code: ran.code, stdout: ran.stdout }, args).toEqual({ code, stdout: '' })
    expect(ran.stderr.toLowerCase(), args).toContain(words.toLowerCase())
    expect(ran.stderr.trim().split('\n'), args).toHaveLength(1)
  }
  expect((await bob.run('quarantine list')).stdout).toBe('Nothing is kept apart.\n')
  expect((await bob.run('member list')).stdout).toBe('bob@acme  member, owner, you, 1 laptop\n')
  expect((await bob.run('device list')).stdout).toBe('bob/bobs-mbp  reachable\n')
})

test('at a terminal it asks first; Enter is no; then it says what stops now, what later, and what stays', async () => {
  await using machines = await team()
  const { bob } = machines
  const no = bob.terminal('device revoke frank/frank-xps')
  await no.see('is shut out for good. What it has read stays read.')
  await no.see('Shut frank/frank-xps out?')
  no.type('\r')
  expect(await no.ended).toBe(1)
  expect(no.text()).toContain('Nobody was removed.')
  expect((await bob.run('device list')).stdout).not.toContain('removed')
  const yes = bob.terminal('device revoke frank/frank-xps')
  await yes.see('Shut frank/frank-xps out?')
  yes.type('y')
  expect(await yes.ended).toBe(0)
  for (const words of [
    'frank/frank-xps is removed.',
    'It was the last laptop of frank@acme, who is still a member and can be handed nothing.',
    'Stops now          bob/bobs-mbp',
    'Later              nobody',
    'Has not confirmed  nobody',
    'What it has read stays read',
  ])
    expect(yes.text()).toContain(words)
  expect((await bob.run('device list')).stdout).toContain('frank/frank-xps  removed')
})
