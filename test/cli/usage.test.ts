import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { laptop } from './laptop.ts'

/** A laptop that is set up and does nothing. */
const idle = laptop()
beforeAll(() => idle.run('init --yes --no-start'))
afterAll(() => idle[Symbol.asyncDispose]())

test.each([
  ['confg', 'Unknown command'],
  ['send', "Missing required argument 'name'"],
  ['send frank', '--summary is missing'],
  ['send frank --summary x --intent shout', 'is not an intent'],
  ['send frank --summary x --nonsense', "Unknown option '--nonsense'"],
  ['send frank --summary x --diff /no/such/file', 'there is no such file or folder'],
  ['complete ho_aa', '--result is missing'],
  ['complete ho_aa --result x --outcome great', 'is not an outcome'],
  ['search a --status open', '--status open is unknown'],
  ['search a --side left', '--side left is unknown'],
  ['search a --limit none', '--limit none is no number'],
  ['search a --since 3x', 'is not a length of time'],
  ['invite', 'Whom do you invite?'],
  ['invite frank --expires soon', 'is not a length of time'],
  ['init --yes --name bob', '--team is missing'],
  ['init --yes --name Bob --team acme', 'is not a name'],
  ['init --yes --name bob --team acme --listen nowhere', 'is not an address to listen on'],
  ['init', '--name is missing'],
  ['join', 'no terminal'],
  ['join --code-stdin', 'holds no invite code'],
  ['logs --lines many', 'is not a number of lines'],
  ['approve ho_aa', 'needs a terminal'],
  ['reject ho_aa', 'needs a terminal'],
  ['share ho_aa carol', 'Nobody is here to say yes to that'],
  ['member role carol boss', '"boss" is not a role'],
  ['invite carol --role boss', '"boss" is not a role'],
  ['invite ci --service', '--scope is missing'],
  ['invite ci --service --scope all', '"all" is not a scope'],
  ['invite ci --service --scope read --role reader', 'A service has a scope, not a role'],
  ['invite ci --scope read', '--scope goes with --service'],
  ['init --service --code-stdin', '--scope is missing'],
  ['init --service --scope read --name ci', 'its name stands in its invite'],
  ['init --service --scope read --code-stdin', 'holds no invite code'],
  ['init --service --scope read', 'no terminal'],
  ['init --yes --scope read', '--scope goes with --service'],
  ['init --yes --code-stdin', '--code-stdin goes with --service'],
  ['member', 'A word is missing'],
  ['session', 'A word is missing'],
  ['session crate', 'Did you mean create?'],
  ['session create', '--scope is missing'],
  ['session create --scope all', '"all" is not a scope'],
  ['session create --scope read --expires soon', 'is not a length of time'],
  ['mcp --token-file /no/such/file', 'there is no such file or folder'],
  ['mcp --token-file /dev/null', 'holds no session token'],
])('`%s` is wrong use: exit 2, one line that says what is wrong', async (args, said) => {
  const ran = await idle.run(args)
  expect(ran).toMatchObject({ code: 2, stdout: '' })
  expect(ran.stderr).toContain(said)
  expect(ran.stderr.trim().split('\n')).toHaveLength(1)
})

test('with --json a failure is the one document on stdout', async () => {
  for (const args of ['confg --json', 'send frank --json', 'invite frank --expires soon --json']) {
    const ran = await idle.run(args)
    expect(ran).toMatchObject({ code: 2, stderr: '' })
    expect(ran.json()).toMatchObject({
      error: { symbol: 'usage', exit_code: 2, message: expect.any(String), hint: expect.any(String) },
    })
  }
})

test('help and version are answers, not errors', async () => {
  expect(await idle.run('--version')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  })
  for (const args of ['', 'help', '--help', 'help send', 'invite --help']) {
    expect(await idle.run(args), args).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('Usage: relay-node'),
    })
  }
})

test('paths gives six places, all of them in RELAY_NODE_HOME', async () => {
  const paths = (await idle.run('paths --json')).json()
  expect(Object.keys(paths)).toEqual(['home', 'config', 'store', 'socket', 'log', 'key'])
  expect(paths).toEqual(idle.home)
})

test('before anything is set up every command says how to begin', async () => {
  await using bob = laptop()
  for (const args of ['start', 'start --detach', 'inbox', 'search a', 'send frank --summary hi', 'invite frank']) {
    const ran = await bob.run(args)
    expect(ran, args).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr, args).toContain('Nothing is set up yet')
    expect(ran.stderr, args).toContain('relay-node init')
  }
  expect(await bob.run('status')).toMatchObject({ code: 3, stdout: expect.stringContaining('relay-node init') })
  expect((await bob.run('status --json')).json()).toMatchObject({ running: false, state: 'not set up' })
  expect(await bob.run('stop')).toMatchObject({ code: 0, stdout: 'The node was not running.\n' })
  expect(await bob.run('doctor')).toMatchObject({ code: 1, stdout: expect.stringContaining('relay-node init') })
})

