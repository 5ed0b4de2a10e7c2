/** Refusals of an entry by its place, its author and its past (rules S2 to S9). */
import { type CtlOf, type Entry, hash } from '../../../protocol/index.ts'
import { acme, alice, begin, bob, bob2, carol, emptyStory, frank, frank2, mallory, wrapFor } from '../../cast.ts'
import { judged } from '../vector-exhibits.ts'
import { team } from '../vector-history.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

const shared = acme()
/** Enough for most cases. */
const two = team([frank, frank2])
const STRANGER = hash('payload', ['nobody'])
const ACTION = hash('action', [])

function start(options: Parameters<typeof begin>[0] = {}) {
  return begin({ workspace: two, ...options })
}

/** A create that is judged in a thread of its own. */
function judgeCreate(ctl: Partial<CtlOf<'create'>>, who = bob) {
  const story = emptyStory(shared, [bob], [frank])
  return judged(story, story.draft(who, 'create', ctl))
}

const PLACE: readonly RefusalCase[] = [
  refusalCase('missing_create', 'a create that names a parent', (wrong) => {
    const story = emptyStory(two, [bob], [frank])
    return judged(story, story.draft(bob, 'create', {}, { header: { deps: wrong ? [STRANGER] : [] } }))
  }),
  refusalCase('missing_create', 'an entry that names no parent', (wrong) => {
    const story = start()
    return judged(story, story.draft(frank, 'message', {}, { header: { deps: wrong ? [] : [story.create.id] } }))
  }),
  refusalCase('missing_create', 'a thread that its past does not begin with', (wrong) => {
    const story = start()
    return judged(story, story.draft(frank, 'message', {}, wrong ? { header: { th: STRANGER } } : {}))
  }),
  refusalCase('version_mismatch', 'another version than its thread', (wrong) => {
    const story = start()
    return judged(story, story.draft(frank, 'message', {}, { header: { v: wrong ? 2 : 1 } }), { versions: [1, 2] })
  }),
  refusalCase('workspace_mismatch', 'replayed into another workspace', (wrong) => {
    const story = emptyStory(two, [bob], [frank])
    return judged(story, story.draft(bob, 'create', {}, wrong ? { header: { ws: STRANGER } } : {}))
  }),
  refusalCase('workspace_mismatch', 'another workspace than its thread', (wrong) => {
    const story = start()
    return judged(story, story.draft(frank, 'message', {}, wrong ? { header: { ws: STRANGER } } : {}))
  }),
  refusalCase('thread_mismatch', 'a parent from another thread', (wrong) => {
    const story = start()
    const other = start({ create: { nonce: STRANGER } }).create
    const entry = story.draft(frank, 'message', {}, { header: { deps: [wrong ? other.id : story.create.id] } })
    return judged(story, entry, { elsewhere: [other] })
  }),
  refusalCase('parent_refused', 'a parent that was refused', (wrong) => {
    const story = start()
    const refused = story.draft(mallory, 'message')
    const deps = [story.create.id, ...(wrong ? [refused.id] : [])].toSorted()
    const entry = story.draft(frank, 'message', {}, { header: { deps } })
    return judged(story, entry, { refused: [refused] })
  }),
  refusalCase('redundant_parent', 'a dep in the past of another dep', (wrong) => {
    const story = start()
    const message = story.say(bob, 'message')
    const deps = [message.id, ...(wrong ? [story.create.id] : [])].toSorted()
    return judged(story, story.draft(frank, 'accept', {}, { header: { deps } }))
  }),
  refusalCase('redundant_parent', 'a dep in the past of prev', (wrong) => {
    const story = start()
    story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'complete', {}, { header: { deps: wrong ? [story.create.id] : [] } }))
  }),
  refusalCase('redundant_parent', 'prev once more as a dep', (wrong) => {
    const story = start()
    const accept = story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'complete', {}, { header: { deps: wrong ? [accept.id] : [] } }))
  }),
  refusalCase('chain_broken', 'a number skipped', (wrong) => {
    const story = start()
    story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'complete', {}, { header: { seq: wrong ? 2 : 1 } }))
  }),
  refusalCase('chain_broken', 'prev by another device', (wrong) => {
    const story = start({ recipients: [frank, frank2] })
    const accept = story.say(frank, 'accept')
    const options = wrong ? { header: { seq: 1, prev: accept.id, deps: [] } } : {}
    return judged(story, story.draft(frank2, 'complete', {}, options))
  }),
  refusalCase('own_fork', 'both branches of its own fork in its past', (wrong) => {
    const story = start()
    const one = story.say(frank, 'message', {}, { past: [story.create] })
    const other = story.say(frank, 'message', {}, { past: [story.create] })
    const seen = story.say(bob, 'ack', {}, { past: wrong ? [one, other] : [one] })
    return judged(story, story.draft(frank, 'message', {}, { past: [one, seen] }))
  }),
  refusalCase('own_fork', 'number 0 again, over an entry of its own', (wrong) => {
    const story = start()
    const one = story.say(frank, 'message')
    const seen = story.say(bob, 'ack')
    const header = wrong ? { seq: 0, prev: null, deps: [seen.id] } : {}
    return judged(story, story.draft(frank, 'message', {}, { past: [one, seen], header }))
  }),
]

