import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/rpc/client.ts'
import { METHODS, type MethodName } from '../../src/rpc/schema.ts'
import { examples, HANDOFF, names, text } from './examples.ts'
import { everyError } from './peer-words.ts'
import { FRANKS_THREAD } from './scripted-node.ts'
import { running } from './rpc-fixture.ts'

const ACTION = { description: 'Drop the table', target_files: ['a.sql'], rationale: 'unused' }

/** What parsing says: `ok`, or the error's symbol and message. */
function parse(method: MethodName, params: unknown): string {
  try {
    METHODS[method].parse(params)
    return 'ok'
  } catch (error) {
    if (error instanceof ApiError) return `${error.symbol}: ${error.message}`
    throw error
  }
}

describe('every method', () => {
  it.each(names)('%s reaches its part of the node and answers', async (name) => {
    const { client, node } = await running()
    const { params, asked } = examples[name]
    const ask = client.call as (method: string, params: unknown) => Promise<unknown>
    expect(await ask(name, params)).toBeTypeOf('object')
    // Whether a human is there is asked first, where one has to decide.
    const first = METHODS[name].changes === 'human' ? ['whoami'] : []
    expect(node.calls.map(({ method }) => method)).toEqual([...first, ...(asked === undefined ? [] : [asked])])
  })

  it.each(names.filter((name) => name !== 'relay/hello'))('%s knows all its fields', (name) => {
    expect(parse(name, { ...examples[name].params, surprise: 1 })).toBe('invalid_params: surprise is not a known field')
  })

  it('completing and messages reach the node too', async () => {
    const { client, node } = await running()
    await client.call('message/send', { thread_id: FRANKS_THREAD, message: text('Why?'), payload: { a: [1] } })
    await client.call('tasks/update', {
      thread_id: FRANKS_THREAD,
      status: 'completed',
      result_summary: 'Done.',
      outcome: 'done',
    })
    expect(node.calls.map(({ method }) => method)).toEqual(['sendMessage', 'complete'])
    expect(node.calls[1]?.params).toEqual({ thread_id: FRANKS_THREAD, result_summary: 'Done.', outcome: 'done' })
  })
})

describe('every error', () => {
  it.each(everyError('words').map((error) => [error.symbol, error] as const))(
    '%s arrives as it was thrown',
    async (_, thrown) => {
      const { client, node } = await running()
      node.failNext('whoami', thrown)
      const { symbol, message, hint, details } = thrown
      const request = expect.stringMatching(/^req_/)
      await expect(client.call('relay/whoami', {})).rejects.toMatchObject({
        symbol,
        message,
        hint,
        details,
        requestId: request,
      })
    },
  )
})

