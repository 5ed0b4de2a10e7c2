import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import {
  addNode,
  type Checked,
  decodeCanonical,
  emptyGraph,
  encodeCanonical,
  encodeGossip,
  encodeJoin,
  encodeSync,
  type Entry,
  type Graph,
  hash,
  isBefore,
  type Kind,
  openBody,
  openEntry,
  openEnvelope,
  openPrekey,
  parentsOf,
  parseCode,
  parseGossip,
  parseJoin,
  parseRosterEntry,
  parseSync,
  pastOf,
  prekeyPublic,
  reduce,
  sealBody,
  sealEnvelope,
  signEntry,
  signPrekey,
  stateDigest,
} from '../../protocol/index.ts'
import { statusOf, viewOf } from '../../protocol/effect.ts'
import { placeNode } from '../../protocol/graph.ts'
import {
  acme,
  type Actor,
  alice,
  begin,
  bob,
  bob2,
  emptyStory,
  frank,
  frank2,
  genesisOf,
  seedOf,
  type Story,
  wrapFor,
} from '../cast.ts'
import { deliver, shuffled } from './delivery.ts'
import { SYNC_MESSAGES, VALUES } from './samples.ts'

// Histories.

const KINDS_WRITTEN: readonly Kind[] = [
  'accept',
  'cancel',
  'complete',
  'message',
  'revise',
  'annotate',
  'approve',
  'share',
  'wrap',
  'ack',
  'fence',
]

interface Step {
  readonly who: number
  readonly kind: Kind
  /** Picks what the author pretends to know. */
  readonly past: readonly number[]
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.nat(4),
  kind: fc.constantFrom(...KINDS_WRITTEN),
  past: fc.array(fc.nat(), { minLength: 1, maxLength: 2 }),
})

const STEPS = fc.array(step, { minLength: 4, maxLength: 24, size: 'max' })

const changed = acme()
const BEFORE = changed.roster().point
changed.write('remove-device', { device: frank.device })
changed.write('remove-device', { device: bob2.device })

/** Whatever of `steps` the rules store: forks, hidden pasts, fences in both directions, added laptops, readers. */
function lyingStory(steps: readonly Step[]): Story {
  const people = [bob, bob2, frank, frank2, alice]
  const empty = emptyStory(changed, [bob, bob2], [frank])
  const story: Story = { ...empty, create: empty.say(bob, 'create', {}, { header: { ros: BEFORE } }) }
  for (const { who, kind, past } of steps) {
    const author = people[who] ?? bob
    const entries = story.entries()
    // Mostly of the newest, so that histories grow deep as well as wide.
    const known = past.map((n) => entries[Math.max(0, entries.length - 1 - (n % 6))] ?? story.create)
    const first = KINDS_WRITTEN.indexOf(kind)
    // What the rules refuse is tried as the next kind, so that most steps leave an entry.
    const tries = [...KINDS_WRITTEN.slice(first), ...KINDS_WRITTEN.slice(0, first)].flatMap((one) =>
      [true, false].map((old) => ({ kind: one, known, old })),
    )
    for (const lie of tries) {
      const verdict = story.judge(draftLie(story, author, lie))
      if (verdict.ok !== true) continue
      addNode(story.graph, verdict.value)
      break
    }
  }
  return story
}

function draftLie(story: Story, author: Actor, lie: { kind: Kind; known: Entry[]; old: boolean }): Entry {
  const { kind, known, old } = lie
  const options = { past: known, header: old ? { ros: BEFORE } : {} }
  if (kind === 'fence')
    return story.draft(
      author,
      kind,
      { device: author === bob || author === bob2 ? frank.device : bob2.device },
      options,
    )
  if (kind === 'wrap') {
    const cover = [bob, bob2, frank, frank2].filter((laptop) => old || (laptop !== bob2 && laptop !== frank))
    return story.draft(
      author,
      kind,
      { adds: frank2.device, wraps: cover.map(({ device }) => wrapFor(device)) },
      options,
    )
  }
  return story.draft(author, kind, {}, options)
}

/** The part of a graph that `picked` and its past make, as a graph of its own. */
function subgraph(graph: Graph, picked: readonly number[]): Graph {
  const chosen = picked.flatMap((n) => graph.nodes[n % graph.nodes.length] ?? [])
  const part = emptyGraph()
  for (const node of graph.nodes) {
    if (!chosen.some((one) => one === node || isBefore(node, one))) continue
    const parents = parentsOf(node.entry).flatMap((id) => part.byId.get(id) ?? [])
    addNode(part, placeNode(part, node.entry, parents))
  }
  return part
}

