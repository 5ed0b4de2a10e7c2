/** `relay-node mcp` for tests, as a process of its own: the node is where the environment says. */
import { runMcp } from '../../src/mcp/server.ts'
import { realSystem } from '../../src/system.ts'
import { runStartScript } from '../rpc/start.ts'

const { TEST_SOCKET = '', TEST_FOLDER } = process.env

await runMcp({
  socketPath: TEST_SOCKET,
  start: async () => {
    if (TEST_FOLDER !== undefined) await runStartScript(TEST_FOLDER)
  },
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  version: '0.1.0',
  system: realSystem(),
})
process.exit(0)
