/** A human at a terminal: a pseudo-terminal of the operating system, read and typed into. */
import { spawn } from '@lydell/node-pty'
import { type Laptop, PROGRAM } from '../stage/laptop.ts'

export interface Session {
  /** Everything that stood on the screen. */
  screen: string
  code: number
}

/** Runs relay-node at a terminal. `answer` sees the screen whenever it grows, and gives what to type, once. */
export function atTerminal(
  laptop: Laptop,
  args: readonly string[],
  answer: (screen: string) => string | undefined,
): Promise<Session> {
  const { promise, resolve } = Promise.withResolvers<Session>()
  const terminal = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...laptop.env, NO_COLOR: '1' },
    cols: 120,
    rows: 40,
  })
  let screen = ''
  let answered = false
  terminal.onData((text) => {
    screen += text
    const typed = answered ? undefined : answer(screen)
    if (typed === undefined) return
    answered = true
    terminal.write(`${typed}\r`)
  })
  terminal.onExit(({ exitCode }) => resolve({ screen, code: exitCode }))
  return promise
}
