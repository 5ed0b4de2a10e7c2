/** JSON-RPC 2.0 over HTTP on the node's own socket: `POST /rpc` for calls, `GET /events` for what happens meanwhile. */
import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { chmod } from 'node:fs/promises'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { ApiError, type ErrorObject } from '../node/api-error.ts'
import type { Caller, NodeApi, Scope } from '../node/api.ts'
import type { System } from '../system.ts'
import { requireAccess, sessionOfHeader } from './access.ts'
import { eventStreams } from './event-stream.ts'
import { tooLarge } from './refusals.ts'
import {
  type Change,
  type Host,
  INTERFACE_VERSIONS,
  isMethod,
  type MethodName,
  REQUEST_SIZE_BYTES_MAX,
  runMethod,
} from './schema.ts'
import { clearSocket, isPipe } from './socket.ts'
import { uuidV4 } from './uuid.ts'

/** What a call or a half-sent request gets to finish in when the node stops. */
const STOP_GRACE_MS = 5000

export interface RpcServerOptions {
  api: NodeApi
  /** Path of the unix socket, or of a named pipe on Windows. */
  socketPath: string
  /** Of the program, like 0.1.0. */
  version: string
  system: System
  /** What this node may do at all; read: nobody writes by way of it. Default: write. */
  scope?: Scope
  /** Called once a `relay/stop` has been answered: ends the node. */
  onStop: () => void
}

export interface RpcServer {
  /**
   * Listens. The caller holds the node's lock.
   *
   * @throws SocketError path too long, in use, or not ours
   */
  start(): Promise<void>
  /** Ends waiting calls and event streams, lets writes finish, and takes the socket away. */
  stop(): Promise<void>
}

type Id = string | number | null
type Env = { Bindings: HttpBindings }

const envelope = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.unknown(),
})
const uuid = z.guid()

