/** Histories for every row of the table of what two devices do at once. */
import { bob, frank, frank2 } from '../cast.ts'
import { history, type HistoryCase } from './vector-history.ts'

export const TABLE_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'accept-after-a-seen-cancel',
    title: 'An accept by a device that has the cancel in its past is refused.',
    shows: ['row: accept by a device that had the cancel'],
    tell() {
      const h = history()
      const cancel = h.say(bob, 'cancel')
      h.say(frank, 'ack')
      h.lie(frank, 'accept', 'wrong_state', { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'cancel-after-a-seen-accept',
    title: 'A cancel by a sender device that has the accept in its past is refused.',
    shows: ['row: cancel by a sender that had the accept'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      h.lie(bob, 'cancel', 'wrong_state')
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'cancel-after-a-seen-complete',
    title: 'A cancel by a sender device that has the complete in its past is refused.',
    shows: ['row: cancel by a sender that had the accept'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      h.say(bob, 'ack')
      h.lie(bob, 'cancel', 'wrong_state')
      return h.ends({ status: 'completed', final: true, accept, complete })
    },
  },
  {
    name: 'accept-beside-a-cancel',
    title: 'An accept beats a cancel that crossed it; it is not final while no sender entry includes it.',
    shows: ['row: accept beside a cancel'],
    tell() {
      const h = history()
      h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'accept-beside-a-cancel-seen-by-the-sender',
    title: 'The accept that crossed a cancel is final once the sender has both.',
    shows: ['row: accept beside a cancel'],
    tell() {
      const h = history()
      h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(bob, 'ack')
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'two-sessions-accept',
    title: 'The second accept of one laptop builds on the first and is refused.',
    shows: ['row: two sessions on one laptop accept'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      h.lie(frank, 'accept', 'wrong_state')
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'two-laptops-accept',
    title: 'Of two laptops that accept at once the one that create lists first leads.',
    shows: ['row: two laptops of the recipient accept at once'],
    tell() {
      const h = history({ recipients: [frank2, frank] })
      h.say(frank, 'accept', {}, { past: [h.create] })
      const accept = h.say(frank2, 'accept', {}, { past: [h.create] })
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'two-laptops-accept-and-one-is-seen-first',
    title: 'Of two accepts the one that the sender includes first leads, whatever its rank.',
    shows: ['row: two laptops of the recipient accept at once', 'lead'],
    tell() {
      const h = history({ recipients: [frank2, frank] })
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(bob, 'ack', {}, { past: [accept] })
      h.say(frank2, 'accept', {}, { past: [h.create] })
      h.say(bob, 'ack')
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'two-completes',
    title: 'Two completes at once are both kept and shown to conflict; the one of the laptop listed first leads.',
    shows: ['row: two completes at once', 'lead'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete', {}, { past: [accept] })
      h.say(frank2, 'complete', { outcome: 'partial' }, { past: [accept] })
      return h.ends({ status: 'completed', accept, complete, conflicting: true, waitingFor: [bob] })
    },
  },
  {
    name: 'two-completes-and-one-is-seen-first',
    title: 'Of two completes the one that create’s author includes first leads, and is final.',
    shows: ['row: two completes at once', 'lead'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept')
      h.say(frank, 'complete', {}, { past: [accept] })
      const complete = h.say(frank2, 'complete', { outcome: 'partial' }, { past: [accept] })
      h.say(bob, 'ack', {}, { past: [complete] })
      return h.ends({ status: 'completed', final: true, accept, complete, conflicting: true })
    },
  },
  {
    name: 'message-and-revision-beside-a-complete',
    title: 'A message that crosses the complete is late, and so are the revision and the annotation that build on it.',
    shows: ['row: message or revise beside a complete', 'late'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      const early = h.say(bob, 'message')
      const complete = h.say(frank, 'complete')
      const message = h.say(bob, 'message', {}, { past: [early] })
      const revision = h.say(bob, 'revise', {}, { past: [message] })
      const annotation = h.say(bob, 'annotate', {}, { past: [revision] })
      return h.ends({
        status: 'completed',
        accept,
        complete,
        late: [message, revision, annotation],
        recordHeads: [revision],
        waitingFor: [bob],
        numbers: [
          [early, 3],
          [complete, 4],
          [message, 5],
        ],
      })
    },
  },
  {
    name: 'recipient-forks',
    title: 'A recipient that accepts to one and acknowledges the cancel to another has accepted nothing.',
    shows: ['row: recipient forks', 'fork'],
    tell() {
      const h = history()
      const cancel = h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(frank, 'ack', {}, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, void: [accept], forked: [frank] })
    },
  },
  {
    name: 'recipient-forks-and-the-receipt-is-no-ack',
    title: 'Any entry that knows the cancel is a receipt: a message’s past will do, and wraps too.',
    shows: ['row: recipient forks', 'fork'],
    tell() {
      const h = history()
      const cancel = h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(bob, 'ack')
      h.say(frank, 'wrap', {}, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, void: [accept], forked: [frank] })
    },
  },
  {
    name: 'recipient-forks-after-a-complete',
    title: 'The same after a complete repudiates it; the complete stays among the entries.',
    shows: ['row: the same after a complete', 'fork', 'repudiated'],
    tell() {
      const h = history()
      const cancel = h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(frank, 'complete', {}, { past: [accept] })
      h.say(bob, 'ack')
      h.say(frank, 'ack', {}, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, repudiated: true, void: [accept], forked: [frank] })
    },
  },
  {
    name: 'fork-before-the-accept-is-known-to-both-sides',
    title: 'A fork whose both branches know the cancel’s accept voids nothing: only a receipt beside the accept does.',
    shows: ['fork'],
    tell() {
      const h = history()
      h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      const seen = h.say(bob, 'ack')
      h.say(frank, 'message', {}, { past: [seen] })
      h.say(frank, 'message', {}, { past: [accept] })
      return h.ends({ status: 'accepted', final: true, accept, forked: [frank] })
    },
  },
  {
    name: 'recipient-unreachable',
    title: 'A cancel that no recipient device has seen is not final, and says whose word is missing.',
    shows: ['row: cancel and the recipient is unreachable'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      h.say(bob, 'cancel')
      h.lie(bob, 'cancel', 'wrong_state')
      return h.ends({ status: 'cancelled', waitingFor: [frank, frank2] })
    },
  },
  {
    name: 'recipient-half-reachable',
    title: 'A cancel waits for each of the recipient’s laptops.',
    shows: ['row: cancel and the recipient is unreachable'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      h.say(bob, 'cancel')
      h.say(frank2, 'ack')
      return h.ends({ status: 'cancelled', waitingFor: [frank] })
    },
  },
  {
    name: 'cancel-acknowledged',
    title: 'A cancel is final once each recipient device has signed something that includes it.',
    shows: ['row: cancel and the recipient is unreachable'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      h.say(bob, 'cancel')
      h.say(frank2, 'ack')
      h.say(frank, 'ack')
      h.lie(frank2, 'ack', 'ack_without_news')
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'pending',
    title: 'A thread that was only seen is pending, and pending is never final.',
    shows: ['final'],
    tell() {
      const h = history()
      h.say(frank, 'ack')
      return h.ends({ status: 'pending', waitingFor: [frank] })
    },
  },
]
