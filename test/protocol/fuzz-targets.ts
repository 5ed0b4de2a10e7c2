/** Every door by which bytes of a peer enter the protocol: valid samples, and what has to hold for any input. */
import assert from 'node:assert/strict'
import { bech32m } from '@scure/base'
import {
  admitRosterEntry,
  authorize,
  type BodyKind,
  checkOpen,
  checkPut,
  chunkId,
  type Checked,
  decodeAction,
  decodeCanonical,
  emptyRosterLog,
  encodeAction,
  encodeBody,
  encodeCanonical,
  encodeCode,
  encodeGossip,
  encodeJoin,
  encodeMail,
  encodeMailbox,
  encodeSync,
  type Entry,
  epochOf,
  type JoinMessage,
  openBody,
  openChunk,
  openEntry,
  openEnvelope,
  openPrekey,
  parseCode,
  parseGossip,
  parseJoin,
  parseMail,
  parseMailbox,
  parseRosterEntry,
  parseSync,
  REFUSALS,
  sameBytes,
  type RosterLog,
  sealBody,
  sealContent,
  sealEnvelope,
  sign,
  signPrekey,
  type Value,
} from '../../protocol/index.ts'
import { createFrameReader, encodeFrame } from '../../src/net/frame.ts'
import { NetError } from '../../src/net/net.ts'
import { acme, actor, alice, begin, bob, frank, mallory, seedOf, type Story } from '../cast.ts'
import { MAIL, MAILBOX_MESSAGES } from './samples.ts'

export interface Target {
  readonly name: string
  readonly samples: readonly Uint8Array[]
  /** Throws where something does not hold. */
  check(input: Uint8Array): void
}

const KEY = seedOf('fuzz key')
const ID = 'ab'.repeat(32)
const FRAME_LIMIT = 320 * 1024

/** A refusal has a name; a value can be looked at. */
function named<T>(checked: Checked<T>): T | undefined {
  if (checked.ok) return checked.value
  assert.ok(Object.hasOwn(REFUSALS, checked.refusal), checked.refusal)
  return undefined
}

/** What is taken in at all is the one form of what it says. */
function oneForm<T>(input: Uint8Array, parsed: Checked<T>, encode: (value: T) => Uint8Array): void {
  const value = named(parsed)
  if (value !== undefined) assert.ok(sameBytes(encode(value), input), 'taken in, and not in its one form')
}

/** A thread in which every kind stands that a thread without a removed device can have. */
function everyKind(): Story {
  const story = begin({
    recipients: [frank],
    create: { intent: 'propose_action', action: ID },
  })
  story.say(frank, 'ack')
  story.say(frank, 'accept')
  const annotation = story.say(bob, 'annotate')
  const revision = story.say(frank, 'revise')
  story.say(frank, 'resolve', { annotation: annotation.id, revision: revision.id })
  story.say(frank, 'approve')
  story.say(bob, 'share')
  story.say(alice, 'ack')
  story.say(bob, 'message')
  story.say(bob, 'wrap')
  story.draft(bob, 'cancel')
  story.say(frank, 'complete')
  return story
}

const story = everyKind()
const elsewhere = begin()
const removed = acme()
const removal = removed.write('remove-device', { device: mallory.device })
const others = [
  story.draft(bob, 'cancel'),
  begin({ recipients: [mallory] }).draft(bob, 'fence', { device: mallory.device }),
]
const entries: readonly Entry[] = [...story.entries(), ...others]

function headerOf(envelope: Uint8Array): Uint8Array {
  const decoded = decodeCanonical(envelope, { bytesMax: 64 * 1024 })
  assert.ok(decoded.ok && Array.isArray(decoded.value))
  return (decoded.value as readonly Uint8Array[])[0] ?? new Uint8Array()
}

/** Judged by whoever holds the thread, and by whoever holds nothing. */
function judge(entry: Entry): void {
  for (const graph of [story.graph, elsewhere.graph]) {
    const verdict = authorize({ ...story.ground, graph }, entry)
    if (verdict.ok !== 'missing') named(verdict)
  }
}

