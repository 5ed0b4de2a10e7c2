/** A real node on a memory store behind a real socket, with a thread from a teammate and one to it; the teammate has gone. */
import { randomUUID } from 'node:crypto'
import { createMemoryHub } from '../../src/net/memory-net.ts'
import { foundWorkspace } from '../../src/node/found.ts'
import { type Node, openNode } from '../../src/node/node.ts'
import { createRpcServer } from '../../src/rpc/server.ts'
import { openMemoryStore } from '../../src/store/memory-store.ts'
import { realSystem, type System, WALL_CLOCK } from '../../src/system.ts'
import { actor, seedOf } from '../cast.ts'

export interface FuzzNode extends AsyncDisposable {
  readonly socketPath: string
  /** A thread from the teammate, and one to it. */
  readonly threads: readonly string[]
  /** What the node's log holds of errors: an answer that says `internal` leaves one here. */
  readonly errors: string[]
}

export async function fuzzNode(socketPath: string): Promise<FuzzNode> {
  const errors: string[] = []
  const system = hastySystem(errors)
  const hub = createMemoryHub(system)
  const [bobStore, frankStore] = [await openMemoryStore(), await openMemoryStore()]
  const founder = { store: bobStore, system, seed: seedOf('device', 'bob') }
  await foundWorkspace({ ...founder, member: 'bob', team: 'acme', deviceName: 'bob-laptop' })
  const open = (name: string, store: typeof bobStore): Promise<Node> =>
    openNode({
      store,
      net: hub.net(actor(name).device, system),
      system,
      seed: seedOf('device', name),
      deviceName: `${name}-laptop`,
      version: '0.1.0',
    })
  const [bob, frank] = [await open('bob', bobStore), await open('frank', frankStore)]
  await frank.join({ code: (await bob.invite({ name: 'frank', standalone: true })).code })
  const message = { role: 'user', parts: [{ type: 'text' as const, text: 'hello' }] }
  const caller = { session: randomUUID() }
  const heard = Promise.withResolvers<void>()
  const forget = bob.onEvent(({ type }) => type === 'inbox' && heard.resolve())
  const artifacts = [{ type: 'test_command' as const, command: 'pytest' }]
  const theirs = await frank.sendHandoff({ recipient: 'bob@acme', intent: 'inform', message, artifacts }, caller)
  await heard.promise
  forget()
  await frank.stop()
  const mine = await bob.sendHandoff(
    { recipient: 'frank@acme', intent: 'ask_question', question: '?', message },
    caller,
  )
  const server = createRpcServer({ api: bob, socketPath, version: '0.1.0', system, onStop: () => undefined })
  await server.start()
  return {
    socketPath,
    threads: [theirs.thread_id, mine.thread_id],
    errors,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await bob.stop()
    },
  }
}

/** A second passes with every look at the clock, so that nobody is told to come back later. */
function hastySystem(errors: string[]): System {
  const system = realSystem()
  let now = Date.UTC(2026, 0, 5)
  const error = (text: string, fields: Record<string, unknown> = {}): void =>
    void errors.push(`${text} ${JSON.stringify(fields)}`)
  return { ...system, clock: { ...WALL_CLOCK, now: () => (now += 1000) }, log: { ...system.log, error } }
}
