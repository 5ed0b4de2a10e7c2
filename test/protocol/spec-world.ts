/** The world of the specification's examples: bob’s workspace acme, frank who joins by an invite, one handoff between them. */
import { createHash } from 'node:crypto'
import {
  addNode,
  authorize,
  type BodyKind,
  type BodyOf,
  type ContinuityRecord,
  commitThreadKey,
  commitWorkspaceKey,
  emptyGraph,
  emptyRosterLog,
  encodeBody,
  type Entry,
  fromHex,
  type Graph,
  hash,
  type Header,
  type Hex,
  inviteKey,
  type Prekey,
  prekeyPublic,
  type RosterCtl,
  type RosterEntry,
  type RosterHeader,
  type RosterKind,
  sealBody,
  signEntry,
  signingKey,
  signJoin,
  signPrekey,
  signRosterEntry,
  toHex,
  type Wrapped,
  wrapThreadKey,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import { tagged } from '../../protocol/crypto.ts'
import { encodeHeader } from '../../protocol/entry.ts'
import { type Actor, bob, CLOCK_MS, frank, mustAdmit, seedOf } from '../cast.ts'

export const WORKSPACE_KEY = seedOf('workspace key')
export const THREAD_KEY = seedOf('thread key')
export const INVITE_SECRET = seedOf('invite secret').slice(0, 16)
export const NO_WRAP: Wrapped = ['', '', '', '']

/** Plain SHA-256, no tag. */
export function sha256(bytes: Uint8Array): Hex {
  return createHash('sha256').update(bytes).digest('hex')
}

// The roster: bob founds acme, invites frank, takes him in.

const log = emptyRosterLog()
const rosterNonce = toHex(seedOf('roster nonce'))
const place = { nonce: rosterNonce, epoch: 0 }

async function prekeyOf(who: Actor, ws: Hex, counter: number): Promise<Prekey> {
  const mailbox = signingKey(seedOf('mailbox', who.name)).public
  const x25519 = await prekeyPublic(who.prekeySeed)
  return signPrekey({ ws, device: who.device, counter, x25519, mailbox, created: CLOCK_MS }, who.key)
}

function keyHolder({ name, device }: Actor, prekey: Prekey) {
  return { device, prekey: prekey.id, x25519: prekey.x25519, ekm: seedOf('ekm', name) }
}

function write<K extends RosterKind>(kind: K, ctl: RosterCtl<K>, before: RosterEntry | undefined): RosterEntry {
  const n = before ? before.header.n + 1 : 0
  const ws = before ? (before.header.ws ?? before.id) : null
  const header = { v: 1, ws, n, prev: before?.id ?? null, kind, ctl, ts: CLOCK_MS + n } as RosterHeader
  const written = signRosterEntry(header, bob.key)
  mustAdmit(log, written)
  return written
}

const commit = commitWorkspaceKey(WORKSPACE_KEY, place)
/** What genesis wraps to: of no workspace yet, so that it names the nonce. */
const firstPrekey = await prekeyOf(bob, rosterNonce, 0)

export const genesis = write(
  'genesis',
  {
    name: 'acme',
    member: 'bob',
    device: bob.device,
    device_name: 'laptop',
    successor: hash('successor', [fromHex(signingKey(seedOf('successor')).public)]),
    nonce: rosterNonce,
    commit,
    wraps: [await wrapWorkspaceKey(WORKSPACE_KEY, place, keyHolder(bob, firstPrekey))],
  },
  undefined,
)
export const bobsPrekey = await prekeyOf(bob, genesis.id, 1)
export const franksPrekey = await prekeyOf(frank, genesis.id, 1)

const offered = { name: 'frank', role: 'member', kind: 'person' } as const
const expires = CLOCK_MS + 86_400_000
export const invite = write('invite', { ...offered, key: inviteKey(INVITE_SECRET).public, expires }, genesis)
export const joinProof = signJoin(
  { ws: genesis.id, invite: invite.id, device: frank.device, prekey: franksPrekey.id },
  frank.key,
  inviteKey(INVITE_SECRET),
)
const member = write('add-member', { ...offered, invite: invite.id }, invite)
const addedDevice = write(
  'add-device',
  {
    member: member.id,
    device: frank.device,
    name: 'laptop',
    prekey: franksPrekey.id,
    invite: invite.id,
    invite_signature: joinProof.inviteSignature,
    device_signature: joinProof.deviceSignature,
    wraps: [await wrapWorkspaceKey(WORKSPACE_KEY, place, keyHolder(frank, franksPrekey))],
  },
  member,
)
/** The roster with both in it. */
export const joined = mustAdmit(log, addedDevice)

// The handoff.

const nonce = toHex(seedOf('create nonce'))
const threadPlace = { ws: genesis.id, nonce, author: bob.device }
const keyFacts = { nonce, ws: genesis.id, device: bob.device, prev: null }

interface Said {
  who: Actor
  header: Pick<Header, 'kind' | 'ctl'>
  body?: Uint8Array
  prev?: Entry
  deps?: readonly Entry[]
}

interface Signed {
  entry: Entry
  /** The ciphertext, and what it is bound to. */
  sealed: Uint8Array
  aad: Uint8Array
}

/** States, seals and signs one entry. The clock counts the steps of the author's chain. */
function say({ who, header, body, prev, deps = [] }: Said): Signed {
  const seq = prev ? prev.header.seq + 1 : 0
  const th = header.kind === 'create' ? null : create.id
  const draft = {
    v: 1,
    ws: genesis.id,
    th,
    dev: who.device,
    seq,
    prev: prev?.id ?? null,
    deps: deps.map(({ id }) => id).toSorted(),
    ros: joined.point,
    ...header,
    body: null,
    ts: CLOCK_MS + 60_000 * (seq + 1),
  } as Header
  if (!body) return { entry: signEntry(draft, who.key), sealed: new Uint8Array(0), aad: new Uint8Array(0) }
  const iv = seedOf('iv', who.name, header.kind, seq)
  const made = sealBody(draft, body, { key: THREAD_KEY, keyId: th, iv })
  const zeroed = made.header.body && { ...made.header, body: { ...made.header.body, h: '00'.repeat(32) } }
  const aad = zeroed ? tagged('aad', [encodeHeader(zeroed)]) : new Uint8Array(0)
  return { entry: signEntry(made.header, who.key), sealed: made.sealed, aad }
}

function plain<K extends BodyKind>(kind: K, body: BodyOf<K>): Uint8Array {
  return encodeBody(kind, body)
}

type Create = Entry & { header: Extract<Header, { kind: 'create' }> }
type Revise = Entry & { header: Extract<Header, { kind: 'revise' }> }

export const create = say({
  who: bob,
  header: {
    kind: 'create',
    ctl: {
      to: member.id,
      senders: [bob.device],
      recipients: [frank.device],
      intent: 'inform',
      action: null,
      parent: null,
      nonce,
      commit: commitThreadKey(THREAD_KEY, keyFacts),
      wraps: [
        await wrapThreadKey(THREAD_KEY, threadPlace, keyHolder(bob, bobsPrekey)),
        await wrapThreadKey(THREAD_KEY, threadPlace, keyHolder(frank, franksPrekey)),
      ],
    },
  },
  body: plain('create', { summary: '/users is paginated now', artifacts: [] }),
}).entry as Create

export const cancel = say({
  who: bob,
  header: { kind: 'cancel', ctl: {} },
  body: plain('cancel', { reason: '' }),
  prev: create,
}).entry

export const acceptPlain = plain('accept', { session: 'editor' })
const accepted = say({ who: frank, header: { kind: 'accept', ctl: {} }, body: acceptPlain, deps: [create] })
export const accept = accepted.entry
export const acceptSealed = accepted.sealed
export const acceptAad = accepted.aad
export const acceptHeader = encodeHeader(accept.header)

export const ack = say({ who: bob, header: { kind: 'ack', ctl: { lack: [] } }, prev: cancel, deps: [accept] }).entry
/** A second entry of frank's laptop with number 0. */
export const forked = say({ who: frank, header: { kind: 'ack', ctl: { lack: [] } }, deps: [cancel] }).entry

export interface Told {
  readonly graph: Graph
}

/** Judges and stores, as every peer does. */
function told(entries: readonly Entry[]): Told {
  const graph = emptyGraph()
  for (const entry of entries) {
    const verdict = authorize({ graph, log, isRefused: () => false }, entry)
    if (verdict.ok !== true) throw new Error(`${entry.header.kind} is not stored`)
    addNode(graph, verdict.value)
  }
  return { graph }
}

export const crossing = told([create, cancel, accept, ack])
export const lied = told([create, cancel, accept, ack, forked])

// Revisions.

export const RECORD: ContinuityRecord = {
  objective: { summary: 'Paginate /users', acceptance_criteria: ['tests/users pass'] },
  current_state: { complete: ['server'], in_progress: [], blocked: [], unverified: ['iOS'] },
  decisions: [{ summary: 'cursor, not offset', rationale: 'rows move', status: 'accepted' }],
  evidence: [{ label: 'tests', claim: '41 pass', uri: 'https://ci.example/41' }],
  constraints: [{ kind: 'deadline', text: 'Friday' }],
  next_action: { summary: 'Adapt the client', verification: 'npm test' },
  ownership: { next_actor: 'frank', reviewers: [] },
  open_questions: [],
}

const revised = plain('revise', { record: RECORD, artifacts: [], note: '' })
const base = (entries: readonly Entry[]) => ({ base: entries.map(({ id }) => id).toSorted() })
const revise = (who: Actor, on: readonly Entry[], at: Pick<Said, 'prev' | 'deps'>) =>
  say({ who, header: { kind: 'revise', ctl: base(on) }, body: revised, ...at }).entry as Revise

const bobs = revise(bob, [create], { prev: create })
const franks = revise(frank, [create], { deps: [create] })
const settles = revise(bob, [bobs, franks], { prev: bobs, deps: [franks] })
export const revisions = { bobs, franks, settles }
told([create, bobs, franks, settles])
