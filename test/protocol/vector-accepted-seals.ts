/** Sealed things, codes and messages that are accepted, byte for byte. */
import { createHash } from 'node:crypto'
import { CHUNK_SIZE_BYTES, hash, ID_PREFIXES, type IdSort, type Kind, type Value } from '../../protocol/index.ts'
import { acme, begin, bob, carol, CLOCK_MS, frank, seedOf } from '../cast.ts'
import { type AcceptedCase, seedFor } from './vector-accepted.ts'
import { type Fields, type Json, writeHex, writeValue } from './vector-form.ts'
import { headerIn } from './vector-makes.ts'

const hex = (...label: readonly Value[]) => writeHex(seedOf(...label))
const KEY = hex('key')
const NONCE = hash('payload', ['nonce'])
const PREKEY = hash('prekey-id', [frank.device])
const id32 = seedOf('some id')
const ID = writeHex(id32)
const workspace = acme()

const HELLO = new TextEncoder().encode('hello\n')
const DESCRIBED = {
  size: HELLO.length,
  sha256: new Uint8Array(createHash('sha256').update(HELLO).digest()),
  key: seedOf('artifact key'),
  ids: [id32],
}

const RECORD = {
  objective: { summary: 'the login keeps its session', acceptance_criteria: ['test_login passes'] },
  current_state: { complete: ['cause found'], in_progress: [], blocked: [], unverified: ['Safari'] },
  decisions: [{ summary: 'keep the cookie', rationale: 'the API needs it', status: 'accepted' }],
  evidence: [{ label: 'log', claim: 'the session ends early', uri: 'file:log.txt' }],
  constraints: [{ kind: 'safety', text: 'no write to production' }],
  next_action: { summary: 'fix the clock', verification: 'run test_login' },
  ownership: { next_actor: 'frank', reviewers: ['bob'] },
  open_questions: ['is the clock UTC?'],
}

/** One body of each kind that has one, in a thread of its own. */
const BODIES: readonly (readonly [kind: Kind, body: { readonly [key: string]: Value }])[] = [
  ['create', { summary: 'look at the login', artifacts: [], record: RECORD, question: 'why does it end?' }],
  ['accept', { session: 'frank on laptop 1' }],
  ['cancel', { reason: 'solved' }],
  [
    'complete',
    {
      result_summary: 'done',
      artifacts: [
        { type: 'file_diff', path: 'a.py', diff: '+x\n', base_commit: 'abc' },
        { type: 'file_ref', path: 'b.py', lines: '1-3' },
        { type: 'test_command', command: 'pytest', cwd: '.' },
        { type: 'api_contract', inline: '{}' },
        { type: 'link', url: 'https://example.org', title: 'here' },
        { type: 'file', name: 'c.bin', media_type: 'application/octet-stream', bytes: Uint8Array.of(1, 2, 3) },
        { type: 'file', name: 'd.txt', media_type: 'text/plain', chunks: DESCRIBED },
      ],
    },
  ],
  ['message', { body: 'hello', payload: '{"a":1.5}', artifacts: [] }],
  ['revise', { record: RECORD, artifacts: [], note: 'the cause' }],
  [
    'annotate',
    { text: 'really?', artifact: id32, selector: { exact: 'x', prefix: '+', suffix: '' }, assignee: seedOf('member') },
  ],
  ['resolve', { note: 'as said' }],
  ['approve', { reason: 'looks right' }],
]

function bodyInput(kind: Kind, body: Value): Fields {
  const story = begin({ workspace, create: { intent: 'propose_action', action: '0a'.repeat(32) } })
  const annotation = story.say(bob, 'annotate')
  if (kind === 'complete' || kind === 'approve') story.say(frank, 'accept')
  const who = kind === 'create' || kind === 'cancel' ? bob : frank
  const ctl = kind === 'resolve' ? { annotation: annotation.id, revision: story.create.id } : {}
  const entry = kind === 'create' ? story.create : story.draft(who, kind, ctl)
  const { map } = headerIn(entry) as { readonly map: readonly (readonly [string, Json])[] }
  return {
    seed: seedFor(who.device),
    header: { map: map.filter(([key]) => key !== 'body') },
    body: writeValue(body),
    key: KEY,
    key_id: kind === 'create' ? null : story.create.id,
    iv: hex('iv', kind),
  }
}

const ACTION = {
  description: 'drop the column',
  target_files: ['a.sql'],
  rationale: 'nobody reads it',
  suggested_diff: '-x\n',
}

const place = { ws: workspace.ws, nonce: NONCE, author: bob.device }
const to = { device: frank.device, prekey: PREKEY, prekey_seed: hex('prekey', 'frank'), ekm: hex('ekm') }

