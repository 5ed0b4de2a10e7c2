/** One laptop's node as a process of its own that can be killed at any moment, and the sessions of front ends that call it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Hex, signingKey } from '../../protocol/index.ts'
import { readKey } from '../../src/cli/device-key.ts'
import { createRpcClient, type RpcClient } from '../../src/rpc/client.ts'
import { type Laptop, laptop as freshLaptop } from '../cli/laptop.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/relay-node.js', import.meta.url))

export interface NodeProcess extends AsyncDisposable {
  readonly name: string
  readonly laptop: Laptop
  /** Public key of its device. */
  readonly device: Hex
  readonly pid: number | undefined
  /** Starts the node; resolves once it answers. `flags` go to Node itself. Rejects where it ends instead. */
  start(flags?: readonly string[]): Promise<void>
  /** Starts it and does not wait. */
  begin(flags?: readonly string[]): ChildProcess
  /** kill -9. */
  kill(): Promise<void>
  stop(): Promise<void>
  /** What the runtime and the command have said on stderr. */
  said(): string
  /** A front end with a session of its own. */
  session(): RpcClient
}

export function nodeProcess(name: string, laptop: Laptop = freshLaptop()): NodeProcess {
  let child: ChildProcess | undefined
  let said = ''

  function begin(flags: readonly string[] = []): ChildProcess {
    const started = spawn(process.execPath, [...flags, PROGRAM, 'start', '--json'], {
      env: laptop.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    started.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    child = started
    return started
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    running.kill(signal)
    await ended
  }

  return {
    name,
    laptop,
    get device() {
      const seed = readKey(laptop.home)
      if (seed === undefined) throw new Error(`${name} has no key yet`)
      return signingKey(seed).public
    },
    get pid() {
      return child?.pid
    },
    begin,
    async start(flags) {
      said = ''
      const started = begin(flags)
      // One line when it answers, none if it could not start.
      const [first] = (await Promise.race([
        once(started.stdout ?? started, 'data'),
        once(started, 'exit'),
      ])) as unknown[]
      if (!(first instanceof Buffer)) throw new Error(`the node of ${name} did not start: ${said}`)
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    said: () => said,
    session: () => createRpcClient({ socketPath: laptop.home.socket, session: randomUUID() }),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
      await laptop[Symbol.asyncDispose]()
    },
  }
}

/** What `look` finds, as soon as it finds something: looks again whenever something happens at one of the nodes. */
export async function happens<T>(
  nodes: readonly NodeProcess[],
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const over = new AbortController()
  let news = Promise.withResolvers<void>()
  let gone: Error | undefined
  const ring = (): void => {
    news.resolve()
    news = Promise.withResolvers()
  }
  async function follow(client: RpcClient, opened: () => void): Promise<void> {
    try {
      const events = client.events(over.signal, opened)
      while ((await events.next()).done !== true) ring()
    } catch (error) {
      gone = error instanceof Error ? error : new Error(String(error))
    }
    client.close()
    opened()
    ring()
  }
  await Promise.all(nodes.map(async (node) => new Promise<void>((opened) => void follow(node.session(), opened))))
  try {
    for (;;) {
      const heard = news.promise
      if (gone !== undefined) throw gone
      const found = await look()
      if (found !== undefined && found !== false) return found
      await heard
    }
  } finally {
    over.abort()
  }
}

/** bob, who owns acme, and frank, who joined by an invite; both set up, none running. */
export async function stoppedPair(bobsLaptop?: Laptop): Promise<[bob: NodeProcess, frank: NodeProcess]> {
  const [bob, frank] = [nodeProcess('bob', bobsLaptop), nodeProcess('frank')]
  await done(bob, 'init --yes --name bob --team acme --device bobs-mbp --listen 127.0.0.1:0 --no-lan')
  const { code } = await done(bob, 'invite frank --standalone')
  await done(frank, 'join --code-stdin --device frank-xps --listen 127.0.0.1:0 --no-lan', String(code))
  for (const node of [frank, bob]) await done(node, 'stop')
  return [bob, frank]
}

async function done({ laptop }: NodeProcess, args: string, input?: string): Promise<Record<string, unknown>> {
  const ran = await laptop.run(`${args} --json`, input === undefined ? {} : { input })
  if (ran.code !== 0) throw new Error(`relay-node ${args}: exit ${ran.code}\n${ran.stdout}${ran.stderr}`)
  return ran.json()
}
