/** One laptop of a test: a home in a temporary folder, and the real command line run on it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import * as pty from '@lydell/node-pty'
import { isAlive, lockHolder } from '../../src/cli/instance-lock.ts'
import { type Home, homePaths } from '../../src/home.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/relay-node.js', import.meta.url))

export interface Ran {
  code: number
  stdout: string
  stderr: string
  /** The one JSON document on stdout, of a command run with --json. */
  json(): Record<string, unknown>
}

export interface Terminal {
  /** Everything on the screen so far, without colours and cursor movements. */
  text(): string
  /** Resolves once the screen shows `words` after what an earlier call found. */
  see(words: string | RegExp): Promise<void>
  type(keys: string): void
  /** Resolves with the exit code. */
  ended: Promise<number>
}

export interface Laptop extends AsyncDisposable {
  home: Home
  env: NodeJS.ProcessEnv
  run(args: string, options?: { input?: string; env?: NodeJS.ProcessEnv; cwd?: string }): Promise<Ran>
  /** Starts a command and gives the process. */
  spawn(args: string): ChildProcess
  /** Runs a command at a terminal of its own. */
  terminal(args: string): Terminal
}

export interface LaptopOptions {
  home?: string
  /** Command and arguments in front of each command, such as those that enter a network namespace. */
  within?: readonly string[]
}

/** A fresh laptop. At the end of its scope its node is killed and its home removed. */
export function laptop(options: LaptopOptions = {}): Laptop {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'))
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    RELAY_NODE_HOME: options.home ?? join(folder, 'home'),
    NO_COLOR: '1',
    TZ: 'UTC',
  }
  const home = homePaths(env)
  const [command, ...argv] = [...(options.within ?? []), process.execPath, PROGRAM]
  const start = (args: string, all: NodeJS.ProcessEnv, cwd?: string) =>
    spawn(command, [...argv, ...words(args)], { env: all, stdio: 'pipe', cwd })

  return {
    home,
    env,
    run: (args, { input, env: more, cwd } = {}) => finish(start(args, { ...env, ...more }, cwd), input),
    spawn: (args) => start(args, env),
    terminal: (args) => openTerminal([command, ...argv, ...words(args)], env),
    async [Symbol.asyncDispose]() {
      await killNode(home)
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** `a "b c" d` → a, b c, d */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '')
}

/** Ends the node of a home as a power cut would. */
export async function killNode(home: Home): Promise<void> {
  const pid = nodeOf(home)
  if (pid === undefined || pid === process.pid) return
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
}

function nodeOf(home: Home): number | undefined {
  try {
    return lockHolder(home)
  } catch {
    return undefined // A home that could not be made has no node.
  }
}

/** Waits until something is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(20)
}

function finish(child: ChildProcess, input = ''): Promise<Ran> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  child.stdin?.on('error', () => {
    // A command that reads nothing may have ended before.
  })
  child.stdin?.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr, json: () => readJson(stdout, stderr) }))
  })
}

function readJson(stdout: string, stderr: string): Record<string, unknown> {
  try {
    return JSON.parse(stdout) as Record<string, unknown>
  } catch (cause) {
    throw new Error(`stdout is not one JSON document: ${stdout}${stderr}`, { cause })
  }
}

function openTerminal([command = '', ...argv]: string[], env: NodeJS.ProcessEnv): Terminal {
  const screen = pty.spawn(command, argv, { cols: 120, rows: 60, env })
  let raw = ''
  let seen = 0
  let wake = Promise.withResolvers<void>()
  const text = () => stripVTControlCharacters(raw).replaceAll('\r', '')
  screen.onData((data) => {
    raw += data
    wake.resolve()
    wake = Promise.withResolvers<void>()
  })
  const ended = new Promise<number>((resolve) => screen.onExit(({ exitCode }) => resolve(exitCode)))
  let over = false
  void ended.then(() => {
    over = true
    wake.resolve()
  })
  return {
    text,
    async see(wanted) {
      for (;;) {
        const at = find(text().slice(seen), wanted)
        if (at !== undefined) {
          seen += at
          return
        }
        if (over) throw new Error(`the command ended without showing ${String(wanted)}:\n${text()}`)
        await wake.promise
      }
    },
    type: (keys) => screen.write(keys),
    ended,
  }
}

/** Where the wanted words end in `text`. */
function find(text: string, wanted: string | RegExp): number | undefined {
  const found = typeof wanted === 'string' ? wanted : wanted.exec(text)?.[0]
  const at = found === undefined ? -1 : text.indexOf(found)
  return found === undefined || at < 0 ? undefined : at + found.length
}