describe('histories of liars', () => {
  test.prop([STEPS, fc.array(fc.nat(), { minLength: 1, maxLength: 30 })], { numRuns: 60 })(
    'in any order of delivery give one state',
    (steps, rank) => {
      const story = lyingStory(steps)
      const expected = story.state()
      const { graph, refused, waiting } = deliver(shuffled(story.entries(), rank), story.workspace.log)
      expect([refused.size, waiting.length]).toEqual([0, 0])
      const state = reduce(graph)
      expect(state).toEqual(expected)
      expect(stateDigest(graph, state)).toBe(stateDigest(story.graph, expected))
      expect(graph.heads).toEqual(story.graph.heads)
    },
  )

  test.prop([STEPS, fc.array(fc.nat(), { minLength: 1, maxLength: 3 })], { numRuns: 60 })(
    'the state of a past is the same, looked at in the whole or alone',
    (steps, picked) => {
      const { graph } = lyingStory(steps)
      const part = subgraph(graph, picked)
      const set = pastOf(
        graph,
        [...part.byId.keys()].flatMap((id) => graph.byId.get(id) ?? []),
      )
      expect(reduce(part).status).toBe(statusOf(viewOf(graph, set)))
    },
  )

  test.prop([STEPS, fc.nat()], { numRuns: 40 })(
    'an entry’s verdict does not depend on what lies outside its past',
    (steps, which) => {
      const { graph, workspace } = lyingStory(steps)
      const node = graph.nodes[which % graph.nodes.length]
      if (!node) throw new Error('empty')
      const alone = [...graph.nodes.filter((other) => isBefore(other, node)), node].map(({ entry }) => entry)
      expect(deliver(alone, workspace.log).graph.byId.get(node.entry.id)).toMatchObject({
        depth: node.depth,
        side: node.side,
        number: node.number,
      })
    },
  )
})

// Honest devices.

const shared = acme()
const HONEST: readonly Kind[] = ['accept', 'cancel', 'complete', 'message', 'revise', 'annotate', 'ack']

describe('histories of honest devices', () => {
  const move = fc.record({ who: fc.nat(2), kind: fc.constantFrom(...HONEST), from: fc.nat(2), share: fc.nat() })

  test.prop([fc.array(move, { minLength: 4, maxLength: 30, size: 'max' })], { numRuns: 60 })(
    'are never refused, and end in one state wherever they meet',
    (moves) => {
      const people = [bob, frank, frank2]
      const root = begin({ workspace: shared, recipients: [frank, frank2] })
      const known = people.map(() => new Set([root.create.id]))
      const written: Entry[] = [root.create]
      for (const { who, kind, from, share } of moves) {
        const mine = known[who] as Set<string>
        // Some of what the other holds arrives first, with all that it builds on.
        const theirs = written.filter((entry) => known[from]?.has(entry.id))
        const cut = share % (theirs.length + 1)
        for (const entry of theirs.slice(0, cut)) mine.add(entry.id)
        const held = written.filter((entry) => mine.has(entry.id))
        const { graph } = deliver(held, shared.log)
        if (!mayWrite(graph, people[who] ?? bob, kind)) continue
        const entry = root.say(people[who] ?? bob, kind, {}, { past: held })
        mine.add(entry.id)
        written.push(entry)
      }
      const { graph, refused } = deliver(written.toReversed(), shared.log)
      expect(refused.size).toBe(0)
      expect(reduce(graph)).toEqual(root.state())
      expect(root.state().forked.size).toBe(0)
    },
  )
})

/** What an honest node asks before it writes. */
function mayWrite(graph: Graph, who: Actor, kind: Kind): boolean {
  const { status } = reduce(graph)
  const isSender = who === bob
  const own = (graph.byDevice.get(who.device) ?? []).at(-1)
  if (kind === 'ack')
    return graph.nodes.some(
      (node) =>
        node.entry.header.dev !== who.device && node.entry.header.kind !== 'ack' && !(own && isBefore(node, own)),
    )
  if (kind === 'accept') return !isSender && status === 'pending'
  if (kind === 'cancel') return isSender && status === 'pending'
  if (kind === 'complete') return !isSender && status === 'accepted'
  return status === 'pending' || status === 'accepted'
}

// Junk.

