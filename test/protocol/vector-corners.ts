/** Histories in which one clause of a rule alone decides. */
import { actor, type Actor, begin, type BeginOptions, bob, bob2, frank, frank2, wrapFor } from '../cast.ts'
import { history, type HistoryCase, record, team } from './vector-history.ts'

const frank3 = actor('frank3')
const frank4 = actor('frank4')

function removing(removed: readonly Actor[], options: BeginOptions = {}, others: readonly Actor[] = []) {
  const { senders = [bob], recipients = [frank] } = options
  const workspace = team([...senders, ...recipients, ...others])
  const h = record(begin({ workspace, ...options }))
  const old = { header: { ros: workspace.roster().point } }
  for (const { device } of removed) workspace.write('remove-device', { device })
  return { h, old }
}

function wrapsFor(...laptops: readonly Actor[]) {
  return laptops.map(({ device }) => wrapFor(device))
}

export const CORNER_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'two-accepts-of-one-laptop',
    title: 'Of two accepts that one laptop forked the one with the lower id leads, and neither is void.',
    shows: ['lead', 'fork'],
    tell() {
      const h = history()
      const accepts = [1, 2, 3].map(() => h.say(frank, 'accept', {}, { past: [h.create] }))
      const [accept] = accepts.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      if (!accept) throw new Error('nobody accepted')
      return h.ends({ status: 'accepted', accept, waitingFor: [bob], forked: [frank] })
    },
  },
  {
    name: 'two-accepts-and-another-sender-laptop',
    title: 'Which accept leads is for create’s author to decide, and for no other laptop of the sender’s.',
    shows: ['lead'],
    tell() {
      const h = history({ senders: [bob, bob2], recipients: [frank2, frank] })
      const second = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(bob2, 'ack', {}, { past: [second] })
      const accept = h.say(frank2, 'accept', {}, { past: [h.create] })
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'repudiated-needs-an-accept-that-no-fence-cuts',
    title: 'A complete whose accept is cut is not called repudiated, though its device forked too.',
    shows: ['repudiated', 'fence', 'fork'],
    tell() {
      const { h, old } = removing([frank], { recipients: [frank, frank2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      h.say(frank2, 'complete', {}, { past: [accept], ...old })
      h.say(frank, 'ack', {}, { past: [cancel], ...old })
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      const state = { final: false, waitingFor: [frank2], void: [accept], cut: [accept], forked: [frank] }
      return h.ends({ status: 'cancelled', ...state })
    },
  },
  {
    name: 'repudiated-needs-a-fork',
    title:
      'A complete is not called repudiated where a fence alone takes the effect from the accept of an added laptop.',
    shows: ['repudiated', 'fence', 'added device'],
    tell() {
      const { h, old } = removing([frank], {}, [frank2])
      const cancel = h.say(bob, 'cancel', {}, old)
      const wraps = wrapsFor(bob, frank, frank2)
      const wrap = h.say(frank, 'wrap', { adds: frank2.device, wraps }, { past: [h.create], ...old })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap], ...old })
      h.say(frank2, 'complete', {}, { past: [accept], ...old })
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, cut: [wrap], void: [accept] })
    },
  },
  {
    name: 'repudiated-needs-a-complete-that-no-fence-cuts',
    title: 'A complete that a fence cuts is not called repudiated when the accept under it falls to a fork.',
    shows: ['repudiated', 'fence', 'fork'],
    tell() {
      const { h, old } = removing([frank2], { recipients: [frank, frank2] })
      const cancel = h.say(bob, 'cancel', {}, old)
      const accept = h.say(frank, 'accept', {}, { past: [h.create], ...old })
      const complete = h.say(frank2, 'complete', {}, { past: [accept], ...old })
      h.say(frank, 'ack', {}, { past: [cancel], ...old })
      h.say(bob, 'fence', { device: frank2.device }, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, void: [accept], cut: [complete], forked: [frank] })
    },
  },
  {
    name: 'pending-with-an-added-laptop',
    title: 'A pending thread waits for the laptops that create lists and for those that a wrap adds.',
    shows: ['final', 'added device'],
    tell() {
      const h = history({}, [frank2])
      h.say(frank, 'wrap', { adds: frank2.device })
      return h.ends({ status: 'pending', waitingFor: [frank, frank2] })
    },
  },
  {
    name: 'complete-and-a-fenced-laptop',
    title: 'A complete does not wait for a laptop that is fenced.',
    shows: ['final', 'fence'],
    tell() {
      const { h, old } = removing([frank2], { recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept', {}, old)
      const complete = h.say(frank, 'complete', {}, old)
      h.say(bob, 'fence', { device: frank2.device })
      return h.ends({ status: 'completed', final: true, accept, complete })
    },
  },
  {
    name: 'complete-and-a-fenced-laptop-that-was-added',
    title: 'A complete does not wait for an added laptop that is fenced.',
    shows: ['final', 'fence', 'added device'],
    tell() {
      const { h, old } = removing([frank2], {}, [frank2])
      h.say(frank, 'wrap', { adds: frank2.device, wraps: wrapsFor(bob, frank, frank2) }, old)
      const accept = h.say(frank, 'accept', {}, old)
      const complete = h.say(frank, 'complete', {}, old)
      h.say(bob, 'fence', { device: frank2.device })
      return h.ends({ status: 'completed', final: true, accept, complete })
    },
  },
  {
    name: 'complete-and-a-void-wrap',
    title: 'A complete does not wait for a laptop whose wrap is void by a fork.',
    shows: ['final', 'fork', 'added device'],
    tell() {
      const h = history({ recipients: [frank, frank2] }, [frank3])
      const cancel = h.say(bob, 'cancel')
      const wrap = h.say(frank, 'wrap', { adds: frank3.device }, { past: [h.create] })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap] })
      const complete = h.say(frank2, 'complete', {}, { past: [accept] })
      h.say(frank, 'ack', {}, { past: [cancel] })
      h.say(bob, 'ack', {}, { past: [complete, cancel] })
      h.say(frank, 'ack', {}, { past: [complete] })
      return h.ends({ status: 'completed', final: true, accept, complete, void: [wrap], forked: [frank] })
    },
  },
  {
    name: 'complete-and-laptops-that-a-fence-holds-back',
    title: 'A complete waits for laptops that wraps of its past add, though a fence takes the effect from those wraps.',
    shows: ['final', 'fence', 'added device'],
    tell() {
      const { h, old } = removing([frank], { recipients: [frank, frank2] }, [frank3, frank4])
      const three = wrapsFor(bob, frank, frank2, frank3)
      const cut = h.say(frank, 'wrap', { adds: frank3.device, wraps: three }, { past: [h.create], ...old })
      const four = [...three, wrapFor(frank4.device)]
      const further = h.say(frank3, 'wrap', { adds: frank4.device, wraps: four }, { past: [cut], ...old })
      const accept = h.say(frank2, 'accept', {}, { past: [further], ...old })
      const complete = h.say(frank2, 'complete', {}, { past: [accept], ...old })
      const fence = h.say(bob, 'fence', { device: frank.device }, { past: [h.create] })
      h.say(bob, 'ack', {}, { past: [fence, complete] })
      return h.ends({
        status: 'completed',
        accept,
        complete,
        cut: [cut],
        void: [further],
        waitingFor: [frank3, frank4],
      })
    },
  },
  {
    name: 'complete-and-a-laptop-that-a-fenced-one-adds-beside-it',
    title: 'A complete does not wait for a laptop that a fenced one adds beside it.',
    shows: ['final', 'fence', 'added device'],
    tell() {
      const { h, old } = removing([frank], { recipients: [frank, frank2] }, [frank3])
      const accept = h.say(frank2, 'accept', {}, old)
      const complete = h.say(frank2, 'complete', {}, old)
      h.say(bob, 'fence', { device: frank.device })
      const wraps = wrapsFor(bob, frank, frank2, frank3)
      const wrap = h.say(frank, 'wrap', { adds: frank3.device, wraps }, { past: [h.create], ...old })
      return h.ends({ status: 'completed', final: true, accept, complete, cut: [wrap] })
    },
  },
  {
    name: 'complete-and-a-laptop-added-by-one-that-hides-the-complete',
    title:
      'A complete waits for a laptop that an honest laptop added beside it, and not for one added with knowledge of it.',
    shows: ['final', 'added device'],
    tell() {
      const h = history({ recipients: [frank, frank2] }, [frank3, frank4])
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      const beside = h.say(frank2, 'wrap', { adds: frank3.device }, { past: [accept] })
      h.say(frank2, 'wrap', { adds: frank4.device }, { past: [beside, complete] })
      h.say(bob, 'ack')
      return h.ends({ status: 'completed', accept, complete, waitingFor: [frank3] })
    },
  },
]
