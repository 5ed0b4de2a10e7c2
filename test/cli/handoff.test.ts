import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { laptop, until } from './laptop.ts'

const bob = laptop()
const frank = laptop()
/** The code that frank joined with. */
let code = ''

async function invite(
  args: string,
): Promise<{ code: string; words?: string[]; handle: string; expires_at: string; invite_id: string }> {
  const ran = await bob.run(`invite ${args} --json`)
  expect(ran).toMatchObject({ code: 0 })
  return JSON.parse(ran.stdout) as { code: string; handle: string; expires_at: string; invite_id: string }
}

beforeAll(async () => {
  expect(
    await bob.run('init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --device bobs-mbp'),
  ).toMatchObject({ code: 0 })
  ;({ code } = await invite('frank --standalone'))
  const joined = await frank.run('join --code-stdin --listen 127.0.0.1:0 --no-lan --device frank-xps --json', {
    input: `${code}\n`,
  })
  expect(joined.json()).toMatchObject({
    handle: 'frank@acme',
    inviter: 'bob@acme',
    trust: 'unverified',
    device: 'frank-xps',
  })
})
afterAll(async () => {
  await bob[Symbol.asyncDispose]()
  await frank[Symbol.asyncDispose]()
})

/** Sends from bob; the thread's id, once frank's inbox has it. */
async function handOff(args: string): Promise<string> {
  const ran = await bob.run(`send frank ${args} --json`)
  expect(ran).toMatchObject({ code: 0 })
  const id = String(ran.json()['thread_id'])
  await until(async () => (await frank.run('inbox --json')).stdout.includes(id))
  return id
}

test('both ends show each other as unverified', async () => {
  await until(async () => (await bob.run('status')).stdout.includes('frank@acme (unverified)  reachable'))
  await until(async () => (await frank.run('status')).stdout.includes('bob@acme (unverified)  reachable'))
  expect(await bob.run('ping frank')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/frank\/frank-xps: [\d.]+ ms/),
  })
  expect((await bob.run('invite list')).stdout).toContain('frank@acme  used')
})

test('a handoff travels, is read, answered, accepted and completed', async () => {
  const diff = join(bob.home.home, 'users.diff')
  writeFileSync(diff, '--- a/src/api/users.py\n+++ b/src/api/users.py\n@@ -1 +1 @@\n-a\n+b\n')
  const id = await handOff(
    `--summary "Refactored /users. \u001b[31mred\u001b[0m" --diff ${diff} --test "pytest tests/users/"`,
  )
  expect((await frank.run('inbox')).stdout).toContain('from bob@acme (unverified)  pending  1 unread')

  const shown = (await frank.run(`show ${id.slice(0, 12)}`)).stdout
  expect(shown).toContain('│ Refactored /users. \\u001b[31mred\\u001b[0m')
  expect(shown).not.toContain('\u001b')
  expect(shown).toContain('file_diff src/api/users.py')
  expect(shown).toContain('test_command pytest tests/users/')
  expect(shown).toContain(`Take it on: relay-node accept ${id}`)

  expect(await frank.run(`complete ${id} --result done`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('accept'),
  })
  expect(await frank.run(`accept ${id}`)).toMatchObject({ code: 0, stdout: expect.stringContaining('it is yours now') })
  expect((await frank.run(`message ${id} - --json`, { input: 'Which page size?\n' })).json()).toMatchObject({
    sequence_no: 2,
  })
  await until(async () => (await bob.run(`show ${id}`)).stdout.includes('Which page size?'))
  expect((await bob.run(`message ${id} "Fifty." --json`)).json()).toMatchObject({ sequence_no: 3 })
  await until(async () => (await frank.run(`show ${id}`)).stdout.includes('Fifty.'))
  expect(await frank.run(`complete ${id} --result "Client adapted"`)).toMatchObject({ code: 0 })
  await until(async () => (await bob.run(`show ${id}`)).stdout.includes('completed, final'))
  expect(await bob.run(`message ${id} late`)).toMatchObject({ code: 1, stdout: '' })
  await until(async () => {
    const [ours, theirs] = await Promise.all([bob.run(`show ${id} --json`), frank.run(`show ${id} --json`)])
    return ours.json()['state_digest'] === theirs.json()['state_digest']
  })
})

