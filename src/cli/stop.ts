/** relay-node stop: ends the node and waits until it has ended. */
import { NodeNotRunning } from '../rpc/client.ts'
import type { Home } from '../home.ts'
import type { Command } from './context.ts'
import { waitForEnd } from './detached-node.ts'
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

/** Ends the node of this home, if there is one, with `ask` or else a signal; the process number that it had. */
export async function stopNode(home: Home, ask: Ask): Promise<number | undefined> {
  const pid = await askToStop(home, ask)
  if (pid !== undefined) await waitForEnd(home, pid)
  return pid
}

async function askToStop(home: Home, ask: Ask): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  try {
    return (await ask(signal)).pid
  } catch (error) {
    if (!(error instanceof NodeNotRunning || signal.aborted)) throw error
  }
  // It may be starting, or hang: then a signal is the way.
  const holder = lockHolder(home)
  if (holder !== undefined) process.kill(holder, 'SIGTERM')
  return holder
}