const ROSTER: readonly RefusalCase[] = [
  refusalCase('device_not_enrolled', 'carol has a key and is in no workspace', (wrong) => {
    const story = start()
    return judged(story, story.draft(wrong ? carol : frank, 'message'))
  }),
  refusalCase('device_removed', 'a removed laptop cites the roster that removes it', (wrong) => {
    const workspace = team([frank, frank2])
    const before = workspace.roster().point
    const story = begin({ workspace })
    workspace.write('remove-device', { device: frank.device })
    return judged(story, story.draft(frank, 'accept', {}, wrong ? {} : { header: { ros: before } }))
  }),
  refusalCase('device_removed', 'a laptop of a removed member', (wrong) => {
    const workspace = acme()
    const story = begin({ workspace })
    workspace.write('remove-member', { member: workspace.member(wrong ? 'frank' : 'alice') })
    return judged(story, story.draft(frank, 'accept'))
  }),
  refusalCase('roster_position', 'the number of another roster point', (wrong) => {
    const story = start()
    const [position, id] = two.roster().point
    return judged(story, story.draft(frank, 'message', {}, { header: { ros: [wrong ? position - 1 : position, id] } }))
  }),
  refusalCase('roster_went_back', 'an older roster point than its parent’s', (wrong) => {
    const workspace = team([frank, frank2])
    const before = workspace.roster().point
    workspace.write('set-bootstrap', { addresses: [] })
    const story = begin({ workspace })
    return judged(story, story.draft(frank, 'accept', {}, wrong ? { header: { ros: before } } : {}))
  }),
]

