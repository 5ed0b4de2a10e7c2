/** The door for front ends: calls a node over its socket. Whatever a front end needs of the interface is named here. */
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import * as z from 'zod'
import { API_ERRORS, ApiError, type ApiSymbol } from '../node/api-error.ts'
import type {
  AcceptResult,
  HandoffResult,
  MessageResult,
  NewHandoffParams,
  NewMessageParams,
  NodeEvent,
  SaidResult,
} from '../node/api.ts'
import { parseEvents } from './event-stream.ts'
import { tooLarge } from './refusals.ts'
import {
  type AcceptUpdate,
  type CompleteUpdate,
  type MethodName,
  type Methods,
  REQUEST_SIZE_BYTES_MAX,
} from './schema.ts'

export { ApiError, type ErrorObject } from '../node/api-error.ts'
export type {
  AcceptResult,
  AnnotationView,
  ArtifactFacts,
  ArtifactListing,
  ArtifactSlice,
  Content,
  EntryContent,
  EntryView,
  HandoffResult,
  InboxItem,
  InboxPage,
  MatchView,
  MessageResult,
  NodeEvent,
  Party,
  RecordView,
  RevisionView,
  SaidResult,
  Scope,
  Teammate,
  ThreadCommon,
  ThreadView,
  Untrusted,
} from '../node/api.ts'
export { untrusted } from '../node/api.ts'
export { check, checkIntent, checkSize } from './refusals.ts'
export * as shapes from './shapes.ts'
export { uuidV4 } from './uuid.ts'

/** Nobody answers at the socket, or the connection broke before the answer came. */
export class NodeNotRunning extends Error {
  readonly code = 'NODE_NOT_RUNNING'
  /** The call may have been done: the same call with the same idempotency key tells. */
  readonly mayBeDone: boolean
  constructor(message: string, options: { mayBeDone: boolean; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.name = 'NodeNotRunning'
    this.mayBeDone = options.mayBeDone
  }
}

/** A node's refusal as it came over the socket, with the id under which the node knows it. */
export class CallRefused extends ApiError {
  readonly requestId: string
  constructor(
    symbol: ApiSymbol,
    message: string,
    options: { hint: string; details: Record<string, unknown>; requestId: string },
  ) {
    super(symbol, message, options)
    this.name = 'CallRefused'
    this.requestId = options.requestId
  }
}

export interface CallOptions {
  /** Hanging up: a waiting call ends, a write may have been done. */
  signal?: AbortSignal | undefined
}

/** @throws ApiError, NodeNotRunning, or the signal's reason */
export interface RpcCall {
  (method: 'message/send', params: NewHandoffParams, options?: CallOptions): Promise<HandoffResult>
  (method: 'message/send', params: NewMessageParams, options?: CallOptions): Promise<MessageResult>
  (method: 'tasks/update', params: AcceptUpdate, options?: CallOptions): Promise<AcceptResult>
  (method: 'tasks/update', params: CompleteUpdate, options?: CallOptions): Promise<SaidResult>
  <M extends Exclude<MethodName, 'message/send' | 'tasks/update'>>(
    method: M,
    params: Methods[M]['params'],
    options?: CallOptions,
  ): Promise<Methods[M]['result']>
}

export interface RpcClient {
  call: RpcCall
  /**
   * What happens on the node from now on; ends when `signal` is aborted.
   *
   * @param opened called when the node listens: nothing that happens later is missed
   * @throws NodeNotRunning when the node goes away, ApiError when it does not let this front end listen
   */
  events(signal?: AbortSignal, opened?: () => void): AsyncGenerator<NodeEvent>
  /** Lets go of idle connections. */
  close(): void
}

export interface RpcClientOptions {
  socketPath: string
  /** UUID of this front end's session. */
  session: string
  /** Session token that binds it to less than its user may. */
  token?: string | undefined
}

const answer = z.union([
  z.object({ result: z.unknown(), error: z.undefined().optional() }),
  z.object({
    error: z.object({
      code: z.number(),
      message: z.string(),
      data: z.object({
        symbol: z.string(),
        hint: z.string(),
        request_id: z.string(),
        details: z.record(z.string(), z.unknown()),
      }),
    }),
  }),
])

export function createRpcClient({ socketPath, session, token }: RpcClientOptions): RpcClient {
  const identity = { 'relay-session': session, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const agent = new Agent({ keepAlive: true })
  let lastId = 0

  async function call(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    lastId += 1
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }))
    if (body.length > REQUEST_SIZE_BYTES_MAX) throw tooLarge('request', body.length, REQUEST_SIZE_BYTES_MAX)
    const headers = { ...identity, 'content-type': 'application/json', 'content-length': body.length }
    const response = await send({ method: 'POST', path: '/rpc', headers, body, agent, signal: options.signal })
    return readAnswer(await readText(response, options.signal))
  }

  function send(options: SendOptions): Promise<IncomingMessage> {
    const { body, signal, ...rest } = options
    return new Promise((resolve, reject) => {
      const request = httpRequest({ socketPath, ...rest, ...(signal === undefined ? {} : { signal }) })
      request.once('response', resolve)
      request.once('error', (cause: NodeJS.ErrnoException) => {
        reject(signal?.aborted === true ? reasonOf(signal) : lost(socketPath, cause))
      })
      request.end(body)
    })
  }

  async function* events(signal?: AbortSignal, opened?: () => void): AsyncGenerator<NodeEvent> {
    const gone = (cause?: unknown) => new NodeNotRunning('The node went away.', { mayBeDone: false, cause })
    try {
      const response = await send({
        method: 'GET',
        path: '/events',
        headers: identity,
        agent: false,
        signal,
      })
      if (response.statusCode !== 200) readAnswer(await readText(response, signal))
      opened?.()
      yield* parseEvents(response)
    } catch (error) {
      if (signal?.aborted === true) return
      throw error instanceof NodeNotRunning || error instanceof ApiError ? error : gone(error)
    }
    if (signal?.aborted !== true) throw gone()
  }

  return { call: call as RpcCall, events, close: () => agent.destroy() }
}

