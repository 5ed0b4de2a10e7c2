/** bob and frank, each with a laptop behind a router of a lab, and the bootstrap server on its public host. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { isRelayed } from '../../src/net/addresses.ts'
import { createRpcClient } from '../../src/rpc/client.ts'
import { type Front, startFront } from '../bootstrap/front.ts'
import { type Laptop, laptop, until } from '../cli/laptop.ts'
import { buildLab, type Lab, PUBLIC_HOST, type RouterOptions } from './nat-lab.ts'
import { done } from './team.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/relay-node.js', import.meta.url))

export interface NatTeam extends AsyncDisposable {
  readonly lab: Lab
  readonly bob: Laptop
  readonly frank: Laptop
  /** Started at once, and again after it was killed. */
  startServer(): Promise<void>
  killServer(): Promise<void>
  /** A coding agent on a laptop: a real MCP client. */
  agent(who: 'bob' | 'frank'): Promise<Agent>
}

export interface Agent extends AsyncDisposable {
  /** What a tool answers; rejects where it answers with an error. */
  call(tool: string, input?: Record<string, unknown>): Promise<Record<string, unknown>>
}

/** The two are set up, and know nothing of each other yet but the server's address. */
export async function natTeam(routers: readonly RouterOptions[]): Promise<NatTeam> {
  await using stack = new AsyncDisposableStack()
  const lab = stack.use(buildLab(routers))
  const host = stack.use(laptop({ within: lab.host }))
  let server: Front | undefined
  stack.defer(() => server?.[Symbol.asyncDispose]())

  async function startServer(): Promise<void> {
    server = await startFront(host.spawn(`bootstrap --json --listen ${PUBLIC_HOST}:4001`))
  }
  await startServer()
  const laptops = {
    bob: stack.use(laptop({ within: lab.laptop(0) })),
    frank: stack.use(laptop({ within: lab.laptop(1) })),
  }
  for (const { home } of Object.values(laptops)) {
    mkdirSync(dirname(home.config), { recursive: true, mode: 0o700 })
    writeFileSync(home.config, `bootstrap = ["/ip4/${PUBLIC_HOST}/tcp/4001/p2p/${server?.peer}"]\n`, { mode: 0o600 })
  }
  await done(laptops.bob, 'init --yes --name bob --team acme --device bobs-mbp --listen 0.0.0.0:0')
  const rest = stack.move()
  return {
    lab,
    ...laptops,
    startServer,
    killServer: async () => server?.[Symbol.asyncDispose](),
    async agent(who) {
      const [command, ...args] = [...lab.laptop(who === 'bob' ? 0 : 1), process.execPath, PROGRAM, 'mcp']
      const client = new Client({ name: `${who}s-agent`, version: '1.0.0' })
      const env = { ...laptops[who].env } as Record<string, string>
      await client.connect(new StdioClientTransport({ command, args, env, stderr: 'inherit' }))
      return {
        async call(name, input = {}) {
          const { structuredContent, isError } = await client.callTool({ name, arguments: input })
          if (isError === true) throw new Error(`${name}: ${JSON.stringify(structuredContent)}`)
          return structuredContent as Record<string, unknown>
        },
        [Symbol.asyncDispose]: () => client.close(),
      }
    },
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  }
}

/** Joins by the short code, which only the server can match on two networks, or by one with addresses in it. */
export async function joinTeam({ bob, frank }: NatTeam, kind: 'short' | 'standalone' = 'short'): Promise<void> {
  await untilNode(bob, async (call) => (await call('relay/status', {})).addresses.some(isRelayed))
  const { code } = await done(bob, kind === 'short' ? 'invite frank' : 'invite frank --standalone')
  await done(frank, 'join --code-stdin --device frank-xps --listen 0.0.0.0:0', String(code))
}

type Call = ReturnType<typeof createRpcClient>['call']

/** Calls the node of a laptop until what it answers is so. */
export async function untilNode({ home }: Laptop, isSo: (call: Call) => Promise<boolean>): Promise<void> {
  const client = createRpcClient({ socketPath: home.socket, session: randomUUID() })
  try {
    await until(() => isSo(client.call.bind(client)))
  } finally {
    client.close()
  }
}

/** Waits until the teammate is reached by `path`. */
export function untilPath(from: Laptop, to: string, path: string): Promise<void> {
  return untilNode(from, async (call) => {
    const { items } = await call('relay/ping', { handle: to })
    return items.some((item) => item.path === path)
  })
}

/** Waits until the laptop says that, and why, it reaches the teammate only by the relay. */
export function untilWhy(from: Laptop, to: string, why: string): Promise<void> {
  return untilNode(from, async (call) => {
    const { items } = await call('relay/ping', { handle: to })
    return items.some((item) => item.path === 'relayed' && item.why_not_direct?.includes(why))
  })
}

/** Waits until a laptop of the recipient has signed that it holds all of a thread. */
export function untilDelivered(from: Laptop, thread: string): Promise<void> {
  return untilNode(from, async (call) => {
    const { delivery } = await call('tasks/get', { thread_id: thread })
    return (delivery.delivered?.length ?? 0) > 0
  })
}