const SIDES: readonly RefusalCase[] = [
  refusalCase('author_not_listed', 'bob creates for a laptop of his other than the one he writes on', (wrong) => {
    const senders = [wrong ? bob2.device : bob.device]
    return judgeCreate({ senders, wraps: [...senders, frank.device].map(wrapFor) })
  }),
  refusalCase('foreign_device', 'a key swapped in for the recipient', (wrong) => {
    const recipients = [wrong ? mallory.device : frank.device]
    return judgeCreate({ to: shared.member('frank'), recipients, wraps: [bob.device, ...recipients].map(wrapFor) })
  }),
  refusalCase('foreign_device', 'somebody else’s laptop among the sender’s', (wrong) => {
    const senders = [bob.device, ...(wrong ? [mallory.device] : [])]
    return judgeCreate({ senders, wraps: [...senders, frank.device].map(wrapFor) })
  }),
  refusalCase('foreign_device', 'a wrap that adds a laptop of another member', (wrong) => {
    const story = start()
    return judged(story, story.draft(frank, 'wrap', { adds: wrong ? mallory.device : frank2.device }))
  }),
  refusalCase('foreign_device', 'a share to a laptop that is not the reader’s', (wrong) => {
    const story = start({ workspace: shared })
    const devices = [wrong ? mallory.device : alice.device]
    return judged(story, story.draft(bob, 'share', { devices, wraps: devices.map(wrapFor) }))
  }),
  refusalCase('repeated_device', 'a recipient device twice', (wrong) => {
    const recipients = [frank.device, wrong ? frank.device : frank2.device]
    return judgeCreate({ recipients, wraps: [bob.device, ...recipients].map(wrapFor) })
  }),
  refusalCase('repeated_device', 'a wrap that adds a device which create lists', (wrong) => {
    const story = start()
    return judged(story, story.draft(frank, 'wrap', { adds: wrong ? frank.device : frank2.device }))
  }),
  refusalCase('repeated_device', 'a share that names a device twice', (wrong) => {
    const story = start({ workspace: shared })
    const devices = wrong ? [alice.device, alice.device] : [alice.device]
    return judged(story, story.draft(bob, 'share', { devices, wraps: devices.map(wrapFor) }))
  }),
  refusalCase('same_member', 'a handoff to oneself', (wrong) => {
    const recipients = [wrong ? bob2.device : frank.device]
    const to = shared.member(wrong ? 'bob' : 'frank')
    return judgeCreate({ to, recipients, wraps: [bob.device, ...recipients].map(wrapFor) })
  }),
  refusalCase('same_member', 'a share to a participant', (wrong) => {
    const story = start({ workspace: shared })
    const devices = [wrong ? frank2.device : alice.device]
    return judged(
      story,
      story.draft(bob, 'share', {
        reader: shared.member(wrong ? 'frank' : 'alice'),
        devices,
        wraps: devices.map(wrapFor),
      }),
    )
  }),
  refusalCase('unknown_member', 'a recipient that does not exist', (wrong) =>
    judgeCreate(wrong ? { to: STRANGER } : {}),
  ),
  refusalCase('unknown_member', 'a reader that was removed', (wrong) => {
    const workspace = acme()
    const reader = workspace.member('alice')
    const story = begin({ workspace })
    workspace.write('remove-member', { member: workspace.member(wrong ? 'alice' : 'mallory') })
    return judged(story, story.draft(bob, 'share', { reader, devices: [alice.device], wraps: [wrapFor(alice.device)] }))
  }),
  refusalCase('no_side', 'a member who has nothing to do with the thread', (wrong) => {
    const story = start({ workspace: shared })
    return judged(story, story.draft(wrong ? mallory : frank, 'ack'))
  }),
  refusalCase('no_side', 'a second laptop that nobody added', (wrong) => {
    const story = start()
    if (!wrong) story.say(frank, 'wrap', { adds: frank2.device })
    return judged(story, story.draft(frank2, 'accept'))
  }),
  refusalCase('wrong_side', 'the sender accepts', (wrong) => {
    const story = start()
    return judged(story, story.draft(wrong ? bob : frank, 'accept'))
  }),
  refusalCase('wrong_side', 'the recipient cancels', (wrong) => {
    const story = start()
    return judged(story, story.draft(wrong ? frank : bob, 'cancel'))
  }),
  refusalCase('wrong_side', 'the sender completes', (wrong) => {
    const story = start()
    story.say(frank, 'accept')
    return judged(story, story.draft(wrong ? bob : frank, 'complete'))
  }),
  refusalCase('wrong_side', 'the sender approves its own proposal', (wrong) => {
    const story = start({ create: { intent: 'propose_action', action: ACTION } })
    story.say(frank, 'accept')
    return judged(story, story.draft(wrong ? bob : frank, 'approve'))
  }),
  refusalCase('reader_only', 'a reader by share writes', (wrong) => {
    const story = start({ workspace: shared })
    story.say(bob, 'share')
    return judged(story, story.draft(alice, wrong ? 'message' : 'ack'))
  }),
  refusalCase('reader_only', 'a member of role reader writes', (wrong) => {
    const workspace = team([frank, frank2])
    const story = begin({ workspace })
    workspace.write('set-role', { member: workspace.member('frank'), role: 'reader' })
    return judged(story, story.draft(frank, wrong ? 'accept' : 'ack'))
  }),
]

