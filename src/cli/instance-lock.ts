/**
 * One running node a home. The lock is a row of numbered files, of which the highest one counts; a
 * file is put in place whole and only where none is, so of fifty processes that want the next number one gets it.
 * The highest file is never removed, so that no number is ever given twice: a process that was
 * slow to notice cannot win with an old one. LevelDB's own lock stands behind this one.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Home, homeError, placeFile } from '../home.ts'

const LOCK_NAME = /^lock\.(\d{1,15})$/
const HOLDER = /^(\d+) (.*)\n$/

export type Lock =
  /** Ours until release() or the end of this process, however it ends. */
  | { held: true; release(): void }
  /** A live process has it. */
  | { held: false; pid: number }

export function takeLock(home: Home): Lock {
  try {
    for (;;) {
      const highest = highestNumber(home)
      const holder = liveHolder(home, highest)
      if (holder !== undefined) return { held: false, pid: holder }
      const mine = highest + 1
      if (!placeFile(lockPath(home, mine), `${process.pid} ${startOf(process.pid) ?? ''}\n`)) continue
      if (highestNumber(home) !== mine) {
        // Others went on while this process was slow, and removed the lower files: this number is an old one.
        rmSync(lockPath(home, mine), { force: true })
        continue
      }
      for (const number of numbers(home)) if (number < mine) rmSync(lockPath(home, number), { force: true })
      return { held: true, release: () => writeFileSync(lockPath(home, mine), '') }
    }
  } catch (error) {
    throw homeError(error, home.home)
  }
}

/** The process that has the lock, if one does. */
export function lockHolder(home: Home): number | undefined {
  try {
    return liveHolder(home, highestNumber(home))
  } catch (error) {
    throw homeError(error, home.home)
  }
}

/** Whether a process with this number runs, other than as a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  return process.platform !== 'linux' || linuxProcess(pid)?.state !== 'Z'
}

function lockPath(home: Home, number: number): string {
  return join(home.home, `lock.${number}`)
}

function numbers(home: Home): number[] {
  try {
    return readdirSync(home.home).flatMap((name) => {
      const match = LOCK_NAME.exec(name)
      return match === null ? [] : [Number(match[1])]
    })
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function highestNumber(home: Home): number {
  return Math.max(0, ...numbers(home))
}

function liveHolder(home: Home, number: number): number | undefined {
  let text: string
  try {
    text = readFileSync(lockPath(home, number), 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  // Empty: released. A holder's file was whole from its first moment, so anything else is nobody's.
  const match = HOLDER.exec(text)
  if (match === null) return undefined
  const pid = Number(match[1])
  if (!isAlive(pid)) return undefined
  // The number may belong to another process by now.
  return (startOf(pid) ?? '') === match[2] ? pid : undefined
}

/** What tells two processes apart that have the same number, one after the other; undefined where the system does not say. */
function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const found = linuxProcess(pid)
    return found === undefined
      ? undefined
      : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${found.start}`
  }
  if (process.platform === 'win32') return undefined
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}

/** proc_pid_stat(5): the name in parentheses may hold anything, so fields are counted from its end. */
function linuxProcess(pid: number): { state: string; start: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', start: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
