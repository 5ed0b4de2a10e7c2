/** Histories about approvals, readers, sequence numbers, revisions, receipts and what is late. */
import { bob, bob2, alice, frank, frank2, mallory, wrapFor } from '../cast.ts'
import { history, type HistoryCase } from './vector-history.ts'

const ACTION = '0a'.repeat(32)
const proposes = { create: { intent: 'propose_action' as const, action: ACTION } }

export const TURN_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'approved',
    title: 'A proposed action is done only with an approval in the past.',
    shows: ['approve'],
    tell() {
      const h = history(proposes)
      h.lie(frank, 'approve', 'wrong_state')
      const accept = h.say(frank, 'accept')
      h.lie(frank, 'complete', 'approval_missing')
      h.lie(bob, 'approve', 'wrong_side')
      h.lie(frank, 'approve', 'action_differs', { ctl: { action: '0b'.repeat(32) } })
      h.say(frank, 'approve')
      const complete = h.say(frank, 'complete')
      return h.ends({ status: 'completed', accept, complete, verdict: 'approved', waitingFor: [bob] })
    },
  },
  {
    name: 'rejected',
    title: 'A rejected action is not done; it may be declined.',
    shows: ['approve'],
    tell() {
      const h = history(proposes)
      const accept = h.say(frank, 'accept')
      h.say(frank, 'approve', { verdict: 'rejected' })
      h.lie(frank, 'complete', 'approval_missing')
      const complete = h.say(frank, 'complete', { outcome: 'declined' })
      return h.ends({ status: 'completed', accept, complete, verdict: 'rejected', waitingFor: [bob] })
    },
  },
  {
    name: 'rejected-beside-approved',
    title: 'A rejection beside the approval blocks until an approval that knows it.',
    shows: ['approve'],
    tell() {
      const h = history({ recipients: [frank, frank2], ...proposes })
      const accept = h.say(frank, 'accept')
      const yes = h.say(frank, 'approve', {}, { past: [accept] })
      const no = h.say(frank2, 'approve', { verdict: 'rejected' }, { past: [accept] })
      h.lie(frank2, 'complete', 'approval_missing', { past: [yes, no] })
      h.say(frank, 'approve', {}, { past: [yes, no] })
      const complete = h.say(frank2, 'complete')
      return h.ends({
        status: 'completed',
        accept,
        complete,
        verdict: 'approved',
        waitingFor: [bob, frank],
      })
    },
  },
  {
    name: 'rejected-after-approved',
    title: 'A rejection that knows the approval is the verdict that stands.',
    shows: ['approve'],
    tell() {
      const h = history({ recipients: [frank, frank2], ...proposes })
      const accept = h.say(frank, 'accept')
      h.say(frank, 'approve')
      h.say(frank2, 'approve', { verdict: 'rejected' })
      h.lie(frank, 'complete', 'approval_missing')
      return h.ends({ status: 'accepted', accept, verdict: 'rejected', waitingFor: [bob] })
    },
  },
  {
    name: 'reader-by-share',
    title: 'A reader may acknowledge and nothing else, and no cancel waits for it.',
    shows: ['share'],
    tell() {
      const h = history({}, [alice])
      h.lie(alice, 'ack', 'no_side')
      h.say(bob, 'share')
      h.say(alice, 'ack')
      h.lie(alice, 'message', 'reader_only')
      h.lie(alice, 'share', 'reader_only')
      const cancel = h.say(bob, 'cancel')
      h.say(frank, 'ack', {}, { past: [cancel] })
      h.say(alice, 'ack')
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'reader-does-not-settle-a-cancel',
    title: 'A reader’s word about a cancel does not make it final.',
    shows: ['share', 'final'],
    tell() {
      const h = history({}, [alice])
      h.say(bob, 'share')
      const cancel = h.say(bob, 'cancel')
      h.say(alice, 'ack', {}, { past: [cancel] })
      return h.ends({ status: 'cancelled', waitingFor: [frank] })
    },
  },
  {
    name: 'reader-does-not-make-an-accept-final',
    title: 'A reader’s word about an accept does not make it final.',
    shows: ['share', 'final'],
    tell() {
      const h = history({}, [alice])
      h.say(bob, 'share')
      const accept = h.say(frank, 'accept')
      h.say(alice, 'ack')
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'wrap-covers-readers',
    title: 'A wrap covers the readers too, and a share names a member who is no participant.',
    shows: ['share'],
    tell() {
      const h = history({}, [bob2, frank2, alice, mallory])
      h.lie(bob, 'share', 'same_member', {
        ctl: { reader: h.workspace.member('frank'), devices: [frank2.device], wraps: [wrapFor(frank2.device)] },
      })
      h.lie(frank, 'share', 'same_member', {
        ctl: { reader: h.workspace.member('bob'), devices: [bob2.device], wraps: [wrapFor(bob2.device)] },
      })
      h.lie(bob, 'share', 'foreign_device', { ctl: { devices: [mallory.device], wraps: [wrapFor(mallory.device)] } })
      h.say(frank, 'share')
      h.lie(bob, 'wrap', 'wrap_cover', { ctl: { wraps: [bob, frank].map(({ device }) => wrapFor(device)) } })
      h.say(bob, 'wrap')
      return h.ends({ status: 'pending', waitingFor: [frank] })
    },
  },
  {
    name: 'numbers',
    title: 'Sender numbers are odd, recipient numbers even, and they grow along the past.',
    shows: ['sequence numbers'],
    tell() {
      const h = history()
      const [two, three, five] = [h.say(frank, 'message'), h.say(bob, 'message'), h.say(bob, 'message')]
      const accept = h.say(frank, 'accept')
      const six = h.say(frank, 'message')
      const complete = h.say(frank, 'complete')
      return h.ends({
        status: 'completed',
        accept,
        complete,
        waitingFor: [bob],
        numbers: [
          [h.create, 1],
          [two, 2],
          [three, 3],
          [five, 5],
          [six, 6],
          [complete, 8],
        ],
      })
    },
  },
  {
    name: 'two-entries-of-one-number',
    title: 'Two sender laptops that write at once share a number, and the next one counts on.',
    shows: ['sequence numbers'],
    tell() {
      const h = history({ senders: [bob, bob2] })
      const three = h.say(bob, 'message', {}, { past: [h.create] })
      const other = h.say(bob2, 'message', {}, { past: [h.create] })
      const two = h.say(frank, 'message', {}, { past: [h.create] })
      const four = h.say(frank, 'message')
      return h.ends({
        status: 'pending',
        waitingFor: [frank],
        numbers: [
          [three, 3],
          [other, 3],
          [two, 2],
          [four, 4],
        ],
      })
    },
  },
  {
    name: 'numbers-count-late-and-cut-ones',
    title: 'A number counts from all of its past, whatever has effect there.',
    shows: ['sequence numbers', 'late'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept')
      const early = h.say(bob, 'message')
      const first = h.say(frank, 'complete', {}, { past: [early] })
      const other = h.say(frank2, 'message', {}, { past: [accept] })
      const late = h.say(bob, 'message', {}, { past: [early, other] })
      const complete = h.say(frank2, 'complete', { outcome: 'partial' }, { past: [late] })
      return h.ends({
        status: 'completed',
        accept,
        complete: first,
        conflicting: true,
        late: [other, late],
        waitingFor: [bob],
        numbers: [
          [early, 3],
          [first, 4],
          [other, 2],
          [late, 5],
          [complete, 6],
        ],
      })
    },
  },
  {
    name: 'late-beside-a-cancel',
    title:
      'With a cancelled thread the record is all cancels and their pasts; receipts, wraps and shares are never late.',
    shows: ['late'],
    tell() {
      const h = history({ senders: [bob, bob2] }, [alice])
      const known = h.say(frank, 'message')
      const annotation = h.say(frank, 'annotate', { target: known.id })
      const cancel = h.say(bob, 'cancel', {}, { past: [known] })
      h.say(bob2, 'cancel', {}, { past: [annotation] })
      const late = h.say(frank, 'resolve', { annotation: annotation.id, revision: h.create.id }, { past: [annotation] })
      const share = h.say(frank, 'share', {}, { past: [late] })
      h.say(frank, 'ack', {}, { past: [share, cancel] })
      return h.ends({ status: 'cancelled', final: true, late: [late] })
    },
  },
  {
    name: 'two-revisions-at-once',
    title: 'Two revisions at once make two heads, and one that names both settles it.',
    shows: ['revisions'],
    tell() {
      const h = history()
      const one = h.say(bob, 'revise', {}, { past: [h.create] })
      const other = h.say(frank, 'revise', {}, { past: [h.create] })
      h.lie(bob, 'revise', 'base_not_heads', { ctl: { base: [one.id] } })
      const settled = h.say(bob, 'revise', { base: [one.id, other.id].toSorted() })
      return h.ends({ status: 'pending', waitingFor: [frank], recordHeads: [settled] })
    },
  },
  {
    name: 'revisions-left-as-a-fork',
    title: 'Both heads of two revisions stand until somebody settles them.',
    shows: ['revisions'],
    tell() {
      const h = history()
      const one = h.say(bob, 'revise', {}, { past: [h.create] })
      const other = h.say(frank, 'revise', {}, { past: [h.create] })
      h.say(bob, 'ack')
      return h.ends({ status: 'pending', waitingFor: [frank], recordHeads: [one, other] })
    },
  },
  {
    name: 'more-revisions-at-once-than-one-may-name',
    title: 'Of more than sixteen heads a revision names the sixteen lowest; what is left waits for the next one.',
    shows: ['revisions', 'fork'],
    tell() {
      const h = history()
      const heads = Array.from({ length: 18 }, () => h.say(frank, 'revise', {}, { past: [h.create] }))
      const ids = heads.map(({ id }) => id).toSorted()
      const half = h.say(bob, 'ack', {}, { past: heads.slice(0, 9) })
      const past = [half, ...heads.slice(9)]
      h.lie(bob, 'revise', 'base_not_heads', { ctl: { base: ids.slice(2) }, past })
      const settled = h.say(bob, 'revise', { base: ids.slice(0, 16) }, { past })
      const left = heads.filter(({ id }) => ids.indexOf(id) >= 16)
      return h.ends({ status: 'pending', waitingFor: [frank], forked: [frank], recordHeads: [...left, settled] })
    },
  },
  {
    name: 'annotations',
    title:
      'Annotations name revisions, messages and completes of their past; a resolve names an annotation and a revision.',
    shows: ['revisions'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      const revision = h.say(frank, 'revise')
      h.lie(bob, 'annotate', 'target_missing', { ctl: { target: revision.id }, past: [accept] })
      h.lie(bob, 'annotate', 'target_missing', { ctl: { target: accept.id } })
      const annotation = h.say(bob, 'annotate', { target: revision.id })
      h.lie(frank, 'resolve', 'target_missing', { ctl: { annotation: revision.id, revision: revision.id } })
      const settled = { annotation: annotation.id, revision: revision.id }
      h.say(frank, 'resolve', settled)
      const complete = h.say(frank, 'complete')
      h.lie(bob, 'resolve', 'wrong_state', { ctl: settled })
      return h.ends({ status: 'completed', accept, complete, waitingFor: [bob], recordHeads: [revision] })
    },
  },
  {
    name: 'receipts',
    title: 'An ack needs news or a changed lack, and acks answer no acks.',
    shows: ['receipts'],
    tell() {
      const h = history()
      h.say(frank, 'ack', { lack: [h.create.id] })
      h.lie(bob, 'ack', 'ack_without_news')
      h.lie(frank, 'ack', 'ack_without_news', { ctl: { lack: [h.create.id] } })
      h.say(frank, 'ack')
      const message = h.say(bob, 'message')
      h.lie(frank, 'ack', 'lack_not_in_past', { ctl: { lack: [message.id] }, past: [h.create] })
      h.say(frank, 'ack', { lack: [message.id] })
      return h.ends({ status: 'pending', waitingFor: [frank] })
    },
  },
  {
    name: 'order',
    title: 'The one order goes by depth, then by rank, then by id, and knows no order of arrival.',
    shows: ['order'],
    tell() {
      const h = history({ senders: [bob, bob2], recipients: [frank2, frank] })
      h.say(frank, 'message', {}, { past: [h.create] })
      h.say(frank2, 'message', {}, { past: [h.create] })
      h.say(bob2, 'message', {}, { past: [h.create] })
      h.say(bob, 'message', {}, { past: [h.create] })
      h.say(frank, 'message', {}, { past: [h.create] })
      h.say(bob2, 'ack')
      return h.ends({ status: 'pending', waitingFor: [frank2, frank], forked: [frank] })
    },
  },
  {
    name: 'what-builds-on-a-refused-entry',
    title: 'What builds on a refused entry is refused, and so is what builds on that.',
    shows: ['refused parent', 'any order of arrival'],
    tell() {
      const h = history()
      const refused = h.lie(bob, 'accept', 'wrong_side')
      const header = { prev: refused.id, seq: 2, deps: [] }
      const child = h.lie(bob, 'message', 'parent_refused', { header })
      const grandchild = h.lie(bob, 'message', 'parent_refused', { header: { prev: child.id, seq: 3, deps: [] } })
      const accept = h.say(frank, 'accept')
      return h.endsInOrder(
        (arrived) => [grandchild, child, ...arrived.filter((e) => e !== child && e !== grandchild)],
        {
          status: 'accepted',
          accept,
          waitingFor: [bob],
        },
      )
    },
  },
]