const content = sealContent(seedOf('content'), KEY)

const BODIES: { readonly [K in BodyKind]?: Parameters<typeof encodeBody<K>>[1] } = {
  create: {
    summary: 'summary',
    artifacts: [
      { type: 'file_diff', path: 'a.ts', diff: '@@', base_commit: 'c' },
      { type: 'file', name: 'f', media_type: 'text/plain', bytes: new Uint8Array([1, 2]) },
      { type: 'link', url: 'https://example.org' },
      { type: 'file', name: 'g', media_type: 'text/plain', chunks: content.chunked },
      { type: 'file_diff', path: 'b.ts', repo: 'r', chunks: content.chunked },
    ],
    record: {
      objective: { summary: 'o', acceptance_criteria: ['a'] },
      current_state: { complete: [], in_progress: ['b'], blocked: [], unverified: [] },
      decisions: [{ summary: 'd', rationale: 'r', status: 'accepted' }],
      evidence: [{ label: 'l', claim: 'c', uri: 'u' }],
      constraints: [{ kind: 'budget', text: 't' }],
      next_action: { summary: 'n', verification: 'v', due: 'd' },
      ownership: { next_actor: 'frank@acme', reviewers: [] },
      open_questions: ['?'],
    },
    question: 'why?',
    proposed_action: encodeAction({ description: 'd', target_files: ['f'], rationale: 'r' }),
  },
  message: { body: 'text', payload: '{}', artifacts: [] },
  annotate: { text: 't', selector: { exact: 'e', prefix: '', suffix: '' }, artifact: ID },
  complete: { result_summary: 'done', artifacts: [] },
  accept: { session: 's' },
}
const bodyKinds = Object.keys(BODIES) as (keyof typeof BODIES)[]
const plains = bodyKinds.map((kind) => encodeBody(kind, BODIES[kind] ?? { session: '' }))
const ofKind = new Map(entries.map((entry) => [entry.header.kind, entry]))

/** Sealed as its author would have; the signature is another matter. */
function sealed(kind: BodyKind, plain: Uint8Array): { entry: Entry; bytes: Uint8Array } {
  const entry = ofKind.get(kind)
  assert.ok(entry)
  const keyId = kind === 'create' ? null : story.create.id
  const { header, sealed: bytes } = sealBody(entry.header, plain, { key: KEY, keyId, iv: seedOf('iv') })
  return { entry: { ...entry, header }, bytes }
}

const sealedPlains = bodyKinds.map((kind, i) => ({ kind, ...sealed(kind, plains[i] ?? new Uint8Array()) }))

function copyOf(log: RosterLog): RosterLog {
  return { entries: new Map(log.entries), rosters: new Map(log.rosters), heads: new Set(log.heads) }
}

