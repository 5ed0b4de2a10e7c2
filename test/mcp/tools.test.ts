import { describe, expect, it } from 'vitest'
import { instructions } from '../../src/mcp/instructions.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { ApiError } from '../../src/rpc/client.ts'
import { FRANKS_THREAD } from '../rpc/scripted-node.ts'
import { connected } from './mcp-fixture.ts'

/** Tool, arguments, and how the text of its refusal begins. */
const MISTAKES: [string, Record<string, unknown>, string][] = [
  ['whoami', { extra: 1 }, 'invalid_params -32602: extra is not a known field'],
  ['view_thread', {}, 'invalid_params -32602: thread_id is required and must be a string'],
  [
    'handoff_to_teammate',
    { to: 'frank@acme', intent: 'inform', summary: '' },
    'invalid_params -32602: summary must not be empty',
  ],
  [
    'handoff_to_teammate',
    { to: 'frank@acme', intent: 'propose_action', summary: 'x' },
    'invalid_intent_payload -32012: proposed_action is required with intent propose_action',
  ],
  [
    'handoff_to_teammate',
    { to: 'frank@acme', intent: 'inform', summary: 'x', question: 'y' },
    'invalid_intent_payload -32012: question is not allowed with intent inform',
  ],
  [
    'handoff_to_teammate',
    { to: 'frank@acme', intent: 'inform', summary: 'x', artifacts: [{ type: 'zip' }] },
    'invalid_params -32602: artifacts[0].type must be one of',
  ],
  [
    'handoff_to_teammate',
    { to: 'frank@acme', intent: 'inform', summary: 'x'.repeat(1024 * 1024) },
    'payload_too_large -32016: summary',
  ],
  [
    'send_message',
    { thread_id: 't', body: 'x', artifacts: Array.from({ length: 17 }, () => ({ type: 'link', url: 'a' })) },
    'payload_too_large -32016: 17 artifacts',
  ],
  ['send_message', { thread_id: 't', body: 'a\ud800' }, 'invalid_params -32602: body must be well-formed Unicode'],
  ['search_handoffs', { limit: 101 }, 'invalid_params -32602: limit must be at most 100'],
  ['search_handoffs', { status: [] }, 'invalid_params -32602: status must be at least 1 items long'],
  ['check_inbox', { limit: 0 }, 'invalid_params -32602: limit must be at least 1'],
  [
    'view_thread',
    { thread_id: 't', cursor: 'bad' },
    'invalid_params -32602: cursor is not one that this tool gave out',
  ],
  ['destroy_everything', {}, 'method_not_found -32601: '],
]

const bytes = (text: string) => Buffer.byteLength(text)

