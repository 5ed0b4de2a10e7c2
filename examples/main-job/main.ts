/**
 * The main job: Bob's agent hands work to Frank's agent. Two laptops with homes and nodes of their
 * own, libp2p between them, three MCP clients, a git diff, kill -9. One assertion a line.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, type Answer, createAgent, unwrap } from '../stage/agent.ts'
import { sendUntilKilled } from './crash.ts'
import { createLaptop, type Laptop } from '../stage/laptop.ts'
import { createChanges } from './changes.ts'
import { knockAsStranger } from './stranger.ts'
import { atTerminal } from './terminal.ts'
import { readWhole, viewUntil } from '../stage/reading.ts'
import { createTranscript } from '../stage/transcript.ts'

interface Shown {
  status: string
  final: boolean
  waiting_for: string[]
  state_digest: string
  entries: {
    kind: string
    message_id?: string
    sequence_no?: number
    content?: { own?: { body?: string }; untrusted?: { body?: string } }
  }[]
}

const folder = mkdtempSync(join(tmpdir(), 'relay-demo-'))
const bob = createLaptop('bobs-mbp', join(folder, 'bob'))
const frank = createLaptop('frank-xps', join(folder, 'frank'))
const changes = createChanges(join(folder, 'api'))
const { chapter, act, note, equal, holds, close } = createTranscript()
const agents: Agent[] = []

function delivered(view: Answer): string[] {
  const { delivered: facts = [] } = view['delivery'] as { delivered?: { device: string }[] }
  return facts.map(({ device }) => device)
}

/** The numbered entries of a thread, as both sides have to see them. */
function numbers(shown: Shown): (number | undefined)[] {
  return shown.entries
    .filter(({ kind }) => ['create', 'message', 'complete'].includes(kind))
    .map(({ sequence_no }) => sequence_no)
}

const show = (laptop: Laptop, thread: unknown) => laptop.json<Shown>(['show', String(thread)])

