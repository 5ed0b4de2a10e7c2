/**
 * The one place that turns whatever went wrong into one message with what to do next, and an exit code.
 */
import { appendFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { type Home, HomeError } from '../home.ts'
import { NetError } from '../net/net.ts'
import { API_ERRORS, ApiError } from '../node/api-error.ts'
import { NodeNotRunning } from '../rpc/client.ts'
import { SocketError } from '../rpc/socket.ts'
import { StoreError } from '../store/store.ts'

/** What scripts may rely on. */
export const EXIT = { done: 0, refused: 1, usage: 2, notRunning: 3 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The command was used wrongly: exit code 2. */
export class UsageError extends Error {
  readonly hint: string
  constructor(message: string, hint = 'Run relay-node help to see every command.') {
    super(message)
    this.name = 'UsageError'
    this.hint = hint
  }
}

/** The command was refused or failed for a reason that the command itself found: exit code 1. */
export class CommandError extends Error {
  readonly symbol: string
  readonly hint: string
  constructor(symbol: string, message: string, hint: string) {
    super(message)
    this.name = 'CommandError'
    this.symbol = symbol
    this.hint = hint
  }
}

/** With --json this object stands alone on stdout, under the key `error`. */
export interface Failure {
  /** Number of the local interface's error table, where the node refused. */
  code?: number
  symbol: string
  message: string
  /** What to do next. */
  hint: string
  exit_code: ExitCode
  details?: Record<string, unknown>
}

/** Explains `error`. One that nobody foresaw is written to the log with its stack, and named as the bug that it is. */
export function explain(error: unknown, home: Home): Failure {
  if (error instanceof UsageError)
    return { symbol: 'usage', message: error.message, hint: error.hint, exit_code: EXIT.usage }
  if (error instanceof CommanderError) return explainCommander(error)
  if (error instanceof NodeNotRunning) {
    return {
      symbol: 'not_running',
      message: 'The node is not running.',
      hint: 'Start it with relay-node start --detach.',
      exit_code: EXIT.notRunning,
    }
  }
  if (error instanceof CommandError)
    return { symbol: error.symbol, message: error.message, hint: error.hint, exit_code: EXIT.refused }
  if (error instanceof HomeError) {
    return { symbol: error.code.toLowerCase(), message: error.message, hint: error.hint, exit_code: EXIT.refused }
  }
  if (error instanceof SocketError) {
    return { symbol: error.code.toLowerCase(), message: error.message, hint: '', exit_code: EXIT.refused }
  }
  if (error instanceof StoreError) {
    return {
      symbol: error.code.toLowerCase(),
      message: error.message,
      hint: STORE_HINTS[error.code],
      exit_code: EXIT.refused,
    }
  }
  if (error instanceof NetError) {
    return {
      symbol: error.code.toLowerCase(),
      message: error.message,
      hint: NET_HINTS[error.code],
      exit_code: EXIT.refused,
    }
  }
  if (error instanceof ApiError && error.symbol !== 'internal') {
    return {
      code: API_ERRORS[error.symbol].code,
      symbol: error.symbol,
      message: error.message,
      hint: error.hint,
      exit_code: EXIT.refused,
      details: error.details,
    }
  }
  return explainBug(error, home)
}

const STORE_HINTS: Record<StoreError['code'], string> = {
  STORE_LOCKED: 'Stop the other node with relay-node stop, or use another home (RELAY_NODE_HOME).',
  STORE_CORRUPT: 'Run relay-node start --repair. Whatever is lost is fetched again from your teammates.',
  STORE_NEWER: 'Install the newer relay-node that wrote it.',
  STORE_FULL: 'Free some space and run the command again.',
  STORE_READONLY: 'Change the permissions of the folder, or use another home (RELAY_NODE_HOME).',
  STORE_CLOSED: 'The node is stopping. Run the command again.',
  STORE_FAILED: 'Run relay-node doctor to see what is wrong.',
}

const NET_HINTS: Record<NetError['code'], string> = {
  NET_UNREACHABLE: 'Check that the other laptop is on and its node runs; relay-node doctor shows what this one sees.',
  NET_REFUSED: 'Ask your teammate whether your laptop is still in the workspace.',
  NET_TIMEOUT: 'Run the command again; relay-node doctor shows what this node sees.',
  NET_CLOSED: 'Run the command again.',
  NET_FRAME: 'Check that both laptops run the same version: relay-node --version.',
  NET_ADDRESS_IN_USE:
    'Another program uses that port. Change "listen" in the settings file (relay-node paths shows where it is).',
  NET_FAILED: 'Run relay-node doctor to see what is wrong.',
}

/** Help and version leave through the same door, with exit code 0. */
function explainCommander(error: CommanderError): Failure {
  // A command that is only the beginning of others would print its help, and says nothing of what is wrong.
  if (error.code === 'commander.help' && error.exitCode !== 0) {
    return {
      symbol: 'usage',
      message: 'A word is missing: that command is the beginning of others.',
      hint: 'Run relay-node help COMMAND, such as relay-node help session, to see what follows.',
      exit_code: EXIT.usage,
    }
  }
  const message = error.message.replace(/^error: /, '')
  const hint = 'Run relay-node help to see every command, or relay-node help COMMAND for one.'
  return { symbol: 'usage', message: sentence(message), hint, exit_code: error.exitCode === 0 ? EXIT.done : EXIT.usage }
}

/** On one line, with a capital letter and a full stop. */
function sentence(text: string): string {
  const first = text.trim().replaceAll(/\s*\n\s*/g, ' ')
  return `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?!)]$/.test(first) ? '' : '.'}`
}

function explainBug(error: unknown, home: Home): Failure {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? error.stack : undefined
  const record = {
    level: 'error',
    time: new Date().toISOString(),
    pid: process.pid,
    msg: 'the command line failed',
    error: stack ?? message,
  }
  let where = `The details are in ${home.log}.`
  try {
    appendFileSync(home.log, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  } catch {
    // Without a home there is no log; then the message is all there is.
    where = `The details could not be written to ${home.log}.`
  }
  const named = error instanceof ApiError ? sentence(message) : `This is a bug in relay-node: ${sentence(message)}`
  return { symbol: 'internal', message: named, hint: where, exit_code: EXIT.refused }
}
