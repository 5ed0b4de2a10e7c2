/**
 * The cast of the tests: people with fixed keys, a fixed clock, dice that always fall the same way,
 * and a quick way to let them say things to each other by the real rules.
 *
 * bob owns the workspace acme and hands work to frank; both have a second laptop. alice is a third
 * member, mallory a member who lies. carol has a key and is in no workspace.
 */
import {
  addNode,
  admitRosterEntry,
  authorize,
  type Checked,
  type CtlOf,
  currentRoster,
  emptyGraph,
  emptyRosterLog,
  type Entry,
  fromHex,
  type Graph,
  type Ground,
  hasBit,
  hasBody,
  hash,
  type Header,
  type Hex,
  isBefore,
  type Kind,
  memberByName,
  type Missing,
  type Node,
  pastOf,
  PROTOCOL_VERSION,
  recordHeads,
  reduce,
  type Role,
  type Roster,
  type RosterCtl,
  type RosterEntry,
  type RosterHeader,
  type RosterKind,
  type RosterLog,
  type RosterPoint,
  signEntry,
  signJoin,
  signRosterEntry,
  type SigningKey,
  signingKey,
  type ThreadState,
  type Value,
  type Wrapped,
} from '../protocol/index.ts'

/** Monday, 5 January 2026, 09:00 UTC. */
export const CLOCK_MS = Date.UTC(2026, 0, 5, 9)

/** 32 bytes that belong to `label` and to nothing else. */
export function seedOf(...label: readonly Value[]): Uint8Array {
  return fromHex(hash('payload', ['test', ...label]))
}

/** Dice that fall the same way for the same label. */
export function dice(label: string): (length: number) => Uint8Array {
  let throws = 0
  return (length) => {
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; at += 32) bytes.set(seedOf('dice', label, throws++).subarray(0, length - at), at)
    return bytes
  }
}

/** One laptop of one person. */
export interface Actor {
  readonly name: string
  readonly key: SigningKey
  readonly device: Hex
  /** Seed of the laptop's X25519 prekey. */
  readonly prekeySeed: Uint8Array
}

export function actor(name: string): Actor {
  const key = signingKey(seedOf('device', name))
  return { name, key, device: key.public, prekeySeed: seedOf('prekey', name) }
}

export const bob = actor('bob')
export const bob2 = actor('bob2')
export const frank = actor('frank')
export const frank2 = actor('frank2')
export const alice = actor('alice')
export const mallory = actor('mallory')
export const carol = actor('carol')

/** A wrap in its shape, of no real key: the rules look at whom it is for and no further. */
export function wrapFor(device: Hex): Wrapped {
  return [device, hash('prekey-id', [device]), '11'.repeat(32), '22'.repeat(48)]
}

// Workspaces.

export interface Workspace {
  readonly ws: Hex
  readonly log: RosterLog
  readonly owner: Actor
  /** The roster of the newest point. */
  roster(): Roster
  /** Id of a member by name. */
  member(name: string): Hex
  /** The owner's next roster entry, not yet taken in. */
  draft<K extends RosterKind>(kind: K, ctl: RosterCtl<K>, header?: Partial<RosterHeader>): RosterEntry
  /** Writes and takes in the owner's next roster entry. */
  write<K extends RosterKind>(kind: K, ctl: RosterCtl<K>): RosterPoint
  /** A new member with its laptops. */
  enrol(name: string, laptops: readonly Actor[], role?: Role): Hex
  enrolDevice(member: Hex, laptop: Actor): RosterPoint
}

export function genesisOf(owner: Actor, name: string, header: Partial<RosterHeader> = {}): RosterEntry {
  const ctl: RosterCtl<'genesis'> = {
    name,
    member: owner.name,
    device: owner.device,
    device_name: owner.name,
    successor: hash('successor', [fromHex(signingKey(seedOf('successor', name)).public)]),
    nonce: hash('payload', ['roster nonce', name]),
    commit: '33'.repeat(32),
    wraps: [wrapFor(owner.device)],
  }
  const plain = { v: PROTOCOL_VERSION, ws: null, n: 0, prev: null, kind: 'genesis', ctl, ts: CLOCK_MS }
  return signRosterEntry({ ...plain, ...header } as RosterHeader, owner.key)
}

/** Takes a roster entry in, or fails the test. */
export function mustAdmit(log: RosterLog, entry: RosterEntry): Roster {
  const admitted = admitRosterEntry(log, entry)
  if (!admitted?.ok)
    throw new Error(
      `roster ${entry.header.kind}: ${admitted?.refusal ?? 'predecessor missing'} ${admitted?.detail ?? ''}`,
    )
  return admitted.value
}

