/** `relay-node mcp`: the relay's tools for one agent, over stdio. */
import { Console } from 'node:console'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CallToolRequestSchema,
  CancelledNotificationSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import {
  ApiError,
  CallRefused,
  createRpcClient,
  type ErrorObject,
  type RpcClient,
  type Scope,
  uuidV4,
} from '../rpc/client.ts'
import type { System } from '../system.ts'
import { type Answer, errorAnswer } from './answer.ts'
import { createCallKeys, type RequestId } from './call-keys.ts'
import { instructions } from './instructions.ts'
import { wholeLines } from './lines.ts'
import { createNodeLink } from './node-link.ts'
import { PROMPTS, promptsFor } from './prompts.ts'
import { createWrapper } from './provenance.ts'
import { createSubscriptions, readResource, RESOURCE_TEMPLATES, RESOURCES } from './resources.ts'
import type { Tool } from './tool.ts'
import { TOOLS, toolsFor } from './tools.ts'
import { visible } from '../visible.ts'

/** A line longer than this cannot be a call that succeeds. */
const LINE_SIZE_BYTES_MAX = 64 * 1024 * 1024
/** After the agent closed its side, what is being answered gets this long. */
const LAST_ANSWERS_MS = 1000
const PARENT_CHECK_MS = 500
const TOOL_NAME_SHOWN_CHARS_MAX = 60

export interface McpOptions {
  socketPath: string
  /** Makes sure that a node of a fitting age answers at the socket: see connectOrStart in rpc/launch.ts. Called when one is needed. */
  start: () => Promise<void>
  /** Session token that binds the agent to less than its user may. */
  token?: string | undefined
  /** True if this laptop's own settings allow nothing but reading. */
  readOnly?: boolean
  stdin: Readable
  /** Carries JSON-RPC lines and nothing else. */
  stdout: Writable
  stderr: Writable
  /** Of the program, like 0.1.0. */
  version: string
  /** Its log must not write to stdout. */
  system: System
}

/**
 * Serves one agent until it closes stdin, this process is asked to end, or its parent is gone. The caller then ends
 * the process: a node that is just being started may still hold it.
 */
