/** `relay-node mcp` for tests, as a process of its own: the node is where the environment says. */
import { runMcp } from '../../src/mcp/server.ts'
import { connectOrStart } from '../../src/rpc/launch.ts'
import { realSystem, WALL_CLOCK } from '../../src/system.ts'
import { runStartScript } from '../rpc/start.ts'

const { TEST_SOCKET: socketPath = '', TEST_START: start = 'wait' } = process.env

/** `wait`: the test starts the node itself. `refuse`: nobody can. Otherwise the folder in which to start one. */
async function startNode(): Promise<void> {
  if (start === 'refuse') throw new Error('the store is damaged')
  if (start !== 'wait') await runStartScript(start)
}

await runMcp({
  socketPath,
  async start() {
    await connectOrStart({ socketPath, session: crypto.randomUUID(), clock: WALL_CLOCK, start: startNode })
  },
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  version: '0.1.0',
  token: process.env['RELAY_NODE_TOKEN'],
  readOnly: process.env['TEST_READ_ONLY'] !== undefined,
  system: realSystem(),
})
process.exit(0)