const KEY = seedOf('key')
const plain = begin({ workspace: shared })
const prekey = signPrekey(
  {
    ws: shared.ws,
    device: frank.device,
    counter: 0,
    x25519: await prekeyPublic(frank.prekeySeed),
    mailbox: bob.device,
    created: 0,
  },
  frank.key,
)
const message = sealBody(plain.draft(frank, 'message').header, encodeCanonical({ body: 'hi', artifacts: [] }), {
  key: KEY,
  keyId: plain.create.id,
  iv: seedOf('iv'),
})
const messageEntry = signEntry(message.header, frank.key)

/** Everything that reads a stranger's bytes, with bytes that it accepts. */
const PARSERS: Record<string, { parse: (bytes: Uint8Array) => Checked<unknown>; good: Uint8Array }> = {
  decodeCanonical: {
    parse: (bytes) => decodeCanonical(bytes, { bytesMax: 4096 }),
    good: encodeCanonical({ a: [1, 'x', null] }),
  },
  openEntry: { parse: openEntry, good: plain.create.envelope },
  parseRosterEntry: { parse: parseRosterEntry, good: genesisOf(bob, 'acme').envelope },
  openPrekey: { parse: openPrekey, good: prekey.bytes },
  parseSync: { parse: parseSync, good: encodeSync(SYNC_MESSAGES[6] ?? { t: 'got' }) },
  parseGossip: { parse: parseGossip, good: encodeGossip({ t: 'entry', envelope: plain.create.envelope, body: null }) },
  parseJoin: {
    parse: parseJoin,
    good: encodeJoin({ t: 'welcome', roster: [genesisOf(bob, 'acme').envelope], prekeys: [], last: false }),
  },
  openEnvelope: {
    parse: (bytes) => openEnvelope(bytes, KEY),
    good: sealEnvelope(plain.create.envelope, { key: KEY, epoch: 0, salt: KEY }),
  },
  openBody: { parse: (bytes) => openBody(messageEntry, 'message', bytes, KEY), good: message.sealed },
  parseCode: { parse: (bytes) => parseCode(new TextDecoder().decode(bytes)), good: new TextEncoder().encode('relay1') },
}

const lie = fc.constantFrom(
  new Uint8Array(100_000).fill(0x81),
  new Uint8Array(100_000).fill(0xa1),
  Uint8Array.of(0x9b, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(0xbb, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(0x5a, 0xff, 0xff, 0xff, 0xff),
  Uint8Array.of(0x82, 0x59, 0xff, 0xff, 0x40),
  Uint8Array.of(0xc1, 0x00),
  new Uint8Array(400_000),
)

describe.each(Object.entries(PARSERS))('%s', (name, { parse, good }) => {
  test.prop([fc.oneof(fc.uint8Array({ maxLength: 300 }), VALUES.map(encodeCanonical), lie)], { numRuns: 200 })(
    'refuses junk by name and never throws',
    (junk) => {
      const parsed = parse(junk)
      if (name !== 'decodeCanonical') expect(parsed.ok).toBe(false)
      if (!parsed.ok) expect(parsed.refusal).toMatch(/^[a-z_]+$/)
    },
  )

  test.prop([fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }), fc.nat()], { numRuns: 200 })(
    'never throws on its own bytes changed or cut short',
    (changes, length) => {
      const bytes = good.slice()
      for (const [place, byte] of changes) bytes[place % bytes.length] = byte
      for (const one of [bytes, bytes.subarray(0, length % bytes.length)]) expect(parse(one)).toHaveProperty('ok')
    },
  )
})

test.prop([fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 300 })(
  'one changed byte of a sealed envelope is refused',
  (place, change) => {
    const bytes = sealEnvelope(plain.create.envelope, { key: KEY, epoch: 0, salt: KEY })
    const at = place % bytes.length
    bytes[at] = (bytes[at] ?? 0) ^ change
    expect(openEnvelope(bytes, KEY).ok).toBe(false)
  },
)

test.prop([fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 300 })(
  'one changed byte of a sealed body is refused',
  (place, change) => {
    const bytes = message.sealed.slice()
    const at = place % bytes.length
    bytes[at] = (bytes[at] ?? 0) ^ change
    expect(openBody(messageEntry, 'message', bytes, KEY)).toMatchObject({ refusal: 'seal_broken' })
    expect(hash('ciphertext', [bytes])).not.toBe(message.header.body?.h)
  },
)
