/** A person types `frank`; the node knows `frank@acme`. */
import type { RpcClient } from '../rpc/client.ts'

/** `given` with the name of this node's workspace, if it has none of its own and there is just one. */
export async function wholeHandle(node: RpcClient, given: string): Promise<string> {
  if (given.includes('@')) return given
  const { workspaces } = await node.call('relay/whoami', {})
  return workspaces.length === 1 ? `${given}@${workspaces[0]}` : given
}