test('a proposed action is approved by a person at a terminal, by its digest', async () => {
  const file = join(bob.home.home, 'action.json')
  writeFileSync(
    file,
    JSON.stringify({
      description: 'Drop the old endpoint',
      target_files: ['src/old.py'],
      rationale: 'Nobody calls it',
      suggested_diff: '-old()\n',
    }),
  )
  const id = await handOff(`--summary "Please agree" --action ${file}`)
  await frank.run(`accept ${id}`)
  expect(await frank.run(`complete ${id} --result done`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('approve'),
  })

  const { action } = (await frank.run(`show ${id} --json`)).json() as { action: { digest: string } }
  const wrong = frank.terminal(`approve ${id}`)
  await wrong.see('Drop the old endpoint')
  await wrong.see('first 6 characters')
  wrong.type('zzzzzz\r')
  await wrong.see('Nothing was answered')
  expect(await wrong.ended).toBe(1)

  const right = frank.terminal(`approve ${id}`)
  await right.see('-old()')
  await right.see(action.digest)
  await right.see('first 6 characters')
  right.type(`${action.digest.slice(0, 6)}\r`)
  await right.see('Approved.')
  expect(await right.ended).toBe(0)
  expect(await frank.run(`complete ${id} --result done`)).toMatchObject({ code: 0 })
})

test('an invite that cannot be used says why and what to do: mistyped, used, expired, withdrawn', async () => {
  await using carol = laptop()
  const join = (given: string) =>
    carol.run('join --code-stdin --listen 127.0.0.1:0 --no-lan --device carols', { input: given })

  const mistyped = await join(`${code.slice(0, 20)}${code[20] === 'q' ? 'p' : 'q'}${code.slice(21)}`)
  expect(mistyped).toMatchObject({ code: 1, stderr: expect.stringMatching(/typ|character/i) })

  const used = await join(code)
  expect(used).toMatchObject({ code: 1, stderr: expect.stringMatching(/used/i) })

  const short = await invite('carol --standalone --expires 1s')
  await until(() => Date.now() > Date.parse(short.expires_at))
  const expired = await join(short.code)
  expect(expired).toMatchObject({ code: 1, stderr: expect.stringMatching(/expired|ended/i) })

  const open = await invite('carol --standalone')
  expect(await bob.run(`invite revoke ${open.invite_id}`)).toMatchObject({ code: 0 })
  const withdrawn = await join(open.code)
  expect(withdrawn).toMatchObject({ code: 1, stderr: expect.stringMatching(/withdrawn/i) })

  for (const ran of [mistyped, used, expired, withdrawn]) expect(ran.stderr).toContain('relay-node')
  expect(new Set([mistyped, used, expired, withdrawn].map(({ stderr }) => stderr)).size).toBe(4)
  const last = await invite('carol --standalone')
  expect(await join(last.code)).toMatchObject({ code: 0, stdout: expect.stringContaining('You are carol@acme') })
})

test('invite at a terminal shows code, picture and words, and says when the other has joined', async () => {
  const terminal = bob.terminal('invite dave --standalone')
  await terminal.see('Invite for dave@acme. Works once.')
  await terminal.see('Ctrl-C is fine, the invite stays open.')
  const [shown = ''] = /relay1\S+/.exec(terminal.text().replaceAll(/\n(?=\S{100})/g, '')) ?? []
  expect(shown).not.toBe('')
  terminal.type('\x03')
  await terminal.see('relay-node invite revoke')
  expect(await terminal.ended).toBe(0)
})

test('a handoff that nobody accepted can be taken back', async () => {
  const id = await handOff('--summary "Never mind"')
  expect(await bob.run(`cancel ${id} --reason "solved"`)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Cancelled'),
  })
  await until(async () => (await bob.run(`show ${id}`)).stdout.includes('cancelled, final'))
})

test.each([
  ['send nobody --summary hi', 'No member of this workspace has that handle'],
  ['send bob --summary hi', 'not to oneself'],
  ['send frank --summary " "', 'must have a part with text'],
  ['show ho_zz', 'no such thread'],
  ['show "not an id"', 'no such thread'],
  ['ping nobody', 'No member'],
])('`%s` gets one clear answer', async (args, said) => {
  const ran = await bob.run(args)
  expect(ran.code).toBeGreaterThan(0)
  expect(ran).toMatchObject({ stdout: '' })
  expect(ran.stderr).toContain(said)
})
