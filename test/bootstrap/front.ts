/** A `relay-node bootstrap --json` that stays in front. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** Killed at the end of its scope, if it still runs. */
export interface Front extends AsyncDisposable {
  child: ChildProcess
  /** Its one line. */
  ready: Record<string, unknown>
  /** Its PeerId. */
  peer: string
}

/** Resolves once it is ready; rejects with what it said where it ended. */
export async function startFront(child: ChildProcess): Promise<Front> {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('its output is read here')
  let said = ''
  stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  for await (const line of createInterface({ input: stdout })) {
    const ready = JSON.parse(line) as Record<string, unknown>
    if (!Array.isArray(ready['addresses'])) throw new Error(`it did not start: ${line}${said}`)
    const peer = /\/p2p\/(\w+)$/.exec(String(ready['addresses'][0]))?.[1] ?? ''
    return { child, ready, peer, [Symbol.asyncDispose]: () => kill(child) }
  }
  throw new Error(`it did not start: ${said}`)
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
