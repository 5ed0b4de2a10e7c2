/** The node as a process of its own, seen from the command that starts it or waits for it. */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { type Home, homeError } from '../home.ts'
import { createRpcClient } from '../rpc/client.ts'
import { whoAnswers } from '../rpc/launch.ts'
import { CommandError } from './failure.ts'
import { lockHolder } from './instance-lock.ts'

const LOOK_AGAIN_MS = 50
/** A repair of a large store may take this long. */
export const START_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 30_000

/** Symbol of the refusal of a second node. */
export const ALREADY_RUNNING = 'already_running'

/** What a node says to the process that started it, once. */
export type StartReport =
  | { ready: true; copy?: string | undefined }
  | { ready: false; symbol: string; message: string; hint: string }

const reportShape: z.ZodType<StartReport> = z.union([
  z.object({ ready: z.literal(true), copy: z.string().optional() }),
  z.object({ ready: z.literal(false), symbol: z.string(), message: z.string(), hint: z.string() }),
])

/**
 * Starts the node of this home apart from this process and returns when it answers. If another one runs or is
 * just starting, that one is waited for.
 *
 * @throws CommandError with the node's own words if it did not start
 */
export async function startNode(
  home: Home,
  options: { repair?: boolean } = {},
): Promise<{ pid: number; started: boolean; copy?: string }> {
  const deadline = Date.now() + START_TIMEOUT_MS
  let started: Spawned = { started: false }
  for (;;) {
    const pid = await answeringPid(home)
    if (pid !== undefined) return { pid, ...started }
    const holder = lockHolder(home)
    if (holder === undefined) started = await spawnNode(home, options)
    else if (Date.now() > deadline) throw notAnswering(holder)
    else await pause(LOOK_AGAIN_MS)
  }
}

/** Waits until the node that has the lock answers, or has it no more. */
export async function waitForAnswer(home: Home, patienceMs: number): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (lockHolder(home) !== undefined && Date.now() < deadline) {
    if ((await answeringPid(home)) !== undefined) return
    await pause(LOOK_AGAIN_MS)
  }
}

export function notAnswering(pid: number | undefined): CommandError {
  return new CommandError(
    'not_answering',
    `The node${pid === undefined ? '' : ` (pid ${pid})`} runs and does not answer.`,
    'See relay-node logs, or end it with relay-node stop.',
  )
}

/** The process number of the node that answers, if one does. */
async function answeringPid(home: Home): Promise<number | undefined> {
  const node = createRpcClient({ socketPath: home.socket, session: randomUUID() })
  try {
    return (await whoAnswers(node))?.pid
  } finally {
    node.close()
  }
}

interface Spawned {
  /** The new process became the node; another one may have been faster. */
  started: boolean
  /** Where the damaged store was copied to before it was repaired. */
  copy?: string
}

function spawnNode(home: Home, options: { repair?: boolean }): Promise<Spawned> {
  // What the runtime itself has to say when it dies goes into the log.
  const log = openLog(home)
  const main = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './main.js', import.meta.url))
  const child = fork(main, ['start', ...(options.repair === true ? ['--repair'] : [])], {
    detached: true,
    stdio: ['ignore', 'ignore', log, 'ipc'],
    cwd: home.home,
    env: { ...process.env, ...(process.env['RELAY_NODE_HOME'] ? { RELAY_NODE_HOME: home.home } : {}) },
  })
  closeSync(log)
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      child.removeAllListeners()
      if (child.connected) child.disconnect()
      child.unref()
      act()
    }
    child.once('message', (message) =>
      settle(() => {
        const report = reportShape.parse(message)
        if (report.ready) resolve({ started: true, ...(report.copy === undefined ? {} : { copy: report.copy }) })
        else if (report.symbol === ALREADY_RUNNING) resolve({ started: false })
        else reject(new CommandError(report.symbol, report.message, report.hint))
      }),
    )
    child.once('error', (error) => settle(() => reject(error)))
    child.once('exit', (code, signal) =>
      settle(() =>
        reject(
          new CommandError(
            'not_started',
            `The node ended while it was starting (${signal ?? `exit code ${code}`}).`,
            `See ${home.log}.`,
          ),
        ),
      ),
    )
  })
}

function openLog(home: Home): number {
  try {
    return openSync(home.log, 'a', 0o600)
  } catch (error) {
    throw homeError(error, home.log)
  }
}

/** Waits until process `pid` no longer is the node of this home. */
export async function waitForEnd(home: Home, pid: number): Promise<void> {
  const deadline = Date.now() + STOP_TIMEOUT_MS
  while (lockHolder(home) === pid) {
    if (Date.now() > deadline) {
      throw new CommandError(
        'still_running',
        `The node (pid ${pid}) is still stopping.`,
        'Wait a little and look again with relay-node status; relay-node logs says what it does.',
      )
    }
    await pause(LOOK_AGAIN_MS)
  }
}
