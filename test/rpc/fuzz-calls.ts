/** Bodies for the socket that began as calls: each is answered with one result or one named error, none with `internal`. */
import { Agent, request } from 'node:http'
import { fc } from '@fast-check/vitest'
import * as z from 'zod'
import { mutated } from '../protocol/fuzz-bytes.ts'
import type { FuzzNode } from './fuzz-node.ts'
import { oddValues } from './fuzz-values.ts'

const AT_ONCE_COUNT = 8
const ANSWER = z.union([
  z.strictObject({ jsonrpc: z.literal('2.0'), id: z.unknown(), result: z.unknown() }),
  z.strictObject({
    jsonrpc: z.literal('2.0'),
    id: z.unknown(),
    error: z.object({ code: z.number(), message: z.string(), data: z.object({ symbol: z.string() }) }),
  }),
])

const KEY = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'

/** A call of every method but the one that ends the node. */
function callSamples([theirs, mine]: readonly string[]): Uint8Array[] {
  const message = { role: 'user', parts: [{ type: 'text', text: 'Refactored /users. é 🙂' }] }
  const metadata = { client_idempotency_key: KEY }
  const calls: [method: string, params: object][] = [
    ['relay/hello', {}],
    ['relay/whoami', {}],
    ['relay/status', {}],
    ['agents/list', { role: 'member' }],
    [
      'message/send',
      { recipient: 'frank@acme', intent: 'inform', message, metadata, artifacts: [{ type: 'link', url: 'u' }] },
    ],
    [
      'message/send',
      { recipient: 'frank@acme', intent: 'ask_question', question: 'q', message, metadata, parent_thread_id: mine },
    ],
    ['message/send', { thread_id: mine, message, payload: { a: [1, null] }, metadata }],
    ['tasks/get', { thread_id: theirs, annotations: 'all', mark_read: false }],
    ['tasks/list', { status: ['pending', 'accepted'], side: 'in', limit: 10 }],
    [
      'tasks/list',
      { query: 'hello next_cursor', with: 'frank', since: '2026-01-01', until: '2030-01-01T00:00:00Z', limit: 5 },
    ],
    ['tasks/update', { thread_id: theirs, status: 'accepted', metadata }],
    ['tasks/update', { thread_id: mine, status: 'completed', outcome: 'done', result_summary: 's', metadata }],
    ['tasks/cancel', { thread_id: theirs, reason: 'r', metadata }],
    ['relay/artifact', { thread_id: theirs, artifact_id: 'art_aaaa', offset: 0, max_bytes: 100 }],
    [
      'relay/continue',
      { thread_id: mine, expected_revision_id: 'rev_aaaa', record: { open_questions: ['q'] }, note: 'n', metadata },
    ],
    [
      'relay/annotate',
      { thread_id: theirs, revision_id: 'rev_aaaa', body: 'b', selector: { exact: 'e' }, assignee: 'a', metadata },
    ],
    ['relay/resolve', { thread_id: theirs, annotation_id: 'ann_a', resolved_revision_id: 'rev_a', metadata }],
    ['relay/approve', { thread_id: theirs, digest: 'ab'.repeat(32), metadata }],
    ['relay/reject', { thread_id: theirs, digest: 'ab'.repeat(32), reason: 'r', metadata }],
    ['relay/invites', {}],
    ['relay/invite-revoke', { invite_id: 'inv_aaaa' }],
    ['relay/bootstrap', {}],
    ['relay/bootstrap-use', { addresses: ['/dns4/relay.example/tcp/4001/p2p/12D3KooW'] }],
    ['relay/bootstrap-drop', { address: '/dns4/relay.example/tcp/4001' }],
    ['relay/join', { code: 'relay1qqqq' }],
    ['relay/ping', { handle: 'frank@acme' }],
  ]
  return calls.map(([method, params], id) =>
    new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
  )
}

/** Sends `count` bodies; gives the first ones that were not answered as they should be. */
export async function fuzzCalls(node: FuzzNode, count: number, seed: number): Promise<string[]> {
  const samples = callSamples(node.threads)
  const bodies = fc.sample(fc.oneof(mutated(samples), oddValues(samples)), { numRuns: count, seed })
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE_COUNT })
  const failures: string[] = []
  const next = bodies.values()
  async function worker(): Promise<void> {
    for (const body of next) {
      const fault = await faultOf(node.socketPath, agent, body).catch((error: unknown) => String(error))
      if (fault !== undefined) failures.push(`${Buffer.from(body).toString('latin1')}: ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE_COUNT }, worker))
  agent.destroy()
  return [...failures, ...node.errors.splice(0)]
}

async function faultOf(socketPath: string, agent: Agent, body: Uint8Array): Promise<string | undefined> {
  const { status, text } = await post(socketPath, agent, body)
  // A notification: the id was cut out.
  if (status === 204 && text === '') return undefined
  const answer = ANSWER.safeParse(JSON.parse(text))
  if (!answer.success) return `answered ${status} ${text}`
  if ('error' in answer.data && answer.data.error.data.symbol === 'internal') return text
  return (status === 200) === 'result' in answer.data ? undefined : `status ${status} with ${text}`
}

function post(socketPath: string, agent: Agent, body: Uint8Array): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const sent = request({ socketPath, agent, method: 'POST', path: '/rpc', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.once('error', reject).once('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.once('error', reject)
    sent.end(body)
  })
}
