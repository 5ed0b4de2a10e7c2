import { execFile } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ApiError, NodeNotRunning } from '../../src/rpc/client.ts'
import { realSystem } from '../../src/system.ts'
import { FRANKS_THREAD } from './scripted-node.ts'
import { running, SESSION } from './rpc-fixture.ts'

const KEY = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'
/** As the interface's description prints it. */
const HANDOFF = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"recipient":"frank@acme","intent":"inform",
 "message":{"role":"user","parts":[{"type":"text","text":"Refactored /users. The answer is now paginated: { items, next_cursor }."}]},
 "artifacts":[{"type":"file_diff","path":"src/api/users.py","diff":"@@ -1 +1 @@\\n-a\\n+b\\n"},{"type":"test_command","command":"pytest tests/users/"}],
 "metadata":{"client_idempotency_key":"${KEY}"}}}`

interface Raw {
  socketPath: string
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

function raw({
  socketPath,
  method = 'POST',
  path = '/rpc',
  headers,
  body,
}: Raw): Promise<{ status: number; json: unknown }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      socketPath,
      method,
      path,
      agent: false,
      headers: headers ?? { 'content-type': 'application/json' },
    })
    request.once('error', reject)
    request.once('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, json: text === '' ? undefined : JSON.parse(text) }),
      )
    })
    request.end(body)
  })
}

const call = (method: string, params: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

describe('the printed call', () => {
  it('works verbatim with curl', async ({ skip }) => {
    const run = promisify(execFile)
    const curl = await run('curl', ['--version']).catch(() => undefined)
    if (curl === undefined) return skip('there is no curl on this machine')
    const { socketPath, node } = await running()
    const args = [
      '-s',
      '--unix-socket',
      socketPath,
      '-H',
      'content-type: application/json',
      '-d',
      HANDOFF,
      'http://localhost/rpc',
    ]
    const { stdout } = await run('curl', args)
    expect(JSON.parse(stdout)).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: { status: 'pending', message_id: 'msg_1', sequence_no: 1 },
    })
    expect(node.calls[0]).toMatchObject({
      method: 'sendHandoff',
      params: { metadata: { client_idempotency_key: KEY } },
    })
  })

  it('is answered with 200, and the same again', async () => {
    const { socketPath } = await running()
    const first = await raw({ socketPath, body: HANDOFF })
    expect(first.status).toBe(200)
    expect(await raw({ socketPath, body: HANDOFF })).toEqual(first)
    const other = await raw({ socketPath, body: HANDOFF.replace('Refactored', 'Changed') })
    expect(other).toMatchObject({
      status: 409,
      json: { error: { code: -32011, data: { symbol: 'duplicate_idempotency_key' } } },
    })
  })
})

describe('what is no call', () => {
  const headers = { 'content-type': 'application/json' }
  const deep = `{"jsonrpc":"2.0","id":1,"method":"relay/whoami","params":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  it.each([
    ['no JSON', { body: '{"jsonrpc":' }, 400, -32700],
    ['bytes that are no UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]) }, 400, -32700],
    ['nothing', { body: '' }, 400, -32700],
    ['another version', { body: '{"jsonrpc":"1.0","id":1,"method":"relay/whoami"}' }, 400, -32600],
    ['a batch', { body: `[${call('relay/whoami', {})}]` }, 400, -32600],
    ['an id that is an object', { body: call('relay/whoami', {}, {}) }, 400, -32600],
    ['an unknown method', { body: call('tasks/destroy', {}) }, 404, -32601],
    ['a method named like a property of objects', { body: call('constructor', {}) }, 404, -32601],
    ['parameters by position', { body: call('relay/whoami', [1]) }, 400, -32602],
    ['brackets without end', { body: deep }, 400, -32602],
    ['another content type', { headers: { 'content-type': 'text/plain' }, body: HANDOFF }, 400, -32600],
    ['a web page', { headers: { ...headers, origin: 'http://localhost' }, body: HANDOFF }, 400, -32600],
    ['a web page that listens', { method: 'GET', path: '/events', headers: { origin: 'null' } }, 400, -32600],
    ['another path', { path: '/', body: HANDOFF }, 404, -32601],
    ['a GET of /rpc', { method: 'GET' }, 404, -32601],
    ['a session that is no UUID', { headers: { ...headers, 'relay-session': 'me' }, body: HANDOFF }, 400, -32600],
  ])('%s is refused', async (_, request, status, code) => {
    const { socketPath, node } = await running()
    const answer = await raw({ socketPath, ...request })
    expect(answer).toMatchObject({ status, json: { jsonrpc: '2.0', error: { code, data: { http_status: status } } } })
    expect(node.calls).toEqual([])
  })

  it('bytes that are no HTTP end the connection and nothing else', async () => {
    const { socketPath, client } = await running()
    const ended = new Promise<string>((resolve, reject) => {
      const socket = connect(socketPath, () => socket.write('\u0000\u0001 junk\r\n\r\n'))
      let text = ''
      socket.on('data', (chunk) => (text += String(chunk)))
      socket.once('error', reject)
      socket.once('close', () => resolve(text))
    })
    expect(await ended).toContain('400')
    expect(await client.call('relay/whoami', {})).toMatchObject({ handle: 'bob@acme' })
  })

  it('a huge body is refused with limit and size', async () => {
    const { socketPath, client } = await running()
    const limit = 64 * 1024 * 1024
    const body = Buffer.alloc(limit + 1, 0x20)
    const expected = { code: -32016, data: { http_status: 413, details: { field: 'request', limit, size: limit + 1 } } }
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
    expect(await raw({ socketPath, headers, body })).toMatchObject({ status: 413, json: { error: expected } })
    const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    expect(await raw({ socketPath, headers: chunked, body })).toMatchObject({ status: 413, json: { error: expected } })
    expect(await client.call('relay/whoami', {})).toMatchObject({ handle: 'bob@acme' })
  })
})

