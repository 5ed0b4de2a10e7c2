/** Whether a diff fits the working copy here: what is found, and that nothing is changed or run, whatever the diff and the repository say. */
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ArtifactInput } from '../../src/node/api.ts'
import { createRpcClient, type RpcClient } from '../../src/rpc/client.ts'
import { type Laptop, laptop, type Ran } from './laptop.ts'
import { newRepository, type Repository } from './repository.ts'

const bob = laptop()
let node: RpcClient
/** What is removed after each test. */
let made: Repository[] = []
const folder = mkdtempSync(join(tmpdir(), 'relay-apply-'))

beforeAll(async () => {
  // frank need not be there: whoever sent a diff can look at it like whoever got it.
  await bob.run('init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --device bobs-mbp')
  const { code } = (await bob.run('invite frank --standalone --json')).json()
  await using frank: Laptop = laptop()
  await frank.run('join --code-stdin --listen 127.0.0.1:0 --no-lan', { input: String(code) })
  node = createRpcClient({ socketPath: bob.home.socket, session: randomUUID() })
})
afterEach(() => {
  for (const one of made) one.remove()
  made = []
})
afterAll(async () => {
  node.close()
  rmSync(folder, { recursive: true, force: true })
  await bob[Symbol.asyncDispose]()
})

function keep(one: Repository): Repository {
  made.push(one)
  return one
}

const numbered = (count: number, ...changes: [line: number, text: string][]): string =>
  Array.from({ length: count }, (_, i) => changes.find(([line]) => line === i + 1)?.[1] ?? `line ${i + 1}`).join('\n') +
  '\n'

/** A repository with two files and one commit. */
function started(): { repo: Repository; first: string } {
  const repo = keep(newRepository())
  repo.write('src/a.txt', numbered(60))
  repo.write('b.txt', numbered(20))
  return { repo, first: repo.commit('one') }
}

/** The diff of a change that is taken back again. */
function diffOf(repo: Repository, change: () => void, ...args: string[]): string {
  change()
  repo.git('add', '--all')
  const diff = repo.git('diff', '--cached', ...args)
  repo.git('reset', '--quiet', '--hard')
  return diff
}

/** Sends artifacts as a program would that says what it likes. */
async function sent(...artifacts: ArtifactInput[]): Promise<{ thread: string; ids: string[] }> {
  const message = { parts: [{ type: 'text' as const, text: 'see' }] }
  const answer = await node.call('message/send', { recipient: 'frank@acme', intent: 'inform', message, artifacts })
  return { thread: answer.thread_id, ids: answer.artifact_ids }
}

const asDiff = (diff: string, more: Partial<ArtifactInput> = {}): ArtifactInput => ({
  type: 'file_diff',
  path: 'a',
  diff,
  ...more,
})

/** Checks a diff in a repository, and that the check leaves all of it as it was. */
async function checked(repo: Repository, artifact: ArtifactInput, args = ''): Promise<Ran> {
  const { thread, ids } = await sent(artifact)
  const before = repo.picture()
  const ran = await bob.run(`apply --check ${thread} ${ids[0]} --repo ${repo.folder} ${args}`)
  expect(repo.picture()).toBe(before)
  return ran
}

