/** Entries that a member with a valid key signs without following any rule but the form. */
import {
  type Draft,
  type Entry,
  hash,
  type Header,
  type Hex,
  hasBody,
  PROTOCOL_VERSION,
  type Roster,
  signEntry,
  toHex,
} from '../../protocol/index.ts'
import { type Actor, CLOCK_MS, wrapFor } from '../cast.ts'
import { createHeader, devicesOf, entriesOfThread } from './checkers/verdicts.ts'
import type { Random } from './random.ts'
import type { Scene } from './scene.ts'

export interface Lie {
  readonly entry: Entry
  /** What its header names as its body. */
  readonly body: Uint8Array | null
}

const KINDS = ['accept', 'cancel', 'complete', 'message', 'ack', 'approve', 'revise', 'fence', 'wrap'] as const
/** What it says too where people are removed. */
const KINDS_OF_REMOVALS = [...KINDS, 'share'] as const
/** The smallest padded size and its tag. */
const BODY_BYTES = 272

export interface LiesParts {
  readonly scene: Scene
  readonly random: Random
  readonly self: Actor
  /** The roster that it goes by. */
  readonly roster: Roster
  readonly removals: boolean
}

/** Says something in a thread on top of what it likes to know of it: so it forks, hides, dates back. */
export function lie(parts: LiesParts, thread: Hex): Lie {
  const { scene, random, self, roster, removals } = parts
  const { ws } = roster
  const entries = entriesOfThread(scene, thread)
  const known = random.chance(0.5) ? entries.slice(-2) : random.some(entries, 0.3)
  const past = new Set<Hex>([thread])
  for (const { id } of known) {
    past.add(id)
    for (const before of scene.pastOf(id)) past.add(before)
  }
  const own = entries.filter(({ id, header }) => past.has(id) && header.dev === self.device)
  const prev = own.toSorted((one, other) => other.header.seq - one.header.seq)[0]
  const covered = new Set(prev ? [prev.id, ...scene.pastOf(prev.id)] : [])
  const heads = [...past].filter((id) => ![...past].some((other) => scene.pastOf(other).has(id)))
  const deps = heads.filter((id) => !covered.has(id)).toSorted()
  const kind = random.pick(removals ? KINDS_OF_REMOVALS : KINDS) ?? 'message'
  const body = hasBody(kind) ? random.bytes(BODY_BYTES) : null
  const iv = toHex(random.bytes(32))
  const plain = {
    v: PROTOCOL_VERSION,
    ws,
    th: thread,
    dev: self.device,
    seq: prev ? prev.header.seq + 1 : 0,
    prev: prev?.id ?? null,
    deps: deps.slice(0, 16),
    ros: roster.point,
    kind,
    ctl: ctlOf(kind, parts, { thread, past }),
    body: body && { h: hash('ciphertext', [body]), n: BODY_BYTES, key: thread, iv },
    ts: CLOCK_MS + random.between(-(10 ** 9), 10 ** 12),
  } as unknown as Draft
  const header = random.chance(0.2) ? bent(plain, random, [...scene.entries.keys()]) : plain
  return { entry: signEntry(header, self.key), body: random.chance(0.2) ? random.bytes(BODY_BYTES) : body }
}

function ctlOf(
  kind: (typeof KINDS_OF_REMOVALS)[number],
  { scene, random, roster }: LiesParts,
  { thread, past }: { thread: Hex; past: ReadonlySet<Hex> },
): object {
  const create = createHeader(scene, thread)
  const devices = create ? devicesOf(create) : []
  switch (kind) {
    case 'accept':
    case 'cancel':
    case 'message':
      return {}
    case 'complete':
      return { outcome: random.pick(['done', 'partial', 'declined']) }
    case 'ack':
      return {
        lack: random
          .some([...past], 0.1)
          .slice(0, 8)
          .toSorted(),
      }
    case 'approve':
      return { action: create?.ctl.action ?? toHex(random.bytes(32)), verdict: random.pick(['approved', 'rejected']) }
    case 'revise':
      return { base: [thread] }
    case 'fence':
      return { device: random.pick(devices) ?? thread }
    case 'wrap':
      return { commit: toHex(random.bytes(32)), wraps: devices.map(wrapFor), older: [], adds: null }
    case 'share': {
      // The key opens nothing; the reader may be in the thread already, or out of the workspace.
      const reader = random.pick(scene.holders)?.device ?? thread
      const more = random.chance(0.8) ? [] : random.some([reader, ...devices], 0.5)
      const named = more.length > 0 ? more : [reader]
      const key = random.pick([thread, random.pick([...past]) ?? thread]) ?? thread
      return { reader: roster.devices.get(reader)?.member ?? thread, devices: named, key, wraps: named.map(wrapFor) }
    }
  }
}

/** The header with one field that is not as it should be. */
function bent(header: Draft, random: Random, ids: readonly Hex[]): Draft {
  const other = random.pick(ids) ?? header.ws
  const changes: readonly Partial<Header>[] = [
    { seq: header.seq + random.between(1, 3) },
    { prev: other },
    { prev: null },
    { deps: [] },
    { deps: [other] },
    { deps: [toHex(random.bytes(32))] },
    { th: other },
    { ros: [0, header.ws] },
    { ros: [header.ros[0] + 1, toHex(random.bytes(32))] },
    { ws: toHex(random.bytes(32)) },
    { body: null },
    { ts: 0 },
  ]
  return { ...header, ...random.pick(changes) } as Draft
}