export async function runMcp(options: McpOptions): Promise<void> {
  const { socketPath, start, token, stdin, stdout, stderr, version, system } = options
  // Whatever a library wants to say, it does not say it between the lines of the protocol.
  globalThis.console = new Console(stderr, stderr)
  const over = new AbortController()
  const newId = () => uuidV4(system)
  const client = createRpcClient({ socketPath, session: newId(), token })
  const link = createNodeLink(client, start)
  const wrapper = createWrapper((count) => system.dice(count))
  const keys = createCallKeys(newId)
  const busy = counter()
  const ended = Promise.withResolvers<void>()
  const release = listenForTheEnd({ stdin, stdout, system, end: ended.resolve, idle: busy.idle })
  // What comes in while the node is asked is kept, and an end of it is noticed.
  const input = token === undefined ? stdin : stdin.pipe(new PassThrough())
  const bound =
    token === undefined ? 'write' : await Promise.race([busy.during(() => scopeOf(link.call)), ended.promise])
  const marksRead = bound === 'write'
  const readOnly = options.readOnly === true || !marksRead

  const server = new Server(
    { name: 'relay', title: 'Relay', version },
    {
      capabilities: { tools: {}, resources: { subscribe: true }, prompts: {} },
      instructions: instructions({ readOnly, marksRead }),
    },
  )
  const subscriptions = createSubscriptions({
    client,
    clock: system.clock,
    signal: over.signal,
    notify: (uri) => {
      // It fails only when the host is gone, and then there is nobody to tell.
      server
        .sendResourceUpdated({ uri })
        .catch((error: unknown) => system.log.debug('a notice was not sent', { error }))
    },
  })

  function errorObject(error: unknown, about: string): ErrorObject {
    if (error instanceof CallRefused) return error.toObject(error.requestId)
    const requestId = `req_${newId().replaceAll('-', '')}`
    if (error instanceof ApiError) return error.toObject(requestId)
    system.log.error('a call failed unexpectedly', {
      request_id: requestId,
      about,
      error: error instanceof Error ? error.stack : error,
    })
    return new ApiError('internal', 'The relay failed to answer this call.', {
      hint: `Tell the human: ${requestId} is in the log.`,
    }).toObject(requestId)
  }

  async function callTool(
    found: Tool,
    args: unknown,
    { request, signal }: { request: RequestId; signal: AbortSignal },
  ): Promise<Answer> {
    return found.run(args, {
      call: link.call,
      wrapper,
      signal,
      marksRead,
      withKey: (input, send) =>
        keys.withKey({ request, tool: found.name, args: input, send: (key) => send({ client_idempotency_key: key }) }),
    })
  }

  /** Outside of tools an error has only the protocol's own form. */
  async function orProtocolError<T>(about: string, run: () => T | Promise<T>): Promise<T> {
    try {
      return await busy.during(run)
    } catch (error) {
      const { structuredContent, content } = errorAnswer(wrapper, errorObject(error, about))
      throw new McpError(Number(structuredContent['code']), content[0].text, structuredContent)
    }
  }

  const within = (signal: AbortSignal) => AbortSignal.any([signal, over.signal])

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: toolsFor(readOnly).map(({ name, title, description, inputSchema, annotations }) => ({
      name,
      title,
      description,
      inputSchema,
      annotations: { title, ...annotations },
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    busy.during(async () => {
      const signal = within(extra.signal)
      try {
        const found = TOOLS.find(({ name }) => name === params.name)
        if (found === undefined) throw unknownTool(params.name)
        return { ...(await callTool(found, params.arguments ?? {}, { request: extra.requestId, signal })) }
      } catch (error) {
        // Nobody reads an answer to a call that was taken back.
        if (signal.aborted) throw error
        return { ...errorAnswer(wrapper, errorObject(error, params.name)) }
      }
    }),
  )
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: RESOURCES }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: RESOURCE_TEMPLATES }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, extra) =>
    orProtocolError(uri, async () => {
      const { content } = await readResource(uri, { call: link.call, wrapper, signal: within(extra.signal) })
      return { contents: [{ uri, mimeType: 'text/plain', text: content[0].text }] }
    }),
  )
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) =>
    orProtocolError(uri, async () => {
      await link.ready()
      subscriptions.add(uri)
      return {}
    }),
  )
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscriptions.remove(uri)
    return {}
  })
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: promptsFor(readOnly).map(({ name, title, description, arguments: args }) => ({
      name,
      title,
      description,
      arguments: args,
    })),
  }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) =>
    orProtocolError(params.name, () => {
      const found = PROMPTS.find(({ name }) => name === params.name)
      if (found === undefined)
        throw new ApiError('invalid_params', 'there is no such prompt', {
          hint: PROMPTS.map(({ name }) => name).join(', '),
        })
      const text = found.text(params.arguments ?? {})
      return {
        description: found.description,
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
      }
    }),
  )

  Object.assign(server, {
    onclose: ended.resolve,
    onerror: (error: Error) => system.log.warn('a line that is no request', { error: error.message }),
  })
  const transport = new StdioServerTransport(wholeLines(input, LINE_SIZE_BYTES_MAX), stdout, {
    maxBufferSize: LINE_SIZE_BYTES_MAX,
  })
  // The server tells a call that it was taken back only while it runs, and never one with the id 0.
  transport.onmessage = (message) => {
    const cancelled = CancelledNotificationSchema.safeParse(message).data?.params.requestId
    if (cancelled !== undefined) keys.takenBack(cancelled)
  }
  await server.connect(transport)
  await ended.promise
  release()
  over.abort()
  client.close()
  await server.close()
  stdin.destroy()
}

/** What the node lets a session with this token do. Where it cannot say, the least: the node would refuse more in any case. */
async function scopeOf(call: RpcClient['call']): Promise<Scope> {
  try {
    return (await call('relay/whoami', {})).session?.scope ?? 'read'
  } catch {
    return 'read'
  }
}

function unknownTool(name: string): ApiError {
  const shown = visible(name).slice(0, TOOL_NAME_SHOWN_CHARS_MAX)
  return new ApiError('method_not_found', `there is no tool ${JSON.stringify(shown)}`, {
    hint: `Tools: ${TOOLS.map((known) => known.name).join(', ')}`,
  })
}

interface Counter {
  during<T>(run: () => T | Promise<T>): Promise<T>
  /** Resolves when nothing is being answered. */
  idle(): Promise<void>
}

function counter(): Counter {
  const running = new Set<Promise<unknown>>()
  return {
    async during(run) {
      const work = (async () => run())()
      running.add(work)
      try {
        return await work
      } finally {
        running.delete(work)
      }
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}

interface EndOptions {
  stdin: Readable
  stdout: Writable
  system: System
  end: () => void
  idle: () => Promise<void>
}

/** Calls `end` as soon as there is nobody left to serve. */
function listenForTheEnd({ stdin, stdout, system, end, idle }: EndOptions): () => void {
  const { clock } = system
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  const finish = () => {
    clock.after(LAST_ANSWERS_MS, end)
    // One turn of the loop: the last lines may still wait to be read.
    setImmediate(() => void idle().then(end))
  }
  const parent = process.ppid
  const stopWatching = clock.every(PARENT_CHECK_MS, () => {
    if (process.ppid !== parent) end()
  })
  for (const signal of signals) process.on(signal, end)
  stdin.once('end', finish).once('close', finish).once('error', end)
  stdout.once('error', end)
  return () => {
    stopWatching()
    for (const signal of signals) process.off(signal, end)
    // A late write finds nobody; that is no failure by now.
    stdout.on('error', () => {})
  }
}
