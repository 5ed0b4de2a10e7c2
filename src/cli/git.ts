/**
 * Looking at a git working copy without trusting what stands in it. Its configuration, hooks, filters and attributes can
 * name programs, and a diff of another person decides which files are looked at. So git is run with a folder of its own
 * in place of `.git`: it borrows the objects of the real one and has a configuration of a few harmless settings. Nothing
 * is written but into that folder, which is removed at the end.
 */
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { CommandError } from './failure.ts'

/** What runs longer hangs, or was made to. */
const GIT_TIMEOUT_MS = 60_000
const OUTPUT_SIZE_BYTES_MAX = 64 * 1024 * 1024
/** Arguments of one call. */
const PATHS_COUNT_MAX = 200
/** What the content of a file depends on. All else of a configuration is left out. */
const SETTINGS = 'autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|protecthfs|protectntfs'
const SETTING_VALUE = /^(?:true|false|input|lf|crlf|native)$/
const GITLINK_MODE = '160000'

export interface GitRan {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface WorkingCopy {
  /** Its root. */
  readonly top: string
  /** The commit that is checked out; undefined before the first one. */
  readonly head: string | undefined
  /** The beginning of its history is missing. */
  readonly isShallow: boolean
  /** Runs git at the root, with the objects and files of the working copy and nothing else of it. */
  git(args: readonly string[], input?: string | Uint8Array): Promise<GitRan>
  /** Takes the given files, as they are in a commit, for what the index holds. */
  useIndex(commit: string, paths: readonly string[]): Promise<void>
  /** Removes the folder that it stands on. */
  close(): void
}

/** The working copy that `folder` lies in; why there is none, in words. Throws CommandError git_missing. */
export async function openWorkingCopy(folder: string): Promise<WorkingCopy | string> {
  const found = await inside(folder, [
    'rev-parse',
    '--show-toplevel',
    '--is-shallow-repository',
    '--show-object-format',
    '--git-path',
    'objects',
    '--git-path',
    'shallow',
  ])
  if (found.code !== 0) return found.stderr.trim().replace(/^fatal: /, '')
  const [top = '', shallow = '', format = '', objects = '', shallowFile = ''] = found.stdout.split('\n')
  const head = (await inside(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])).stdout.trim()
  const own = mkdtempSync(join(tmpdir(), 'relay-git-'))
  try {
    const settings = await readSettings(folder)
    mkdirSync(join(own, 'objects', 'info'), { recursive: true })
    mkdirSync(join(own, 'refs'))
    writeFileSync(join(own, 'HEAD'), 'ref: refs/heads/none\n')
    writeFileSync(join(own, 'config'), configuration(settings, format))
    writeFileSync(join(own, 'objects', 'info', 'alternates'), `${JSON.stringify(resolve(folder, objects))}\n`)
    const grafts = resolve(folder, shallowFile)
    if (existsSync(grafts)) copyFileSync(grafts, join(own, 'shallow'))
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    throw error
  }
  const env = { ...without(process.env), GIT_DIR: own, GIT_WORK_TREE: top, GIT_INDEX_FILE: join(own, 'index') }
  const isolated = { HOME: own, XDG_CONFIG_HOME: own, GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: '1' }
  const git: WorkingCopy['git'] = (args, input) =>
    run(['--literal-pathspecs', ...args], { cwd: top, env: { ...env, ...isolated, ...CAREFUL }, input })
  return {
    top,
    head: head === '' ? undefined : head,
    isShallow: shallow !== 'false',
    git,
    async useIndex(commit, paths) {
      rmSync(env.GIT_INDEX_FILE, { force: true })
      let entries = ''
      for (let at = 0; at < paths.length; at += PATHS_COUNT_MAX) {
        const some = paths.slice(at, at + PATHS_COUNT_MAX)
        entries += (await git(['ls-tree', '-z', '--full-tree', commit, '--', ...some])).stdout
      }
      // A submodule is a repository of its own, with a configuration of its own.
      const files = entries.split('\0').filter((entry) => entry !== '' && !entry.startsWith(GITLINK_MODE))
      await git(['update-index', '-z', '--index-info'], files.map((entry) => `${entry}\0`).join(''))
    },
    close: () => rmSync(own, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** No questions, no network, no replaced objects, words that can be read again. */
const CAREFUL = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_ALLOW_PROTOCOL: '',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ATTR_NOSYSTEM: '1',
  LC_ALL: 'C',
}

/** The environment without what would point git elsewhere, as it does inside of a hook. */
function without(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')))
}

/** Asks git in the working copy itself: only for where things are, which runs none of what its configuration names. */
function inside(folder: string, args: readonly string[]): Promise<GitRan> {
  return run(args, { cwd: folder, env: { ...without(process.env), ...CAREFUL } })
}

async function readSettings(folder: string): Promise<Map<string, string>> {
  const { stdout } = await inside(folder, ['config', '-z', '--get-regexp', `^core\\.(${SETTINGS})$`])
  return new Map(
    stdout.split('\0').flatMap((line): [string, string][] => {
      const [name = '', value = 'true'] = line.split('\n')
      return name !== '' && SETTING_VALUE.test(value) ? [[name.replace('core.', ''), value]] : []
    }),
  )
}

function configuration(settings: ReadonlyMap<string, string>, format: string): string {
  const isNew = format === 'sha256'
  return [
    '[core]',
    `repositoryformatversion = ${isNew ? 1 : 0}`,
    'bare = false',
    ...[...settings].map(([name, value]) => `${name} = ${value}`),
    ...(isNew ? ['[extensions]', 'objectformat = sha256'] : []),
    '',
  ].join('\n')
}

interface RunOptions {
  cwd: string
  env: NodeJS.ProcessEnv
  input?: string | Uint8Array | undefined
}

function run(args: readonly string[], { cwd, env, input = '' }: RunOptions): Promise<GitRan> {
  return new Promise((resolveRan, reject) => {
    const child = spawn('git', args, { cwd, env, stdio: 'pipe', windowsHide: true })
    const timer = setTimeout(() => child.kill(), GIT_TIMEOUT_MS)
    const out: Buffer[] = []
    const err: Buffer[] = []
    let size = 0
    const keep = (pieces: Buffer[]) => (piece: Buffer) => {
      size += piece.length
      if (size > OUTPUT_SIZE_BYTES_MAX) child.kill()
      else pieces.push(piece)
    }
    child.stdout.on('data', keep(out))
    child.stderr.on('data', keep(err))
    child.stdin.on('error', () => {
      // It may end before it has read everything, and says why.
    })
    child.stdin.end(input)
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      reject(isNoFolder(error, cwd) ? noFolder(cwd) : gitMissing())
    })
    child.once('close', (code) => {
      clearTimeout(timer)
      const said = code === null ? 'git took too long, or said too much' : Buffer.concat(err).toString()
      resolveRan({ code: code ?? -1, stdout: Buffer.concat(out).toString(), stderr: said })
    })
  })
}

function isNoFolder(error: NodeJS.ErrnoException, cwd: string): boolean {
  return error.code === 'ENOTDIR' || !existsSync(cwd)
}

function noFolder(cwd: string): CommandError {
  return new CommandError('no_folder', `There is no folder ${cwd}.`, 'Name the root of a working copy with --repo DIR.')
}

function gitMissing(): CommandError {
  return new CommandError('git_missing', 'git is not installed, or not on the PATH.', 'Install git and try again.')
}
