/** The node's log: one JSON object a line, in a file that is turned over before it grows large. */
import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { pino } from 'pino'
import { type Home, homeError } from '../home.ts'
import type { Log } from '../system.ts'
import type { Settings } from './settings.ts'

const LOG_SIZE_BYTES_MAX = 10 * 1024 * 1024
/** The current file among them. */
export const LOG_FILES_COUNT_MAX = 5

/** Opens the node's log for appending. Throws HomeError. */
export function openLog(home: Home, level: Settings['log_level']): Log {
  return jsonLog(rotatingFile(home.log, LOG_SIZE_BYTES_MAX), level)
}

/** A log of one JSON object a line. */
export function jsonLog(destination: { write(line: string): void }, level: Settings['log_level']): Log {
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  const at =
    (name: Settings['log_level']) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      logger[name](fields, message)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** The files of a log that exist, newest first: `path`, `path.1` and so on. */
export function logFiles(path: string): string[] {
  return logNames(path).filter((name) => existsSync(name))
}

function logNames(path: string): string[] {
  return Array.from({ length: LOG_FILES_COUNT_MAX }, (_, age) => (age === 0 ? path : `${path}.${age}`))
}

/**
 * Lines are written at once, so that a process that dies has said all it had to say. A line that the disk
 * does not take is lost: a full disk must not end the node.
 */
export function rotatingFile(path: string, sizeBytesMax: number): { write(line: string): void } {
  let file = openFile(path)
  let size = fstatSync(file).size

  function turnOver(): void {
    closeSync(file)
    const names = logNames(path)
    for (let age = names.length - 2; age >= 0; age -= 1) {
      const [from, to] = [names[age], names[age + 1]]
      if (from !== undefined && to !== undefined && existsSync(from)) renameSync(from, to)
    }
    file = openFile(path)
    size = 0
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      try {
        if (size > 0 && size + bytes.length > sizeBytesMax) turnOver()
        size += writeSync(file, bytes)
      } catch {
        // See above: nobody is left to tell.
      }
    },
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, 'a', 0o600)
  } catch (error) {
    throw homeError(error, path)
  }
}