async function main(): Promise<void> {
  chapter('1  A team of two')
  await act('bob', 'relay-node init --name bob --team acme', () =>
    bob.json([
      'init',
      '--yes',
      '--name',
      'bob',
      '--team',
      'acme',
      '--device',
      bob.name,
      '--listen',
      '127.0.0.1:0',
      '--no-lan',
      '--no-start',
    ]),
  )
  await act('bob', 'relay-node start', () => bob.start())
  const invite = await act('bob', 'relay-node invite frank --standalone', () =>
    bob.json<{ code: string; handle: string }>(['invite', 'frank', '--standalone']),
  )
  note(`${invite.code.slice(0, 28)}…  (${invite.code.length} characters, works once)`)
  await act('frank', 'relay-node init', () =>
    frank.json(['init', '--yes', '--device', frank.name, '--listen', '127.0.0.1:0', '--no-lan', '--no-start']),
  )
  await act('frank', 'relay-node start', () => frank.start())
  const joined = await act('frank', 'relay-node join', () =>
    frank.json<{ handle: string; trust: string }>(['join', '--code-stdin'], invite.code),
  )
  equal('Frank joined as', joined.handle, 'frank@acme')
  const seen = async (laptop: Laptop) =>
    (await laptop.json<{ teammates: { handle: string; trust: string; me: boolean }[] }>(['status'])).teammates.flatMap(
      ({ handle, trust, me }) => (me ? [] : [`${handle} ${trust}`]),
    )
  equal('Bob sees Frank, unverified until they compare words', await seen(bob), ['frank@acme unverified'])
  equal('Frank sees Bob, unverified too', await seen(frank), ['bob@acme unverified'])

  chapter('2  Frank’s laptop is closed; Bob’s agent hands off all the same')
  await act('frank', 'closes his laptop', () => frank.stop())
  const bobsAgent = await act('bob', 'his agent starts relay-node mcp', () => createAgent(bob, 'bobs-agent'))
  agents.push(bobsAgent)
  const change = changes.paginateUsers()
  const summary =
    'Refactored /users. The answer is now paginated: { items, next_cursor }. Callers that expect a bare list break.'
  const handoff = await act('bob’s agent', 'handoff_to_teammate (inform, file_diff, test_command)', () =>
    bobsAgent.call('handoff_to_teammate', {
      to: 'frank@acme',
      intent: 'inform',
      summary,
      artifacts: [
        { type: 'file_diff', ...change },
        { type: 'test_command', command: 'pytest tests/users/' },
      ],
    }),
  )
  const thread = handoff['thread_id']
  note(`${String(thread)}: ${change.diff.split('\n').length} lines of diff from git`)
  equal('It is pending', handoff['status'], 'pending')
  equal('It is stored here, and delivered nowhere yet', handoff['delivery'], { stored_here: true })

  chapter('3  Frank opens his laptop')
  await act('frank', 'relay-node start', () => frank.start())
  const franksAgent = await createAgent(frank, 'franks-agent')
  const franksOther = await createAgent(frank, 'franks-other-session')
  agents.push(franksAgent, franksOther)
  const inbox = await act('frank’s agent', 'check_inbox (waits for news)', () =>
    franksAgent.call('check_inbox', { wait_s: 50 }),
  )
  const [item] = inbox['items'] as { thread_id: string; unread_count: number; preview: { untrusted: unknown } }[]
  equal('The handoff is there', item?.thread_id, thread)
  equal('with one unread entry', item?.unread_count, 1)
  equal('and a preview, marked as another person’s data', unwrap(item?.preview.untrusted), summary)
  const read = await act('frank’s agent', 'view_thread', () => franksAgent.call('view_thread', { thread_id: thread }))
  const [created] = read['entries'] as { content: { own?: unknown; untrusted: unknown } }[]
  equal(
    'The summary is Bob’s, inside one wrapped block',
    (unwrap(created?.content.untrusted) as { summary: string }).summary,
    summary,
  )
  holds('and nowhere outside of it', !JSON.stringify({ ...read, entries: [] }).includes('paginated'))
  equal('Reading accepted nothing', read['status'], 'pending')
  const after = await franksAgent.call('check_inbox')
  equal(
    'and left nothing unread',
    (after['items'] as { unread_count: number }[]).map(({ unread_count }) => unread_count),
    [0],
  )
  const receipt = await act('bob’s agent', 'looks again', () =>
    viewUntil(bobsAgent, thread, (view) => delivered(view).length > 0),
  )
  equal('Bob sees that it was delivered', delivered(receipt), ['frank/frank-xps'])

  chapter('4  Two of Frank’s sessions accept at once')
  const race = await act('frank’s agents', 'accept_handoff, twice at the same time', () =>
    Promise.all([franksAgent, franksOther].map((agent) => agent.call('accept_handoff', { thread_id: thread }))),
  )
  equal(
    'One wins, the other is told',
    race.map((answer) => String(answer.isError ? answer['symbol'] : answer['status'])).toSorted(),
    ['accepted', 'state_changed'],
  )
  await viewUntil(bobsAgent, thread, (view) => view['status'] === 'accepted')
  const tooLate = await act('bob’s agent', 'cancel_handoff', () =>
    bobsAgent.call('cancel_handoff', { thread_id: thread }),
  )
  equal('Bob can no longer cancel', [tooLate.isError, tooLate['symbol']], [true, 'state_changed'])
  const { addresses } = await bob.json<{ addresses: string[] }>(['status'])
  const served = await act('carol', 'a stranger’s libp2p node knocks at Bob’s', () =>
    knockAsStranger(addresses[0] ?? ''),
  )
  equal('She is not served at all', served, [])

  chapter('5  A question and its answer')
  const question = await act('frank’s agent', 'send_message', () =>
    franksAgent.call('send_message', { thread_id: thread, body: 'Is next_cursor null on the last page?' }),
  )
  await viewUntil(bobsAgent, thread, (view) => (view['entries'] as unknown[]).length >= 3)
  const answer = await act('bob’s agent', 'send_message', () =>
    bobsAgent.call('send_message', { thread_id: thread, body: 'Yes, null and present.' }),
  )
  equal('They are numbers 2 and 3', [question['sequence_no'], answer['sequence_no']], [2, 3])
  await viewUntil(franksAgent, thread, (view) => (view['entries'] as unknown[]).length >= 4)
  equal('on Bob’s laptop', numbers(await show(bob, thread)), [1, 2, 3])
  equal('and on Frank’s', numbers(await show(frank, thread)), [1, 2, 3])

  chapter('6  Frank’s agent completes')
  await act('frank’s agent', 'complete_handoff', () =>
    franksAgent.call('complete_handoff', {
      thread_id: thread,
      result_summary: 'Client follows next_cursor; pytest tests/users/ passes.',
    }),
  )
  const completed = await act('bob’s agent', 'looks again', () =>
    viewUntil(bobsAgent, thread, (view) => view['status'] === 'completed' && view['final'] === true),
  )
  equal('Bob sees it completed and final', [completed['status'], completed['final']], ['completed', true])
  holds(
    'with the result',
    completed['entries'] !== undefined && JSON.stringify(completed['entries']).includes('follows next_cursor'),
  )
  const sealed = await viewUntil(franksAgent, thread, (view) => view['final'] === true && delivered(view).length > 0)
  equal('Frank sees that Bob has it', [sealed['final'], delivered(sealed)], [true, ['bob/bobs-mbp']])
  const late = await Promise.all(
    [bobsAgent, franksAgent].map((agent) => agent.call('send_message', { thread_id: thread, body: 'One more thing' })),
  )
  equal(
    'Nobody can add to it',
    late.map((result) => result['symbol']),
    ['thread_terminal', 'thread_terminal'],
  )

  chapter('7  A handoff is taken back while Frank is away')
  await act('frank', 'closes his laptop', () => frank.stop())
  const mistake = await bobsAgent.call('handoff_to_teammate', {
    to: 'frank@acme',
    intent: 'inform',
    summary: 'Never mind this one.',
  })
  const cancelled = await act('bob’s agent', 'cancel_handoff', () =>
    bobsAgent.call('cancel_handoff', { thread_id: mistake['thread_id'], reason: 'Sent by mistake' }),
  )
  equal(
    'It is cancelled, not final, and waits for',
    [cancelled['status'], cancelled['final'], cancelled['waiting_for']],
    ['cancelled', false, ['frank/frank-xps']],
  )
  await act('frank', 'relay-node start', () => frank.start())
  const settled = await act('bob’s agent', 'looks again', () =>
    viewUntil(bobsAgent, mistake['thread_id'], (view) => view['final'] === true),
  )
  equal('Now it is final', [settled['status'], settled['final'], settled['waiting_for']], ['cancelled', true, []])
  const refused = await franksAgent.call('accept_handoff', { thread_id: mistake['thread_id'] })
  equal('and Frank cannot accept it', refused['symbol'], 'thread_terminal')

  chapter('8  An action that a human has to approve')
  const proposal = { to: 'frank@acme', intent: 'propose_action', summary: 'Drop the old /users shim.' }
  const incomplete = await bobsAgent.call('handoff_to_teammate', proposal)
  equal(
    'propose_action without the action is refused',
    [incomplete['code'], incomplete['symbol']],
    [-32012, 'invalid_intent_payload'],
  )
  const proposed = await act('bob’s agent', 'handoff_to_teammate (propose_action)', () =>
    bobsAgent.call('handoff_to_teammate', {
      ...proposal,
      proposed_action: {
        description: 'Delete src/api/users_shim.py',
        target_files: ['src/api/users_shim.py'],
        rationale: 'Nothing imports it any more.',
      },
    }),
  )
  const action = proposed['thread_id']
  await viewUntil(franksAgent, action, (view) => !view.isError)
  const accepted = await franksAgent.call('accept_handoff', { thread_id: action })
  equal('Frank’s agent accepts it', accepted['status'], 'accepted')
  const premature = await franksAgent.call('complete_handoff', { thread_id: action, result_summary: 'Deleted.' })
  equal('and cannot call it done without its human', premature['symbol'], 'approval_required')
  const { digest } = accepted['action'] as { digest: string }
  const approval = await act('frank', 'relay-node approve, at a terminal', () =>
    atTerminal(frank, ['approve', String(action)], (screen) =>
      screen.includes('characters of its digest') ? digest.slice(0, 6) : undefined,
    ),
  )
  equal(
    'Frank saw the exact action and typed its digest',
    [approval.code, approval.screen.includes('Delete src/api/users_shim.py'), approval.screen.includes('Approved')],
    [0, true, true],
  )
  const done = await act('frank’s agent', 'complete_handoff', () =>
    franksAgent.call('complete_handoff', { thread_id: action, result_summary: 'Deleted; tests pass.' }),
  )
  equal('Now it completes', done['status'], 'completed')

  chapter('9  A program on Bob’s laptop, over the socket')
  const params = (text: string, key: string) => ({
    recipient: 'frank@acme',
    intent: 'inform',
    message: { role: 'user', parts: [{ type: 'text', text }] },
    metadata: { client_idempotency_key: key },
  })
  const key = randomUUID()
  const first = await bob.call<{ thread_id: string }>('message/send', params('Nightly build is green.', key))
  const again = await bob.call<{ thread_id: string }>('message/send', params('Nightly build is green.', key))
  equal(
    'The same key again gives the same thread',
    [again.status, again.result?.thread_id],
    [200, first.result?.thread_id],
  )
  const other = await bob.call('message/send', params('Nightly build is red.', key))
  equal(
    'with another payload it is refused',
    [other.status, other.error?.code, other.error?.data.symbol],
    [409, -32011, 'duplicate_idempotency_key'],
  )

  chapter('10  A diff of 100 KiB')
  const large = changes.renameEverything()
  const sha256 = createHash('sha256').update(large.diff).digest('hex')
  const big = await act('bob’s agent', `handoff_to_teammate (${Buffer.byteLength(large.diff)} bytes of diff)`, () =>
    bobsAgent.call('handoff_to_teammate', {
      to: 'frank@acme',
      intent: 'inform',
      summary: 'Users are members now.',
      artifacts: [{ type: 'file_diff', ...large }],
    }),
  )
  const bigView = await viewUntil(
    franksAgent,
    big['thread_id'],
    (view) => !view.isError && (view['artifacts'] as unknown[]).length > 0,
  )
  const [listed] = bigView['artifacts'] as { artifact_id: string; size: number; sha256: string }[]
  const { bytes, pages } = await act('frank’s agent', 'read_artifact, page by page', () =>
    readWhole(franksAgent, big['thread_id'], listed?.artifact_id),
  )
  holds(`It came in ${pages} pages`, pages > 1, pages)
  equal('byte for byte as git wrote it', createHash('sha256').update(bytes).digest('hex'), sha256)
  equal('and as the index says', [listed?.size, listed?.sha256], [Buffer.byteLength(large.diff), sha256])

  chapter('11  kill -9')
  const busy = await bobsAgent.call('handoff_to_teammate', {
    to: 'frank@acme',
    intent: 'inform',
    summary: 'A busy thread.',
  })
  await viewUntil(franksAgent, busy['thread_id'], (view) => !view.isError)
  const acknowledged = await act('both', 'send messages as fast as they can, and are killed in the middle', () =>
    sendUntilKilled([bob, frank], String(busy['thread_id'])),
  )
  note(`${acknowledged.length} messages were acknowledged before`)
  await act('both', 'relay-node start', () => Promise.all([bob.start(), frank.start()]))
  const shown = await act('both', 'catch up', () => showUntilEqual(busy['thread_id'], acknowledged.length))
  for (const [laptop, view] of [
    [bob, shown[0]],
    [frank, shown[1]],
  ] as const) {
    const bodies = new Set(view.entries.map(({ content }) => content?.own?.body ?? content?.untrusted?.body))
    equal(
      `Everything acknowledged is on ${laptop.name}`,
      acknowledged.filter((body) => !bodies.has(body)),
      [],
    )
  }
  equal('The state digests are equal', shown[0].state_digest, shown[1].state_digest)
}

/** Looks at the thread on both laptops until they agree. */
async function showUntilEqual(thread: unknown, count: number): Promise<[Shown, Shown]> {
  for (let patience = 50; ; patience--) {
    const [ofBob, ofFrank] = await Promise.all([show(bob, thread), show(frank, thread)])
    if ((ofBob.state_digest === ofFrank.state_digest && ofBob.entries.length > count) || patience === 0)
      return [ofBob, ofFrank]
  }
}

try {
  await main()
  process.exitCode = close()
} finally {
  await Promise.allSettled(agents.map((agent) => agent.close()))
  await Promise.allSettled([bob.stop(), frank.stop()])
  rmSync(folder, { recursive: true, force: true })
}
