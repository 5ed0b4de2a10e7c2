import { once } from 'node:events'
import { appendFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockHolder } from '../../src/cli/instance-lock.ts'
import { killNode, type Laptop, laptop, until } from './laptop.ts'

const AT_ONCE_COUNT = 20

/** A workspace of its own, its node not started. */
async function founder(): Promise<Laptop> {
  const bob = laptop()
  const ran = await bob.run('init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --no-start')
  expect(ran).toMatchObject({ code: 0 })
  return bob
}

test('start stays in front; a second start names the first; a signal ends it in order', async () => {
  await using bob = await founder()
  const front = bob.spawn('start --json')
  const [ready] = (await once(front.stdout ?? front, 'data')) as [Buffer]
  expect(JSON.parse(ready.toString())).toMatchObject({ ready: true, pid: front.pid })

  const second = await bob.run('start')
  expect(second).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`already running (pid ${front.pid})`),
  })
  expect((await bob.run('start --detach --json')).json()).toEqual({ pid: front.pid, started: false })

  const ended = once(front, 'exit')
  front.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(lockHolder(bob.home)).toBeUndefined()
  expect(existsSync(bob.home.socket)).toBe(false)
  expect((await bob.run('logs')).stdout).toContain('stopping: SIGTERM')
})

test('start --detach returns when the node answers, stop when it has ended', async () => {
  await using bob = await founder()
  const started = (await bob.run('start --detach --json')).json()
  expect(started).toEqual({ pid: lockHolder(bob.home), started: true })
  const status = (await bob.run('status --json')).json()
  expect(status).toMatchObject({ running: true, pid: started['pid'], handle: 'bob@acme', owner: true })
  expect(await bob.run('status')).toMatchObject({ code: 0, stdout: expect.stringContaining('bob@acme') })
  expect(await bob.run('doctor')).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing is wrong.') })
  expect(await bob.run('init --yes --name bob --team other')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('you are bob@acme'),
  })
  expect((await bob.run('stop --json')).json()).toEqual({ stopped: true, pid: started['pid'] })
  expect(lockHolder(bob.home)).toBeUndefined()
  expect(await bob.run('status')).toMatchObject({ code: 3 })
})

test('of many starts at once one starts the node, and all name it', async () => {
  await using bob = await founder()
  const answers = await Promise.all(Array.from({ length: AT_ONCE_COUNT }, () => bob.run('start --detach --json')))
  const results = answers.map((ran) => ran.json())
  expect(answers.map(({ code }) => code)).toEqual(Array.from({ length: AT_ONCE_COUNT }, () => 0))
  expect(new Set(results.map(({ pid }) => pid))).toEqual(new Set([lockHolder(bob.home)]))
  expect(results.filter(({ started }) => started === true)).toHaveLength(1)
})

test('what a killed node leaves behind does not keep the next one from starting', async () => {
  await using bob = await founder()
  await bob.run('start --detach')
  await killNode(bob.home)
  expect(existsSync(bob.home.socket)).toBe(true)
  expect(await bob.run('status')).toMatchObject({ code: 3 })
  expect((await bob.run('doctor --json')).json()['findings']).toContainEqual(
    expect.objectContaining({ check: 'socket', state: 'note' }),
  )
  expect((await bob.run('start --detach --json')).json()).toMatchObject({ started: true })
  expect((await bob.run('status --json')).json()).toMatchObject({ handle: 'bob@acme' })
})

test('a damaged store is named with what to do, and repaired on request', async () => {
  await using bob = await founder()
  await bob.run('start --detach')
  await bob.run('stop')
  for (const name of readdirSync(bob.home.store))
    if (name.startsWith('MANIFEST-')) writeFileSync(join(bob.home.store, name), 'no manifest')
  for (const args of ['start', 'start --detach', 'inbox']) {
    const ran = await bob.run(args)
    expect(ran, args).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr, args).toContain(bob.home.store)
    expect(ran.stderr, args).toContain('--repair')
  }
  expect((await bob.run('doctor --json')).json()['findings']).toContainEqual(
    expect.objectContaining({ check: 'store', state: 'failed', next: expect.stringContaining('--repair') }),
  )
  expect(await bob.run('start --detach --repair')).toMatchObject({ code: 0 })
  expect((await bob.run('status --json')).json()).toMatchObject({ handle: 'bob@acme' })
})

test('logs -f goes on until Ctrl-C, across lines and a turned-over file', async () => {
  await using bob = await founder()
  const terminal = bob.terminal('logs -f')
  await terminal.see('Ctrl-C ends this')
  await bob.run('start --detach')
  await terminal.see('node running')
  await bob.run('stop')
  await terminal.see('node stopped')
  writeFileSync(bob.home.log, '')
  appendFileSync(bob.home.log, `${JSON.stringify({ time: 'now', level: 'info', msg: 'a new file' })}\n`)
  await terminal.see('a new file')
  terminal.type('\x03')
  expect(await terminal.ended).toBe(0)
})

test('a command that needs the node starts it', async () => {
  await using bob = await founder()
  expect(await bob.run('inbox')).toMatchObject({ code: 0, stdout: expect.stringContaining('No open handoffs.') })
  await until(() => lockHolder(bob.home) !== undefined)
  expect(await bob.run('send nobody --summary hi')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No member'),
  })
})
