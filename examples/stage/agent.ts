/** A coding agent: a real MCP client on a `relay-node mcp` process of its own. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { type Laptop, PROGRAM } from './laptop.ts'

/** What a tool answered: its structured content, and whether it was an error. */
export interface Answer {
  [key: string]: unknown
  isError: boolean
}

export interface Agent {
  call(tool: string, input?: Record<string, unknown>): Promise<Answer>
  close(): Promise<void>
}

export async function createAgent(laptop: Laptop, name: string): Promise<Agent> {
  const client = new Client({ name, version: '1.0.0' })
  const env = Object.fromEntries(
    Object.entries(laptop.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp'], env, stderr: 'inherit' }),
  )
  return {
    async call(tool, input = {}) {
      const { structuredContent, isError } = await client.callTool({ name: tool, arguments: input })
      return { ...(structuredContent as Record<string, unknown>), isError: isError === true }
    },
    close: () => client.close(),
  }
}

/** What a wrapped block holds: the JSON on the line before its end marker, and whether its markers agree. */
export function unwrap(untrusted: unknown): unknown {
  const { nonce, block } = untrusted as { nonce: string; block: string }
  const lines = block.split('\n')
  const [start = '', , json = '', end = ''] = lines
  if (lines.length !== 4 || !start.startsWith(`<<<peer-data ${nonce} `) || end !== `<<<end-of-peer-data ${nonce}>>>`) {
    throw new Error('not one wrapped block')
  }
  return JSON.parse(json)
}