const rosterEntries = [...removed.log.entries.values()]
const invite = { key: ID, name: 'eve', role: 'member' as const, kind: 'person' as const, expires: 1 }
const rosterDrafts = [
  removed.draft('invite', invite),
  removed.draft('rekey', { epoch: 1, commit: ID, wraps: [] }),
  removed.draft('set-bootstrap', { addresses: ['/dns4/relay.example/tcp/1'] }),
  removed.draft('remove-member', { member: removal[1] }),
]
const gossips = [
  encodeGossip({ t: 'entry', envelope: story.create.envelope, body: new Uint8Array(300) }),
  encodeGossip({ t: 'hint', th: ID, heads: [ID] }),
]
const prekey = signPrekey(
  { ws: ID, device: bob.device, counter: 1, x25519: actor('x').device, mailbox: ID, created: 5 },
  bob.key,
)
const syncs = [
  encodeSync({ t: 'hello', v: 1, ws: ID, ros: [3, ID], prekeys: ID, frame: 327_680, clock: 1 }),
  encodeSync({ t: 'roster', entries: rosterEntries.slice(0, 2).map(({ envelope }) => envelope) }),
  encodeSync({ t: 'prekeys', records: [prekey.bytes] }),
  encodeSync({ t: 'digests', buckets: ID.repeat(64) }),
  encodeSync({ t: 'threads', threads: [[ID, ID]] }),
  encodeSync({ t: 'vector', th: ID, tips: [[ID, 7, ID]] }),
  encodeSync({ t: 'entries', th: ID, items: [[story.create.envelope, null]], heads: [ID] }),
  encodeSync({ t: 'ids', th: ID, ids: [ID, ID] }),
  encodeSync({ t: 'want', th: ID, ids: [ID] }),
  encodeSync({ t: 'bodies', th: ID, items: [[ID, new Uint8Array(20)]] }),
  encodeSync({ t: 'want-chunks', th: ID, ids: [ID] }),
  encodeSync({
    t: 'chunks',
    th: ID,
    items: [
      [ID, new Uint8Array(20)],
      [ID, null],
    ],
  }),
  encodeSync({ t: 'heads', th: ID, heads: [ID] }),
  encodeSync({ t: 'got' }),
]
const joins: JoinMessage[] = [
  { t: 'ask', v: 1, key: ID, device: ID, nonce: ID },
  { t: 'offer', ws: ID, invite: ID, role: 'member', kind: 'person', owner: ID, proof: ID },
  { t: 'claim', device_name: 'xps', prekey: prekey.bytes, invite_signature: ID + ID, device_signature: ID + ID },
  { t: 'welcome', roster: [new Uint8Array(9)], prekeys: [prekey.bytes], last: true },
  { t: 'refused', reason: 'used' },
]
const mailboxes = MAILBOX_MESSAGES.map(encodeMailbox)
const secret = seedOf('secret').slice(0, 16)
const inviter = { device: ID, addresses: ['/ip4/192.168.1.5/tcp/4300'], expires: 1 }
const standalone = bech32m.decodeToBytes(encodeCode({ secret, inviter }), 1023)

