/**
 * The worked examples of protocol/spec, computed from fixed seeds: a workspace of two, one handoff,
 * and what they say to each other. A page shows a block by its name: ```hex NAME.
 */
import {
  actionMac,
  encodeAction,
  encodeBody,
  encodeCanonical,
  encodeCode,
  encodeGossip,
  encodeJoin,
  fromHex,
  headsDigest,
  type Hex,
  inviteKey,
  ownerProofKey,
  peerIdText,
  proveOwner,
  reduce,
  rendezvousTag,
  sealEnvelope,
  sealOlderKey,
  stateDigest,
  textId,
  toHex,
  topicOf,
} from '../../protocol/index.ts'
import { derive, tagged } from '../../protocol/crypto.ts'
import { bob, frank, seedOf } from '../cast.ts'
import { blockText, cborLines, heading, type HexLine, rawLines, taggedLines } from './hex-lines.ts'
import { chunk } from './spec-artifact.ts'
import { mailbox } from './spec-mailbox.ts'
import { buckets, sync } from './spec-sync.ts'
import * as world from './spec-world.ts'

const NO_SALT = new Uint8Array(0)

function hexLines(hex: Hex, note = ''): HexLine[] {
  return rawLines(fromHex(hex), note)
}

/** The first bytes of a tagged input whose rest stands elsewhere, and the SHA-256 of the whole. */
function longInput(bytes: Uint8Array, rest: string): HexLine[] {
  const tagEnd = bytes.indexOf(0) + 1
  const tag = new TextDecoder().decode(bytes.subarray(0, tagEnd - 1))
  return [
    ...rawLines(bytes.subarray(0, tagEnd), `"${tag}" and a zero byte`),
    ...rawLines(bytes.subarray(tagEnd, tagEnd + 4), `array(1), bytes(${bytes.length - tagEnd - 4}): ${rest}`),
  ]
}

const headerNotes = {
  '': 'the envelope',
  0: 'the header, which is',
  1: 'the signature',
  '0/dev': 'Frank’s laptop',
  '0/ros.1': 'id of the roster entry',
  '0/deps.0': 'the create',
  '0/body.key': 'the key that the create introduced',
  '0/ts': 'milliseconds since 1970',
}

function overview(): HexLine[] {
  return [bob, frank].flatMap(({ name, device }) => {
    const seed = seedOf('device', name)
    return [
      heading(`${name}: seed of the device key, and the public key`),
      ...rawLines(seed, 'seed'),
      ...hexLines(device, `public key: ${textId('device', device)}`),
      heading(`  libp2p PeerId ${peerIdText(device)}`),
    ]
  })
}

function canonical(): HexLine[] {
  const value = { bb: [0, 23, 24, 255, 256, -1], a: null, c: 'é', aaa: { id: Uint8Array.of(1, 2), ok: true } }
  return cborLines(encodeCanonical(value))
}

function taggedHash(): HexLine[] {
  const heads = [seedOf('one head'), seedOf('another head')].toSorted(Buffer.compare)
  return [
    ...taggedLines(tagged('heads', [heads]), { notes: { 0: 'the heads of a thread, sorted' } }),
    heading('SHA-256 of all of this: the digest of these heads'),
    ...hexLines(headsDigest(heads.map((head) => toHex(head)))),
  ]
}

function entry(): HexLine[] {
  const { accept, acceptHeader } = world
  return [
    ...cborLines(accept.envelope, { notes: headerNotes, within: ['0'] }),
    heading('what is hashed for the id'),
    ...longInput(tagged('entry-id', [acceptHeader]), 'the header as above'),
    heading('the id of the entry'),
    ...hexLines(accept.id, textId('entry', accept.id)),
    heading('what is signed'),
    ...longInput(tagged('entry', [acceptHeader]), 'the header as above'),
  ]
}

function digestLines(story: world.Told): HexLine[] {
  const state = reduce(story.graph)
  const { lead } = state
  const sorted = (ids: Iterable<Hex>) => [...ids].toSorted().map((id) => fromHex(id))
  const parts = [
    sorted(story.graph.byId.keys()),
    state.status,
    [lead.accept, lead.complete].map((id) => (id === null ? null : fromHex(id))),
    ...[state.void, state.cut, state.late].map(sorted),
  ]
  const notes = {
    0: 'all entries',
    1: 'the status',
    2: 'the accept and the complete that lead',
    3: 'void',
    4: 'cut',
    5: 'late',
  }
  return [
    ...taggedLines(tagged('digest', parts), { notes }),
    heading('SHA-256 of all of this: the state digest'),
    ...hexLines(stateDigest(story.graph, state), `${state.status}, ${state.final ? 'final' : 'not final'}`),
  ]
}

function thread(): HexLine[] {
  const { create, cancel, accept, ack, forked, crossing, lied } = world
  const named = { create, cancel, accept, ack }
  return [
    heading('the four entries'),
    ...Object.entries(named).flatMap(([name, { id }]) => hexLines(id, name)),
    ...digestLines(crossing),
    heading('a fifth entry comes: Frank’s laptop had acknowledged the cancel beside its accept'),
    ...hexLines(forked.id, 'the fork'),
    ...digestLines(lied),
  ]
}

