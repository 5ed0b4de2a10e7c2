/** Two laptops of one team, with real nodes: bob's workspace, which frank has joined by a standalone code. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { ThreadView } from '../../src/node/api.ts'
import { ApiError, createRpcClient, type RpcClient } from '../../src/rpc/client.ts'
import { type Laptop, laptop, type Ran, until } from './laptop.ts'

export interface Pair {
  readonly bob: Laptop
  readonly frank: Laptop
  /** Looks at a laptop's node while a test waits. */
  readonly watch: { readonly bob: RpcClient; readonly frank: RpcClient }
  /** Makes the team; what frank's join printed, and the code that he joined with. */
  meet(): Promise<{ joined: Ran; code: string }>
  /** Sends from bob; the thread's id, once frank's node has it. */
  handOff(args: string): Promise<string>
  close(): Promise<void>
}

export function pair(): Pair {
  const bob = laptop()
  const frank = laptop()
  const watch = { bob: watcher(bob), frank: watcher(frank) }
  return {
    bob,
    frank,
    watch,
    async meet() {
      const made = await bob.run('init --yes --name bob --team acme --listen 127.0.0.1:0 --no-lan --device bobs-mbp')
      expect(made).toMatchObject({ code: 0 })
      const code = String((await bob.run('invite frank --standalone --json')).json()['code'])
      const joined = await frank.run('join --code-stdin --listen 127.0.0.1:0 --no-lan --device frank-xps --json', {
        input: `${code}\n`,
      })
      expect(joined).toMatchObject({ code: 0 })
      return { joined, code }
    },
    async handOff(args) {
      const ran = await bob.run(`send frank ${args} --json`)
      expect(ran).toMatchObject({ code: 0 })
      const id = String(ran.json()['thread_id'])
      await untilThread(watch.frank, id, () => true)
      return id
    },
    async close() {
      watch.bob.close()
      watch.frank.close()
      await bob[Symbol.asyncDispose]()
      await frank[Symbol.asyncDispose]()
    },
  }
}

function watcher({ home }: Laptop): RpcClient {
  return createRpcClient({ socketPath: home.socket, session: randomUUID() })
}

/** Waits until a node's view of a thread is as wanted; an absent thread is not yet. */
export async function untilThread(node: RpcClient, id: string, isSo: (thread: ThreadView) => boolean): Promise<void> {
  await until(async () => {
    try {
      return isSo(await node.call('tasks/get', { thread_id: id }))
    } catch (error) {
      if (error instanceof ApiError && error.symbol === 'thread_not_found') return false
      throw error
    }
  })
}