const KEYS: readonly AcceptedCase[] = [
  {
    name: 'hash',
    title: 'A purpose and parts: the bytes under every hash, code and derived key, and what they come to.',
    check: 'hash_parts',
    input: { purpose: 'digest', parts: writeValue(['x', 1, null, id32]), key: KEY, salt: hex('salt') },
  },
  {
    name: 'hash-of-nothing',
    title: 'A purpose without parts.',
    check: 'hash_parts',
    input: { purpose: 'heads', parts: [], key: KEY, salt: '' },
  },
  {
    name: 'signature',
    title: 'A signature over a purpose and parts, by the key of a seed.',
    check: 'sign_parts',
    input: { seed: seedFor(bob.device), purpose: 'entry', parts: writeValue([id32]) },
  },
  {
    name: 'prekey',
    title: 'A prekey record.',
    check: 'sign_prekey',
    input: {
      seed: seedFor(frank.device),
      ws: workspace.ws,
      counter: 3,
      prekey_seed: hex('prekey', 'frank'),
      mailbox: bob.device,
      created: CLOCK_MS,
    },
  },
  {
    name: 'wrap-in-create',
    title: 'A thread key wrapped in create, with fixed dice, and its commitment.',
    check: 'wrap_thread_key',
    input: { key: KEY, ...place, prev: null, ...to },
  },
  {
    name: 'wrap-in-wrap',
    title: 'A thread key that a wrap introduces: its commitment names the wrap’s prev.',
    check: 'wrap_thread_key',
    input: { key: KEY, ...place, prev: ID, ...to },
  },
  {
    name: 'older-key',
    title: 'An older thread key sealed under a newer one.',
    check: 'seal_older_key',
    input: { key: KEY, older: hex('older'), id: ID },
  },
  {
    name: 'action',
    title: 'A proposed action and its code.',
    check: 'action_mac',
    input: { key: KEY, nonce: NONCE, action: writeValue(ACTION) },
  },
  ...BODIES.map(([kind, body]) => ({
    name: `sealed-${kind}`,
    title: `The body of an entry that says ${kind}.`,
    check: 'seal_body',
    input: bodyInput(kind, body),
  })),
]

const ARTIFACTS: readonly AcceptedCase[] = [
  ...(
    [
      ['id-without-content', 'An artifact without content', { type: 'file_ref', path: 'a.py', lines: '1-3' }],
      ['id-of-content', 'A file that stands in the body', { ...labelled('hello.txt'), bytes: HELLO }],
      ['id-of-chunks', 'The same file in chunks, with the same id', { ...labelled('hello.txt'), chunks: DESCRIBED }],
      ['id-of-another-name', 'The same content under another name', { ...labelled('hullo.txt'), bytes: HELLO }],
      [
        'id-of-a-diff',
        'A diff, with what it was made on',
        { type: 'file_diff', path: 'a.py', diff: '+x\n', repo: '1a'.repeat(20), base_commit: '2b'.repeat(20) },
      ],
      ['id-of-an-empty-diff', 'A diff with nothing in it', { type: 'file_diff', path: 'a.py', diff: '' }],
    ] as const
  ).map(([name, what, artifact]) => ({
    name,
    title: `${what}.`,
    check: 'artifact_id',
    input: { artifact: writeValue(artifact) },
  })),
  ...[1, 252, 253, CHUNK_SIZE_BYTES, CHUNK_SIZE_BYTES + 1].map((length) => ({
    name: `chunks-of-${length}-bytes`,
    title: `${length} bytes in chunks.`,
    check: 'seal_content',
    input: { content: writeHex(new Uint8Array(length).fill(7)), key: hex('artifact key') },
  })),
]

function labelled(name: string) {
  return { type: 'file', name, media_type: 'text/plain' }
}

const ENVELOPES: readonly AcceptedCase[] = [
  {
    name: 'workspace-key',
    title: 'A workspace key wrapped in the roster, its commitment and the topic that it names.',
    check: 'wrap_workspace_key',
    input: { key: KEY, nonce: NONCE, epoch: 2, ...to },
  },
  ...[0, 252, 253, 1020].map((length) => ({
    name: `sealed-${length}-bytes`,
    title: `${length} bytes sealed for the workspace.`,
    check: 'seal_envelope',
    input: { plain: writeHex(new Uint8Array(length).fill(7)), key: KEY, epoch: 2, salt: hex('salt') },
  })),
]

const SECRET = hex('secret').slice(0, 32)
const INVITER = {
  device: bob.device,
  addresses: ['/ip4/192.168.1.20/tcp/4001', '/ip6/fe80::1/tcp/4001'],
  expires: CLOCK_MS,
}

