/** A small git repository: where the diffs of the examples come from, and where they are tried. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A change to one file as git shows it, and what it was made on. */
export interface Change {
  path: string
  diff: string
  base_commit: string
  /** Id of the repository's first commit. */
  repo: string
}

export interface Repository {
  readonly folder: string
  /** Writes the file and commits it. */
  change(path: string, text: string): Change
  /** A copy with the same history, somewhere else. */
  clone(folder: string): Repository
}

/** Makes a repository of one commit, which holds `files`. */
export function createRepository(folder: string, files: Readonly<Record<string, string>>): Repository {
  mkdirSync(folder, { recursive: true })
  gitIn(folder, 'init', '--quiet', '--initial-branch=main')
  for (const [path, text] of Object.entries(files)) write(folder, path, text)
  gitIn(folder, 'add', '--all')
  gitIn(folder, 'commit', '--quiet', '--message', 'Begin')
  return repositoryAt(folder)
}

function repositoryAt(folder: string): Repository {
  const git = (...args: string[]): string => gitIn(folder, ...args)
  return {
    folder,
    change(path, text) {
      const base_commit = git('rev-parse', 'HEAD').trim()
      const repo = git('rev-list', '--max-parents=0', 'HEAD').trim()
      write(folder, path, text)
      const diff = git('diff', '--', path)
      git('commit', '--all', '--quiet', '--message', `Change ${path}`)
      return { path, diff, base_commit, repo }
    },
    clone(to) {
      git('clone', '--quiet', folder, to)
      return repositoryAt(to)
    },
  }
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function gitIn(folder: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Bob', '-c', 'user.email=bob@acme.example', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...identity, ...args], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
    // Nobody's own settings decide what the diff looks like.
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
  })
}
