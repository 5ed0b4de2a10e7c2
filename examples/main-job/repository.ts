/** A small git repository with a real change in it: where the diffs of this example come from. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const BEFORE = `from api.db import all_users


def list_users(request):
    return all_users()
`

const AFTER = `from api.db import users_after

PAGE_SIZE = 50


def list_users(request):
    items = users_after(request.args.get("cursor"), limit=PAGE_SIZE)
    next_cursor = items[-1].id if len(items) == PAGE_SIZE else None
    return {"items": items, "next_cursor": next_cursor}
`

/** The bytes that the second diff of the example has at least. */
const LARGE_DIFF_BYTES = 100 * 1024

export interface Repository {
  /** Makes `/users` answer { items, next_cursor }; the change as git shows it. */
  paginateUsers(): { path: string; diff: string; base_commit: string }
  /** A change of more than 100 KiB. */
  renameEverything(): { path: string; diff: string; base_commit: string }
}

export function createRepository(folder: string): Repository {
  const git = (...args: string[]): string =>
    execFileSync(
      'git',
      ['-c', 'user.name=Bob', '-c', 'user.email=bob@acme.example', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: folder,
        encoding: 'utf8',
        maxBuffer: 16 * 1024 * 1024,
        // Nobody's own settings decide what the diff looks like.
        env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
      },
    )
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const change = (path: string, text: string) => {
    const base_commit = git('rev-parse', 'HEAD').trim()
    write(path, text)
    const diff = git('diff', '--', path)
    git('commit', '--all', '--quiet', '--message', `Change ${path}`)
    return { path, diff, base_commit }
  }
  const table = (name: string) =>
    Array.from({ length: 1600 }, (_, row) => `    ("${name}-${row}", ${row * 7919}),  # größer ✓\n`).join('')

  mkdirSync(folder, { recursive: true })
  git('init', '--quiet', '--initial-branch=main')
  write('src/api/users.py', BEFORE)
  write('src/api/fixtures.py', `ROWS = [\n${table('user')}]\n`)
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Users')
  return {
    paginateUsers: () => change('src/api/users.py', AFTER),
    renameEverything() {
      const large = change('src/api/fixtures.py', `ROWS = [\n${table('member')}]\n`)
      if (Buffer.byteLength(large.diff) < LARGE_DIFF_BYTES) throw new Error('the large diff is too small')
      return large
    },
  }
}
