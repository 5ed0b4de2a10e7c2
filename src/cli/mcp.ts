/** relay-node mcp: the server for a coding agent. It loads no libp2p, and starts the node on the first call that needs it. */
import { runMcp } from '../mcp/server.ts'
import { realSystem } from '../system.ts'
import type { Command } from './context.ts'
import { EXIT } from './failure.ts'
import { jsonLog } from './log-file.ts'
import { ensureNode } from './node-connection.ts'

/** A node that is just being started must not keep this process. */
const LINGER_MS = 500

export const run: Command<object> = async ({ home, version }) => {
  const { stdin, stdout, stderr } = process
  await runMcp({
    socketPath: home.socket,
    start: () => ensureNode(home),
    stdin,
    stdout,
    stderr,
    version,
    // The log file is the node's. The agent's program keeps what comes on stderr.
    system: realSystem(jsonLog(stderr, 'warn')),
  })
  setTimeout(() => process.exit(EXIT.done), LINGER_MS).unref()
}
