/** Services: how a machine becomes one, unattended, and what is left where it does not. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { lockHolder } from '../../src/cli/instance-lock.ts'
import { type Laptop, laptop } from './laptop.ts'

const LOCAL = '--device third --listen 127.0.0.1:0 --no-lan'

async function owner(): Promise<Laptop> {
  const bob = laptop()
  await bob.run('init --yes --name bob --team acme --device bobs-mbp --listen 127.0.0.1:0 --no-lan')
  return bob
}

async function invited(bob: Laptop, args: string): Promise<string> {
  return String((await bob.run(`invite ${args} --standalone --json`)).json()['code'])
}

test('an invite of another kind or scope is refused with the right command, and nothing is left behind', async () => {
  await using bob = await owner()
  const code = {
    person: await invited(bob, 'frank'),
    reads: await invited(bob, 'watcher --service --scope read'),
    writes: await invited(bob, 'ci --service --scope write'),
  }
  for (const [input, args, said] of [
    [code.person, 'init --service --scope read --code-stdin', 'This invite is for a person'],
    [code.reads, 'init --service --scope write --code-stdin', 'init --service --scope read --code-stdin'],
    [code.writes, 'init --service --scope read --code-stdin', 'init --service --scope write --code-stdin'],
  ] as const) {
    await using machine = laptop()
    const ran = await machine.run(`${args} ${LOCAL}`, { input })
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toContain(said)
    expect(ran.stderr.trim().split('\n')).toHaveLength(1)
    expect(existsSync(machine.home.home)).toBe(false)
  }
  await using person = laptop()
  const ran = await person.run(`join --code-stdin ${LOCAL}`, { input: code.reads })
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toContain('relay-node init --service --scope read --code-stdin')
  const { items } = (await bob.run('invite list --json')).json() as { items: { state: string }[] }
  expect(items.map(({ state }) => state)).toEqual(['open', 'open', 'open'])
})

test('what was in the home before stays, and a second try with the right invite works', async () => {
  await using bob = await owner()
  await using machine = laptop()
  const { home, config } = machine.home
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(config, '# ours\nlog_level = "warn"\n')
  writeFileSync(`${home}/notes`, 'mine')
  const wrong = await invited(bob, 'frank')
  expect((await machine.run(`init --service --scope write --code-stdin ${LOCAL}`, { input: wrong })).code).toBe(1)
  expect(lockHolder(machine.home)).toBeUndefined()
  expect(readdirSync(home).toSorted()).toEqual(['notes', 'settings.toml'])
  const right = await invited(bob, 'ci --service --scope write')
  const ran = await machine.run(`init --service --scope write --code-stdin ${LOCAL} --json`, { input: right })
  expect(ran.json()).toMatchObject({
    handle: 'ci@acme',
    kind: 'service',
    role: 'member',
    scope: 'write',
    device: 'third',
  })
  expect(readFileSync(config, 'utf8')).toMatch(/^# ours\nlog_level = "warn"\n(?:.*\n)*scope = "write"\n/)
  expect((await machine.run('status')).stdout).toContain('You        ci@acme, service, device third')
  expect(await machine.run('send bob --summary "the build is green"')).toMatchObject({ code: 0 })
  const again = await machine.run(`init --service --scope write --code-stdin ${LOCAL}`, { input: right })
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('belongs to a workspace already') })
})

test('settings that say another scope are not changed', async () => {
  await using machine = laptop()
  mkdirSync(dirname(machine.home.config), { recursive: true, mode: 0o700 })
  writeFileSync(machine.home.config, 'scope = "read"\n')
  await using bob = await owner()
  const code = await invited(bob, 'ci --service --scope write')
  const ran = await machine.run(`init --service --scope write --code-stdin ${LOCAL}`, { input: code })
  expect(ran).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The settings of this home say scope = "read"'),
  })
  expect(readdirSync(machine.home.home)).toEqual(['settings.toml'])
})

test('without --no-start its node runs on; with it, it is a member and its node is stopped', async () => {
  await using bob = await owner()
  for (const [name, args] of [
    ['one', ''],
    ['two', '--no-start'],
  ] as const) {
    await using machine = laptop()
    const code = await invited(bob, `${name} --service --scope write`)
    const ran = await machine.run(`init --service --scope write --code-stdin ${args} ${LOCAL}`, { input: code })
    expect(ran.stdout).toContain(`This is the service ${name}@acme`)
    expect((await machine.run('status')).code).toBe(args === '' ? 0 : 3)
  }
})

test('an invite says what it is for, to the one who makes it', async () => {
  await using bob = await owner()
  const service = await bob.run('invite ci --service --scope read --no-wait')
  expect(service.stdout).toContain('Invite for ci@acme, a service with scope read.')
  expect(service.stdout).toContain('relay-node init --service --scope read --code-stdin')
  expect((await bob.run('invite carol --role reader --no-wait')).stdout).toContain('Invite for carol@acme, a reader.')
  const list = (await bob.run('invite list')).stdout
  expect(list).toContain('ci@acme, a service with scope read  open until')
  expect(list).toContain('carol@acme, a reader  open until')
})

test('sharing and roles ask a person at a terminal, where there is one', async () => {
  await using bob = await owner()
  const terminal = bob.terminal('share ho_aaaa carol')
  await terminal.see('carol can read all of it, also what was written before.')
  await terminal.see('Share it with carol?')
  terminal.type('\r')
  await terminal.see('Nothing was shared.')
  expect(await terminal.ended).toBe(1)
  expect((await bob.run('member role carol reader --json')).json()).toMatchObject({
    error: { symbol: 'recipient_not_found' },
  })
})