describe('parameters', () => {
  it.each<[string, MethodName, unknown, string]>([
    [
      'nothing',
      'message/send',
      undefined,
      'invalid_params: recipient (for a new handoff) or thread_id (for a message) is required',
    ],
    [
      'both kinds',
      'message/send',
      { ...HANDOFF, thread_id: 'th' },
      'invalid_params: recipient and thread_id exclude each other: a new handoff, or a message in one',
    ],
    [
      'no summary',
      'message/send',
      { ...HANDOFF, message: undefined },
      'invalid_params: message is required and must be an object',
    ],
    [
      'an empty summary',
      'message/send',
      { ...HANDOFF, message: text(' \n') },
      'invalid_params: message must have a part with text in it',
    ],
    [
      'an unknown intent',
      'message/send',
      { ...HANDOFF, intent: 'order' },
      'invalid_params: intent must be one of inform, ask_question, propose_action',
    ],
    [
      'half a surrogate pair',
      'message/send',
      { ...HANDOFF, message: text('a\ud800') },
      'invalid_params: message.parts[0].text must be well-formed Unicode text; it holds half of a surrogate pair',
    ],
    [
      'half a pair in a payload',
      'message/send',
      { thread_id: 't', message: text('a'), payload: [{ '\udc00': 1 }] },
      'invalid_params: payload must be well-formed Unicode text; it holds half of a surrogate pair',
    ],
    [
      'an unknown artifact',
      'message/send',
      { ...HANDOFF, artifacts: [{ type: 'zip' }] },
      'invalid_params: artifacts[0].type must be one of file_diff, file_ref, test_command, api_contract, link, file',
    ],
    [
      'an artifact without its path',
      'message/send',
      { ...HANDOFF, artifacts: [{ type: 'file_diff', diff: '' }] },
      'invalid_params: artifacts[0].path is required and must be a string',
    ],
    [
      'a file of both kinds',
      'message/send',
      { ...HANDOFF, artifacts: [{ type: 'file', name: 'a', media_type: 'b', text: '', base64: '' }] },
      'invalid_params: artifacts[0] needs either text or base64',
    ],
    [
      'bytes that are no base64',
      'message/send',
      { ...HANDOFF, artifacts: [{ type: 'file', name: 'a', media_type: 'b', base64: 'a-b' }] },
      'invalid_params: artifacts[0].base64 must be base64 with padding (RFC 4648, section 4)',
    ],
    [
      'an empty contract',
      'message/send',
      { ...HANDOFF, artifacts: [{ type: 'api_contract' }] },
      'invalid_params: artifacts[0] needs schema_url or inline',
    ],
    [
      'a bad action',
      'message/send',
      { ...HANDOFF, intent: 'propose_action', proposed_action: { ...ACTION, rationale: 1 } },
      'invalid_params: proposed_action.rationale must be a string',
    ],
    ['no thread', 'tasks/get', {}, 'invalid_params: thread_id is required and must be a string'],
    [
      'another status',
      'tasks/update',
      { thread_id: 't', status: 'cancelled' },
      'invalid_params: status must be one of accepted, completed',
    ],
    [
      'no result',
      'tasks/update',
      { thread_id: 't', status: 'completed' },
      'invalid_params: result_summary is required and must be a string',
    ],
    [
      'a result for an accept',
      'tasks/update',
      { thread_id: 't', status: 'accepted', result_summary: 'x' },
      'invalid_params: result_summary is not a known field',
    ],
    ['a limit out of range', 'tasks/list', { limit: 201 }, 'invalid_params: limit must be at most 200'],
    [
      'a wait for a search',
      'tasks/list',
      { query: 'a', wait_s: 1 },
      'invalid_params: wait_s goes with none of query, with, since and until',
    ],
    [
      'a long page of a search',
      'tasks/list',
      { with: 'frank', limit: 101 },
      'invalid_params: limit must be at most 100 in a search',
    ],
    [
      'half a pair to look for',
      'tasks/list',
      { query: '\ud800' },
      'invalid_params: query must be well-formed Unicode text; it holds half of a surrogate pair',
    ],
    ['a wait out of range', 'tasks/list', { wait_s: 51 }, 'invalid_params: wait_s must be at most 50'],
    [
      'half an offset',
      'relay/artifact',
      { thread_id: 't', artifact_id: 'a', offset: 0.5 },
      'invalid_params: offset must be an int',
    ],
    [
      'a short digest',
      'relay/approve',
      { thread_id: 't', digest: 'abc123' },
      'invalid_params: digest must be the full digest: 64 characters 0-9 a-f',
    ],
    [
      'several mistakes',
      'tasks/list',
      { limit: 'a', side: 'up' },
      'invalid_params: side must be one of in, out, reader; limit must be a number',
    ],
    [
      'a key for a read',
      'tasks/get',
      { thread_id: 't', metadata: {} },
      'invalid_params: metadata is not a known field',
    ],
  ])('%s: the field and the rule are named', (_, method, params, expected) => {
    expect(parse(method, params)).toBe(expected)
  })

  it.each<[unknown, string]>([
    [{ intent: 'propose_action' }, 'proposed_action is required with intent propose_action'],
    [{ proposed_action: ACTION }, 'proposed_action is not allowed with intent inform'],
    [{ intent: 'ask_question', proposed_action: ACTION }, 'proposed_action is not allowed with intent ask_question'],
    [{ question: 'Why?' }, 'question is not allowed with intent inform'],
    [
      { intent: 'propose_action', proposed_action: ACTION, question: 'Why?' },
      'question is not allowed with intent propose_action',
    ],
  ])('an intent carries what belongs to it: %j', (change, expected) => {
    expect(parse('message/send', { ...HANDOFF, ...(change as object) })).toBe(`invalid_intent_payload: ${expected}`)
  })

  it.each<[string, unknown]>([
    ['a proposal', { intent: 'propose_action', proposed_action: ACTION }],
    ['a question', { intent: 'ask_question', question: 'Why?' }],
    ['a question in the summary', { intent: 'ask_question' }],
    ['sixteen links', { artifacts: Array.from({ length: 16 }, () => ({ type: 'link', url: 'https://a' })) }],
    ['bytes', { artifacts: [{ type: 'file', name: 'a', media_type: 'b', base64: 'AAE=' }] }],
    ['text outside the first plane', { message: text('🙂') }],
  ])('%s passes', (_, change) => {
    expect(parse('message/send', { ...HANDOFF, ...(change as object) })).toBe('ok')
  })

  it('what cannot fit says how large it is and how large it may be', () => {
    const limit = 256 * 1024
    const sized = (params: unknown) => {
      try {
        METHODS['message/send'].parse(params)
      } catch (error) {
        return (error as ApiError).toObject('r')
      }
      return 'ok'
    }
    expect(sized({ ...HANDOFF, message: text('ü'.repeat(512 * 1024)) })).toMatchObject({
      code: -32016,
      details: { limit, size: 1024 * 1024 + 4 },
    })
    const link = { type: 'link', url: 'https://a' }
    expect(sized({ ...HANDOFF, artifacts: Array.from({ length: 17 }, () => link) })).toMatchObject({
      code: -32016,
      details: { field: 'artifacts', limit: 16, size: 17 },
    })
    const file = (bytes: number) => {
      const base64 = Buffer.alloc(bytes).toString('base64')
      return { type: 'file', name: 'a', media_type: 'b', base64 }
    }
    const mib = 1024 * 1024
    const files = (...sizes: number[]) => sized({ ...HANDOFF, artifacts: sizes.map(file) })
    expect(files(200 * 1024)).toBe('ok')
    expect(files(8 * mib, 8 * mib, 8 * mib, 8 * mib)).toBe('ok')
    expect(files(1, 9 * mib)).toMatchObject({ code: -32016, details: { field: 'artifacts[1]', limit: 8 * mib } })
    expect(files(8 * mib, 8 * mib, 8 * mib, 8 * mib, mib)).toMatchObject({
      code: -32016,
      details: { field: 'artifacts', limit: 32 * mib },
    })
    expect(sized({ ...HANDOFF, artifacts: [{ type: 'file_diff', path: 'a', diff: 'ü'.repeat(4 * mib) }] })).toBe('ok')
    expect(sized({ thread_id: 't', message: text('a'), payload: { a: 'x'.repeat(limit) } })).toMatchObject({
      code: -32016,
    })
  })

  it('the shape is looked at before the intent, the intent before the size', () => {
    const huge = text('x'.repeat(300 * 1024))
    expect(parse('message/send', { ...HANDOFF, message: huge, proposed_action: ACTION, extra: 1 })).toMatch(
      /^invalid_params/,
    )
    expect(parse('message/send', { ...HANDOFF, message: huge, proposed_action: ACTION })).toMatch(
      /^invalid_intent_payload/,
    )
    expect(parse('message/send', { ...HANDOFF, message: huge })).toMatch(/^payload_too_large/)
  })

  it('a payload that could not be written again is refused', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    expect(parse('message/send', { thread_id: 't', message: text('a'), payload: nested(64) })).toBe('ok')
    expect(parse('message/send', { thread_id: 't', message: text('a'), payload: nested(65) })).toBe(
      'invalid_params: payload must not be nested deeper than 64 levels',
    )
  })
})
