/**
 * Work that somebody else resumes: Bob's agent hands on where things stand, with an operating brief
 * and sources; Frank's agents find it, check it, go on from the revision that they read, and settle
 * the feedback. Once more with a revision that came in between. Everything over MCP.
 */
import { type Agent, type Answer, createAgent } from '../stage/agent.ts'
import { readWhole, said, viewUntil } from '../stage/reading.ts'
import { createTeamOfTwo, type TeamOfTwo } from '../stage/team.ts'
import { createTranscript } from '../stage/transcript.ts'
import { artifactsOf, contentsOf, makeChange, RECORD, sha256, SUMMARY } from './work.ts'

interface Listed {
  artifact_id: string
  size: number
  sha256: string
}
interface ShownAnnotation {
  annotation_id: string
  open: boolean
  assignee?: string
  content: unknown
  resolved_by?: { revision_id: string; from: string }
}
type WrittenRecord = typeof RECORD

const { chapter, act, note, equal, holds, close } = createTranscript()
const agents: Agent[] = []

async function agentOf(team: TeamOfTwo, person: 'bob' | 'frank', name: string): Promise<Agent> {
  const agent = await createAgent(team[person], name)
  agents.push(agent)
  return agent
}

/** The record of a view, as its author gave it, and the revision that it shows. */
function recordOf(view: Answer): { revision: string | undefined; record: WrittenRecord } {
  const { shows, content } = view['record'] as { shows: string[]; content: unknown }
  return { revision: shows[0], record: said(content) as WrittenRecord }
}

function found(answer: Answer): unknown[] {
  return (answer['items'] as { thread_id: string }[]).map(({ thread_id }) => thread_id)
}

/** Reads every artifact of the thread, whole, and compares it with what Bob attached. */
async function readAll(who: string, agent: Agent, view: Answer, contents: ReadonlyMap<string, Buffer>): Promise<void> {
  const listed = view['artifacts'] as (Listed & { labels: unknown })[]
  equal(`${who} sees ${contents.size} artifacts`, listed.length, contents.size)
  for (const [name, expected] of contents) {
    const facts = listed.find((artifact) => artifact.sha256 === sha256(expected))
    const { bytes, pages } = await readWhole(agent, view['thread_id'], facts?.artifact_id)
    holds(
      `${name}: ${expected.length} bytes, ${pages === 1 ? 'one page' : `${pages} pages`}, byte for byte`,
      facts?.size === expected.length && bytes.equals(expected),
      { facts, read: bytes.length },
    )
  }
}

