/** From a command to the running node, which is started first where that is wanted. */
import { randomUUID } from 'node:crypto'
import { createRpcClient, type RpcClient } from '../rpc/client.ts'
import { connectOrStart } from '../rpc/launch.ts'
import { checkLength } from '../rpc/socket.ts'
import { type Clock, WALL_CLOCK } from '../system.ts'
import type { CommandContext } from './context.ts'
import { startNode } from './detached-node.ts'
import { requireKey } from './device-key.ts'

/** A command waits for its timers; the timers of a node do not keep it alive. */
const COMMAND_CLOCK: Clock = {
  ...WALL_CLOCK,
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Calls the node, and starts it before if nobody answers. Throws HomeError where nothing was set up. */
export async function withNode<T>(context: CommandContext, use: (node: RpcClient) => Promise<T>): Promise<T> {
  const { home, printer } = context
  checkLength(home.socket)
  requireKey(home)
  await connectOrStart({
    socketPath: home.socket,
    session: randomUUID(),
    clock: COMMAND_CLOCK,
    async start() {
      printer.progress('Starting the node …')
      await startNode(home)
    },
  })
  return withRunningNode(context, use)
}

/** Calls the node that runs. Throws NodeNotRunning. */
export async function withRunningNode<T>(context: CommandContext, use: (node: RpcClient) => Promise<T>): Promise<T> {
  checkLength(context.home.socket)
  const node = createRpcClient({ socketPath: context.home.socket, session: randomUUID() })
  try {
    return await use(node)
  } finally {
    node.close()
  }
}
