/** The state that is kept up entry by entry is what the reducer says of the whole set, after every entry. */
import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { addNode, type Entry, type Kind, reduce } from '../../protocol/index.ts'
import { emptyTracker, stateOf, track } from '../../src/node/tracker.ts'
import { acme, type Actor, alice, begin, bob, bob2, frank, frank2, type Story } from '../cast.ts'

const WRITERS: readonly Actor[] = [bob, bob2, frank, frank2, alice]
const KINDS = [
  'accept',
  'cancel',
  'complete',
  'message',
  'revise',
  'annotate',
  'approve',
  'share',
  'wrap',
  'ack',
  'fence',
] as const satisfies readonly Kind[]

interface Step {
  who: number
  kind: (typeof KINDS)[number]
  /** Which entries the author pretends to know: all where it is honest. */
  known: 'all' | number[]
  removes: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.nat(WRITERS.length - 1),
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('accept', 'ack', 'message', 'cancel') },
    fc.constantFrom(...KINDS),
  ),
  known: fc.oneof(fc.constant('all' as const), fc.array(fc.nat(40), { minLength: 1, maxLength: 3 })),
  removes: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.constant(true)),
})

const ACTION = 'ab'.repeat(32)

function contested(): Story {
  return begin({
    workspace: acme(),
    senders: [bob, bob2],
    recipients: [frank, frank2],
    create: { intent: 'propose_action', action: ACTION },
  })
}

/** Plays `steps` by the rules, and gives what was stored, with a tracker that was asked after every entry. */
function play(
  steps: readonly Step[],
  onEntry: (story: Story) => void,
  take: (story: Story, entry: Entry) => boolean,
): void {
  const story = contested()
  const before = story.workspace.roster().point
  onEntry(story)
  for (const { who, kind, known, removes } of steps) {
    const author = WRITERS[who] ?? bob
    const victim = who < 2 ? frank2 : bob2
    const isIn = ({ device }: Actor) => story.workspace.roster().devices.get(device)?.removed === false
    if (removes && isIn(victim)) story.workspace.write('remove-device', { device: victim.device })
    // Who was removed goes on as if it had not heard of it, and of what others said since.
    const header = isIn(author) ? {} : { ros: before }
    const entries = story.entries().filter(({ header }) => isIn(author) || header.ros[0] === before[0])
    const past = known === 'all' ? entries : known.flatMap((at) => entries[at % entries.length] ?? [])
    const ctl =
      kind === 'fence' ? { device: victim.device } : kind === 'complete' ? { outcome: 'partial' as const } : {}
    const entry = story.draft(author, kind, ctl, { past, header })
    if (take(story, entry)) onEntry(story)
  }
}

property.prop([fc.array(step, { minLength: 1, maxLength: 24 })], { numRuns: 200 })(
  'on any history, honest or not, the tracker agrees with the reducer after every entry',
  (steps) => {
    const tracker = emptyTracker()
    play(
      steps,
      ({ graph }) => expect(stateOf(tracker, graph)).toEqual(reduce(graph)),
      (story, entry) => {
        const judged = story.judge(entry)
        if (judged.ok !== true) return false
        addNode(story.graph, judged.value)
        track(tracker, story.graph, judged.value)
        return true
      },
    )
  },
)

test('histories of this kind reach every status, forks, fences, void and late entries', () => {
  const reached = new Set<string>()
  for (const steps of fc.sample(fc.array(step, { minLength: 8, maxLength: 24 }), { seed: 7, numRuns: 150 })) {
    play(
      steps,
      ({ graph }) => {
        const state = reduce(graph)
        reached.add(state.status).add(state.final ? 'final' : 'open')
        for (const sort of ['void', 'cut', 'late', 'forked'] as const) if (state[sort].size > 0) reached.add(sort)
        if (graph.byKind.accept.length > 1) reached.add('two accepts')
      },
      (story, entry) => {
        if (story.judge(entry).ok !== true) return false
        story.add(entry)
        return true
      },
    )
  }
  const all = ['pending', 'accepted', 'completed', 'cancelled', 'final', 'open', 'void', 'cut', 'late', 'forked']
  for (const what of [...all, 'two accepts']) expect([...reached]).toContain(what)
})

test('which of two accepts leads may be settled by a mere receipt of the author', () => {
  const story = contested()
  const { graph } = story
  const tracker = emptyTracker()
  const say = (who: Actor, kind: 'accept' | 'ack', past: Entry[]): Entry => {
    const judged = story.judge(story.draft(who, kind, {}, { past }))
    if (judged.ok !== true) throw new Error('not admitted')
    addNode(graph, judged.value)
    track(tracker, graph, judged.value)
    expect(stateOf(tracker, graph)).toEqual(reduce(graph))
    return judged.value.entry
  }
  const first = say(frank, 'accept', [story.create])
  const second = say(frank2, 'accept', [story.create])
  say(bob2, 'ack', [first])
  expect(stateOf(tracker, graph)).toMatchObject({ final: true, lead: { accept: first.id } })
  say(bob, 'ack', [second])
  expect(stateOf(tracker, graph)).toMatchObject({ final: true, lead: { accept: second.id } })
})