export function createRpcServer(options: RpcServerOptions): RpcServer {
  const { api, socketPath, version, system, scope = 'write' } = options
  const startedAt = system.clock.now()
  const events = eventStreams(api, system.clock)
  const sessions = new WeakMap<Socket, string>()
  const stopping = new AbortController()

  const requestId = () => `req_${uuidV4(system).replaceAll('-', '')}`

  function errorObject(error: unknown, method: string): ErrorObject {
    const request = requestId()
    if (error instanceof ApiError) return error.toObject(request)
    const { log } = system
    log.error('a call failed unexpectedly', {
      request_id: request,
      method,
      error: error instanceof Error ? error.stack : error,
    })
    const hint = `Look for ${request} with: relay-node logs`
    return new ApiError('internal', 'The node failed to answer this call.', { hint }).toObject(request)
  }

  function failure(c: Context<Env>, error: unknown, about: { id: Id; method: string }): Response {
    const { code, message, ...data } = errorObject(error, about.method)
    return c.json(
      { jsonrpc: '2.0', id: about.id, error: { code, message, data } },
      data.http_status as ContentfulStatusCode,
    )
  }

  /** The session that the front end names, else one made for its connection. */
  function sessionOf(c: Context<Env>): string {
    const named = c.req.header('relay-session')
    if (named !== undefined) {
      if (uuid.safeParse(named).success) return named.toLowerCase()
      throw new ApiError('invalid_request', 'header relay-session is not a UUID', {
        hint: 'Make one UUID for each session, or leave it out.',
      })
    }
    const { socket } = c.env.incoming
    const known = sessions.get(socket) ?? uuidV4(system)
    sessions.set(socket, known)
    return known
  }

  function hostFor(c: Context<Env>): Host {
    return {
      api,
      scope,
      hello: () => ({
        name: 'relay-node',
        version,
        pid: process.pid,
        interface: INTERFACE_VERSIONS,
        uptime_s: Math.max(0, Math.floor((system.clock.now() - startedAt) / 1000)),
      }),
      stop() {
        c.env.outgoing.once('close', options.onStop)
        return { stopping: true, pid: process.pid }
      },
    }
  }

  /** Whoever calls, with what its token binds it to. Who the node is may be asked with any token, or a wrong one. */
  async function admitted(c: Context<Env>, session: string, [name, change]: [MethodName, Change]): Promise<Caller> {
    if (name === 'relay/hello') return { session }
    const bound = sessionOfHeader(c.req.header('authorization'), api)
    await requireAccess({ api, scope, bound }, change)
    return bound ? { session, bound } : { session }
  }

  async function rpc(c: Context<Env>): Promise<Response> {
    const hungUp = new AbortController()
    c.env.outgoing.once('close', () => hungUp.abort())
    let id: Id = null
    let method = ''
    let isNotification = false
    try {
      // Not by way of Hono's own request, which keeps tens of megabytes until the call has been answered.
      const request = readEnvelope(parseJson(await c.req.raw.arrayBuffer()))
      id = request.id ?? null
      method = request.method
      isNotification = request.id === undefined
      const session = sessionOf(c)
      if (!isMethod(method)) throw unknownMethod(method)
      const signal = AbortSignal.any([hungUp.signal, stopping.signal])
      const result = await runMethod(method, hostFor(c), {
        params: request.params ?? {},
        admit: (...call) => admitted(c, session, call),
        signal,
      })
      return isNotification ? c.body(null, 204) : c.json({ jsonrpc: '2.0', id, result })
    } catch (error) {
      if (hungUp.signal.aborted) return c.body(null, 204)
      // A caller that waited is told as if the node had died: it starts a node and asks again.
      if (stopping.signal.aborted && !(error instanceof ApiError)) c.env.outgoing.destroy()
      if (!isNotification) return failure(c, error, { id, method })
      // Nobody reads the answer of a notification, so an unexpected failure has only the log.
      errorObject(error, method)
      return c.body(null, 204)
    }
  }

  const app = new Hono<Env>()
  app.use(async (c, next) => {
    // A connection that becomes idle after stop() has begun would hold it up.
    c.env.outgoing.once('close', () => stopping.signal.aborted && server.closeIdleConnections())
    return next()
  })
  app.use(async (c, next) => {
    // No page of a browser has business here. It cannot reach a socket of this kind; a proxy in between could.
    if (c.req.header('origin') === undefined) return next()
    return failure(
      c,
      new ApiError('invalid_request', 'requests with an Origin header are refused', {
        hint: 'Call from a program, not from a web page.',
      }),
      NOBODY,
    )
  })
  app.post(
    '/rpc',
    async (c, next) => {
      const [type] = (c.req.header('content-type') ?? '').split(';')
      if (type?.trim().toLowerCase() === 'application/json') return next()
      return failure(
        c,
        new ApiError('invalid_request', 'the content type must be application/json', {
          hint: "Add the header 'content-type: application/json'.",
        }),
        NOBODY,
      )
    },
    bodyLimit({
      maxSize: REQUEST_SIZE_BYTES_MAX,
      onError: (c: Context<Env>) =>
        failure(
          c,
          tooLarge('request', Number(c.req.header('content-length')) || undefined, REQUEST_SIZE_BYTES_MAX),
          NOBODY,
        ),
    }),
    rpc,
  )
  app.get('/events', (c) => {
    const credential = c.req.header('authorization')
    const authenticate = () => void sessionOfHeader(credential, api)
    authenticate()
    return c.body(events.open(authenticate), 200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  })
  app.notFound((c) =>
    failure(
      c,
      new ApiError('method_not_found', 'there is no such path', { hint: 'Use POST /rpc or GET /events.' }),
      NOBODY,
    ),
  )
  app.onError((error, c) => failure(c, error, NOBODY))

  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false })
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
  // A connection costs a local front end nothing; closing an idle one would race with its next call.
  server.keepAliveTimeout = 0

  return {
    async start() {
      await clearSocket(socketPath)
      await listen(server, socketPath)
      if (!isPipe(socketPath)) await chmod(socketPath, 0o600)
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      events.closeAll()
      stopping.abort()
      const cancelGrace = system.clock.after(STOP_GRACE_MS, () => server.closeAllConnections())
      await closed
      cancelGrace()
    },
  }
}

/** What an error answers when the call could not be read. */
const NOBODY = { id: null, method: '' }

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function parseJson(bytes: ArrayBuffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new ApiError('parse_error', 'the request is not JSON in UTF-8', {
      hint: 'Send one JSON-RPC 2.0 request.',
      cause,
    })
  }
}

function readEnvelope(value: unknown): z.infer<typeof envelope> {
  if (Array.isArray(value)) {
    throw new ApiError('invalid_request', 'batches are not served', { hint: 'Send one request at a time.' })
  }
  const parsed = envelope.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ApiError('invalid_request', 'the request is not of JSON-RPC 2.0', {
    hint: 'Send {"jsonrpc":"2.0","id":…,"method":…,"params":{…}}.',
  })
}

function unknownMethod(name: string): ApiError {
  const shown = name.toWellFormed().slice(0, 60)
  return new ApiError('method_not_found', `there is no method ${JSON.stringify(shown)}`, {
    hint: 'Methods are named like message/send and relay/status.',
  })
}