describe('a diff that was sent from a working copy', () => {
  test('says by itself which repository and commit it was made on, and fits a clone', async () => {
    const { repo, first } = started()
    const base = (repo.write('b.txt', numbered(20, [1, 'newer'])), repo.commit('two'))
    const file = join(folder, 'change.diff')
    writeFileSync(
      file,
      diffOf(repo, () => repo.write('src/a.txt', numbered(60, [30, 'x']))),
    )
    const ran = await bob.run(`send frank --summary see --diff ${file} --json`, { cwd: join(repo.folder, 'src') })
    const { thread_id: thread } = ran.json() as { thread_id: string }
    const { artifacts } = await node.call('tasks/get', { thread_id: thread })
    expect(artifacts[0]?.content.own).toEqual({ path: 'src/a.txt', repo: first, base_commit: base })

    const clone = keep(repo.clone())
    const before = clone.picture()
    const id = artifacts[0]?.artifact_id ?? ''
    const found = await bob.run(`apply --check ${thread} ${id} --json`, { cwd: join(clone.folder, 'src') })
    expect(found).toMatchObject({ code: 0 })
    expect(found.json()).toEqual({
      thread_id: thread,
      artifact_id: id,
      applies: true,
      repo: 'same',
      base: { state: 'known', commit: base, commits_since: 0, commits_apart: 0 },
      untrusted: {
        files: [{ path: 'src/a.txt', changed_since_base: false, uncommitted: false }],
        failed_hunks: [],
        problems: [],
      },
    })
    expect(clone.picture()).toBe(before)
  })

  test('after its change was committed names the commit before; one that fits nowhere names none', async () => {
    const { repo, first } = started()
    const diff = diffOf(repo, () => repo.write('b.txt', numbered(20, [3, 'x'])))
    repo.write('b.txt', numbered(20, [3, 'x']))
    repo.commit('two')
    const facts = async (text: string) => {
      const file = join(folder, 'some.diff')
      writeFileSync(file, text)
      const ran = await bob.run(`send frank --summary see --diff ${file} --json`, { cwd: repo.folder })
      const { artifacts } = await node.call('tasks/get', { thread_id: String(ran.json()['thread_id']) })
      return artifacts[0]?.content.own
    }
    expect(await facts(diff)).toEqual({ path: 'b.txt', repo: first, base_commit: first })
    expect(await facts(diff.replaceAll('line 4', 'row 4'))).toEqual({ path: 'b.txt' })
    expect(await facts('no diff at all')).toEqual({ path: 'some.diff' })
  })
})