const INVITES: readonly AcceptedCase[] = [
  {
    name: 'short-code',
    title: 'An invite as a short code and as twelve words, and the keys made from its secret.',
    check: 'make_code',
    input: { secret: SECRET, inviter: null },
  },
  {
    name: 'standalone-code',
    title: 'An invite together with where the inviter is.',
    check: 'make_code',
    input: { secret: SECRET, inviter: INVITER },
  },
  {
    name: 'owner-proof',
    title: 'The owner proves to a joiner that it made the invite.',
    check: 'prove_owner',
    input: { secret: SECRET, ws: workspace.ws, invite: ID, owner: bob.device, device: carol.device, nonce: NONCE },
  },
  {
    name: 'join-proof',
    title: 'A joiner signs its keys with its own key and with the invite’s.',
    check: 'sign_join',
    input: { seed: seedFor(frank.device), secret: SECRET, ws: workspace.ws, invite: ID, prekey: PREKEY },
  },
  {
    name: 'join-proof-without-an-invite',
    title: 'A further laptop signs its keys with its own key alone.',
    check: 'sign_join',
    input: { seed: seedFor(frank.device), secret: null, ws: workspace.ws, invite: null, prekey: PREKEY },
  },
]

const some = Uint8Array.of(1, 2, 3)
const SYNC: readonly (readonly [name: string, message: { readonly [key: string]: Value }])[] = [
  ['hello', { v: 1, ws: id32, ros: [3, id32], prekeys: id32, frame: 327_680, clock: CLOCK_MS }],
  ['roster', { entries: [some] }],
  ['prekeys', { records: [some] }],
  ['digests', { buckets: new Uint8Array(2048).fill(3) }],
  ['threads', { threads: [[id32, id32]] }],
  ['vector', { th: id32, tips: [[id32, 7, id32]] }],
  [
    'entries',
    {
      th: id32,
      items: [
        [some, null],
        [some, some],
      ],
      heads: [id32],
    },
  ],
  ['ids', { th: id32, ids: [id32] }],
  ['want', { th: id32, ids: [] }],
  ['bodies', { th: id32, items: [[id32, some]] }],
  ['want-chunks', { th: id32, ids: [id32] }],
  [
    'chunks',
    {
      th: id32,
      items: [
        [id32, some],
        [id32, null],
      ],
    },
  ],
  ['heads', { th: id32, heads: [id32] }],
  ['got', {}],
]
const GOSSIP: typeof SYNC = [
  ['entry', { envelope: some, body: null }],
  ['hint', { th: id32, heads: [id32] }],
]
const JOIN: typeof SYNC = [
  ['ask', { v: 1, key: id32, device: id32, nonce: id32 }],
  ['offer', { ws: id32, invite: id32, role: 'reader', kind: 'service', owner: id32, proof: id32 }],
  [
    'claim',
    {
      device_name: 'laptop-2',
      prekey: some,
      invite_signature: new Uint8Array(64).fill(4),
      device_signature: new Uint8Array(64).fill(5),
    },
  ],
  ['welcome', { roster: [some], prekeys: [some], last: true }],
  ['refused', { reason: 'expired' }],
]

function messages(protocol: 'sync' | 'gossip' | 'join', list: typeof SYNC): AcceptedCase[] {
  return list.map(([t, fields]) => ({
    name: `${protocol === 'join' ? 'message' : protocol}-${t}`,
    title: `A ${protocol} message that says ${t}.`,
    check: `encode_${protocol}`,
    input: { message: writeValue({ t, ...fields }) },
  }))
}

const OTHER = hash('payload', ['another thread'])

export const ACCEPTED_SEALS: readonly AcceptedCase[] = [
  ...KEYS,
  ...ARTIFACTS,
  ...ENVELOPES,
  ...INVITES,
  ...messages('sync', SYNC),
  ...messages('gossip', GOSSIP),
  ...messages('join', JOIN),
  {
    name: 'digests-of-sets',
    title: 'Digests of heads, of the buckets of threads and of prekey records.',
    check: 'digest_sets',
    input: {
      threads: [
        { thread: ID, heads: [OTHER, ID].toSorted() },
        { thread: OTHER, heads: [ID] },
        { thread: ID.slice(0, 2) + OTHER.slice(2), heads: [OTHER] },
      ],
      prekeys: [PREKEY, ID].toSorted(),
    },
  },
  ...(Object.keys(ID_PREFIXES) as IdSort[]).map((sort) => ({
    name: sort,
    title: `The text of the id of a ${sort}.`,
    check: 'name_id',
    input: { id: ID, sort },
  })),
  {
    name: 'peer',
    title: 'The PeerId of a device key.',
    check: 'name_peer',
    input: { device: bob.device },
  },
]