describe('the table', () => {
  it('lists fourteen tools in a fixed order', () => {
    expect(TOOLS.map(({ name }) => name)).toEqual([
      'whoami',
      'list_teammates',
      'search_handoffs',
      'handoff_to_teammate',
      'check_inbox',
      'view_thread',
      'read_artifact',
      'accept_handoff',
      'send_message',
      'continue_handoff',
      'annotate_handoff',
      'resolve_annotation',
      'complete_handoff',
      'cancel_handoff',
    ])
  })

  it.each(TOOLS.map((tool) => [tool.name, tool] as const))(
    '%s keeps to what hosts accept',
    (name, { title, description, annotations, inputSchema }) => {
      expect(name).toMatch(/^[a-z][a-z0-9_]{2,30}$/)
      expect(title).not.toBe('')
      expect(bytes(description)).toBeLessThanOrEqual(1024)
      expect(Object.keys(annotations).toSorted()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
      expect(inputSchema.type).toBe('object')
      expect(inputSchema['additionalProperties']).toBe(false)
      for (const keyword of ['anyOf', 'oneOf', 'allOf', 'if', 'not', '$ref', '$schema'])
        expect(inputSchema).not.toHaveProperty(keyword)
      expect(JSON.stringify(inputSchema)).not.toContain('"oneOf"')
    },
  )

  it('has instructions of at most 2 KiB', () => {
    for (const readOnly of [true, false])
      for (const marksRead of [true, false])
        expect(bytes(instructions({ readOnly, marksRead }))).toBeLessThanOrEqual(2048)
  })

  it('shows the exact form of every artifact', () => {
    const { inputSchema } = TOOLS.find(({ name }) => name === 'handoff_to_teammate') ?? { inputSchema: {} }
    const { artifacts } = (
      inputSchema as { properties: { artifacts: { items: { anyOf: { properties: Record<string, unknown> }[] } } } }
    ).properties
    expect(artifacts.items.anyOf.map(({ properties }) => Object.keys(properties))).toEqual([
      ['type', 'path', 'diff', 'repo', 'base_commit'],
      ['type', 'path', 'git_sha', 'lines'],
      ['type', 'command', 'cwd'],
      ['type', 'schema_url', 'inline'],
      ['type', 'url', 'title'],
      ['type', 'name', 'media_type', 'text', 'base64'],
    ])
  })
})

describe('an agent', () => {
  it('sees the tools as the table has them, and the instructions', async () => {
    const { agent } = await connected()
    const { tools } = await agent.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name))
    expect(tools[0]?.annotations).toMatchObject({ title: 'Who am I on the relay', readOnlyHint: true })
    expect(tools.every(({ outputSchema }) => outputSchema === undefined)).toBe(true)
    expect(agent.client.getInstructions()).toBe(instructions({ readOnly: false, marksRead: true }))
    expect(agent.client.getServerVersion()).toMatchObject({ name: 'relay', version: '0.1.0' })
  })

  it('learns who it is and who else is there', async () => {
    const { agent } = await connected()
    const me = await agent.tool('whoami')
    expect(me.structured).toMatchObject({ handle: 'bob@acme', node_state: 'ready', reachable_peers: 1 })
    expect(me.text).toContain('handle: bob@acme')
    const { structured } = await agent.tool('list_teammates', { role: 'member' })
    expect(structured).toMatchObject({ items: [{ handle: 'frank@acme', trust: 'unverified', reachable: true }] })
  })

  it('hands off, writes, completes and cancels; each answer has the common part', async () => {
    const { agent, node } = await connected()
    const artifacts = [{ type: 'file_diff', path: 'a.py', diff: '-a\n+b\n' }]
    const sent = await agent.tool('handoff_to_teammate', {
      to: 'frank@acme',
      intent: 'inform',
      summary: 'Done.',
      artifacts,
    })
    expect(sent).toMatchObject({
      isError: false,
      structured: {
        status: 'pending',
        final: false,
        waiting_for: ['frank/frank-xps'],
        message_id: 'msg_1',
        similar: [],
        warnings: [],
      },
    })
    const { thread_id } = sent.structured
    expect(await agent.tool('send_message', { thread_id, body: 'More.', payload: { a: 1 } })).toMatchObject({
      structured: { thread_id, sequence_no: 2, delivery: { stored_here: true } },
    })
    expect(await agent.tool('cancel_handoff', { thread_id, reason: 'wrong' })).toMatchObject({
      structured: { thread_id, status: 'cancelled', final: true },
    })
    expect(
      await agent.tool('complete_handoff', { thread_id: FRANKS_THREAD, result_summary: 'ok', outcome: 'partial' }),
    ).toMatchObject({ structured: { status: 'completed' } })
    expect(node.calls.map(({ method }) => method)).toEqual(['sendHandoff', 'sendMessage', 'cancel', 'complete'])
    expect(node.calls[0]?.params).toMatchObject({
      recipient: 'frank@acme',
      message: { parts: [{ type: 'text', text: 'Done.' }] },
      artifacts,
    })
    expect(node.calls[3]?.params).toMatchObject({ result_summary: 'ok', outcome: 'partial' })
    expect(new Set(node.calls.map(({ caller }) => caller?.session)).size).toBe(1)
  })

  it('accepts once: the thread with a checklist, then state_changed', async () => {
    const { agent } = await connected()
    const accepted = await agent.tool('accept_handoff', { thread_id: FRANKS_THREAD })
    expect(accepted.structured).toMatchObject({
      status: 'accepted',
      checklist: ['Look at the diff before you apply it.'],
      entries: [{ kind: 'create' }],
    })
    const again = await agent.tool('accept_handoff', { thread_id: FRANKS_THREAD })
    expect(again).toMatchObject({ isError: true, structured: { symbol: 'state_changed', code: -32010 } })
    const view = await agent.tool('view_thread', { thread_id: FRANKS_THREAD })
    expect(view.structured['next']).toContain(`relay-node approve ${FRANKS_THREAD}`)
  })

  it('searches: what was found, why, and which words are whose', async () => {
    const { agent, node } = await connected()
    await agent.tool('handoff_to_teammate', { to: 'frank@acme', intent: 'inform', summary: 'Done.' })
    const { structured } = await agent.tool('search_handoffs', { query: 'page', with: 'frank', since: '2026-11-30' })
    expect(structured).toMatchObject({
      items: [
        {
          thread_id: FRANKS_THREAD,
          revision_id: 'rev_1',
          score: 12.345,
          status: 'pending',
          matches: [
            { field: 'summary', entry_id: 'e_1', replaced: false, from: 'frank@acme' },
            { field: 'artifact_text' },
          ],
          words: { untrusted: { block: expect.stringContaining('from=frank@acme') } },
        },
        { words: { own: { preview: 'mine' } } },
      ],
    })
    expect(node.calls[1]?.params).toEqual({ query: 'page', with: 'frank', since: '2026-11-30', limit: 20 })
    await agent.tool('search_handoffs', {})
    expect(node.calls[2]?.params).toEqual({ query: '', limit: 20 })
  })

  it('waits for news, and is told when none came', async () => {
    const { agent, node } = await connected()
    expect(await agent.tool('check_inbox', { wait_s: 5 })).toMatchObject({
      structured: { timed_out: true, items: [{ unread_count: 1 }] },
    })
    expect(node.calls[0]?.params).toEqual({ status: ['pending', 'accepted'], limit: 50, wait_s: 5 })
  })
})

