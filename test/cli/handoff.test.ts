import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InviteResult } from '../../src/node/api.ts'
import { killNode, laptop, until } from './laptop.ts'
import { pair, untilThread } from './pair.ts'

const { bob, frank, watch, meet, handOff, close } = pair()
/** The code that frank joined with. */
let code = ''

async function invite(args: string): Promise<InviteResult> {
  const ran = await bob.run(`invite ${args} --json`)
  expect(ran).toMatchObject({ code: 0 })
  return JSON.parse(ran.stdout) as InviteResult
}

beforeAll(async () => {
  const met = await meet()
  code = met.code
  expect(met.joined.json()).toMatchObject({
    handle: 'frank@acme',
    inviter: 'bob@acme',
    trust: 'unverified',
    device: 'frank-xps',
  })
})
afterAll(close)

test('both ends show each other as unverified', async () => {
  for (const [laptopOf, node, other] of [
    [bob, watch.bob, 'frank@acme'],
    [frank, watch.frank, 'bob@acme'],
  ] as const) {
    await until(async () =>
      (await node.call('agents/list', {})).items.some((item) => item.handle === other && item.reachable),
    )
    expect((await laptopOf.run('status')).stdout).toContain(`${other} (unverified)  reachable`)
  }
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

  const [artifact = ''] = /art_\w+/.exec(shown) ?? []
  expect((await frank.run(`show ${id} --artifact ${artifact}`)).stdout).toContain('│ +++ b/src/api/users.py')
  const copy = join(frank.home.home, 'copy.diff')
  expect(await frank.run(`show ${id} --artifact ${artifact} --out ${copy}`)).toMatchObject({ code: 0 })
  expect(readFileSync(copy)).toEqual(readFileSync(diff))
  expect(await frank.run(`show ${id} --artifact ${artifact} --out ${copy}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('exists already'),
  })

  expect(await frank.run(`complete ${id} --result done`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('accept'),
  })
  expect(await frank.run(`accept ${id}`)).toMatchObject({ code: 0, stdout: expect.stringContaining('it is yours now') })
  expect((await frank.run(`message ${id} - --json`, { input: 'Which page size?\n' })).json()).toMatchObject({
    sequence_no: 2,
  })
  await untilThread(watch.bob, id, ({ entries }) => entries.some(({ sequence_no: number }) => number === 2))
  expect((await bob.run(`show ${id}`)).stdout).toContain('│ Which page size?')
  expect((await bob.run(`message ${id} "Fifty." --json`)).json()).toMatchObject({ sequence_no: 3 })
  await untilThread(watch.frank, id, ({ entries }) => entries.some(({ sequence_no: number }) => number === 3))
  expect(await frank.run(`complete ${id} --result "Client adapted"`)).toMatchObject({ code: 0 })
  await untilThread(watch.bob, id, ({ status, final }) => status === 'completed' && final)
  expect((await bob.run(`show ${id}`)).stdout).toContain('completed, final')
  expect(await bob.run(`message ${id} late`)).toMatchObject({ code: 1, stdout: '' })
  const ours = (await bob.run(`show ${id} --json`)).json()
  await untilThread(watch.frank, id, (thread) => thread.state_digest === ours['state_digest'])
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

test('a code with a mistake in it is refused before anything is made or sent, and at a terminal asked for again', async () => {
  await using carol = laptop()
  const mistyped = `${code.slice(0, 20)}${code[20] === 'q' ? 'p' : 'q'}${code.slice(21)}`
  const ran = await carol.run('join --code-stdin', { input: mistyped })
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('a character is wrong or missing') })
  expect(ran.stderr).toContain('relay-node join')
  expect(existsSync(carol.home.home)).toBe(false)

  const terminal = carol.terminal('join --device carols --listen 127.0.0.1:0 --no-lan')
  await terminal.see('Invite code or 12 words')
  terminal.type(`${mistyped}\r`)
  await terminal.see('a character is wrong or missing')
  terminal.type(`\x15${(await invite('carol --standalone')).code}\r`)
  await terminal.see('Reached bob@acme (unverified)')
  await terminal.see('You are carol@acme on this laptop (device "carols")')
  expect(await terminal.ended).toBe(0)
  expect(terminal.text()).not.toContain(mistyped)
})

test('an invite that was used, has expired or was withdrawn says so, with what to do', async () => {
  await using zoe = laptop()
  await using amy = laptop()
  await using dave = laptop()
  await zoe.run('init --yes --name zoe --team studio --listen 127.0.0.1:0 --no-lan')
  const inviteTo = async (args: string) =>
    (await zoe.run(`invite ${args} --standalone --json`)).json() as {
      code: string
      invite_id: string
      expires_at: string
    }
  const join = (given: string) =>
    dave.run('join --code-stdin --listen 127.0.0.1:0 --no-lan --device daves', { input: given })
  const used = await inviteTo('amy')
  expect(await amy.run('join --code-stdin --listen 127.0.0.1:0 --no-lan', { input: used.code })).toMatchObject({
    code: 0,
  })
  // Until amy was heard of, her invite would let her in again.
  await until(async () => /amy@studio \(unverified\) +reachable/.test((await zoe.run('status')).stdout))
  const short = await inviteTo('dave --expires 1s')
  await until(() => Date.now() > Date.parse(short.expires_at))
  const taken = await inviteTo('dave')
  expect(await zoe.run(`invite revoke ${taken.invite_id}`)).toMatchObject({ code: 0 })

  // With no invite open a stranger is not served at all: what is wrong is told as far as the code itself shows it.
  const ended = expect.stringContaining('has no invite open: this one was used, was withdrawn, or has ended')
  const closed = [await join(used.code), await join(short.code), await join(taken.code)]
  expect(closed[0]).toMatchObject({ code: 1, stderr: ended })
  expect(closed[1]).toMatchObject({ code: 1, stderr: expect.stringContaining('has expired') })
  expect(closed[2]).toMatchObject({ code: 1, stderr: ended })

  // While another one is open, the inviter says it.
  const last = await inviteTo('dave')
  const told = [await join(used.code), await join(short.code), await join(taken.code)]
  expect(told[0]).toMatchObject({ code: 1, stderr: expect.stringContaining('was used already') })
  expect(told[1]).toMatchObject({ code: 1, stderr: expect.stringContaining('has expired') })
  expect(told[2]).toMatchObject({ code: 1, stderr: expect.stringContaining('was withdrawn') })
  for (const ran of [...closed, ...told]) expect(ran.stderr).toContain('relay-node invite')
  expect(await join(last.code)).toMatchObject({ code: 0, stdout: expect.stringContaining('You are dave@studio') })
})

test('an inviter that cannot be reached is told apart from an invite that is no good', async () => {
  await using erin = laptop()
  await using lonely = laptop()
  await lonely.run('init --yes --name zoe --team other --listen 127.0.0.1:0 --no-lan')
  const { code: good } = (await lonely.run('invite erin --standalone --json')).json()
  await lonely.run('stop')
  const ran = await erin.run('join --code-stdin --listen 127.0.0.1:0 --no-lan', { input: String(good) })
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('could not be reached') })
  await lonely.run('start --detach')
  expect(await erin.run('join --code-stdin', { input: String(good) })).toMatchObject({ code: 0 })
})

test('invite at a terminal shows code, picture and words, and says when the other has joined', async () => {
  const terminal = bob.terminal('invite grace --standalone')
  await terminal.see('Invite for grace@acme. Works once.')
  await terminal.see('Ctrl-C is fine, the invite stays open.')
  const [shown = ''] = /relay1\S+/.exec(terminal.text().replaceAll(/\n(?=\S{100})/g, '')) ?? []
  expect(shown).not.toBe('')
  terminal.type('\x03')
  await terminal.see('relay-node invite revoke')
  expect(await terminal.ended).toBe(0)
})

test('what was handed over is found by its words, also right after the power was gone', async () => {
  const id = await handOff(
    '--summary "The zebra \u001b[31mcrossing\u001b[0m in next_cursor" --link https://zebra.example',
  )
  const found = await frank.run('search ZEBRA nextCursor --with bob --side in --since 1h')
  expect(found).toMatchObject({ code: 0, stderr: '' })
  expect(found.stdout).toContain(`1 handoff\n\n${id}  inform from bob@acme (unverified)  pending`)
  expect(found.stdout).toContain('  summary: │ The zebra \\u001b[31mcrossing')
  expect(found.stdout).not.toContain('\u001b')

  await frank.run(`message ${id} "about the giraffe"`)
  await killNode(frank.home)
  expect((await frank.run('search giraff --json')).json()).toMatchObject({
    items: [{ thread_id: id, found: { matches: [{ field: 'message', excerpt: { own: 'about the giraffe' } }] } }],
    more: false,
  })
  await until(async () => (await frank.run('search zebra --limit 1')).stdout.includes(id))
  expect((await frank.run('search --status cancelled --status completed --limit 1')).stdout).toMatch(
    /^(1 handoff|Nothing)/,
  )
  expect(await frank.run('search qqqqqq')).toMatchObject({ code: 0, stdout: 'Nothing was found.\n' })
  expect(await frank.run('search "?!"')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no letter and no digit'),
  })
  expect(await frank.run('search a --with nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No member'),
  })
})

test('a handoff that nobody accepted can be taken back', async () => {
  const id = await handOff('--summary "Never mind"')
  expect(await bob.run(`cancel ${id} --reason "solved"`)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Cancelled'),
  })
  await untilThread(watch.bob, id, ({ status, final }) => status === 'cancelled' && final)
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

test('a secret is sent only where the person at the terminal says so, and is named by field and rule', async () => {
  const token = ['gh', 'p_', 'Zq3'.repeat(12)].join('')
  const plain = await bob.run(`send frank --summary "use ${token}"`)
  expect(plain).toMatchObject({ code: 1, stdout: '' })
  expect(plain.stderr).toContain('This looks like a secret: summary, line 1 (rule github).')
  expect(plain.stderr).toContain('--allow-secrets')
  const refused = await bob.run(`send frank --summary x --test "curl -H ${token}" --json`)
  expect(refused).toMatchObject({ code: 1, stderr: '' })
  expect(refused.json()).toMatchObject({
    error: {
      code: -32017,
      symbol: 'secret_detected',
      details: { findings: [{ field: 'artifacts[0].command', line: 1, rule: 'github' }] },
    },
  })
  for (const { stdout, stderr } of [plain, refused]) expect(stdout + stderr).not.toContain(token)
  expect(readFileSync(bob.home.log, 'utf8')).not.toContain(token)

  const id = await handOff(`--summary "use ${token}" --allow-secrets`)
  const said = await bob.run(`message ${id} "again ${token}" --allow-secrets`)
  expect(said).toMatchObject({ code: 0 })
  expect(said.stdout).toContain('A secret was sent: body, line 1 (rule github).')
  expect(said.stdout).not.toContain(token)
})
