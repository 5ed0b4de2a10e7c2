/** Histories of bytes that were sealed or carried badly: bodies, wrapped keys, signatures, orders of arrival. */
import {
  commitThreadKey,
  encodeBody,
  encodeCanonical,
  hash,
  prekeyPublic,
  sealBody,
  sign,
  signEntry,
  wrapThreadKey,
} from '../../protocol/index.ts'
import { encodeHeader } from '../../protocol/entry.ts'
import { type Actor, bob, emptyStory, frank, frank2, mallory, seedOf } from '../cast.ts'
import { type History, history, type HistoryCase, record, team } from './vector-history.ts'

/** A thread with a key of its own, wrapped to bob and frank, so that bodies can be opened. */
async function keyed(key: Uint8Array, forFrank2 = key) {
  const workspace = team([frank, frank2])
  const empty = emptyStory(workspace, [bob], [frank, frank2])
  const nonce = hash('payload', ['keyed'])
  const place = { ws: workspace.ws, nonce, author: bob.device }
  const wraps = await Promise.all(
    [bob, frank, frank2].map(async ({ device, prekeySeed }) =>
      wrapThreadKey(device === frank2.device ? forFrank2 : key, place, {
        device,
        prekey: hash('prekey-id', [device]),
        x25519: await prekeyPublic(prekeySeed),
        ekm: seedOf('ekm', device),
      }),
    ),
  )
  const commit = commitThreadKey(key, { nonce, ws: workspace.ws, device: bob.device, prev: null })
  const create = empty.say(bob, 'create', { nonce, commit, wraps })
  const h = record({ ...empty, create })
  h.keys.set(create.id, key)
  return h
}

/** A message with its sealed body, not yet brought. */
function sealedMessage(h: History, who: Actor, body: string) {
  const { header } = h.draft(who, 'message')
  const made = sealBody(header, encodeBody('message', { body, artifacts: [] }), {
    key: h.keys.get(h.create.id) ?? new Uint8Array(32),
    keyId: h.create.id,
    iv: seedOf('iv', body),
  })
  return { entry: signEntry(made.header, who.key), sealed: made.sealed }
}

export const CARRIED_HISTORIES: readonly HistoryCase[] = [
  {
    name: 'cut-and-paste-of-a-body',
    title: 'A body that is cut from one entry and named by another does not open there; the entry counts all the same.',
    shows: ['attack: cut and paste of a body'],
    async tell() {
      const h = await keyed(seedOf('thread key'))
      const { entry, sealed } = sealedMessage(h, frank, 'looks good to me')
      const message = h.bring(entry, sealed)
      const pasted = h.bring(signEntry({ ...h.draft(bob, 'message').header, body: entry.header.body }, bob.key), sealed)
      const honest = sealedMessage(h, bob, 'thank you')
      const swapped = h.bring(honest.entry, sealed)
      return h.ends({
        status: 'pending',
        waitingFor: [frank, frank2],
        bodies: [
          [message, 'opens'],
          [pasted, 'seal_broken'],
          [swapped, 'other_bytes'],
        ],
      })
    },
  },
  {
    name: 'ciphertext-with-two-openings',
    title: 'Who is wrapped another key than the committed one knows it, and one ciphertext never opens two ways.',
    shows: ['attack: a ciphertext with two openings'],
    async tell() {
      const h = await keyed(seedOf('thread key'), seedOf('second opening'))
      h.seeds.push(frank, frank2)
      const { entry, sealed } = sealedMessage(h, bob, 'the price is ten')
      const message = h.bring(entry, sealed)
      h.say(frank2, 'ack', { lack: [h.create.id] })
      return h.ends({
        status: 'pending',
        waitingFor: [frank, frank2],
        bodies: [[message, 'opens']],
        wraps: [
          [frank, 'opens'],
          [frank2, 'key_commitment'],
        ],
      })
    },
  },
  {
    name: 'a-wrong-signature-is-no-fault-of-the-entry',
    title: 'An entry that first arrives under a wrong signature is stored when it comes under the right one.',
    shows: ['any order of arrival'],
    tell() {
      const h = history()
      const accept = h.draft(frank, 'accept')
      const bytes = encodeHeader(accept.header)
      const forged = {
        ...accept,
        envelope: encodeCanonical([bytes, sign(mallory.key, 'entry', [bytes])]),
      }
      h.arrive(forged, 'bad_signature')
      h.add(accept)
      h.say(bob, 'message')
      return h.ends({ status: 'accepted', final: true, accept })
    },
  },
  {
    name: 'a-carrier-that-reorders-and-repeats',
    title: 'What arrives backwards and twice comes to the same.',
    shows: ['attack: carrier that reorders and replays', 'any order of arrival'],
    tell() {
      const h = history()
      h.say(bob, 'cancel')
      const accept = h.say(frank, 'accept', {}, { past: [h.create] })
      h.say(bob, 'ack')
      const message = h.say(frank, 'message')
      h.say(bob, 'revise')
      const complete = h.say(frank, 'complete')
      return h.endsInOrder((arrived) => [...arrived.toReversed(), ...arrived], {
        status: 'completed',
        accept,
        complete,
        waitingFor: [bob],
        numbers: [
          [h.create, 1],
          [message, 2],
          [complete, 4],
        ],
      })
    },
  },
  {
    name: 'a-carrier-that-withholds',
    title: 'What builds on an entry that never came waits and counts for nothing.',
    shows: ['attack: carrier that drops and withholds', 'any order of arrival'],
    tell() {
      const h = history()
      const message = h.say(bob, 'message')
      const accept = h.say(frank, 'accept')
      const answer = h.say(bob, 'message')
      return h.endsInOrder((arrived) => arrived.filter((entry) => entry !== message), {
        status: 'pending',
        waitingFor: [frank],
        waiting: [accept, answer],
      })
    },
  },
]
