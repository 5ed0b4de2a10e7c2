/** Histories with removed devices and the fences that name them, in both directions. */
import { alice, bob, bob2, begin, type BeginOptions, frank, frank2, type Actor, wrapFor } from '../cast.ts'
import { type HistoryCase, record, team } from './vector-history.ts'

/** A thread in which `removed` are removed after the create; `old` cites the roster before that. */
function removing(removed: readonly Actor[], options: BeginOptions = {}, others: readonly Actor[] = []) {
  const { senders = [bob], recipients = [frank] } = options
  const workspace = team([...senders, ...recipients, ...others])
  const h = record(begin({ workspace, ...options }))
  const old = { header: { ros: workspace.roster().point } }
  for (const { device } of removed) workspace.write('remove-device', { device })
  return { h, old }
}

const both = [bob, frank, frank2].map(({ device }) => wrapFor(device))

export const FENCE_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'fence-crosses-an-accept',
    title: 'A fence takes the effect from an accept that it crosses and that no sender entry includes.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank])
      h.say(bob, 'fence', { device: frank.device })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      return h.ends({ status: 'pending', waitingFor: [frank], cut: [accept] })
    },
  },
  {
    name: 'fence-after-a-seen-accept',
    title: 'A fence leaves an accept that the sender had included.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank])
      const accept = h.say(frank, 'accept', {}, old)
      h.say(bob, 'ack', {}, old)
      h.say(bob, 'fence', { device: frank.device })
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'fence-and-another-sender-laptop-that-includes-the-accept',
    title: 'A fence leaves an accept that another laptop of its side included without knowing of the fence.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank], { senders: [bob, bob2] })
      const accept = h.say(frank, 'accept', {}, old)
      h.say(bob, 'fence', { device: frank.device }, { past: [h.create] })
      h.say(bob2, 'ack', {}, { past: [accept], ...old })
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'fence-and-a-sender-entry-that-knows-of-it',
    title: 'What a sender laptop includes after it knows the fence undoes no cut.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank], { senders: [bob, bob2] })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      const fence = h.say(bob, 'fence', { device: frank.device }, { past: [h.create] })
      h.say(bob2, 'ack', {}, { past: [accept, fence] })
      return h.ends({ status: 'pending', waitingFor: [frank], cut: [accept] })
    },
  },
  {
    name: 'fence-cuts-the-accept-of-an-added-laptop',
    title: 'A fence that cuts the wrap which added a laptop takes the effect from that laptop’s accept.',
    shows: ['fence', 'added device'],
    tell() {
      const { h, old } = removing([frank], {}, [frank2])
      h.say(bob, 'fence', { device: frank.device })
      const wrap = h.say(frank, 'wrap', { adds: frank2.device, wraps: both }, { past: [h.create], ...old })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap], ...old })
      return h.ends({ status: 'pending', waitingFor: [frank], cut: [wrap], void: [accept] })
    },
  },
  {
    name: 'fence-cuts-a-complete',
    title: 'A fence cuts a complete that crossed it; the accept that the sender had included stays.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank], { recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept', {}, old)
      const seen = h.say(bob, 'ack', {}, old)
      h.say(bob, 'fence', { device: frank.device })
      const complete = h.say(frank, 'complete', {}, { past: [seen], ...old })
      return h.ends({ status: 'accepted', final: true, accept, cut: [complete] })
    },
  },
  {
    name: 'fence-never-cuts-a-receipt',
    title: 'A fenced laptop’s message has no effect, and its ack still counts.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank])
      const cancel = h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device })
      const message = h.say(frank, 'message', {}, { past: [h.create], ...old })
      h.say(frank, 'ack', {}, { past: [message, cancel], ...old })
      return h.ends({ status: 'cancelled', final: true, cut: [message], late: [message] })
    },
  },
  {
    name: 'fence-settles-a-cancel',
    title: 'A fence after the cancel settles it for a laptop that will never answer.',
    shows: ['fence', 'final'],
    tell() {
      const { h } = removing([frank])
      h.say(bob, 'cancel')
      h.say(bob, 'fence', { device: frank.device })
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'fence-before-the-cancel-settles-nothing',
    title: 'A fence from before the cancel settles nothing.',
    shows: ['fence', 'final'],
    tell() {
      const { h } = removing([frank])
      const fence = h.say(bob, 'fence', { device: frank.device })
      h.say(bob, 'cancel', {}, { past: [fence] })
      return h.ends({ status: 'cancelled', waitingFor: [frank] })
    },
  },
  {
    name: 'fence-that-another-sender-laptop-does-not-know',
    title:
      'An accept that a fence alone holds back keeps a cancel from being final while a sender laptop may not know the fence.',
    shows: ['fence', 'final'],
    tell() {
      const { h, old } = removing([frank], { senders: [bob, bob2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      h.say(frank, 'ack', {}, { past: [accept, cancel], ...old })
      return h.ends({ status: 'cancelled', waitingFor: [frank], cut: [accept] })
    },
  },
  {
    name: 'fence-that-every-sender-laptop-knows',
    title: 'Once every sender laptop knows the fence, the cancel is final.',
    shows: ['fence', 'final'],
    tell() {
      const { h, old } = removing([frank], { senders: [bob, bob2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      const fence = h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      h.say(frank, 'ack', {}, { past: [accept, cancel], ...old })
      h.say(bob2, 'ack', {}, { past: [fence] })
      return h.ends({ status: 'cancelled', final: true, cut: [accept] })
    },
  },
  {
    name: 'fence-and-a-fenced-sender-laptop',
    title: 'A cancel is not final while a removed and fenced sender laptop may have included an accept.',
    shows: ['fence', 'final', 'fences in both directions'],
    tell() {
      const { h, old } = removing([frank, bob2], { senders: [bob, bob2], recipients: [frank, frank2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      h.say(frank2, 'fence', { device: bob2.device }, { past: [cancel] })
      return h.ends({ status: 'cancelled', waitingFor: [frank], cut: [accept] })
    },
  },
  {
    name: 'fence-undone-by-a-fenced-sender-laptop',
    title: 'What a fenced sender laptop includes without knowing a fence undoes that fence’s cut.',
    shows: ['fence', 'fences in both directions'],
    tell() {
      const { h, old } = removing([frank, bob2], { senders: [bob, bob2], recipients: [frank, frank2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      h.say(frank2, 'fence', { device: bob2.device }, { past: [cancel] })
      h.say(bob2, 'ack', {}, { past: [accept], ...old })
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'fence-of-a-sender-laptop',
    title: 'The recipient fences a removed sender laptop: whatever it says is cut but for its cancel.',
    shows: ['fence', 'fences in both directions'],
    tell() {
      const { h, old } = removing([bob2], { senders: [bob, bob2] }, [alice])
      h.say(frank, 'fence', { device: bob2.device })
      const message = h.say(bob2, 'message', {}, { past: [h.create], ...old })
      const share = h.say(bob2, 'share', {}, { past: [message], ...old })
      const annotation = h.say(bob2, 'annotate', {}, { past: [share], ...old })
      const told = { annotation: annotation.id, revision: h.create.id }
      const resolve = h.say(bob2, 'resolve', told, { past: [annotation], ...old })
      const revision = h.say(bob2, 'revise', {}, { past: [resolve], ...old })
      h.say(bob2, 'cancel', {}, { past: [revision], ...old })
      return h.ends({ status: 'cancelled', waitingFor: [frank], cut: [message, share, annotation, resolve, revision] })
    },
  },
  {
    name: 'fences-of-two-sides-at-once',
    title: 'Each side fences a laptop of the other at once, and each fence cuts what it names.',
    shows: ['fence', 'fences in both directions'],
    tell() {
      const { h, old } = removing([frank2, bob2], { senders: [bob, bob2], recipients: [frank, frank2] })
      h.say(bob, 'fence', { device: frank2.device }, { past: [h.create] })
      h.say(frank, 'fence', { device: bob2.device }, { past: [h.create] })
      const accept = h.say(frank2, 'accept', {}, { past: [h.create], ...old })
      const message = h.say(bob2, 'message', {}, { past: [h.create], ...old })
      return h.ends({ status: 'pending', waitingFor: [frank, frank2], cut: [accept, message] })
    },
  },
  {
    name: 'two-fences-of-one-laptop',
    title: 'An entry that one of two fences cuts is cut, though the other leaves it.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank], { senders: [bob, bob2] })
      const fence = h.say(bob, 'fence', { device: frank.device }, { past: [h.create] })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      const second = h.say(bob2, 'fence', { device: frank.device }, { past: [fence, accept] })
      h.lie(bob2, 'fence', 'fence_repeated', { ctl: { device: frank.device }, past: [second] })
      return h.ends({ status: 'pending', waitingFor: [frank], cut: [accept] })
    },
  },
  {
    name: 'two-fences-that-do-not-know-each-other',
    title: 'A second fence that includes the accept without knowing the first undoes the first one’s cut.',
    shows: ['fence'],
    tell() {
      const { h, old } = removing([frank], { senders: [bob, bob2] })
      h.say(bob, 'fence', { device: frank.device }, { past: [h.create] })
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      h.say(bob2, 'fence', { device: frank.device }, { past: [accept] })
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'fence-cuts-an-approval',
    title: 'An approval that a fence cuts approves nothing.',
    shows: ['fence', 'approve'],
    tell() {
      const { h, old } = removing([frank], {
        recipients: [frank, frank2],
        create: { intent: 'propose_action', action: '0a'.repeat(32) },
      })
      const accept = h.say(frank2, 'accept', {}, old)
      const seen = h.say(bob, 'ack', {}, old)
      const fence = h.say(bob, 'fence', { device: frank.device })
      const approve = h.say(frank, 'approve', {}, { past: [seen], ...old })
      h.lie(frank2, 'complete', 'approval_missing', { past: [fence, approve] })
      return h.ends({ status: 'accepted', final: true, accept, cut: [approve] })
    },
  },
  {
    name: 'complete-whose-accept-a-fence-cuts',
    title: 'A complete whose accept a fence cut is not called repudiated: nobody forked.',
    shows: ['fence', 'repudiated'],
    tell() {
      const { h, old } = removing([frank], { recipients: [frank, frank2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      h.say(frank2, 'complete', {}, { past: [accept], ...old })
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      return h.ends({ status: 'cancelled', waitingFor: [frank2], cut: [accept] })
    },
  },
  {
    name: 'share-after-a-removed-reader',
    title: 'A wrap leaves out a reader whose share a fence cut.',
    shows: ['fence', 'share'],
    tell() {
      const { h, old } = removing([bob2], { senders: [bob, bob2] }, [alice])
      h.say(frank, 'fence', { device: bob2.device })
      const share = h.say(bob2, 'share', {}, { past: [h.create], ...old })
      const wraps = [bob, frank].map(({ device }) => wrapFor(device))
      h.lie(frank, 'wrap', 'wrap_cover', { ctl: { wraps: [...wraps, wrapFor(alice.device)] } })
      h.say(frank, 'wrap', { wraps })
      return h.ends({ status: 'pending', waitingFor: [frank], cut: [share] })
    },
  },
]