async function main(team: TeamOfTwo): Promise<void> {
  const { change, franks } = makeChange(team.folder)
  const contents = contentsOf(change)
  const artifacts = artifactsOf(change)
  chapter('1  Bob’s agent hands on where things stand')
  const bobsAgent = await agentOf(team, 'bob', 'bobs-agent')
  const bob = await act('bob’s agent', 'whoami', () => bobsAgent.call('whoami'))
  equal('It speaks for', bob['handle'], 'bob@acme')
  const before = await act('bob’s agent', 'search_handoffs: rate limit', () =>
    bobsAgent.call('search_handoffs', { query: 'rate limit' }),
  )
  equal('Nobody has handed on anything like it', found(before), [])
  const handoff = await act('bob’s agent', `handoff_to_teammate (a record, ${artifacts.length} artifacts)`, () =>
    bobsAgent.call('handoff_to_teammate', {
      to: 'frank@acme',
      intent: 'inform',
      summary: SUMMARY,
      record: RECORD,
      artifacts: artifacts,
    }),
  )
  const thread = handoff['thread_id']
  equal('It is pending, and the record lacks nothing', [handoff['status'], handoff['warnings']], ['pending', []])
  const own = await act('bob’s agent', 'view_thread', () => bobsAgent.call('view_thread', { thread_id: thread }))
  await readAll('Bob’s agent', bobsAgent, own, contents)

  chapter('2  Frank’s agent finds it and looks')
  const franksAgent = await agentOf(team, 'frank', 'franks-agent')
  await act('frank’s agent', 'check_inbox (waits for news)', () => franksAgent.call('check_inbox', { wait_s: 50 }))
  const frank = await act('frank’s agent', 'whoami', () => franksAgent.call('whoami'))
  equal('It speaks for', frank['handle'], 'frank@acme')
  const search = await act('frank’s agent', 'search_handoffs: tokn bucket', () =>
    franksAgent.call('search_handoffs', { query: 'tokn bucket', side: 'in' }),
  )
  equal('It finds the handoff, mistyped and by a decision of its record', found(search), [thread])
  const accepted = await act('frank’s agent', 'accept_handoff', () =>
    franksAgent.call('accept_handoff', { thread_id: thread, expected_revision_id: handoff['revision_id'] }),
  )
  equal('It takes the work', accepted['status'], 'accepted')
  const question = await act('frank’s agent', 'annotate_handoff (a span of limiter.py, for Bob)', async () => {
    const view = await franksAgent.call('view_thread', { thread_id: thread })
    const limiter = (view['artifacts'] as Listed[]).find(
      (artifact) => artifact.sha256 === sha256(contents.get('limiter.py') ?? ''),
    )
    return franksAgent.call('annotate_handoff', {
      thread_id: thread,
      revision_id: handoff['revision_id'],
      artifact_id: limiter?.artifact_id,
      selector: { exact: 'self.buckets = {}', prefix: 'burst, clock\n        ' },
      body: 'This grows for ever: one bucket for each address that ever called.',
      assignee: 'bob@acme',
    })
  })
  holds('The annotation is there', typeof question['annotation_id'] === 'string', question)
  const nobody = await franksAgent.call('annotate_handoff', {
    thread_id: thread,
    revision_id: handoff['revision_id'],
    body: 'Please look.',
    assignee: 'carol@acme',
  })
  equal('and cannot be for somebody who takes no part', nobody['symbol'], 'not_a_participant')

  chapter('3  Another agent of Frank’s resumes from it')
  const resuming = await agentOf(team, 'frank', 'franks-other-agent')
  equal('whoami', (await resuming.call('whoami'))['handle'], 'frank@acme')
  const again = await act('frank’s other', 'search_handoffs: limiter', () =>
    resuming.call('search_handoffs', { query: 'limiter', status: ['accepted'] }),
  )
  equal('It finds the work', found(again), [thread])
  const view = await act('frank’s other', 'view_thread (open annotations)', () =>
    resuming.call('view_thread', { thread_id: thread, annotations: 'open' }),
  )
  const { revision, record } = recordOf(view)
  equal('The record is the one that Bob wrote', record, RECORD)
  const [open] = view['annotations'] as ShownAnnotation[]
  equal(
    'and one annotation is open, for Bob',
    [open?.annotation_id, open?.assignee],
    [question['annotation_id'], 'bob@acme'],
  )
  await readAll('Frank’s agent', resuming, view, contents)
  const [evidence] = record.evidence
  const proof = (view['artifacts'] as Listed[]).find((artifact) => artifact.sha256 === evidence?.sha256)
  holds('The evidence names the trace that is there, by its SHA-256', proof !== undefined, evidence)
  const diff = (view['artifacts'] as Listed[]).find((artifact) => artifact.sha256 === sha256(change.diff))
  const fit = await act('frank', 'relay-node apply --check, in his own clone', () =>
    team.frank.json<{ applies: boolean; repo: string; base: { state: string; commits_since: number } }>([
      'apply',
      '--check',
      String(thread),
      String(diff?.artifact_id),
      '--repo',
      franks.folder,
    ]),
  )
  equal(
    'The diff fits, was made in this repository, and nothing has changed since',
    [fit.applies, fit.repo, fit.base.state, fit.base.commits_since],
    [true, 'same', 'known', 0],
  )
  const continued = await act('frank’s other', 'continue_handoff', () =>
    resuming.call('continue_handoff', {
      thread_id: thread,
      expected_revision_id: revision,
      record: {
        current_state: {
          ...RECORD.current_state,
          complete: [...RECORD.current_state.complete, 'Buckets that are full again are forgotten'],
        },
      },
      artifacts: [{ type: 'file', name: 'limiter.py', media_type: 'text/x-python', text: '# buckets expire now\n' }],
      note: 'Buckets expire',
    }),
  )
  equal('It builds on the revision that it read', continued['parents'], [revision])
  const resolved = await act('frank’s other', 'resolve_annotation', () =>
    resuming.call('resolve_annotation', {
      thread_id: thread,
      annotation_id: question['annotation_id'],
      resolved_revision_id: continued['revision_id'],
      note: 'They expire now.',
    }),
  )
  equal('The feedback is settled', (resolved['annotation'] as ShownAnnotation).open, false)
  const next = await act('frank’s other', 'view_thread, compared with what it read', () =>
    resuming.call('view_thread', { thread_id: thread, compare_with: revision }),
  )
  equal('The new revision stands', recordOf(next).revision, continued['revision_id'])
  equal('No annotation is open', next['annotations'], [])
  holds('What changed is shown', JSON.stringify(next['record']).includes('are forgotten'), next['record'])
  equal(
    'limiter.py is replaced, all else is kept',
    (next['record'] as { artifacts: string[] }).artifacts.length,
    contents.size,
  )

  chapter('4  A revision comes in between')
  const bobSees = await act('bob’s agent', 'view_thread, when the revision came', () =>
    viewUntil(
      bobsAgent,
      thread,
      (seen) => recordOf(seen).revision === continued['revision_id'] && (seen['annotations'] as unknown[]).length === 0,
    ),
  )
  const common = recordOf(bobSees).revision
  const bobs = await act('bob’s agent', 'continue_handoff', () =>
    bobsAgent.call('continue_handoff', {
      thread_id: thread,
      expected_revision_id: common,
      record: {
        open_questions: [],
        constraints: [...RECORD.constraints, { kind: 'other', text: 'Fail open without Redis' }],
      },
    }),
  )
  await viewUntil(franksAgent, thread, (seen) => recordOf(seen).revision === bobs['revision_id'])
  const stale = await act('frank’s other', 'continue_handoff, over the one it had read', () =>
    resuming.call('continue_handoff', {
      thread_id: thread,
      expected_revision_id: common,
      record: {
        next_action: { summary: 'Write the Redis script for the bucket', verification: 'pytest tests/limiter' },
      },
    }),
  )
  equal('It is stale', [stale.isError, stale['symbol']], [true, 'stale_revision'])
  equal('and says what stands', (stale['details'] as { current: string[] }).current, [bobs['revision_id']])
  const reread = await act('frank’s other', 'view_thread, compared with what it had read', () =>
    resuming.call('view_thread', { thread_id: thread, compare_with: common }),
  )
  equal('Nothing was written', recordOf(reread).revision, bobs['revision_id'])
  const settled = await act('frank’s other', 'continue_handoff, over what it has read now', () =>
    resuming.call('continue_handoff', {
      thread_id: thread,
      expected_revision_id: recordOf(reread).revision,
      record: {
        next_action: { summary: 'Write the Redis script for the bucket', verification: 'pytest tests/limiter' },
      },
    }),
  )
  const both = await viewUntil(bobsAgent, thread, (seen) => recordOf(seen).revision === settled['revision_id'])
  const last = recordOf(both).record
  equal(
    'Bob sees both changes',
    [last.constraints.at(-1)?.text, last.next_action.summary],
    ['Fail open without Redis', 'Write the Redis script for the bucket'],
  )
  const revisions = both['revisions'] as { revision_id: string }[]
  equal(
    'and all four revisions, in order',
    revisions.map(({ revision_id }) => revision_id),
    [handoff['revision_id'], continued['revision_id'], bobs['revision_id'], settled['revision_id']],
  )
  const first = await act('bob’s agent', 'view_thread, the first revision', () =>
    bobsAgent.call('view_thread', { thread_id: thread, revision_id: handoff['revision_id'] }),
  )
  equal('The first one is as it was', recordOf(first).record, RECORD)
  note(String(thread))
}

const team = await createTeamOfTwo()
try {
  await main(team)
  process.exitCode = close()
} finally {
  await Promise.allSettled(agents.map((agent) => agent.close()))
  await team.close()
}