test('init without a team makes key and settings for this user alone, keeps its port, and can be run again', async () => {
  await using bob = laptop()
  expect((await bob.run('init --yes --no-start --json --device bobs-mbp')).json()).toEqual({
    device: 'bobs-mbp',
    home: bob.home.home,
  })
  const port = (await bob.run('config --json')).stdout
  expect(statSync(bob.home.key).mode & 0o777).toBe(0o600)
  expect(statSync(bob.home.home).mode & 0o777).toBe(0o700)
  expect(await bob.run('init --yes --no-start')).toMatchObject({ code: 0 })
  expect((await bob.run('config --json')).stdout).toBe(port)
})

test('a home below a regular file, or that is one, is refused with what to do', async () => {
  await using bob = laptop()
  mkdirSync(bob.home.home, { recursive: true })
  const file = join(bob.home.home, 'file')
  writeFileSync(file, 'precious')
  for (const home of [file, join(file, 'x'), join(file, 'x', 'y')]) {
    await using carol = laptop({ home })
    for (const args of [
      'init --yes --name carol --team acme',
      'start',
      'start --detach',
      'status',
      'inbox',
      'doctor',
    ]) {
      const ran = await carol.run(args)
      expect(ran.code, `${args} ${home}`).toBe(1)
      expect(ran.stdout + ran.stderr, `${args} ${home}`).toContain(`${file} is a file; a folder is needed`)
    }
  }
  expect(statSync(file).size).toBe('precious'.length)
})

test('a socket path that is too long is refused with the path, before anything is made', async () => {
  await using bob = laptop()
  await using carol = laptop({ home: join(bob.home.home, 'x'.repeat(100)) })
  for (const args of ['init --yes --name carol --team acme', 'start', 'status', 'inbox']) {
    const ran = await carol.run(args)
    expect(ran, args).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr, args).toContain(carol.home.socket)
    expect(ran.stderr, args).toContain('RELAY_NODE_HOME')
  }
  expect(statSync(bob.home.home, { throwIfNoEntry: false })).toBeUndefined()
})

test('a damaged key is named, and never replaced', async () => {
  await using bob = laptop()
  await bob.run('init --yes --no-start')
  writeFileSync(bob.home.key, 'not a key')
  for (const args of ['start', 'init --yes --name bob --team acme', 'inbox']) {
    const ran = await bob.run(args)
    expect(ran.code, args).toBe(1)
    expect(ran.stderr, args).toContain(`The device key is damaged: ${bob.home.key}`)
  }
  expect(statSync(bob.home.key).size).toBe('not a key'.length)
})

test('doctor reports a key that others can read', async () => {
  await using bob = laptop()
  await bob.run('init --yes --no-start')
  chmodSync(bob.home.key, 0o644)
  const { findings } = (await bob.run('doctor --json')).json()
  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'permissions',
      state: 'failed',
      evidence: `${bob.home.key}: 644`,
      next: expect.stringContaining('chmod 600'),
    }),
  )
})

test('init asks for what it needs at a terminal, and Ctrl-C leaves nothing half done', async () => {
  await using bob = laptop()
  const stopped = bob.terminal('init --no-start')
  await stopped.see('Your name on the team')
  stopped.type('\x03')
  await stopped.see('Stopped; nothing was changed.')
  expect(await stopped.ended).toBe(1)

  const terminal = bob.terminal('init --no-start')
  await terminal.see('Your name on the team')
  terminal.type('Bob Smith\r')
  await terminal.see('A name has a-z')
  terminal.type('\x15bob\r')
  await terminal.see('Team')
  terminal.type('acme\r')
  await terminal.see('Name of this laptop')
  terminal.type('bobs-mbp\r')
  await terminal.see('They are shown once')
  await terminal.see('press Enter')
  const shown = /shown once:\n((?: +(?:[ \d]\d [a-z]+ *){6}\n){4})/.exec(terminal.text())
  expect(shown?.[1]?.match(/[a-z]+/g)).toHaveLength(24)
  terminal.type('\r')
  await terminal.see('You are bob@acme on this laptop (device "bobs-mbp")')
  await terminal.see('Next: relay-node invite NAME')
  expect(await terminal.ended).toBe(0)
})

test('with --yes the successor words go to a file for this user alone', async () => {
  await using bob = laptop()
  const { successor_words_file: file, handle } = (
    await bob.run('init --yes --name bob --team acme --no-start --json')
  ).json()
  expect(handle).toBe('bob@acme')
  expect(statSync(String(file)).mode & 0o777).toBe(0o600)
  const again = await bob.run('init --yes --name bob --team other --no-start')
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('RELAY_NODE_HOME') })
})