function record(): HexLine[] {
  const notes = { '': 'the body of a revise' }
  return cborLines(encodeBody('revise', { record: world.RECORD, artifacts: [], note: '' }), { notes })
}

function settled(): HexLine[] {
  const { revisions } = world
  const { bobs, franks, settles } = revisions
  return [
    heading('two revisions of the create’s record, written at once'),
    ...hexLines(bobs.id, textId('revision', bobs.id)),
    ...hexLines(franks.id, textId('revision', franks.id)),
    heading('ctl of the revision that settles the fork'),
    ...cborLines(encodeCanonical({ base: settles.header.ctl.base.map((id) => fromHex(id)) })),
  ]
}

function roster(): HexLine[] {
  const { genesis } = world
  const notes = {
    0: 'the header, which is',
    1: 'the owner’s signature over tag "roster"',
    '0/ctl.wraps.0': 'the workspace key for Bob’s laptop',
    '0/ctl.wraps.0.1': 'id of the prekey record',
    '0/ctl.wraps.0.2': 'enc',
    '0/ctl.wraps.0.3': 'ciphertext',
    '0/ctl.commit': 'what binds the workspace key',
    '0/ctl.successor': 'hash of the offline key',
  }
  return [
    ...cborLines(genesis.envelope, { notes, within: ['0'] }),
    heading('SHA-256 over tag "roster-id": the id of the workspace and of its first member'),
    ...hexLines(genesis.id, textId('workspace', genesis.id)),
  ]
}

function prekey(): HexLine[] {
  const names = ['workspace', 'device', 'counter', 'X25519 key', 'mailbox key', 'created', 'signature']
  return [
    ...cborLines(world.franksPrekey.bytes, { notes: Object.fromEntries(names.map((name, i) => [i, name])) }),
    heading('SHA-256 over tag "prekey-id": the id of the record'),
    ...hexLines(world.franksPrekey.id),
  ]
}

function join(): HexLine[] {
  const { INVITE_SECRET: secret, genesis, invite, franksPrekey, joinProof } = world
  const nonce = toHex(seedOf('join nonce'))
  const stated = { ws: genesis.id, invite: invite.id, owner: bob.device, device: frank.device, nonce }
  const proved = [stated.ws, stated.invite, stated.owner, stated.device, stated.nonce].map((id) => fromHex(id))
  const claimed = [genesis.id, invite.id, frank.device, franksPrekey.id].map((id) => fromHex(id))
  const ask = encodeJoin({ t: 'ask', v: 1, key: inviteKey(secret).public, device: frank.device, nonce })
  return [
    heading(`the secret of the invite ${encodeCode({ secret })}`),
    ...rawLines(secret),
    heading('the seed of the invite’s key, the public key, and the owner’s proof key'),
    ...rawLines(derive(secret, NO_SALT, 'invite-seed', []), 'seed'),
    ...hexLines(inviteKey(secret).public, 'public key'),
    ...rawLines(ownerProofKey(secret), 'proof key'),
    heading(`the rendezvous name: ${rendezvousTag(secret)}`),
    heading('ask, Frank’s first message'),
    ...cborLines(ask),
    heading('what the owner’s proof is the HMAC of'),
    ...taggedLines(tagged('join-owner', proved), { notes: named(['workspace', 'invite', 'owner', 'joiner', 'nonce']) }),
    heading('the proof'),
    ...hexLines(proveOwner(ownerProofKey(secret), stated)),
    heading('what Frank signs with the key of the invite (and, under tag "join", with his own)'),
    ...taggedLines(tagged('invite', claimed), { notes: named(['workspace', 'invite', 'joiner', 'prekey record']) }),
    heading('both signatures'),
    ...hexLines(joinProof.inviteSignature ?? '', 'by the invite’s key, tag "invite"'),
    ...hexLines(joinProof.deviceSignature, 'by Frank’s device key, tag "join"'),
  ]
}

function named(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [String(i), name]))
}

function threadKey(): HexLine[] {
  const { THREAD_KEY: key, create, genesis, franksPrekey } = world
  const { nonce, commit, wraps } = create.header.ctl
  const [, , enc, ct] = wraps[1] ?? wraps[0] ?? world.NO_WRAP
  const info = [genesis.id, nonce, bob.device, frank.device, franksPrekey.id].map((id) => fromHex(id))
  const bound = [fromHex(genesis.id), fromHex(bob.device), null]
  return [
    heading('the thread key'),
    ...rawLines(key),
    heading('info of the wrap for Frank’s laptop'),
    ...taggedLines(tagged('wrap', info), {
      notes: named(['workspace', 'nonce of the create', 'author', 'for', 'prekey record']),
    }),
    heading('seed of Frank’s prekey, ekm, enc and ciphertext'),
    ...rawLines(frank.prekeySeed, 'seed'),
    ...rawLines(seedOf('ekm', frank.name), 'ekm'),
    ...hexLines(enc, 'enc'),
    ...hexLines(ct, 'ciphertext'),
    heading('info of the commitment; its salt is the nonce of the create'),
    ...taggedLines(tagged('commit', bound), { notes: named(['workspace', 'author', 'prev of the create']) }),
    heading('the commitment'),
    ...hexLines(commit),
  ]
}

