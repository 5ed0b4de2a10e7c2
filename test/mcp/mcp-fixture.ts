import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { onTestFinished } from 'vitest'
import { type Running, running } from '../rpc/rpc-fixture.ts'
import type { ScriptOptions } from '../rpc/scripted-node.ts'

export const ENTRY = fileURLToPath(new URL('entry.ts', import.meta.url))

export function environment(values: Record<string, string>): Record<string, string> {
  return { ...(process.env as Record<string, string>), ...values }
}

export interface ToolResult {
  text: string
  structured: Record<string, unknown>
  isError: boolean
}

export interface Agent {
  client: Client
  pid: number
  tool(name: string, args?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<ToolResult>
}

/** The SDK's own client on a process of its own. */
export async function agentAt(env: Record<string, string>): Promise<Agent> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [ENTRY], env: environment(env) })
  const client = new Client({ name: 'test', version: '0' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    client,
    pid: transport.pid ?? 0,
    async tool(name, args = {}, options) {
      const result = await client.callTool({ name, arguments: args }, undefined, options)
      const [content] = result.content as { type: string; text: string }[]
      return {
        text: content?.text ?? '',
        structured: result.structuredContent as Record<string, unknown>,
        isError: result.isError === true,
      }
    },
  }
}

/** An agent and the scripted node that answers it. */
export async function connected(options: ScriptOptions = {}): Promise<Running & { agent: Agent }> {
  const node = await running(options)
  return { ...node, agent: await agentAt({ TEST_SOCKET: node.socketPath }) }
}

/** The bare process, for what no client would send. */
export function bareProcess(
  env: Record<string, string>,
): ChildProcess & { stdin: NonNullable<ChildProcess['stdin']>; stdout: NonNullable<ChildProcess['stdout']> } {
  const child = spawn(process.execPath, [ENTRY], { env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const BLOCK = /<<<peer-data ([0-9a-f]{32}) ([^\n]*)>>>\n([^\n]*)\n((?:[^\n]*\n)+?)<<<end-of-peer-data \1>>>/g

export interface Block {
  nonce: string
  header: string
  content: unknown
  /** Where it is in its form for reading: its lines; then `content` is all of them. */
  lines?: string[]
}

/** All blocks of a text, opened. */
export function blocksOf(text: string): Block[] {
  return [...text.matchAll(BLOCK)].map(([, nonce = '', header = '', , json = '']) => {
    const [content, ...more] = json
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    if (more.length === 0) return { nonce, header, content }
    const lines = [content, ...more].map(String)
    return { nonce, header, content: lines.join('\n'), lines }
  })
}

/** What stands outside of all blocks. */
export function outside(text: string): string {
  return text.replaceAll(BLOCK, '')
}
