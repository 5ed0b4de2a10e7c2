/** A laptop: a home of its own, the relay-node command, and one node process that can be killed. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { request } from 'node:http'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
/** The program of the installed package, found by its name. */
export const PROGRAM = join(dirname(require.resolve('relay-node/package.json')), 'src/cli/relay-node.js')

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

export interface Laptop {
  readonly name: string
  readonly env: NodeJS.ProcessEnv
  /** Runs relay-node to its end. `input` goes to its standard input. */
  run(args: readonly string[], input?: string): Promise<CommandResult>
  /** Runs relay-node with --json and gives what it printed. Throws where it failed. */
  json<T>(args: readonly string[], input?: string): Promise<T>
  /** Starts the node; resolves once it answers. */
  start(): Promise<void>
  /** Ends the node in good order. */
  stop(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  /** A JSON-RPC call over the node's socket. */
  call<T>(method: string, params: unknown, session?: string): Promise<RpcAnswer<T>>
}

export interface RpcAnswer<T> {
  status: number
  result?: T
  error?: { code: number; message: string; data: { symbol: string } }
}

export function createLaptop(name: string, home: string): Laptop {
  const env = { ...process.env, RELAY_NODE_HOME: home }
  let node: ChildProcess | undefined

  function run(args: readonly string[], input = ''): Promise<CommandResult> {
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [PROGRAM, ...args],
        { env, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => {
          resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr })
        },
      )
      child.stdin?.end(input)
    })
  }

  async function json<T>(args: readonly string[], input?: string): Promise<T> {
    const { code, stdout, stderr } = await run([...args, '--json'], input)
    if (code !== 0) throw new Error(`relay-node ${args.join(' ')} on ${name}: exit ${code}\n${stdout}${stderr}`)
    return JSON.parse(stdout) as T
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const running = node
    node = undefined
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    running.kill(signal)
    await once(running, 'exit')
  }

  return {
    name,
    env,
    run,
    json,
    async start() {
      const child = spawn(process.execPath, [PROGRAM, 'start', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      node = child
      // It prints one line when it answers, and nothing if it could not start.
      const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown]
      if (!(said instanceof Buffer)) throw new Error(`the node on ${name} did not start`)
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async call<T>(method: string, params: unknown, session?: string) {
      const paths = join(home, 'node.sock')
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = {
        'content-type': 'application/json',
        ...(session === undefined ? {} : { 'relay-session': session }),
      }
      return new Promise<RpcAnswer<T>>((resolve, reject) => {
        const sent = request({ socketPath: paths, path: '/rpc', method: 'POST', headers }, (response) => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('error', reject)
          response.on('end', () => {
            const answer = JSON.parse(Buffer.concat(parts).toString()) as Omit<RpcAnswer<T>, 'status'>
            resolve({ ...answer, status: response.statusCode ?? 0 })
          })
        })
        sent.on('error', reject)
        sent.end(body)
      })
    },
  }
}