interface SendOptions {
  method: string
  path: string
  headers: Record<string, string | number>
  body?: Buffer
  agent: Agent | false
  signal?: AbortSignal | undefined
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

function lost(socketPath: string, cause: NodeJS.ErrnoException): NodeNotRunning {
  const nobody = cause.code === 'ENOENT' || cause.code === 'ECONNREFUSED'
  const message = nobody
    ? `No node is running at ${socketPath}.`
    : `The connection to the node broke (${cause.code ?? cause.message}).`
  return new NodeNotRunning(message, { mayBeDone: !nobody, cause })
}

async function readText(response: IncomingMessage, signal: AbortSignal | undefined): Promise<string> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  } catch (cause) {
    if (signal?.aborted === true) throw reasonOf(signal)
    throw new NodeNotRunning('The connection to the node broke before its answer was whole.', {
      mayBeDone: true,
      cause,
    })
  }
}

function readAnswer(body: string): unknown {
  const parsed = answer.safeParse(parseOrNothing(body))
  if (!parsed.success) {
    throw new ApiError('internal', 'What listens on the socket does not answer as a node does.', {
      hint: 'Run: relay-node doctor',
    })
  }
  if (parsed.data.error === undefined) return parsed.data.result
  const { message, data } = parsed.data.error
  const symbol: ApiSymbol = isSymbol(data.symbol) ? data.symbol : 'internal'
  throw new CallRefused(symbol, message, { hint: data.hint, details: data.details, requestId: data.request_id })
}

function isSymbol(name: string): name is ApiSymbol {
  return Object.hasOwn(API_ERRORS, name)
}

function parseOrNothing(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
