import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ANSWER_LENGTH_CHARS_MAX } from '../../protocol/index.ts'
import { fits } from '../../src/mcp/answer.ts'
import { parsePlace } from '../../src/mcp/place.ts'
import { createWrapper } from '../../src/mcp/provenance.ts'
import { threadPage } from '../../src/mcp/thread-view.ts'
import type { ThreadView } from '../../src/rpc/client.ts'
import { createScriptedNode, FRANKS_THREAD } from '../rpc/scripted-node.ts'
import { type Agent, blocksOf, connected, type ToolResult } from './mcp-fixture.ts'

const wrapper = createWrapper((count) => new Uint8Array(randomBytes(count)))

function expectShort({ text, structured }: ToolResult): void {
  expect(text.length).toBeLessThanOrEqual(ANSWER_LENGTH_CHARS_MAX)
  expect(JSON.stringify(structured).length).toBeLessThanOrEqual(ANSWER_LENGTH_CHARS_MAX)
}

async function pages(agent: Agent, name: string, args: Record<string, unknown>): Promise<ToolResult[]> {
  const all: ToolResult[] = []
  for (let cursor: unknown; ;) {
    const page = await agent.tool(name, { ...args, ...(cursor === undefined ? {} : { cursor }) })
    expect(page.isError).toBe(false)
    expectShort(page)
    all.push(page)
    cursor = page.structured['next_cursor']
    if (cursor === undefined) return all
    expect(page.structured['left']).toBeDefined()
  }
}

describe('a long thread', () => {
  it('comes in pages that fit, each entry once, and counts as read when all of a page was shown', async () => {
    const { agent, node } = await connected({ replies: 119, peerText: 'x'.repeat(500) })
    const all = await pages(agent, 'view_thread', { thread_id: FRANKS_THREAD })
    const ids = all.flatMap(({ structured }) =>
      (structured['entries'] as { entry_id: string }[]).map(({ entry_id }) => entry_id),
    )
    expect(ids).toEqual(Array.from({ length: 120 }, (_, index) => `e_${index + 1}`))
    expect(all.length).toBeGreaterThan(3)
    const marked = node.calls.filter(({ params }) => (params as { mark_read?: boolean }).mark_read === true)
    expect(marked.map(({ params }) => (params as { cursor?: string }).cursor)).toEqual([undefined, '50', '100'])
  })
})

/** One entry with the given words, read to its end piece by piece. */
async function readInPieces(peerText: string): Promise<unknown> {
  const { api } = createScriptedNode({ peerText })
  const whole = await api.getThread({ thread_id: FRANKS_THREAD })
  const view: ThreadView = {
    ...whole,
    artifacts: [],
    revisions: [],
    annotations: [],
    entries: whole.entries.map((entry) => ({ ...entry, artifacts: [] })),
  }
  // Only its own words are looked at here.
  delete view.record
  let json = ''
  for (let cursor: string | undefined; ;) {
    const { answer, whole: done } = threadPage(view, { wrapper, place: parsePlace(cursor) })
    expect(fits(answer)).toBe(true)
    const [block, ...others] = blocksOf(answer.content[0].text)
    expect(others).toEqual([])
    const [entry] = answer.structuredContent['entries'] as { content_part?: { from: number; to: number; of: number } }[]
    if (entry?.content_part === undefined) return block?.content
    expect(entry.content_part.from).toBe(json.length)
    json += block?.content as string
    expect(entry.content_part.to).toBe(json.length)
    cursor = answer.structuredContent['next_cursor'] as string | undefined
    expect(done).toBe(cursor === undefined)
    if (done) {
      expect(entry.content_part.of).toBe(json.length)
      return JSON.parse(json)
    }
  }
}

describe('a long entry', () => {
  it.each([
    ['letters', 'x'],
    ['quotes and backslashes', '"\\'],
    ['controls', '\u0000\u202e\n'],
    ['pairs of surrogates', '🙂\u{e0041}'],
    ['markers', '<<<'],
  ])('of %s comes in pieces that fit and join to what was written', async (_, unit) => {
    const peerText = unit.repeat(Math.ceil(8_000 / unit.length))
    expect(await readInPieces(peerText)).toMatchObject({
      summary: peerText,
      question: peerText,
      proposed_action: { rationale: peerText },
    })
  })
})