const STATES: readonly RefusalCase[] = [
  refusalCase('wrong_state', 'an accept on a cancel that it knows', (wrong) => {
    const story = start()
    story.say(bob, 'cancel')
    return judged(story, story.draft(frank, 'accept', {}, wrong ? {} : { past: [story.create] }))
  }),
  refusalCase('wrong_state', 'a cancel on an accept that it knows', (wrong) => {
    const story = start()
    story.say(frank, 'accept')
    return judged(story, story.draft(bob, 'cancel', {}, wrong ? {} : { past: [story.create] }))
  }),
  refusalCase('wrong_state', 'a complete without an accept', (wrong) => {
    const story = start()
    if (!wrong) story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'complete'))
  }),
  refusalCase('wrong_state', 'an approve before the accept', (wrong) => {
    const story = start({ create: { intent: 'propose_action', action: ACTION } })
    if (!wrong) story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'approve'))
  }),
  ...(['message', 'revise', 'annotate', 'share'] as const).map((kind) =>
    refusalCase('wrong_state', `${kind} after the end`, (wrong) => {
      const story = start({ workspace: shared })
      story.say(frank, 'accept')
      if (wrong) story.say(frank, 'complete')
      return judged(story, story.draft(bob, kind))
    }),
  ),
  refusalCase('approval_missing', 'a proposed action done without an approve', (wrong) => {
    const story = start({ create: { intent: 'propose_action', action: ACTION } })
    story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'complete', { outcome: wrong ? 'done' : 'declined' }))
  }),
  refusalCase('approval_missing', 'a rejection after the approval', (wrong) => {
    const story = start({ create: { intent: 'propose_action', action: ACTION } })
    story.say(frank, 'accept')
    story.say(frank, 'approve')
    story.say(frank, 'approve', { verdict: 'rejected' })
    if (!wrong) story.say(frank, 'approve')
    return judged(story, story.draft(frank, 'complete'))
  }),
  refusalCase('approval_missing', 'a rejection beside the approval', (wrong) => {
    const story = start({ recipients: [frank, frank2], create: { intent: 'propose_action', action: ACTION } })
    const accept = story.say(frank, 'accept')
    const yes = story.say(frank, 'approve', {}, { past: [accept] })
    const no = story.say(frank2, 'approve', { verdict: 'rejected' }, { past: [accept] })
    return judged(story, story.draft(frank, 'complete', {}, { past: wrong ? [yes, no] : [yes] }))
  }),
]

function targets(kind: 'annotate' | 'resolve'): RefusalCase {
  return refusalCase('target_missing', `${kind} names what is not in its past`, (wrong) => {
    const story = start()
    const annotation = story.say(bob, 'annotate')
    const past: Entry[] = [wrong ? story.create : annotation]
    if (kind === 'annotate')
      return judged(story, story.draft(frank, kind, { target: wrong ? annotation.id : story.create.id }, { past }))
    return judged(story, story.draft(frank, kind, { annotation: annotation.id, revision: story.create.id }, { past }))
  })
}

