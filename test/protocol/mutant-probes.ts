/** Stories that neither the explorer's worlds nor the vectors tell, for rules to judge. */
import { type Entry, type Hex, type RosterLog, type Status, type ThreadState } from '../../protocol/index.ts'
import { acme, alice, begin, bob, emptyStory, frank, frank2, mustAdmit } from '../cast.ts'
import type { LoadedRules } from './mutant.ts'

export interface Probe {
  readonly name: string
  /** What the rules say of the last entry, or of the state that all of them make. */
  readonly says: (rules: LoadedRules) => string
  readonly expected: string
}

interface Judged {
  readonly log: RosterLog
  readonly entries: readonly Entry[]
}

/** Takes all entries in but the last, which it judges. */
function verdictOf(rules: LoadedRules, { log, entries }: Judged): string {
  const graph = rules.emptyGraph()
  let said = 'nothing'
  for (const entry of entries) {
    const verdict = rules.authorize({ graph, log, isRefused: () => false }, entry)
    said = verdict.ok === true ? 'stored' : verdict.ok === 'missing' ? 'missing' : verdict.refusal
    if (verdict.ok === true) rules.addNode(graph, verdict.value)
  }
  return said
}

function stateOf(rules: LoadedRules, { log, entries }: Judged): ThreadState {
  const graph = rules.emptyGraph()
  for (const entry of entries) {
    const verdict = rules.authorize({ graph, log, isRefused: () => false }, entry)
    if (verdict.ok === true) rules.addNode(graph, verdict.value)
  }
  return rules.reduce(graph)
}

/** A reply that cites the other branch of a roster which its owner forked. */
function onTheOtherBranch(): Judged {
  const workspace = acme()
  const [position] = workspace.roster().point
  const branches = ['left', 'right'].map((address) => workspace.draft('set-bootstrap', { addresses: [address] }))
  for (const branch of branches) mustAdmit(workspace.log, branch)
  const story = begin({ workspace })
  const other = branches.find(({ id }) => id !== story.create.header.ros[1])
  const ros: [number, Hex] = [position + 1, other?.id ?? '']
  return { log: workspace.log, entries: [story.create, story.draft(frank, 'accept', {}, { header: { ros } })] }
}

function createTo(removed: 'member' | 'device'): Judged {
  const workspace = acme()
  const to = workspace.member('frank')
  if (removed === 'member') workspace.write('remove-member', { member: to })
  else workspace.write('remove-device', { device: frank.device })
  const create = emptyStory(workspace, [bob], [frank]).draft(bob, 'create', { to })
  return { log: workspace.log, entries: [create] }
}

/** frank's accept is void by his own fork; frank2's, which frank completed, is cut by a fence. */
function completeBesideAFork(): Judged {
  const workspace = acme()
  const story = begin({ workspace, recipients: [frank, frank2] })
  const old = { ros: workspace.roster().point }
  workspace.write('remove-device', { device: frank2.device })
  const past = [story.create]
  const cancel = story.say(bob, 'cancel', {}, { past, header: old })
  const accept = story.say(frank2, 'accept', {}, { past, header: old })
  story.say(frank, 'complete', {}, { past: [accept], header: old })
  story.say(frank, 'accept', {}, { past, header: old })
  story.say(frank, 'ack', {}, { past: [cancel], header: old })
  story.say(bob, 'fence', { device: frank2.device }, { past: [cancel] })
  return { log: workspace.log, entries: story.entries() }
}

function readerOfRole(kind: 'ack' | 'message'): Judged {
  const workspace = acme()
  workspace.write('set-role', { member: workspace.member('alice'), role: 'reader' })
  const story = begin({ workspace })
  story.say(bob, 'share')
  return { log: workspace.log, entries: [...story.entries(), story.draft(alice, kind)] }
}

const status = (state: ThreadState): Status => state.status

export const PROBES: readonly Probe[] = [
  {
    name: 'an entry on the other branch of a forked roster',
    says: (rules) => verdictOf(rules, onTheOtherBranch()),
    expected: 'roster_went_back',
  },
  {
    name: 'a create to a removed member',
    says: (rules) => verdictOf(rules, createTo('member')),
    expected: 'unknown_member',
  },
  {
    name: 'a create to a removed device',
    says: (rules) => verdictOf(rules, createTo('device')),
    expected: 'foreign_device',
  },
  {
    name: 'an ack by a member of role reader',
    says: (rules) => verdictOf(rules, readerOfRole('ack')),
    expected: 'stored',
  },
  {
    name: 'a complete that lost its accept to a fence while another accept was taken back',
    says(rules) {
      const state = stateOf(rules, completeBesideAFork())
      return `${status(state)}, repudiated: ${state.repudiated}`
    },
    expected: 'cancelled, repudiated: false',
  },
]