describe('a long list', () => {
  it('of handoffs ends early, with the cursor of the node', async () => {
    const { agent, node } = await connected({ peerText: '\u202e"'.repeat(120) })
    for (let count = 0; count < 150; count += 1) {
      await node.api.sendHandoff(
        { recipient: 'frank@acme', intent: 'inform', message: { parts: [{ type: 'text', text: String(count) }] } },
        { session: '' },
      )
    }
    const all = await pages(agent, 'check_inbox', { limit: 200 })
    expect(all.length).toBeGreaterThan(1)
    const ids = all.flatMap(({ structured }) =>
      (structured['items'] as { thread_id: string }[]).map(({ thread_id }) => thread_id),
    )
    expect(new Set(ids).size).toBe(151)
    expect(ids).toHaveLength(151)
  })

  it('of what was found ends early, with the cursor of the node', async () => {
    const { agent, node } = await connected({ peerText: '\u202e"'.repeat(120) })
    for (let count = 0; count < 99; count += 1) {
      await node.api.sendHandoff(
        { recipient: 'frank@acme', intent: 'inform', message: { parts: [{ type: 'text', text: String(count) }] } },
        { session: '' },
      )
    }
    const all = await pages(agent, 'search_handoffs', { query: 'x', limit: 100, status: ['pending'] })
    expect(all.length).toBeGreaterThan(1)
    const ids = all.flatMap(({ structured }) =>
      (structured['items'] as { thread_id: string }[]).map(({ thread_id }) => thread_id),
    )
    expect(new Set(ids).size).toBe(100)
    expect(ids).toHaveLength(100)
  })

  it('of teammates ends early', async () => {
    const { agent, node } = await connected()
    const [frank] = (await node.api.listTeammates({})).items
    if (frank === undefined) throw new Error('there is no teammate')
    node.api.listTeammates = async () => ({
      items: Array.from({ length: 300 }, (_, index) => ({ ...frank, handle: `frank-${index}@acme` })),
    })
    const all = await pages(agent, 'list_teammates', {})
    const handles = all.flatMap(({ structured }) =>
      (structured['items'] as { handle: string }[]).map(({ handle }) => handle),
    )
    expect(handles).toEqual(Array.from({ length: 300 }, (_, index) => `frank-${index}@acme`))
  })
})

describe('an artifact', () => {
  async function readAll(agent: Agent, max_bytes?: number): Promise<Buffer> {
    const slices: Buffer[] = []
    for (let offset: unknown = 0; offset !== undefined;) {
      const page = await agent.tool('read_artifact', {
        thread_id: FRANKS_THREAD,
        artifact_id: 'art_1',
        offset,
        ...(max_bytes === undefined ? {} : { max_bytes }),
      })
      expect(page.isError).toBe(false)
      expectShort(page)
      const encoding = page.structured['encoding'] as BufferEncoding
      slices.push(Buffer.from(blocksOf(page.text)[0]?.content as string, encoding))
      offset = page.structured['next_offset']
      expect(page.structured['truncated']).toBe(offset !== undefined)
    }
    return Buffer.concat(slices)
  }

  it.each([
    ['a diff', Buffer.from('@@ -1 +1 @@\n-\treturn "a"\n+\treturn "b"\n'.repeat(2700))],
    ['hostile text', Buffer.from('\u202e\u0001"\\<<<'.repeat(8000))],
    ['bytes', randomBytes(100 * 1024)],
  ])('of 100 KiB (%s) is read back in slices that fit, byte for byte', async (_, artifact) => {
    const { agent } = await connected({ artifact })
    expect((await readAll(agent)).equals(artifact)).toBe(true)
    expect((await readAll(agent, 32 * 1024)).equals(artifact)).toBe(true)
  })
})

describe('an error', () => {
  it('with details that are too long is cut, and says so', async () => {
    const { agent, node } = await connected()
    const { ApiError } = await import('../../src/rpc/client.ts')
    node.failNext(
      'whoami',
      new ApiError('verification_failed', 'it does not fit', { details: { untrusted: 'x'.repeat(60_000) } }),
    )
    const result = await agent.tool('whoami')
    expectShort(result)
    expect(result).toMatchObject({
      isError: true,
      structured: { symbol: 'verification_failed', details: { left_out: expect.any(String) } },
    })
  })
})
