/**
 * Stands for `relay-node start --detach` in tests: starts a scripted node apart from itself and ends when that one
 * listens, or when another has the lock. LevelDB's lock decides, as it does for a real node.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { Level } from 'level'

const folder = process.env['TEST_FOLDER'] ?? ''

async function serve(): Promise<void> {
  const lock = new Level(join(folder, 'store'))
  try {
    await lock.open()
  } catch {
    return
  }
  const { createRpcServer } = await import('../../src/rpc/server.ts')
  const { createScriptedNode } = await import('./scripted-node.ts')
  const { realSystem } = await import('../../src/system.ts')
  const server = createRpcServer({
    api: createScriptedNode().api,
    socketPath: join(folder, 'node.sock'),
    version: '0.1.0',
    system: realSystem(),
    onStop: () => void server.stop().then(() => lock.close()),
  })
  await server.start()
  appendFileSync(join(folder, 'starts'), `${process.pid}\n`)
  process.send?.('listening')
  process.disconnect?.()
}

async function start(): Promise<void> {
  const script = process.argv[1] ?? ''
  const node = spawn(process.execPath, [script, 'serve'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  await Promise.race([once(node, 'message'), once(node, 'exit')])
  if (node.connected) node.disconnect()
  node.unref()
}

await (process.argv[2] === 'serve' ? serve() : start())
