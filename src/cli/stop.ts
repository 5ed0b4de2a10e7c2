/** relay-node stop: ends the node and waits until it has ended. */
import { NodeNotRunning } from '../rpc/client.ts'
import type { Home } from '../home.ts'
import type { Command } from './context.ts'
import { waitForAnswer, waitForEnd } from './detached-node.ts'
import { lockHolder } from './instance-lock.ts'
import { ANSWER_TIMEOUT_MS, withRunningNode } from './node-connection.ts'

export const run: Command<object> = async (context) => {
  const { printer } = context
  const pid = await stopNode(context.home, (signal) =>
    withRunningNode(context, (node) => node.call('relay/stop', {}, { signal })),
  )
  printer.result({ stopped: pid !== undefined, ...(pid === undefined ? {} : { pid }) }, () =>
    pid === undefined ? printer.line('The node was not running.') : printer.done(`Node stopped (pid ${pid}).`),
  )
}

type Ask = (signal: AbortSignal) => Promise<{ pid: number }>

/**
 * Ends the node of this home, if there is one, by `ask`; the process number that it had. One that does
 * not answer is starting or hangs: it is waited for, and sent a signal where it still does not.
 */
export async function stopNode(home: Home, ask: Ask, patienceMs = ANSWER_TIMEOUT_MS): Promise<number | undefined> {
  let pid = await askToStop(ask)
  if (pid === undefined && lockHolder(home) !== undefined) {
    await waitForAnswer(home, patienceMs)
    pid = (await askToStop(ask)) ?? signalHolder(home)
  }
  if (pid !== undefined) await waitForEnd(home, pid)
  return pid
}

async function askToStop(ask: Ask): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  try {
    return (await ask(signal)).pid
  } catch (error) {
    if (error instanceof NodeNotRunning || signal.aborted) return undefined
    throw error
  }
}

function signalHolder(home: Home): number | undefined {
  const holder = lockHolder(home)
  if (holder !== undefined) process.kill(holder, 'SIGTERM')
  return holder
}
