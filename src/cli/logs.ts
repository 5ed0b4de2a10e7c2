/** relay-node logs: what the node wrote down, newest last. */
import { createReadStream, existsSync, readFileSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { visible } from '../visible.ts'
import type { Command, CommandContext } from './context.ts'
import { UsageError } from './failure.ts'
import { logFiles } from './log-file.ts'
import type { Printer } from './print.ts'

const LINES_DEFAULT = 50

interface Options {
  lines?: string
  follow?: boolean
}

export const run: Command<Options> = async (context, _args, options) => {
  const { home, printer } = context
  const wanted = lineCount(options.lines)
  const follow = options.follow === true
  const lines = lastLines(home.log, wanted)
  if (lines.length === 0 && !(follow && existsSync(dirname(home.log)))) {
    printer.result({ lines: [] }, () => printer.line(`Nothing was logged yet in ${home.log}.`))
    return
  }
  if (printer.json && !follow) return printer.result({ lines: lines.map(parseLine) }, () => {})
  for (const line of lines) printLine(printer, line)
  if (follow) await followLog(context)
}

function lineCount(text: string | undefined): number {
  if (text === undefined) return LINES_DEFAULT
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`"${text}" is not a number of lines.`, 'Write it like --lines 200.')
  return Number(text)
}

function lastLines(path: string, count: number): string[] {
  const lines: string[] = []
  for (const file of logFiles(path)) {
    if (lines.length >= count) break
    lines.unshift(
      ...readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    )
  }
  return count === 0 ? [] : lines.slice(-count)
}

/** Until Ctrl-C. When the file is turned over, goes on with the new one. */
async function followLog({ home, printer }: CommandContext): Promise<void> {
  printer.progress('Waiting for new lines; Ctrl-C ends this, not the node.')
  const look = () => statSync(home.log, { throwIfNoEntry: false }) ?? { size: 0, ino: 0 }
  let { size: offset, ino: file } = look()
  let rest = ''
  let changed = Promise.withResolvers<void>()
  const watcher = watch(dirname(home.log), () => changed.resolve())
  const stop = new AbortController()
  process.once('SIGINT', () => {
    stop.abort()
    changed.resolve()
  })
  while (!stop.signal.aborted) {
    const { size, ino } = look()
    if (size < offset || ino !== file) offset = 0
    file = ino
    for await (const chunk of size > offset ? createReadStream(home.log, { start: offset, encoding: 'utf8' }) : []) {
      const text = String(chunk)
      offset += Buffer.byteLength(text)
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) printLine(printer, line)
    }
    await changed.promise
    changed = Promise.withResolvers<void>()
  }
  watcher.close()
}

const lineShape = z.looseObject({ time: z.string(), level: z.string(), msg: z.string() })

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return { msg: line }
  }
}

function printLine(printer: Printer, line: string): void {
  if (printer.json) return printer.result(parseLine(line), () => {})
  const parsed = lineShape.safeParse(parseLine(line))
  if (!parsed.success) return printer.line(visible(line))
  const { time, level, msg, ...fields } = parsed.data
  const shown = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const style = level === 'error' ? 'red' : level === 'warn' ? 'yellow' : 'dim'
  printer.line(`${time} ${printer.styled(style, level.padEnd(5))} ${visible([msg, ...shown].join('  '))}`)
}
