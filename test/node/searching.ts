/** What tests of search ask a laptop, and what they look at in the answer. */
import type { InboxItem, InboxPage, ListThreadsParams, MatchView } from '../../src/node/api.ts'
import type { ContinuityRecord } from '../../protocol/index.ts'
import { type Laptop, plain } from './world.ts'

export function find(at: Laptop, query: string, more: ListThreadsParams = {}): Promise<InboxPage> {
  return at.node.listThreads({ query, ...more })
}

export async function idsOf(at: Laptop, query: string, more: ListThreadsParams = {}): Promise<string[]> {
  return (await find(at, query, more)).items.map(({ thread_id }) => thread_id)
}

/** Every result, page by page. */
export async function allOf(
  at: Laptop,
  params: ListThreadsParams,
  between?: () => Promise<unknown>,
): Promise<InboxItem[]> {
  const items: InboxItem[] = []
  for (let cursor: string | undefined; ;) {
    const page = await at.node.listThreads({ ...params, cursor })
    items.push(...page.items)
    cursor = page.next_cursor
    if (cursor === undefined) return items
    await between?.()
  }
}

/** The matches of the one result. */
export async function matchesOf(at: Laptop, query: string): Promise<(MatchView & { text: string | undefined })[]> {
  const { items } = await find(at, query)
  if (items.length !== 1) throw new Error(`${items.length} results for ${query}`)
  return (items[0]?.found?.matches ?? []).map((match) => ({ ...match, text: plain(match.excerpt) }))
}

export function recordOf(objective: string, more: Partial<ContinuityRecord> = {}): ContinuityRecord {
  return {
    objective: { summary: objective, acceptance_criteria: [] },
    current_state: { complete: [], in_progress: [], blocked: [], unverified: [] },
    decisions: [],
    evidence: [],
    constraints: [],
    next_action: { summary: '', verification: '' },
    ownership: { next_actor: '', reviewers: [] },
    open_questions: [],
    ...more,
  }
}