const ARGUMENTS: readonly RefusalCase[] = [
  refusalCase('action_differs', 'approves another action than the one proposed', (wrong) => {
    const story = start({ create: { intent: 'propose_action', action: ACTION } })
    story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'approve', { action: wrong ? STRANGER : ACTION }))
  }),
  refusalCase('action_differs', 'approves where nothing is proposed', (wrong) => {
    const story = start(wrong ? {} : { create: { intent: 'propose_action', action: ACTION } })
    story.say(frank, 'accept')
    return judged(story, story.draft(frank, 'approve', { action: ACTION }))
  }),
  refusalCase('base_not_heads', 'a revision of a record that is not the head it knows', (wrong) => {
    const story = start()
    const revision = story.say(bob, 'revise')
    return judged(story, story.draft(frank, 'revise', { base: [wrong ? story.create.id : revision.id] }))
  }),
  refusalCase('base_not_heads', 'one head of a fork that it knows', (wrong) => {
    const story = start()
    const one = story.say(bob, 'revise', {}, { past: [story.create] })
    const other = story.say(frank, 'revise', {}, { past: [story.create] })
    return judged(story, story.draft(frank, 'revise', { base: wrong ? [one.id] : [one.id, other.id].toSorted() }))
  }),
  targets('annotate'),
  targets('resolve'),
  refusalCase('target_missing', 'a share of a key that no create or wrap of its past introduced', (wrong) => {
    const story = start({ workspace: shared })
    return judged(story, story.draft(bob, 'share', wrong ? { key: STRANGER } : {}))
  }),
  refusalCase('wrap_cover', 'a create that leaves out the recipient', (wrong) => {
    const wraps = [bob.device, ...(wrong ? [] : [frank.device])].map(wrapFor)
    return judgeCreate({ wraps })
  }),
  refusalCase('wrap_cover', 'a create that wraps to one more', (wrong) => {
    const wraps = [bob.device, frank.device, ...(wrong ? [mallory.device] : [])].map(wrapFor)
    return judgeCreate({ wraps })
  }),
  refusalCase('wrap_cover', 'a wrap that leaves out a reader', (wrong) => {
    const story = start({ workspace: shared })
    story.say(bob, 'share')
    const wraps = [bob.device, frank.device, ...(wrong ? [] : [alice.device])].map(wrapFor)
    return judged(story, story.draft(bob, 'wrap', { wraps }))
  }),
  refusalCase('wrap_cover', 'a wrap to a removed laptop', (wrong) => {
    const workspace = team([frank, frank2])
    const story = begin({ workspace, recipients: [frank, frank2] })
    workspace.write('remove-device', { device: frank2.device })
    const wraps = [bob.device, frank.device, ...(wrong ? [frank2.device] : [])].map(wrapFor)
    return judged(story, story.draft(bob, 'wrap', { wraps }))
  }),
  refusalCase('wrap_cover', 'a share that wraps to nobody', (wrong) => {
    const story = start({ workspace: shared })
    return judged(story, story.draft(bob, 'share', wrong ? { wraps: [] } : {}))
  }),
  refusalCase('fence_target', 'a laptop that is not removed', (wrong) => {
    const workspace = team([frank, frank2])
    const story = begin({ workspace })
    if (!wrong) workspace.write('remove-device', { device: frank.device })
    return judged(story, story.draft(bob, 'fence', { device: frank.device }))
  }),
  refusalCase('fence_target', 'a laptop that is removed later than the roster it cites', (wrong) => {
    const workspace = team([frank, frank2])
    const story = begin({ workspace })
    const before = workspace.roster().point
    workspace.write('remove-device', { device: frank.device })
    return judged(story, story.draft(bob, 'fence', { device: frank.device }, wrong ? { header: { ros: before } } : {}))
  }),
  refusalCase('fence_target', 'a laptop of its own side', (wrong) => {
    const workspace = acme()
    const story = begin({ workspace, senders: [bob, bob2] })
    workspace.write('remove-device', { device: bob2.device })
    return judged(story, story.draft(wrong ? bob : frank, 'fence', { device: bob2.device }))
  }),
]

export const THREAD_CASES: readonly RefusalCase[] = [...PLACE, ...ROSTER, ...SIDES, ...STATES, ...ARGUMENTS]