describe('a refusal', () => {
  it('begins with symbol and number, and carries the error object', async () => {
    const { agent, node } = await connected()
    const error = new ApiError('stale_revision', 'it moved on', {
      hint: 'Read it again.',
      details: { heads: ['rev_2'] },
    })
    node.failNext('getThread', error)
    const { text, structured, isError } = await agent.tool('view_thread', { thread_id: FRANKS_THREAD })
    expect(isError).toBe(true)
    expect(text).toMatch(/^stale_revision -32014: it moved on\n/)
    expect(text).toContain('hint: Read it again.')
    expect(structured).toEqual({
      ...error.toObject(structured['request_id'] as string),
      request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
    })
  })

  it('names field and rule, before the node is asked', async () => {
    const { agent, node } = await connected()
    for (const [name, args, expected] of MISTAKES) {
      const { text, structured, isError } = await agent.tool(name, args)
      expect(isError).toBe(true)
      expect(text.slice(0, expected.length)).toBe(expected)
      expect(structured).toMatchObject({
        code: expect.any(Number),
        symbol: expect.any(String),
        hint: expect.stringMatching(/./),
        request_id: expect.stringMatching(/^req_/),
      })
    }
    expect(node.calls).toEqual([])
  })

  it('by the node for a recipient who does not exist, or a thread that does not', async () => {
    const { agent } = await connected()
    expect(
      (await agent.tool('handoff_to_teammate', { to: 'nobody@acme', intent: 'inform', summary: 'x' })).text,
    ).toMatch(/^recipient_not_found -32004: /)
    expect((await agent.tool('view_thread', { thread_id: 'th_typo' })).text).toMatch(/^thread_not_found -32006: /)
    expect((await agent.tool('read_artifact', { thread_id: FRANKS_THREAD, artifact_id: 'x' })).text).toMatch(
      /^artifact_not_found -32015: /,
    )
  })
})

describe('what only a human decides', () => {
  it('has no parameter in any tool: no agent sends what looks like a secret', async () => {
    const { agent } = await connected()
    for (const { name, inputSchema } of TOOLS) {
      expect(JSON.stringify(inputSchema)).not.toContain('allow_secrets')
      const { text } = await agent.tool(name, { allow_secrets: true })
      expect(text, name).toMatch(/^invalid_params -32602: .*allow_secrets is not a known field/)
    }
  })
})