describe('answers', () => {
  it('an error says everything that a caller needs', async () => {
    const { socketPath, node } = await running()
    node.failNext(
      'getThread',
      new ApiError('stale_revision', 'it moved on', { hint: 'Read it again.', details: { heads: ['rev_2'] } }),
    )
    const { status, json } = await raw({ socketPath, body: call('tasks/get', { thread_id: 'th_1' }, 'seven') })
    expect(status).toBe(409)
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: 'seven',
      error: {
        code: -32014,
        message: 'it moved on',
        data: {
          symbol: 'stale_revision',
          http_status: 409,
          recoverable: true,
          hint: 'Read it again.',
          request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
          details: { heads: ['rev_2'] },
        },
      },
    })
  })

  it('an unexpected failure is logged once and tells nothing of the inside', async () => {
    const logged: unknown[] = []
    const log = { ...realSystem().log, error: (_: string, fields: unknown) => logged.push(fields) }
    const { socketPath, node } = await running({ system: realSystem(log) })
    node.failNext('whoami', new Error('the disk at /secret/path is gone'))
    const { status, json } = await raw({ socketPath, body: call('relay/whoami', {}) })
    expect(status).toBe(500)
    expect(json).toMatchObject({ error: { code: -32603, data: { symbol: 'internal', recoverable: false } } })
    expect(JSON.stringify(json)).not.toMatch(/secret|\.ts:/)
    expect(logged).toHaveLength(1)
    const { request_id } = (json as { error: { data: { request_id: string } } }).error.data
    expect(logged[0]).toMatchObject({
      request_id,
      method: 'relay/whoami',
      error: expect.stringContaining('/secret/path'),
    })
  })

  it('a notification is done and answered with 204, refused or not', async () => {
    const { socketPath, node } = await running()
    const notify = (params: unknown) => JSON.stringify({ jsonrpc: '2.0', method: 'tasks/cancel', params })
    expect(await raw({ socketPath, body: notify({ thread_id: FRANKS_THREAD }) })).toEqual({
      status: 204,
      json: undefined,
    })
    expect(await raw({ socketPath, body: notify({ thread: 'x' }) })).toEqual({ status: 204, json: undefined })
    expect(node.calls.map(({ method }) => method)).toEqual(['cancel'])
  })

  it('an id of null is a call', async () => {
    const { socketPath } = await running()
    expect(await raw({ socketPath, body: call('relay/whoami', {}, null) })).toMatchObject({
      status: 200,
      json: { id: null },
    })
  })

  it('the session is the one that the front end names, else one for each connection', async () => {
    const { socketPath, node, client } = await running()
    await client.call('tasks/cancel', { thread_id: FRANKS_THREAD })
    const body = call('tasks/cancel', { thread_id: FRANKS_THREAD })
    await raw({ socketPath, body })
    await raw({ socketPath, body })
    const sessions = node.calls.map(({ caller }) => caller?.session)
    expect(sessions[0]).toBe(SESSION)
    expect(new Set(sessions).size).toBe(3)
  })
})

describe('hanging up', () => {
  it('aborts a waiting call', async () => {
    const { client, node } = await running()
    const held = node.holdNext('listThreads')
    const abort = new AbortController()
    const answer = client.call('tasks/list', { wait_s: 50 }, { signal: abort.signal })
    const signal = await held.arrived
    abort.abort(new Error('enough'))
    await expect(answer).rejects.toThrow('enough')
    const seen = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
    if (signal?.aborted !== true) await seen
    expect(signal?.aborted).toBe(true)
  })

  it('of the node ends waiting calls as a lost answer, and lets a write finish', async () => {
    const { client, node, server } = await running()
    const waiting = node.holdNext('listThreads')
    const writing = node.holdNext('cancel')
    const list = client.call('tasks/list', { wait_s: 50 })
    const cancel = client.call('tasks/cancel', { thread_id: FRANKS_THREAD })
    await Promise.all([waiting.arrived, writing.arrived])
    const stopped = server.stop()
    await expect(list).rejects.toMatchObject({ name: 'NodeNotRunning', mayBeDone: true })
    writing.release()
    expect(await cancel).toMatchObject({ status: 'cancelled' })
    await stopped
    await expect(client.call('relay/whoami', {})).rejects.toBeInstanceOf(NodeNotRunning)
  })

  it('relay/stop is answered first', async () => {
    const { client, stopped } = await running()
    await expect(client.call('relay/stop', { pid: 1 })).rejects.toMatchObject({ symbol: 'state_changed' })
    expect(await client.call('relay/stop', {})).toEqual({ stopping: true, pid: process.pid })
    await stopped
  })
})