/** A workspace with its owner in it. */
export function foundWorkspace(owner: Actor, name: string): Workspace {
  const log = emptyRosterLog()
  const ws = mustAdmit(log, genesisOf(owner, name)).ws
  const roster = () => {
    const current = currentRoster(log)
    if (!current) throw new Error('the roster has no point')
    return current
  }
  const workspace: Workspace = {
    ws,
    log,
    owner,
    roster,
    member(memberName) {
      const member = memberByName(roster(), memberName)
      if (!member) throw new Error(`no member ${memberName}`)
      return member.id
    },
    draft(kind, ctl, header = {}) {
      const [position, prev] = roster().point
      const plain = { v: PROTOCOL_VERSION, ws, n: position + 1, prev, kind, ctl, ts: CLOCK_MS + position }
      return signRosterEntry({ ...plain, ...header } as RosterHeader, owner.key)
    },
    write(kind, ctl) {
      return mustAdmit(log, workspace.draft(kind, ctl)).point
    },
    enrol(memberName, laptops, role = 'member') {
      const member = workspace.write('add-member', { name: memberName, role, kind: 'person', invite: null })[1]
      for (const laptop of laptops) workspace.enrolDevice(member, laptop)
      return member
    },
    enrolDevice(member, laptop) {
      return workspace.write('add-device', deviceCtl(workspace, member, laptop))
    },
  }
  return workspace
}

/** What the owner writes to enrol a laptop without an invite. */
export function deviceCtl(workspace: Workspace, member: Hex, laptop: Actor): RosterCtl<'add-device'> {
  const prekey = hash('prekey-id', [laptop.device])
  const proof = signJoin({ ws: workspace.ws, invite: null, device: laptop.device, prekey }, laptop.key, null)
  return {
    member,
    device: laptop.device,
    name: laptop.name,
    prekey,
    invite: null,
    invite_signature: proof.inviteSignature,
    device_signature: proof.deviceSignature,
    wraps: [wrapFor(laptop.device)],
  }
}

/** acme: bob (two laptops), frank (two laptops), alice and mallory. */
export function acme(): Workspace {
  const workspace = foundWorkspace(bob, 'acme')
  workspace.enrolDevice(workspace.member('bob'), bob2)
  workspace.enrol('frank', [frank, frank2])
  workspace.enrol('alice', [alice])
  workspace.enrol('mallory', [mallory])
  return workspace
}

// Threads.

export interface SayOptions {
  /** What the author pretends to know; left out, all that is stored. */
  readonly past?: readonly Entry[] | undefined
  /** Fields of the header to state in place of the true ones. */
  readonly header?: Partial<Header> | undefined
}

/** A thread under the real rules, as one who holds everything sees it. */
export interface Story {
  readonly workspace: Workspace
  readonly graph: Graph
  readonly ground: Ground
  readonly create: Entry
  /** Signs an entry without judging it. What `ctl` leaves out is filled in truthfully. */
  draft<K extends Kind>(who: Actor, kind: K, ctl?: Partial<CtlOf<K>>, options?: SayOptions): Entry
  judge(entry: Entry): Checked<Node> | Missing
  /** Judges and stores, or fails the test. */
  add(entry: Entry): Entry
  /** draft and add. */
  say<K extends Kind>(who: Actor, kind: K, ctl?: Partial<CtlOf<K>>, options?: SayOptions): Entry
  entries(): Entry[]
  node(entry: Entry): Node
  state(): ThreadState
}

export interface BeginOptions {
  readonly workspace?: Workspace
  readonly senders?: readonly Actor[]
  readonly recipients?: readonly Actor[]
  readonly create?: Partial<CtlOf<'create'>>
}

/** Bob hands something to Frank. */
export function begin(options: BeginOptions = {}): Story {
  const { workspace = acme(), senders = [bob], recipients = [frank] } = options
  const author = senders[0] ?? bob
  const story = emptyStory(workspace, senders, recipients)
  return { ...story, create: story.say(author, 'create', options.create) }
}

