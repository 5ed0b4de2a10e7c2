/** From a command to the running node, which is started first where that is wanted. */
import { randomUUID } from 'node:crypto'
import type { Home } from '../home.ts'
import type { NodeStatus } from '../node/api.ts'
import { createRpcClient, type RpcClient } from '../rpc/client.ts'
import { connectOrStart } from '../rpc/launch.ts'
import { checkLength } from '../rpc/socket.ts'
import { type Clock, WALL_CLOCK } from '../system.ts'
import type { CommandContext } from './context.ts'
import { notAnswering, startNode } from './detached-node.ts'
import { requireKey } from './device-key.ts'
import { lockHolder } from './instance-lock.ts'

/** A node answers in milliseconds; one that takes this long hangs. */
export const ANSWER_TIMEOUT_MS = 10_000

/** A command waits for its timers; the timers of a node do not keep it alive. */
const COMMAND_CLOCK: Clock = {
  ...WALL_CLOCK,
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Makes sure that a node answers, and starts it if nobody does. Throws HomeError where nothing was set up. */
export async function ensureNode(home: Home, onStart: () => void = () => undefined): Promise<void> {
  checkLength(home.socket)
  requireKey(home)
  await connectOrStart({
    socketPath: home.socket,
    session: randomUUID(),
    clock: COMMAND_CLOCK,
    async start() {
      onStart()
      await startNode(home)
    },
  })
}

/** Calls the node, and starts it before if nobody answers. Throws HomeError where nothing was set up. */
export async function withNode<T>(context: CommandContext, use: (node: RpcClient) => Promise<T>): Promise<T> {
  const { home, printer } = context
  await ensureNode(home, () => printer.progress('Starting the node …'))
  return withRunningNode(context, use)
}

/** What the running node says of itself. Throws NodeNotRunning, or CommandError if it hangs. */
export async function readStatus(context: CommandContext): Promise<NodeStatus> {
  return withRunningNode(context, async (node) => {
    try {
      return await node.call('relay/status', {}, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
    } catch (error) {
      if (error instanceof DOMException) throw notAnswering(lockHolder(context.home))
      throw error
    }
  })
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