export const TARGETS: readonly Target[] = [
  {
    name: 'canonical values',
    samples: [...plains, ...syncs],
    check: (input) => oneForm(input, decodeCanonical(input, { bytesMax: FRAME_LIMIT }), encodeCanonical),
  },
  {
    name: 'entry envelopes',
    samples: entries.map(({ envelope }) => envelope),
    check(input) {
      const entry = named(openEntry(input))
      if (entry) judge(entry)
    },
  },
  {
    name: 'entry headers under a true signature',
    samples: entries.map(({ envelope }) => headerOf(envelope)),
    check(input) {
      const signatures = [bob, frank].map(({ key }) => sign(key, 'entry', [input]))
      for (const signature of signatures) {
        const entry = named(openEntry(encodeCanonical([input, signature])))
        if (entry) judge(entry)
      }
    },
  },
  {
    name: 'bodies',
    samples: plains,
    check(input) {
      for (const kind of bodyKinds) {
        const { entry, bytes } = sealed(kind, input)
        named(openBody(entry, kind, bytes, KEY))
      }
    },
  },
  {
    name: 'sealed bodies',
    samples: sealedPlains.map(({ bytes }) => bytes),
    check(input) {
      for (const { kind, entry } of sealedPlains) named(openBody(entry, kind, input, KEY))
    },
  },
  {
    name: 'chunks',
    samples: content.sealed,
    check(input) {
      named(openChunk(content.chunked, 0, input))
      // Its name is that of its bytes: what it holds is another matter.
      named(openChunk({ ...content.chunked, ids: [chunkId(input)] }, 0, input))
    },
  },
  {
    name: 'proposed actions',
    samples: [encodeAction({ description: 'd', target_files: ['f', 'g'], rationale: 'r', suggested_diff: '@@' })],
    check: (input) => oneForm(input, decodeAction(input), encodeAction),
  },
  {
    name: 'roster entries',
    samples: rosterEntries.map(({ envelope }) => envelope),
    check(input) {
      const entry = named(parseRosterEntry(input))
      const admitted = entry && admitRosterEntry(copyOf(removed.log), entry)
      if (admitted) named(admitted)
    },
  },
  {
    name: 'roster entries under the owner’s signature',
    samples: [...rosterEntries, ...rosterDrafts].map(({ envelope }) => headerOf(envelope)),
    check(input) {
      const entry = named(parseRosterEntry(encodeCanonical([input, sign(bob.key, 'roster', [input])])))
      if (!entry) return
      for (const log of [copyOf(removed.log), emptyRosterLog()]) {
        const admitted = admitRosterEntry(log, entry)
        if (admitted) named(admitted)
      }
    },
  },
  { name: 'prekey records', samples: [prekey.bytes], check: (input) => void named(openPrekey(input)) },
  {
    name: 'prekey records under a true signature',
    samples: [encodeCanonical(partsOf(prekey.bytes))],
    check(input) {
      const parts = decodeCanonical(input, { bytesMax: 1024 })
      if (!parts.ok || !Array.isArray(parts.value)) return
      const fields = parts.value as readonly Value[]
      named(openPrekey(encodeCanonical([...fields, sign(bob.key, 'prekey', fields)])))
    },
  },
  { name: 'sync messages', samples: syncs, check: (input) => oneForm(input, parseSync(input), encodeSync) },
  {
    name: 'join messages',
    samples: joins.map(encodeJoin),
    check: (input) => oneForm(input, parseJoin(input), encodeJoin),
  },
  {
    name: 'mailbox messages',
    samples: mailboxes,
    check(input) {
      const parsed = parseMailbox(input)
      oneForm(input, parsed, encodeMailbox)
      if (!parsed.ok) return
      if (parsed.value.t === 'put') checkPut(parsed.value)
      if (parsed.value.t === 'open') checkOpen(parsed.value, { nonce: ID, server: ID })
    },
  },
  {
    name: 'mail in a mailbox',
    samples: MAIL.map(encodeMail),
    check: (input) => oneForm(input, parseMail(input), encodeMail),
  },
  { name: 'gossip', samples: gossips, check: (input) => oneForm(input, parseGossip(input), encodeGossip) },
  {
    name: 'sealed envelopes',
    samples: gossips.map((plain) => sealEnvelope(plain, { key: KEY, epoch: 3, salt: seedOf('salt') })),
    check(input) {
      named(epochOf(input))
      const plain = named(openEnvelope(input, KEY))
      if (plain) named(parseGossip(plain))
    },
  },
  {
    name: 'invite codes as they are typed',
    samples: [encodeCode({ secret }), encodeCode({ secret, inviter })].map((code) => new TextEncoder().encode(code)),
    check(input) {
      const code = named(parseCode(new TextDecoder().decode(input)))
      if (code) assert.equal(code.secret.length, 16)
    },
  },
  {
    name: 'invite codes under a true checksum',
    samples: [standalone.bytes, secret],
    check: (input) => void named(parseCode(bech32m.encode('relay', bech32m.toWords(input.slice(0, 600)), 1023))),
  },
  {
    name: 'frames on a stream',
    samples: syncs.map(encodeFrame),
    check(input) {
      const reader = createFrameReader()
      try {
        for (const at of [0, 1, 2]) reader.push(input.subarray((input.length * at) / 3, (input.length * (at + 1)) / 3))
        while (reader.next() !== undefined);
      } catch (error) {
        assert.ok(error instanceof NetError && error.code === 'NET_FRAME')
      }
      assert.ok(reader.heldBytes <= FRAME_LIMIT + input.length + 1024)
    },
  },
]

/** What a prekey record says, without its signature. */
function partsOf(record: Uint8Array): readonly Value[] {
  const decoded = decodeCanonical(record, { bytesMax: 1024 })
  assert.ok(decoded.ok && Array.isArray(decoded.value))
  return (decoded.value as readonly Value[]).slice(0, -1)
}