describe('what has drifted is told:', () => {
  test('commits since, files that changed, what is not committed, and each hunk that does not fit', async () => {
    const { repo, first } = started()
    const diff = diffOf(repo, () => {
      repo.write('src/a.txt', numbered(60, [5, 'x5'], [30, 'x30'], [55, 'x55']))
      repo.write('b.txt', numbered(20, [10, 'x10']))
    })
    repo.write('src/a.txt', numbered(60, [31, 'theirs'], [54, 'theirs']))
    repo.commit('two')
    repo.write('c.txt', 'another file\n')
    repo.commit('three')
    repo.write('b.txt', numbered(20, [20, 'mine, not committed']))
    const artifact = asDiff(diff, { repo: first, base_commit: first })
    const ran = await checked(repo, artifact, '--json')
    expect(ran.code).toBe(1)
    expect(ran.json()).toMatchObject({
      applies: false,
      repo: 'same',
      base: { state: 'known', commit: first, commits_since: 2, commits_apart: 0 },
      untrusted: {
        files: [
          { path: 'b.txt', changed_since_base: false, uncommitted: true },
          { path: 'src/a.txt', changed_since_base: true, uncommitted: false },
        ],
        failed_hunks: [
          { path: 'src/a.txt', line: 27 },
          { path: 'src/a.txt', line: 52 },
        ],
        problems: ['src/a.txt: patch does not apply'],
      },
    })
    const { code, stdout } = await checked(repo, artifact)
    expect(code).toBe(1)
    expect(stdout).toContain('It does not fit here. Nothing was changed.')
    expect(stdout).toContain('It was made in this repository.')
    expect(stdout).toContain(`It was made on ${first.slice(0, 12)}; 2 commits since.`)
    expect(stdout).toContain('It changes 2 files; of these have changed here:')
    expect(stdout).toContain('b.txt (not committed)')
    expect(stdout).toContain('src/a.txt:27')
  })

  test('another repository, a base that is not here, a history that went another way', async () => {
    const { repo, first } = started()
    const diff = diffOf(repo, () => repo.write('b.txt', numbered(20, [3, 'x'])))
    const other = keep(newRepository())
    other.write('b.txt', numbered(20))
    const otherFirst = other.commit('elsewhere')
    const foreign = await checked(other, asDiff(diff, { repo: first, base_commit: first }), '--json')
    expect(foreign.json()).toMatchObject({ applies: true, repo: 'another', base: { state: 'unknown' } })
    expect(otherFirst).not.toBe(first)
    repo.git('switch', '--quiet', '--create', 'side')
    const side = (repo.write('side.txt', 's'), repo.commit('on a side'))
    repo.git('switch', '--quiet', 'main')
    repo.write('main.txt', 'm')
    repo.commit('on main')
    const apart = await checked(repo, asDiff(diff, { repo: first, base_commit: side }), '--json')
    expect(apart.json()).toMatchObject({ applies: true, base: { state: 'known', commits_since: 1, commits_apart: 1 } })
    const silent = await checked(repo, asDiff(diff), '--json')
    expect(silent.json()).toMatchObject({ applies: true, repo: 'unknown', base: { state: 'not given' } })
    for (const odd of ['--output=/tmp/x', 'HEAD', 'main', '$(touch x)']) {
      const ran = await checked(repo, asDiff(diff, { repo: odd, base_commit: odd }), '--json')
      expect(ran.json()).toMatchObject({ applies: true, repo: 'unknown', base: { state: 'unknown' } })
    }
  })

  test('a shallow clone does not know the beginning, and says so', async () => {
    const { repo, first } = started()
    repo.write('b.txt', numbered(20, [1, 'newer']))
    const base = repo.commit('two')
    const shallow = keep(repo.clone('--depth', '1'))
    const diff = diffOf(shallow, () => shallow.write('b.txt', numbered(20, [1, 'newer'], [9, 'x'])))
    const ran = await checked(shallow, asDiff(diff, { repo: first, base_commit: base }), '--json')
    expect(ran.json()).toMatchObject({ applies: true, repo: 'unknown', base: { state: 'known', commits_since: 0 } })
  })

  test('in a worktree and in a repository of SHA-256 as elsewhere', async () => {
    const { repo, first } = started()
    const diff = diffOf(repo, () => repo.write('b.txt', numbered(20, [3, 'x'])))
    const tree = join(folder, 'tree')
    repo.git('worktree', 'add', '--quiet', tree)
    const { thread, ids } = await sent(asDiff(diff, { repo: first, base_commit: first }))
    const ran = await bob.run(`apply --check ${thread} ${ids[0]} --repo ${tree} --json`)
    expect(ran.json()).toMatchObject({ applies: true, repo: 'same', base: { state: 'known' } })
    const sha256 = keep(newRepository())
    rmSync(join(sha256.folder, '.git'), { recursive: true })
    sha256.git('init', '--quiet', '--object-format=sha256')
    sha256.write('b.txt', numbered(20))
    const begun = sha256.commit('one')
    const other = await checked(sha256, asDiff(diff, { repo: begun, base_commit: begun }), '--json')
    expect(other.json()).toMatchObject({ applies: true, repo: 'same', base: { state: 'known', commits_since: 0 } })
  })
})

