import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Scope } from '../../src/node/api.ts'
import { createRpcClient, type RpcClient } from '../../src/rpc/client.ts'
import { createRpcServer, type RpcServer } from '../../src/rpc/server.ts'
import { realSystem, type System } from '../../src/system.ts'
import { createScriptedNode, type ScriptedNode, type ScriptOptions } from './scripted-node.ts'

export const SESSION = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'

/** A folder of its own, short enough for a socket, gone after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rn-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export interface Running {
  node: ScriptedNode
  server: RpcServer
  client: RpcClient
  socketPath: string
  /** Resolves when a relay/stop was answered. */
  stopped: Promise<void>
}

export async function running(options: ScriptOptions & { system?: System; scope?: Scope } = {}): Promise<Running> {
  const socketPath = join(await temporaryFolder(), 'node.sock')
  const node = createScriptedNode(options)
  const stop = Promise.withResolvers<void>()
  const system = options.system ?? realSystem()
  const server = createRpcServer({
    api: node.api,
    socketPath,
    version: '0.1.0',
    system,
    onStop: stop.resolve,
    ...(options.scope === undefined ? {} : { scope: options.scope }),
  })
  await server.start()
  const client = createRpcClient({ socketPath, session: SESSION })
  onTestFinished(async () => {
    client.close()
    await server.stop()
  })
  return { node, server, client, socketPath, stopped: stop.promise }
}