function body(): HexLine[] {
  const { accept, acceptPlain, acceptSealed, acceptAad, create, THREAD_KEY, genesis } = world
  const facts = accept.header.body
  const salt = fromHex(facts?.iv ?? '')
  const info = [fromHex(genesis.id), fromHex(create.id), fromHex(create.id), fromHex(frank.device), 0, null]
  return [
    heading('salt: iv of the body'),
    ...rawLines(salt),
    heading('info of the body key'),
    ...taggedLines(tagged('body', info), { notes: named(['workspace', 'thread', 'key', 'author', 'seq', 'prev']) }),
    heading('the body key'),
    ...rawLines(derive(THREAD_KEY, salt, 'body', info)),
    heading('the plaintext: length, canonical body, zeros up to 256 bytes'),
    ...rawLines(Uint8Array.of(0, 0, 0, acceptPlain.length), `${acceptPlain.length} bytes follow`),
    ...cborLines(acceptPlain),
    heading(`${256 - 4 - acceptPlain.length} zero bytes`),
    heading('the associated data'),
    ...longInput(acceptAad, 'the header with 32 zero bytes as body.h'),
    heading('SHA-256 of the associated data, to compare'),
    ...hexLines(world.sha256(acceptAad)),
    heading('the ciphertext with its tag'),
    ...rawLines(acceptSealed),
    heading('body.h: SHA-256 over tag "ciphertext" of it'),
    ...hexLines(facts?.h ?? ''),
  ]
}

function olderKey(): HexLine[] {
  const { THREAD_KEY: older, create } = world
  const newer = seedOf('newer thread key')
  return [
    heading('a newer key, and the key that is derived from it; the salt is the older key’s id'),
    ...rawLines(newer, 'newer key'),
    ...rawLines(derive(newer, fromHex(create.id), 'older', []), 'derived'),
    heading('the associated data'),
    ...taggedLines(tagged('older', [fromHex(create.id)]), { notes: { 0: 'id of the create' } }),
    heading('the thread key of the create, sealed'),
    ...hexLines(sealOlderKey(newer, older, create.id)),
  ]
}

function action(): HexLine[] {
  const { THREAD_KEY: key, create } = world
  const bytes = encodeAction({ description: 'drop the column', rationale: 'unused', target_files: ['a.sql'] })
  return [
    heading('a proposed action'),
    ...cborLines(bytes),
    heading('the key of the code'),
    ...rawLines(derive(key, fromHex(create.header.ctl.nonce), 'action-key', [])),
    heading('ctl.action: HMAC-SHA-256 over tag "action" and an array of these bytes'),
    ...hexLines(actionMac(key, create.header.ctl.nonce, bytes)),
  ]
}

function gossip(): HexLine[] {
  const { WORKSPACE_KEY: key, create, accept } = world
  const salt = seedOf('envelope salt')
  const plain = encodeGossip({ t: 'hint', th: create.id, heads: [accept.id] })
  const notes = { 0: 'epoch', 1: 'salt', 2: 'ciphertext with its tag' }
  return [
    heading('the workspace key, and the topic of epoch 0'),
    ...rawLines(key),
    heading(`  ${topicOf(key, 0)}`),
    heading('the message: a hint'),
    ...cborLines(plain),
    heading('the key of this envelope, and the associated data'),
    ...rawLines(derive(key, salt, 'envelope', [0])),
    ...taggedLines(tagged('envelope', [0, salt])),
    heading('the envelope'),
    ...cborLines(sealEnvelope(plain, { key, epoch: 0, salt }), { notes }),
  ]
}

function refused(): HexLine[] {
  return [
    { hex: '1817', level: 0, note: '23 in two bytes instead of one: not_canonical' },
    { hex: '818181818181818181f6', level: 0, note: 'null in nine arrays: too_deep' },
    { hex: 'a1617464616c6c6f', level: 0, note: '{"t": "allo"} on a sync stream: message' },
  ]
}

/** What the code says to each of the refused examples; the test compares. */
export const REFUSED = refused().map(({ hex, note }) => ({ hex, refusal: note.slice(note.lastIndexOf(' ') + 1) }))

/** Name of a block → its text. */
export const EXAMPLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    keys: overview(),
    value: canonical(),
    'tagged-hash': taggedHash(),
    entry: entry(),
    digest: thread(),
    record: record(),
    settled: settled(),
    genesis: roster(),
    prekey: prekey(),
    join: join(),
    'thread-key': threadKey(),
    body: body(),
    'older-key': olderKey(),
    action: action(),
    chunk: chunk(),
    gossip: gossip(),
    sync: sync(),
    buckets: buckets(),
    mailbox: mailbox(),
    refused: refused(),
  }).map(([name, lines]) => [name, blockText(lines)] as const),
)