describe('nothing is run, written or read elsewhere', () => {
  const marker = join(folder, 'it-ran')
  const script = join(folder, 'evil.sh')

  test('whatever programs the configuration and the attributes of the repository name', async () => {
    writeFileSync(script, `#!/bin/sh\ntouch ${marker}\ncat\n`)
    chmodSync(script, 0o755)
    const { repo, first } = started()
    const diff = diffOf(repo, () => repo.write('b.txt', numbered(20, [3, 'x'])))
    repo.write('.gitattributes', '* filter=evil diff=evil merge=evil text\n')
    repo.commit('attributes')
    for (const hook of [
      'post-index-change',
      'pre-commit',
      'applypatch-msg',
      'reference-transaction',
      'fsmonitor-watchman',
    ])
      repo.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${marker}\n`)
    repo.git('config', 'core.hooksPath', join(repo.folder, '.git', 'hooks'))
    const lines = [
      `[core]\nfsmonitor = ${script}\npager = ${script}\neditor = ${script}\nsshCommand = ${script}\naskPass = ${script}`,
      `[filter "evil"]\nclean = ${script}\nsmudge = ${script}\nprocess = ${script}\nrequired = true`,
      `[diff]\nexternal = ${script}`,
      `[diff "evil"]\ncommand = ${script}\ntextconv = ${script}`,
      `[merge "evil"]\ndriver = ${script}`,
      `[alias]\napply = !${script}\nls-tree = !${script}`,
      `[extensions]\npartialClone = evil`,
      `[remote "evil"]\nurl = ext::${script}\npromisor = true\nuploadpack = ${script}`,
      `[protocol]\nallow = always`,
      `[credential]\nhelper = !${script}`,
    ]
    repo.write('.git/config', `[core]\nrepositoryformatversion = 1\n${lines.join('\n')}\n`)
    // What is missing must not be fetched.
    const missing = 'ab'.repeat(20)
    for (const artifact of [
      asDiff(diff, { repo: first, base_commit: first }),
      asDiff(diff.replaceAll('line 4', 'row 4'), { repo: missing, base_commit: missing }),
    ]) {
      const ran = await checked(repo, artifact, '--json')
      expect(ran.json()).not.toHaveProperty('error')
      expect(existsSync(marker)).toBe(false)
      const file = join(folder, 'sent.diff')
      writeFileSync(file, String(artifact['diff']))
      const before = repo.picture()
      expect(await bob.run(`send frank --summary see --diff ${file}`, { cwd: repo.folder })).toMatchObject({ code: 0 })
      expect(repo.picture()).toBe(before)
      expect(existsSync(marker)).toBe(false)
    }
  })

  const plain = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-secret\n+changed\n`
  const link = (path: string, target: string) =>
    `diff --git a/${path} b/${path}\nnew file mode 120000\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${target}\n\\ No newline at end of file\n`

  test('by a diff that leads out of the repository, through links, into .git or into a submodule', async () => {
    const outside = join(folder, 'outside.txt')
    writeFileSync(outside, 'secret\n')
    const { repo } = started()
    const inner = newRepository()
    keep(inner)
    inner.write('i.txt', 'secret\n')
    inner.commit('inner')
    repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.folder, 'sub')
    symlinkSync(folder, join(repo.folder, 'way-out'))
    repo.commit('with a submodule and a link')
    writeFileSync(join(repo.folder, 'sub', '.git-marker'), '')
    const hostile: Record<string, string> = {
      absolute: `--- ${outside}\n+++ ${outside}\n@@ -1 +1 @@\n-secret\n+changed\n`,
      upwards: plain(`../${folder.split('/').at(-1)}/outside.txt`),
      'through a link that is there': plain('way-out/outside.txt'),
      'through a link that it makes': `${link('made', folder)}${plain('made/outside.txt')}`,
      'into .git': plain('.git/config'),
      'a binary patch of other bytes': `diff --git a/b.txt b/b.txt\nindex ${'1'.repeat(40)}..${'2'.repeat(40)} 100644\nGIT binary patch\nliteral 3\nKcmZ?wbhEHbU}Rtb00aO4\n\nliteral 0\nHcmV?d00001\n\n`,
      'no diff': 'rm -rf /\n',
      nothing: '',
      'words that pose as git’s': plain('b.txt')
        .replace('@@ -1 +1 @@', '@@ -1,2 +1 @@')
        .replace('-secret', '-error: patch failed: src/a.txt:1\n-secret'),
    }
    for (const [what, diff] of Object.entries(hostile)) {
      const ran = await checked(repo, asDiff(diff), '--json')
      expect(ran, what).toMatchObject({ code: 1 })
      expect(ran.json(), what).toMatchObject({ applies: false })
      const { untrusted } = ran.json() as { untrusted: { problems: string[]; failed_hunks: unknown[] } }
      expect(untrusted.problems.length, what).toBeGreaterThan(0)
      if (what.startsWith('words')) expect(untrusted.failed_hunks).toEqual([{ path: 'b.txt', line: 1 }])
    }
  })

  test('by a diff of a file in a submodule, where git apply would change it, or of its commit', async () => {
    const { repo } = started()
    const inner = keep(newRepository())
    inner.write('i.txt', 'secret\n')
    inner.commit('inner')
    repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.folder, 'sub')
    repo.commit('with a submodule')
    // The submodule is a repository of its own, with programs of its own.
    writeFileSync(script, `#!/bin/sh\ntouch ${marker}\n`)
    chmodSync(script, 0o755)
    repo.git('-C', 'sub', 'config', 'core.fsmonitor', script)
    const commit = `diff --git a/sub b/sub\nindex ${'1'.repeat(40)}..${'2'.repeat(40)} 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit ${'1'.repeat(40)}\n+Subproject commit ${'2'.repeat(40)}\n`
    // Of another commit git apply says that it fits, since without an index it would do nothing.
    for (const diff of [plain('sub/i.txt'), commit])
      expect(await checked(repo, asDiff(diff), '--json')).toMatchObject({ code: 0 })
    expect(existsSync(marker)).toBe(false)
  })

  test('by a link that a diff adds, and a huge diff is looked at like any other', async () => {
    const { repo } = started()
    expect(await checked(repo, asDiff(link('made', '/etc/passwd')), '--json')).toMatchObject({ code: 0 })
    const lines = Array.from({ length: 160_000 }, (_, i) => `+a line of a very large file, number ${i}`)
    const huge = `--- /dev/null\n+++ b/huge.txt\n@@ -0,0 +1,${lines.length} @@\n${lines.join('\n')}\n`
    expect(huge.length).toBeGreaterThan(6 * 1024 * 1024)
    expect(await checked(repo, asDiff(huge), '--json')).toMatchObject({ code: 0 })
  })

  test('and names in a diff cannot drive the terminal', async () => {
    const { repo } = started()
    const { stdout } = await checked(repo, asDiff(plain('\u001b[31mred')))
    expect(stdout).not.toContain('\u001b')
    expect(stdout).toContain('It does not fit here.')
  })
})

