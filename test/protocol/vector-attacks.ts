/** Histories in which somebody lies about what he knows, who he is or where he stands: every attack that is one. */
import { encodeCanonical, type Entry, hash, sign, signEntry } from '../../protocol/index.ts'
import { encodeHeader } from '../../protocol/entry.ts'
import {
  actor,
  type Actor,
  alice,
  begin,
  bob,
  bob2,
  CLOCK_MS,
  emptyStory,
  foundWorkspace,
  frank,
  frank2,
  mallory,
  wrapFor,
} from '../cast.ts'
import { history, type HistoryCase, record, team } from './vector-history.ts'

/** The entry with other words in its header and the signature that it had. */
function altered(entry: Entry, header: Partial<Entry['header']>, by: Actor): Entry {
  const forged = signEntry({ ...entry.header, ...header } as Entry['header'], by.key)
  const stale = sign(by.key, 'entry', [encodeHeader(entry.header)])
  return { ...forged, envelope: encodeCanonical([encodeHeader(forged.header), stale]) }
}

export const ATTACK_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'backdated-accept-after-a-seen-cancel',
    title: 'An accept that pretends not to know the cancel which its device acknowledged is void.',
    shows: ['attack: backdated accept after a seen cancel', 'fork'],
    tell() {
      const h = history()
      h.say(bob, 'cancel')
      h.say(frank, 'ack')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(bob, 'ack')
      return h.ends({ status: 'cancelled', final: true, void: [accept], forked: [frank] })
    },
  },
  {
    name: 'backdated-cancel-after-a-seen-accept',
    title: 'A cancel that pretends not to know the accept which its device acknowledged changes nothing.',
    shows: ['attack: backdated cancel after a seen accept', 'fork'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      h.say(bob, 'ack')
      h.say(bob, 'cancel', {}, { past: [h.create] })
      return h.ends({ status: 'accepted', final: true, accept, forked: [bob] })
    },
  },
  {
    name: 'fork-to-different-peers',
    title: 'Two entries of one number are both kept and shown as a fork; whoever wrote them builds on one alone.',
    shows: ['attack: fork to different peers', 'fork'],
    tell() {
      const h = history({ senders: [bob, bob2] })
      const one = h.say(frank, 'message', {}, { past: [h.create] })
      const other = h.say(frank, 'message', {}, { past: [h.create] })
      const seen = h.say(bob, 'ack', {}, { past: [one] })
      const both = h.say(bob2, 'ack', {}, { past: [other, seen] })
      h.lie(frank, 'message', 'own_fork', { past: [one, both] })
      const accept = h.say(frank, 'accept', {}, { past: [seen] })
      return h.ends({ status: 'accepted', accept, forked: [frank], waitingFor: [bob] })
    },
  },
  {
    name: 'accept-shown-to-one-and-cancel-acknowledged-to-another',
    title: 'A recipient that tells each sender laptop another story ends with a cancelled thread and a proven fork.',
    shows: ['attack: fork to different peers', 'fork', 'repudiated'],
    tell() {
      const h = history({ senders: [bob, bob2] })
      const cancel = h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      const complete = h.say(frank, 'complete', {}, { past: [accept] })
      const receipt = h.say(frank, 'ack', {}, { past: [cancel] })
      h.say(bob2, 'ack', {}, { past: [complete] })
      h.say(bob, 'message', {}, { past: [accept, cancel] })
      h.lie(bob, 'message', 'wrong_state', { past: [accept, receipt] })
      const late = h.entries().filter(({ header }) => header.kind === 'message')
      return h.ends({ status: 'cancelled', final: true, repudiated: true, void: [accept], forked: [frank], late })
    },
  },
  {
    name: 'replay-into-another-thread',
    title: 'An accept of another thread does not accept this one: not as it is, not relabelled, not built upon.',
    shows: ['attack: replay into another thread'],
    tell() {
      const workspace = team([frank])
      const other = begin({ workspace })
      const accept = other.say(frank, 'accept')
      const h = record(begin({ workspace, create: { nonce: hash('payload', ['this thread']) } }))
      h.arrive(other.create)
      h.arrive(accept)
      h.arrive(altered(accept, { th: h.create.id, deps: [h.create.id] }, frank), 'bad_signature')
      const { header } = h.draft(frank, 'accept')
      h.arrive(signEntry({ ...header, deps: [accept.id, h.create.id].toSorted() }, frank.key), 'thread_mismatch')
      return h.ends({ status: 'pending', waitingFor: [frank] })
    },
  },
  {
    name: 'replay-into-another-workspace',
    title: 'A handoff of another workspace waits for a roster that is not this one, and relabelled it is refused.',
    shows: ['attack: replay into another workspace'],
    tell() {
      const elsewhere = foundWorkspace(bob, 'other')
      elsewhere.enrol('frank', [frank])
      const foreign = begin({ workspace: elsewhere })
      const h = history()
      h.arrive(foreign.create)
      const relabelled = signEntry({ ...h.draft(frank, 'accept').header, ws: elsewhere.ws }, frank.key)
      h.arrive(relabelled, 'workspace_mismatch')
      return h.ends({ status: 'pending', waitingFor: [frank], waiting: [foreign.create] })
    },
  },
  {
    name: 'recipient-leaves-out-a-cancel-that-it-knows',
    title: 'A recipient that signs nothing about a cancel and accepts beside it gains only what it had been offered.',
    shows: ['attack: omission of known parents'],
    tell() {
      const h = history()
      const cancel = h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      const complete = h.say(frank, 'complete', {}, { past: [accept] })
      h.say(bob, 'ack', {}, { past: [cancel, complete] })
      return h.ends({ status: 'completed', final: true, accept, complete })
    },
  },
  {
    name: 'sender-leaves-out-an-accept-that-it-knows',
    title: 'A sender that leaves the accept out of what it builds on cancels nothing.',
    shows: ['attack: omission of known parents'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      h.say(bob, 'cancel', {}, { past: [h.create] })
      return h.ends({ status: 'completed', accept, complete, waitingFor: [bob] })
    },
  },
  {
    name: 'recipient-leaves-out-a-message-that-it-knows',
    title: 'A message that the complete leaves out is late, whatever its author was told.',
    shows: ['attack: omission of known parents', 'late'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      const message = h.say(bob, 'message')
      h.say(frank, 'message', {}, { past: [accept] })
      const complete = h.say(frank, 'complete', {}, { past: h.entries().filter((entry) => entry !== message) })
      h.lie(bob, 'message', 'wrong_state')
      return h.ends({ status: 'completed', accept, complete, late: [message], waitingFor: [bob] })
    },
  },
  {
    name: 'clocks-that-lie',
    title:
      'No clock decides anything: a cancel from the past and an accept from the far future cross as any others do.',
    shows: ['attack: clock lies'],
    tell() {
      const h = history()
      h.say(bob, 'cancel', {}, { past: [h.create], header: { ts: 0 } })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], header: { ts: Number.MAX_SAFE_INTEGER } })
      h.say(frank, 'message', {}, { past: [accept], header: { ts: CLOCK_MS - 1 } })
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'an-old-roster-point',
    title: 'An entry may not cite an older roster than its parents do.',
    shows: ['attack: an old roster point'],
    tell() {
      const workspace = team([frank, frank2])
      const old = { ros: workspace.roster().point }
      workspace.write('remove-device', { device: frank2.device })
      const h = record(begin({ workspace }))
      h.lie(frank, 'accept', 'roster_went_back', { header: old })
      const accept = h.say(frank, 'accept')
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'a-removed-device-that-acts-on',
    title:
      'A removed laptop writes nothing under the roster that removes it; what it writes under the old one a fence cuts.',
    shows: ['attack: a removed device that acts on', 'attack: an old roster point', 'fence'],
    tell() {
      const workspace = team([frank])
      const h = record(begin({ workspace }))
      const old = { ros: workspace.roster().point }
      workspace.write('remove-device', { device: frank.device })
      h.lie(frank, 'accept', 'device_removed')
      const fence = h.say(bob, 'fence', { device: frank.device })
      h.lie(frank, 'accept', 'roster_went_back', { past: [fence], header: old })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], header: old })
      const complete = h.say(frank, 'complete', {}, { past: [accept], header: old })
      return h.ends({ status: 'pending', waitingFor: [frank], cut: [accept, complete] })
    },
  },
  {
    name: 'a-removed-member-that-acts-on',
    title: 'Every laptop of a removed member is removed with it.',
    shows: ['attack: a removed device that acts on'],
    tell() {
      const workspace = team([frank, frank2])
      const h = record(begin({ workspace, recipients: [frank, frank2] }))
      workspace.write('remove-member', { member: workspace.member('frank') })
      h.lie(frank, 'accept', 'device_removed')
      h.lie(frank2, 'ack', 'device_removed')
      h.say(bob, 'cancel')
      h.say(bob, 'fence', { device: frank.device })
      h.say(bob, 'fence', { device: frank2.device })
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'a-key-swapped-for-the-recipient',
    title: 'A create that lists another member’s key as the recipient’s is refused, and whatever builds on it too.',
    shows: ['attack: key swap for a recipient', 'refused parent'],
    tell() {
      const workspace = team([frank, mallory])
      const empty = emptyStory(workspace, [bob], [frank])
      const wraps = [bob, mallory].map(({ device }) => wrapFor(device))
      const create = empty.draft(bob, 'create', { recipients: [mallory.device], wraps })
      const h = record({ ...empty, create })
      h.arrive(create, 'foreign_device')
      const plain = { ...create.header, th: create.id, dev: mallory.device, deps: [create.id] }
      const accept = signEntry(
        { ...plain, kind: 'accept', ctl: {}, body: { ...bodyOf(create), key: create.id } },
        mallory.key,
      )
      h.arrive(accept, 'parent_refused')
      return h.ends({ status: null })
    },
  },
  {
    name: 'a-device-added-in-silence',
    title: 'A laptop that no create and no wrap of its past names has no side, and nobody adds another member’s.',
    shows: ['attack: a device added in silence', 'added device'],
    tell() {
      const h = history({}, [frank2, mallory])
      h.lie(frank2, 'accept', 'no_side')
      h.lie(mallory, 'wrap', 'no_side', { ctl: { adds: mallory.device } })
      h.lie(frank, 'wrap', 'foreign_device', { ctl: { adds: mallory.device } })
      h.lie(bob, 'wrap', 'foreign_device', { ctl: { adds: frank2.device } })
      const wrap = h.say(frank, 'wrap', { adds: frank2.device })
      h.lie(frank, 'wrap', 'repeated_device', { ctl: { adds: frank2.device } })
      h.lie(frank2, 'accept', 'no_side', { past: [h.create] })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap] })
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'a-laptop-that-is-enrolled-later',
    title: 'A laptop that is enrolled after the roster point of the thread is added under the point that enrols it.',
    shows: ['added device'],
    tell() {
      const workspace = team([frank])
      const h = record(begin({ workspace }))
      const old = { ros: workspace.roster().point }
      const third = actor('frank3')
      workspace.enrolDevice(workspace.member('frank'), third)
      h.lie(frank, 'wrap', 'foreign_device', { ctl: { adds: third.device }, header: old })
      h.say(frank, 'wrap', { adds: third.device })
      h.lie(third, 'accept', 'device_not_enrolled', { header: old })
      const accept = h.say(third, 'accept')
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'a-stranger-and-a-third-member',
    title: 'A key that is in no workspace, and a member who has nothing to do with the thread, write nothing.',
    shows: ['attack: a device added in silence'],
    tell() {
      const h = history({}, [alice])
      h.lie(actor('carol'), 'ack', 'device_not_enrolled')
      h.lie(alice, 'ack', 'no_side')
      h.lie(alice, 'message', 'no_side')
      return h.ends({ status: 'pending', waitingFor: [frank] })
    },
  },
]

function bodyOf(entry: Entry): NonNullable<Entry['header']['body']> {
  const { body } = entry.header
  if (!body) throw new Error('the entry has no body')
  return body
}
