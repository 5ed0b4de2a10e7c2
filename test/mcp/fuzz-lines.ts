/** Lines for `relay-node mcp` that began as an agent's calls: the process answers or passes over each, and lives on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { fc } from '@fast-check/vitest'
import * as z from 'zod'
import { type HeapProbe, INSPECTED, probeHeap } from '../e2e/hostile-heap.ts'
import { mutated } from '../protocol/fuzz-bytes.ts'
import { oddValues } from '../rpc/fuzz-values.ts'

const ENTRY = fileURLToPath(new URL('entry.ts', import.meta.url))
const AT_ONCE_COUNT = 20
const OUTPUT = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  result: z.looseObject({ structuredContent: z.looseObject({ symbol: z.string().optional() }).optional() }).optional(),
})

export interface FuzzAgent extends AsyncDisposable {
  readonly heap: HeapProbe
  /** Sends `count` lines; gives what came out that should not have. */
  run(count: number, seed: number): Promise<string[]>
}

/** An mcp process for the node at a socket. */
export async function fuzzAgent(socketPath: string, threads: readonly string[]): Promise<FuzzAgent> {
  const child = spawn(process.execPath, [...INSPECTED, '--conditions=source', ENTRY], {
    env: { ...process.env, TEST_SOCKET: socketPath, TEST_START: 'refuse' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const faults: string[] = []
  const waiting = new Map<string, () => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const output = OUTPUT.safeParse(parsed(line))
    if (!output.success || output.data.result?.structuredContent?.symbol === 'internal')
      faults.push(line.slice(0, 2000))
    else waiting.get(String(output.data.id))?.()
  })
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the process ended: ${String(code ?? signal)}\n${said}`)
  })
  ended.catch(() => undefined)
  let marks = 0

  /** A ping, and its answer: the process still reads lines and answers. */
  async function ping(): Promise<void> {
    const id = `mark ${marks++}`
    const answered = new Promise<void>((resolve) => waiting.set(id, resolve))
    // First an end of line: a quotation mark of before must not swallow it.
    child.stdin.write(`\n${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`)
    await Promise.race([answered, ended])
    waiting.delete(id)
  }

  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'fuzz', version: '0' } }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })}\n`)
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  await ping()
  const heap = await probeHeap(said)
  const samples = lineSamples(threads)
  return {
    heap,
    async run(count, seed) {
      const lines = fc.sample(fc.oneof(mutated(samples), oddValues(samples)), { numRuns: count, seed })
      for (let at = 0; at < lines.length; at += AT_ONCE_COUNT) {
        for (const line of lines.slice(at, at + AT_ONCE_COUNT))
          child.stdin.write(Buffer.concat([line, Buffer.from('\n')]))
        await ping()
      }
      return faults.splice(0)
    },
    async [Symbol.asyncDispose]() {
      heap.close()
      await end(child)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** A request of every method, and a call of every tool. */
function lineSamples([theirs, mine]: readonly string[]): Uint8Array[] {
  const tools: [name: string, args: object][] = [
    ['whoami', {}],
    ['list_teammates', {}],
    ['check_inbox', { status: ['pending'], limit: 5 }],
    ['view_thread', { thread_id: theirs }],
    ['accept_handoff', { thread_id: theirs }],
    ['send_message', { thread_id: mine, body: 'text', payload: { a: [1] } }],
    ['complete_handoff', { thread_id: theirs, result_summary: 's' }],
    ['cancel_handoff', { thread_id: mine, reason: 'r' }],
    ['read_artifact', { thread_id: theirs, artifact_id: 'art_a', offset: 0 }],
    [
      'handoff_to_teammate',
      { to: 'frank@acme', intent: 'inform', summary: 's', artifacts: [{ type: 'link', url: 'u' }] },
    ],
  ]
  const requests: [method: string, params: object][] = [
    ...tools.map(([name, args]): [string, object] => ['tools/call', { name, arguments: args }]),
    ['tools/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: `relay://thread/${theirs}` }],
    ['resources/subscribe', { uri: 'relay://inbox' }],
    ['resources/unsubscribe', { uri: 'relay://inbox' }],
    ['prompts/list', {}],
    ['prompts/get', { name: 'handoff', arguments: { to: 'frank@acme', about: 'a' } }],
    ['notifications/cancelled', { requestId: 3, reason: 'r' }],
    ['logging/setLevel', { level: 'debug' }],
  ]
  return requests.map(([method, params], index) =>
    new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: 100 + index, method, params })),
  )
}