describe('what cannot be checked is told in one line:', () => {
  test('without --check it says that nothing is ever applied', async () => {
    const ran = await bob.run('apply ho_x art_x')
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('applies nothing') })
    expect(ran.stderr).toContain('--check')
  })

  test('no git, no repository, no such folder, no diff, no such artifact', async () => {
    const { thread, ids } = await sent(asDiff(''), { type: 'link', url: 'https://a.example' })
    const check = (args: string, env: NodeJS.ProcessEnv = {}) => bob.run(`apply --check ${thread} ${args}`, { env })
    const told = (words: string) => ({ code: 1, stdout: '', stderr: expect.stringContaining(words) })
    expect(await check(`${ids[0]} --repo ${folder}`, { PATH: folder })).toMatchObject(told('git is not installed'))
    expect(await check(`${ids[0]} --repo ${folder}`)).toMatchObject(told('no git working copy'))
    expect(await check(`${ids[0]} --repo ${join(folder, 'nowhere')}`)).toMatchObject(told('There is no folder'))
    expect(await check(`${ids[1]} --repo ${folder}`)).toMatchObject(told('not a diff'))
    expect(await check(`art_aaaaaaaaaaaaaaaaaaaaaaaaaa --repo ${folder}`)).toMatchObject(told('no such artifact'))
  })

  test('a file that is too large to be attached is named with its size, and not read', async () => {
    const file = join(folder, 'huge.bin')
    writeFileSync(file, '')
    truncateSync(file, 5 * 1024 ** 3)
    const ran = await bob.run(`send frank --summary see --file ${file}`)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining(`${5 * 1024 ** 3} bytes`) })
    rmSync(file)
  })

  test('a diff is sent all the same where there is no git', async () => {
    const file = join(folder, 'plain.diff')
    writeFileSync(file, plainDiff)
    expect(await bob.run(`send frank --summary see --diff ${file}`, { env: { PATH: folder } })).toMatchObject({
      code: 0,
    })
  })
})

const plainDiff = '--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-a\n+b\n'
