/** Histories about what is final and whose word is missing until then, and about laptops that a wrap adds. */
import { actor, begin, bob, bob2, frank, frank2, type Actor, wrapFor } from '../cast.ts'
import { history, type HistoryCase, record, team } from './vector-history.ts'

/** A workspace in which frank has two laptops more. */
function laptops() {
  const workspace = team([frank, frank2])
  const [third, fourth] = [actor('frank3'), actor('frank4')]
  for (const laptop of [third, fourth]) workspace.enrolDevice(workspace.member('frank'), laptop)
  return { workspace, third, fourth }
}

const bob3 = actor('bob3')

function removing(removed: readonly Actor[], senders: readonly Actor[] = [bob], others: readonly Actor[] = []) {
  const workspace = team([...senders, frank, frank2, ...others])
  const h = record(begin({ workspace, senders }))
  const old = { header: { ros: workspace.roster().point } }
  for (const { device } of removed) workspace.write('remove-device', { device })
  return { h, old }
}

const both = [bob, frank, frank2].map(({ device }) => wrapFor(device))

export const FINALITY_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'complete-seen-by-the-author',
    title: 'A complete is final once create’s author includes it.',
    shows: ['final'],
    tell() {
      const h = history()
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      h.say(bob, 'ack')
      return h.ends({ status: 'completed', final: true, accept, complete })
    },
  },
  {
    name: 'complete-waits-for-the-other-laptop',
    title: 'A complete waits for the recipient’s other laptop, which could have completed too.',
    shows: ['final'],
    tell() {
      const h = history({ recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      h.say(bob, 'ack')
      return h.ends({ status: 'completed', accept, complete, waitingFor: [frank2] })
    },
  },
  {
    name: 'complete-seen-by-another-sender-laptop',
    title: 'The word of a sender laptop that does not decide which complete leads does not make it final.',
    shows: ['final'],
    tell() {
      const h = history({ senders: [bob, bob2], recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete', {}, { past: [accept] })
      const other = h.say(frank2, 'complete', { outcome: 'declined' }, { past: [accept] })
      h.say(frank2, 'ack', {}, { past: [complete, other] })
      h.say(bob2, 'ack', {}, { past: [complete] })
      return h.ends({ status: 'completed', accept, complete, conflicting: true, waitingFor: [bob] })
    },
  },
  {
    name: 'complete-and-a-laptop-added-after-it',
    title: 'A final complete stays final when the recipient adds a laptop afterwards.',
    shows: ['final', 'added device'],
    tell() {
      const h = history({}, [frank2])
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      h.say(bob, 'ack')
      h.say(frank, 'wrap', { adds: frank2.device }, { past: [complete] })
      return h.ends({ status: 'completed', final: true, accept, complete })
    },
  },
  {
    name: 'complete-and-a-fork-that-adds-a-laptop',
    title: 'A final complete stays final when a fork that adds a laptop comes to light.',
    shows: ['final', 'added device', 'fork'],
    tell() {
      const h = history({}, [frank2])
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      h.say(bob, 'ack')
      const wrap = h.say(frank, 'wrap', { adds: frank2.device }, { past: [h.create] })
      h.say(frank2, 'accept', {}, { past: [wrap] })
      return h.ends({ status: 'completed', final: true, accept, complete, forked: [frank] })
    },
  },
  {
    name: 'complete-and-a-fence-that-cuts-what-another-built-on',
    title: 'A final complete stays final when a fence takes the effect from the other laptop’s own complete.',
    shows: ['final', 'fence', 'fork'],
    tell() {
      const workspace = team([frank, frank2])
      const h = record(begin({ workspace, recipients: [frank, frank2] }))
      const old = { header: { ros: workspace.roster().point } }
      workspace.write('remove-device', { device: frank.device })
      const accept = h.say(frank, 'accept', {}, { ...old, past: [h.create] })
      const complete = h.say(frank, 'complete', {}, { ...old, past: [accept] })
      const twin = h.say(frank, 'accept', {}, { ...old, past: [h.create] })
      h.say(frank2, 'complete', { outcome: 'partial' }, { ...old, past: [twin] })
      const ack = h.say(bob, 'ack', {}, { past: [complete] })
      h.say(bob, 'fence', { device: frank.device }, { past: [ack] })
      return h.ends({ status: 'completed', final: true, accept, complete, cut: [twin], forked: [frank] })
    },
  },
  {
    name: 'complete-and-a-laptop-added-before-it',
    title: 'A complete waits for a laptop that was added before it.',
    shows: ['final', 'added device'],
    tell() {
      const h = history({}, [frank2])
      const wrap = h.say(frank, 'wrap', { adds: frank2.device })
      const accept = h.say(frank, 'accept', {}, { past: [wrap] })
      const complete = h.say(frank, 'complete')
      h.say(bob, 'ack')
      return h.ends({ status: 'completed', accept, complete, waitingFor: [frank2] })
    },
  },
  {
    name: 'complete-and-a-laptop-that-two-others-add',
    title: 'Whose word is missing does not depend on which of two wraps that add one laptop arrived first.',
    shows: ['final', 'added device', 'any order of arrival'],
    tell() {
      const { workspace, third, fourth } = laptops()
      const h = history({ workspace, recipients: [frank, frank2] })
      const accept = h.say(frank, 'accept')
      const complete = h.say(frank, 'complete')
      const hidden = h.say(frank, 'wrap', { adds: third.device }, { past: [h.create] })
      const further = h.say(third, 'wrap', { adds: fourth.device }, { past: [hidden] })
      const again = h.say(frank2, 'wrap', { adds: third.device }, { past: [h.create] })
      h.say(third, 'ack', {}, { past: [complete, further] })
      h.say(frank2, 'ack', {}, { past: [complete, again] })
      h.say(bob, 'ack', {}, { past: [complete] })
      return h.ends({ status: 'completed', accept, complete, waitingFor: [fourth], forked: [frank] })
    },
  },
  {
    name: 'two-cancels-that-lack-equally-many',
    title: 'Of two cancels that each lack one laptop’s word, the first in the one order says whose is waited for.',
    shows: ['final', 'any order of arrival'],
    tell() {
      const h = history({ senders: [bob, bob2], recipients: [frank, frank2] })
      const second = h.say(bob2, 'cancel', {}, { past: [h.create] })
      const first = h.say(bob, 'cancel', {}, { past: [h.create] })
      h.say(frank, 'ack', {}, { past: [first] })
      h.say(frank2, 'ack', {}, { past: [second] })
      return h.ends({ status: 'cancelled', waitingFor: [frank2] })
    },
  },
  {
    name: 'two-cancels-and-one-is-acknowledged',
    title: 'Of two cancels one that every recipient device has seen is enough.',
    shows: ['final'],
    tell() {
      const h = history({ senders: [bob, bob2] })
      const seen = h.say(bob2, 'cancel', {}, { past: [h.create] })
      h.say(bob, 'cancel', {}, { past: [h.create] })
      h.say(frank, 'ack', {}, { past: [seen] })
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'added-laptop-accepts',
    title: 'A laptop that a wrap adds may accept, and ranks after those that create lists.',
    shows: ['added device', 'lead'],
    tell() {
      const h = history({}, [frank2])
      const wrap = h.say(frank, 'wrap', { adds: frank2.device })
      h.say(frank2, 'accept', {}, { past: [wrap] })
      const accept = h.say(frank, 'accept', {}, { past: [wrap] })
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
  {
    name: 'added-laptop-alone-accepts',
    title: 'The accept of a laptop that a wrap in effect adds has effect.',
    shows: ['added device'],
    tell() {
      const h = history({}, [frank2])
      h.say(frank, 'wrap', { adds: frank2.device })
      const accept = h.say(frank2, 'accept')
      h.say(bob, 'ack')
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'added-laptop-void-with-its-wrap',
    title: 'The accept of an added laptop is void with the wrap that added it.',
    shows: ['added device', 'fork'],
    tell() {
      const h = history({}, [frank2])
      const cancel = h.say(bob, 'cancel')
      const wrap = h.say(frank, 'wrap', { adds: frank2.device }, { past: [h.create] })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap] })
      h.say(frank, 'ack', {}, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, void: [wrap, accept], forked: [frank] })
    },
  },
  {
    name: 'added-laptop-of-an-added-laptop',
    title: 'A wrap by an added laptop is void with the wrap that added its author, and so on.',
    shows: ['added device', 'fork'],
    tell() {
      const { workspace, third } = laptops()
      const h = history({ workspace })
      const cancel = h.say(bob, 'cancel')
      const wrap = h.say(frank, 'wrap', { adds: frank2.device }, { past: [h.create] })
      const further = h.say(frank2, 'wrap', { adds: third.device }, { past: [wrap] })
      const accept = h.say(third, 'accept', {}, { past: [further] })
      h.say(frank, 'ack', {}, { past: [cancel] })
      return h.ends({ status: 'cancelled', final: true, void: [wrap, further, accept], forked: [frank] })
    },
  },
  {
    name: 'cancel-waits-for-an-added-laptop',
    title: 'A cancel waits for a laptop that was added without knowing of it.',
    shows: ['added device', 'final'],
    tell() {
      const h = history({}, [frank2])
      const cancel = h.say(bob, 'cancel')
      const wrap = h.say(frank, 'wrap', { adds: frank2.device }, { past: [h.create] })
      h.say(frank, 'ack', {}, { past: [wrap, cancel] })
      return h.ends({ status: 'cancelled', waitingFor: [frank2] })
    },
  },
  {
    name: 'cancel-does-not-wait-for-a-laptop-added-after-it',
    title: 'A cancel does not wait for a laptop that was added with knowledge of it.',
    shows: ['added device', 'final'],
    tell() {
      const h = history({}, [frank2])
      h.say(bob, 'cancel')
      h.say(frank, 'wrap', { adds: frank2.device })
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'cancel-and-a-fenced-laptop-that-had-added-another',
    title: 'A final cancel stays final when a fenced laptop turns out to have added another.',
    shows: ['added device', 'final', 'fence'],
    tell() {
      const { h, old } = removing([frank])
      const cancel = h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      const wrap = h.say(frank, 'wrap', { adds: frank2.device, wraps: both }, { past: [h.create], ...old })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap], ...old })
      return h.ends({ status: 'cancelled', final: true, cut: [wrap], void: [accept] })
    },
  },
  {
    name: 'cancel-and-a-fence-that-holds-back-an-added-laptop',
    title: 'A cancel is not final while a fence that a sender laptop may not know holds back an added laptop.',
    shows: ['added device', 'final', 'fence'],
    tell() {
      const { h, old } = removing([frank], [bob, bob2])
      const cancel = h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      const wraps = [...both, wrapFor(bob2.device)]
      const wrap = h.say(frank, 'wrap', { adds: frank2.device, wraps }, { past: [h.create], ...old })
      h.say(frank, 'ack', {}, { past: [wrap, cancel], ...old })
      return h.ends({ status: 'cancelled', waitingFor: [frank2], cut: [wrap] })
    },
  },
  {
    name: 'fence-and-a-sender-laptop-added-by-one-that-knew-it',
    title: 'A sender laptop that was added by one that knew the fence need not say that it knows it.',
    shows: ['added device', 'final', 'fence'],
    tell() {
      const { h, old } = removing([frank], [bob], [bob2])
      h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device })
      h.say(bob, 'wrap', { adds: bob2.device })
      return h.ends({ status: 'cancelled', final: true })
    },
  },
  {
    name: 'fence-and-a-sender-laptop-added-beside-it',
    title: 'A sender laptop that was added without knowledge of the fence has to know it before the cancel is final.',
    shows: ['added device', 'final', 'fence'],
    tell() {
      const { h, old } = removing([frank], [bob, bob2], [bob3])
      const wraps = [bob, bob2, bob3, frank].map(({ device }) => wrapFor(device))
      const wrap = h.say(bob2, 'wrap', { adds: bob3.device, wraps }, { past: [h.create], ...old })
      const cancel = h.say(bob, 'cancel', {}, { past: [h.create], ...old })
      const fence = h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      h.say(bob2, 'ack', {}, { past: [fence, wrap] })
      return h.ends({ status: 'cancelled', waitingFor: [frank] })
    },
  },
  {
    name: 'added-laptop-freed-by-a-sender-laptop',
    title: 'What a fence held back gets effect once a sender laptop includes it without knowing the fence.',
    shows: ['added device', 'fence'],
    tell() {
      const { h, old } = removing([frank], [bob, bob2])
      const cancel = h.say(bob, 'cancel', {}, old)
      h.say(bob, 'fence', { device: frank.device }, { past: [cancel] })
      const wraps = [...both, wrapFor(bob2.device)]
      const wrap = h.say(frank, 'wrap', { adds: frank2.device, wraps }, { past: [h.create], ...old })
      h.say(frank, 'ack', {}, { past: [wrap, cancel], ...old })
      h.say(bob2, 'ack', {}, { past: [wrap], ...old })
      const accept = h.say(frank2, 'accept', {}, { past: [wrap], ...old })
      return h.ends({ status: 'accepted', accept, waitingFor: [bob] })
    },
  },
]
