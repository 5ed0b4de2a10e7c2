/** A git repository of a test, in a folder of its own, and a picture of all that lies in it. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface Repository {
  readonly folder: string
  git(...args: string[]): string
  write(path: string, content: string): void
  /** Commits everything; gives the commit's id. */
  commit(message: string): string
  /** Every file with its mode, time and content, `.git` included. */
  picture(): string
  clone(...args: string[]): Repository
  remove(): void
}

function repository(folder = mkdtempSync(join(tmpdir(), 'relay-repo-'))): Repository {
  const identity = { GIT_AUTHOR_NAME: 'n', GIT_AUTHOR_EMAIL: 'n@example.org' }
  const env = {
    ...process.env,
    ...identity,
    GIT_COMMITTER_NAME: 'n',
    GIT_COMMITTER_EMAIL: 'n@example.org',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_NOSYSTEM: '1',
  }
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' })
  return {
    folder,
    git,
    write(path, content) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    },
    commit(message) {
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', message)
      return git('rev-parse', 'HEAD').trim()
    },
    picture() {
      const lines: string[] = []
      const look = (path: string): void => {
        const { mode, mtimeNs, size } = lstatSync(join(folder, path), { bigint: true })
        const isFolder = (mode & 0o170000n) === 0o040000n
        lines.push(
          `${path} ${mode.toString(8)} ${mtimeNs} ${isFolder ? '' : `${size} ${contentOf(join(folder, path))}`}`,
        )
        if (isFolder) for (const name of readdirSync(join(folder, path)).toSorted()) look(join(path, name))
      }
      look('.')
      return lines.join('\n')
    },
    clone(...args) {
      const other = mkdtempSync(join(tmpdir(), 'relay-repo-'))
      git('clone', '--quiet', ...args, `file://${folder}`, other)
      return repository(other)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function newRepository(): Repository {
  const made = repository()
  made.git('init', '--quiet', '--initial-branch=main')
  return made
}

function contentOf(path: string): string {
  const content = lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path)
  return createHash('sha256').update(content).digest('hex')
}
