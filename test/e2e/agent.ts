/** A coding agent at a laptop: the MCP SDK's own client on the real `relay-node mcp`. */
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Laptop } from '../cli/laptop.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/relay-node.js', import.meta.url))

export interface Agent extends AsyncDisposable {
  readonly client: Client
  /** What a tool answers as data, `is_error` beside it. */
  call(tool: string, args?: Record<string, unknown>): Promise<Answer>
}

export interface Answer {
  isError: boolean
  /** The answer as the model reads it. */
  text: string
  data: Record<string, unknown>
}

export async function agentAt(machine: Laptop, options: { args?: string[]; token?: string } = {}): Promise<Agent> {
  const { args = [], token } = options
  const env = { ...machine.env, ...(token === undefined ? {} : { RELAY_NODE_TOKEN: token }) } as Record<string, string>
  const transport = new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp', ...args], env })
  const client = new Client({ name: 'test', version: '0' })
  await client.connect(transport)
  return {
    client,
    async call(name, given = {}) {
      const result = await client.callTool({ name, arguments: given })
      const [content] = result.content as { text: string }[]
      const data = result.structuredContent as Record<string, unknown>
      return { isError: result.isError === true, text: content?.text ?? '', data }
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** The data of an answer that is no refusal. */
export async function good(answer: Promise<Answer>): Promise<Record<string, unknown>> {
  const { isError, text, data } = await answer
  if (isError) throw new Error(text)
  return data
}

/** `symbol number` of a refusal, as its text begins. */
export async function refusal(answer: Promise<Answer>): Promise<string> {
  const { isError, text, data } = await answer
  if (!isError) throw new Error(`it was not refused: ${text}`)
  const begins = `${String(data['symbol'])} ${String(data['code'])}`
  if (!text.startsWith(`${begins}: `)) throw new Error(`text and data differ: ${text}`)
  if (data['hint'] === '') throw new Error(`a refusal says what to do: ${text}`)
  return begins
}
