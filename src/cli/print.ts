/**
 * Everything that the commands say.
 *
 * For people: lines on stdout, coloured on a terminal only. With --json: exactly one JSON document on stdout,
 * of a failure too: {"error": {"symbol", "message", "hint", "exit_code", ...}}. The log, with -f, is one
 * document a line.
 */
import { styleText } from 'node:util'
import type { Failure } from './failure.ts'

type Style = Parameters<typeof styleText>[0]

export interface Printer {
  readonly json: boolean
  /** A line for people. */
  line(text?: string): void
  /** A line for people: something was done. */
  done(text: string): void
  /** A line for people: something needs their eye. */
  warn(text: string): void
  /** A line for the person who waits, on a terminal only. */
  progress(text: string): void
  /** Text in a style, on a terminal. */
  styled(style: Style, text: string): string
  /** The result for scripts, with --json; `human` says it to people, without. */
  result(value: unknown, human: () => void): void
  failure(failure: Failure): void
}

export interface PrinterOptions {
  json: boolean
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
}

export function createPrinter({ json, stdout, stderr }: PrinterOptions): Printer {
  const styledOn = (stream: NodeJS.WriteStream, style: Style, text: string) =>
    stream.isTTY === true ? styleText(style, text, { stream }) : text
  const styled = (style: Style, text: string) => styledOn(stdout, style, text)
  const line = (text = '') => {
    if (!json) stdout.write(`${text}\n`)
  }
  const marked = (style: Style, mark: string, text: string) =>
    line(stdout.isTTY === true ? `${styled(style, mark)} ${text}` : text)
  return {
    json,
    line,
    styled,
    done: (text) => marked('green', '✓', text),
    warn: (text) => marked('yellow', '!', text),
    progress(text) {
      if (!json && stderr.isTTY === true) stderr.write(`${styledOn(stderr, 'dim', text)}\n`)
    },
    result(value, human) {
      if (json) stdout.write(`${JSON.stringify(value)}\n`)
      else human()
    },
    failure(failure) {
      if (json) {
        stdout.write(`${JSON.stringify({ error: failure })}\n`)
        return
      }
      // One line where it goes into a log.
      const parts = [sentence(failure.message), failure.hint].filter((part) => part !== '')
      if (stderr.isTTY === true) stderr.write(`${styledOn(stderr, 'red', '✗')} ${parts.join('\n  ')}\n`)
      else stderr.write(`${parts.join(' ')}\n`)
    },
  }
}

/** What is said before something else ends like a sentence. */
function sentence(text: string): string {
  return /[\p{L}\p{N})"'\]]$/u.test(text) ? `${text}.` : text
}