/** A thread before its create. */
export function emptyStory(
  workspace: Workspace,
  senders: readonly Actor[],
  recipients: readonly Actor[],
): Omit<Story, 'create'> {
  const graph = emptyGraph()
  const throwDice = dice('story')
  let written = 0
  const story: Omit<Story, 'create'> = {
    workspace,
    graph,
    ground: { graph, log: workspace.log, isRefused: () => false },
    draft(who, kind, ctl = {}, { past, header = {} } = {}) {
      const { prev, seq, deps, known } = parentsFor(graph, who.device, past)
      const create = graph.byKind.create[0]?.entry
      const nonce = throwDice(32)
      const defaults =
        kind === 'create'
          ? createCtl(workspace, { senders, recipients, nonce })
          : truthfulCtl(workspace, graph, { kind, known, adds: addedBy(ctl) })
      const iv = hash('payload', [throwDice(32)])
      const plain = {
        v: PROTOCOL_VERSION,
        ws: workspace.ws,
        th: kind === 'create' ? null : (create?.id ?? null),
        dev: who.device,
        seq,
        prev,
        deps,
        ros: workspace.roster().point,
        kind,
        ctl: { ...defaults, ...ctl },
        body: hasBody(kind)
          ? { h: hash('ciphertext', [iv]), n: 272, key: kind === 'create' ? null : (create?.id ?? null), iv }
          : null,
        ts: CLOCK_MS + 1000 * written++,
      }
      return signEntry({ ...plain, ...header } as Header, who.key)
    },
    judge: (entry) => authorize(story.ground, entry),
    add(entry) {
      const verdict = story.judge(entry)
      if (verdict.ok === 'missing') throw new Error(`${entry.header.kind}: something is missing`)
      if (!verdict.ok) throw new Error(`${entry.header.kind}: ${verdict.refusal} ${verdict.detail ?? ''}`)
      addNode(graph, verdict.value)
      return entry
    },
    say: (who, kind, ctl, sayOptions) => story.add(story.draft(who, kind, ctl, sayOptions)),
    entries: () => graph.nodes.map((node) => node.entry),
    node(entry) {
      const node = graph.byId.get(entry.id)
      if (!node) throw new Error('the entry is not stored')
      return node
    },
    state: () => reduce(graph),
  }
  return story
}

/** Where a device's next entry stands if it knows `past` and what lies in the past of that. */
function parentsFor(graph: Graph, device: Hex, past: readonly Entry[] | undefined) {
  const named = past ? past.flatMap((entry) => graph.byId.get(entry.id) ?? []) : graph.nodes
  const known = pastOf(graph, named)
  const own = (graph.byDevice.get(device) ?? []).filter((node) => hasBit(known, node.index))
  const prev = own.reduce<Node | undefined>(
    (last, node) => (last && last.entry.header.seq >= node.entry.header.seq ? last : node),
    undefined,
  )
  const heads = graph.nodes.filter((node) => hasBit(known, node.index) && !named.some((other) => isBefore(node, other)))
  const deps = heads.filter((node) => node !== prev).map((node) => node.entry.id)
  return { known, prev: prev?.entry.id ?? null, seq: prev ? prev.entry.header.seq + 1 : 0, deps: deps.toSorted() }
}

function createCtl(
  workspace: Workspace,
  who: { senders: readonly Actor[]; recipients: readonly Actor[]; nonce: Uint8Array },
): CtlOf<'create'> {
  const senders = who.senders.map((laptop) => laptop.device)
  const recipients = who.recipients.map((laptop) => laptop.device)
  const to = workspace.roster().devices.get(recipients[0] ?? '')?.member ?? workspace.ws
  const nonce = hash('payload', [who.nonce])
  const wraps = [...senders, ...recipients].map(wrapFor)
  return {
    to,
    senders,
    recipients,
    intent: 'inform',
    action: null,
    parent: null,
    nonce,
    commit: '44'.repeat(32),
    wraps,
  }
}

function addedBy(ctl: object): Hex | null {
  return 'adds' in ctl && typeof ctl.adds === 'string' ? ctl.adds : null
}

/** Arguments that the rules allow as of `known`, where there is one obvious choice. */
function truthfulCtl(
  workspace: Workspace,
  graph: Graph,
  stated: { kind: Kind; known: Uint32Array; adds: Hex | null },
): object {
  const { kind, known, adds } = stated
  const create = graph.byKind.create[0]
  if (!create) return {}
  switch (kind) {
    case 'complete':
      return { outcome: 'done' }
    case 'revise':
      return {
        base: recordHeads(graph, known)
          .map((node) => node.entry.id)
          .toSorted(),
      }
    case 'annotate':
      return { target: create.entry.id }
    case 'approve':
      return { action: create.entry.header.ctl.action ?? '00'.repeat(32), verdict: 'approved' }
    case 'ack':
      return { lack: [] }
    case 'share':
      return {
        reader: workspace.roster().devices.get(alice.device)?.member ?? workspace.ws,
        devices: [alice.device],
        key: create.entry.id,
        wraps: [wrapFor(alice.device)],
      }
    case 'wrap': {
      const { senders, recipients } = create.entry.header.ctl
      const added = graph.byKind.wrap.flatMap((node) =>
        hasBit(known, node.index) ? (node.entry.header.ctl.adds ?? []) : [],
      )
      const readers = graph.byKind.share.flatMap((node) =>
        hasBit(known, node.index) ? node.entry.header.ctl.devices : [],
      )
      const covered = new Set([...senders, ...recipients, ...added, ...readers, ...(adds === null ? [] : [adds])])
      const active = [...covered].filter((device) => workspace.roster().devices.get(device)?.removed === false)
      return { commit: '55'.repeat(32), wraps: active.map(wrapFor), older: [], adds }
    }
    default:
      return {}
  }
}
