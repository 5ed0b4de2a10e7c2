/**
 * The keys that readers need: which ones they can open, and shares with those that they cannot. A
 * share and a new key that were made at once know nothing of each other; the share then leads to
 * none of what is said under that key, until it is given too.
 */
import {
  hasBit,
  type Hex,
  inOrder,
  isBefore,
  isOfKind,
  LACK_COUNT_MAX,
  type Node,
  type NodeOf,
  wrapThreadKey,
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import { carriedKeys, type ThreadKey } from './contents.ts'
import type { Held, Turn } from './held.ts'
import { nextPast, publish, type Published, type Statement } from './publish.ts'
import { sharesOf } from './readers.ts'
import { createOf, type Thread } from './threads.ts'
import { isRemoved } from './workspace.ts'

/** A key, and laptops of one member that are to have it and cannot open it. */
export interface Gift {
  readonly reader: Hex
  readonly devices: readonly Hex[]
  readonly key: ThreadKey
}

/** What all readers of a thread are judged by, found once: they may be many, and so may the keys. */
interface Ground {
  readonly shares: readonly NodeOf<'share'>[]
  readonly leads: ReadonlyMap<Hex, ReadonlySet<Hex>>
}

function groundOf(thread: Thread, shares = sharesOf(thread)): Ground {
  return { shares, leads: leadsOf(thread) }
}

/** For each key that this device holds, the older ones that it leads to. */
function leadsOf(thread: Thread): Ground['leads'] {
  const leads = new Map<Hex, Set<Hex>>()
  for (const { entry } of inOrder(thread.graph)) {
    const key = thread.keys.get(entry.id)
    if (!key) continue
    const found = new Set<Hex>()
    for (const [id] of carriedKeys(thread, entry.id, key))
      for (const one of [id, ...(leads.get(id) ?? [])]) found.add(one)
    leads.set(entry.id, found)
  }
  return leads
}

/**
 * The keys by which a reader opens all that this device opens: the newest one, and further ones only
 * as far as no newer one leads to them, as where both sides made a new key at once.
 */
function keysToGive(held: Held, thread: Thread, { leads }: Ground): ThreadKey[] {
  const given: ThreadKey[] = []
  const reached = new Set<Hex>()
  const past = nextPast(held, thread)
  for (const [id, older] of [...leads].toReversed()) {
    const key = thread.keys.get(id)
    const node = thread.graph.byId.get(id)
    if (!key || !node || reached.has(id) || !hasBit(past, node.index)) continue
    given.push([id, key])
    for (const olderId of older) reached.add(olderId)
  }
  return given
}

/**
 * Of the keys that this device holds, those that `device` was given or that lead from one it was
 * given. What this device gave counts; what another one gave may be no key, which the reader says.
 */
function keysOf(thread: Thread, { shares, leads }: Ground, [own, device]: readonly [Hex, Hex]): Set<Hex> {
  const { create, wrap } = thread.graph.byKind
  const gifts: (readonly [key: Hex, by: NodeOf<'create' | 'wrap' | 'share'>])[] = [
    ...[...create, ...wrap].map((node) => [node.entry.id, node] as const),
    ...shares.map((node) => [node.entry.header.ctl.key, node] as const),
  ]
  const found = new Set<Hex>()
  for (const [id, by] of gifts) {
    const older = leads.get(id)
    const { dev, ctl } = by.entry.header
    if (!older || !ctl.wraps.some(([to]) => to === device)) continue
    if (dev !== own && opensNothing(thread, device, { key: id, by })) continue
    for (const one of [id, ...older]) found.add(one)
  }
  return found
}

/** Whether a device that knows of a gift says that it can open nothing of what is sealed under the key. */
function opensNothing(thread: Thread, device: Hex, { key, by }: { key: Hex; by: Node }): boolean {
  const ack = thread.graph.byDevice.get(device)?.findLast((node) => isOfKind(node, 'ack'))
  if (!ack || !isOfKind(ack, 'ack') || !isBefore(by, ack)) return false
  const lack = new Set(ack.entry.header.ctl.lack)
  if (lack.size === 0) return false
  const sealed = thread.graph.nodes.filter(
    ({ entry: { id, header } }) => header.body !== null && (header.kind === 'create' ? id : header.body.key) === key,
  )
  const known = sealed.filter((node) => isBefore(node, ack))
  // A receipt that is full may leave some out.
  if (lack.size >= LACK_COUNT_MAX) return known.some(({ entry }) => lack.has(entry.id))
  return known.length > 0 && known.every(({ entry }) => lack.has(entry.id))
}

/** What these laptops of a member need to open all that this device opens. */
export function giftsFor(
  held: Held,
  thread: Thread,
  { reader, devices }: Omit<Gift, 'key'>,
  ground = groundOf(thread),
): Gift[] {
  const own = held.workspace.key.public
  const owned = devices.map((device) => ({ device, keys: keysOf(thread, ground, [own, device]) }))
  return keysToGive(held, thread, ground).flatMap((key): Gift[] => {
    const lacking = owned.flatMap(({ device, keys }) => (keys.has(key[0]) ? [] : [device]))
    return lacking.length > 0 ? [{ reader, devices: lacking, key }] : []
  })
}

/** A node shares no more than this by itself: whoever makes keys without end must not use up what its people may say. */
const OWN_SHARES_COUNT_MAX = 64

/** What the laptops that the thread was shared with need, of those whose encryption key is here. */
export function giftsDue(held: Held, thread: Thread): Gift[] {
  const { workspace } = held
  const own = thread.graph.byKind.share.filter(({ entry }) => entry.header.dev === workspace.key.public)
  const shares = sharesOf(thread)
  if (shares.length === 0) return []
  const ground = groundOf(thread, shares)
  const readers = Map.groupBy(shares, ({ entry }) => entry.header.ctl.reader)
  const gifts = [...readers].flatMap(([reader, named]) => {
    const devices = new Set(named.flatMap(({ entry }) => entry.header.ctl.devices))
    const there = [...devices].filter((device) => !isRemoved(workspace, device) && workspace.prekeys.has(device))
    return giftsFor(held, thread, { reader, devices: there }, ground)
  })
  return gifts.slice(0, Math.max(0, OWN_SHARES_COUNT_MAX - own.length))
}

/** Gives readers what they need; where this laptop may say nothing more for now, later, or another laptop does. */
export async function giveKeys(held: Held, turn: Turn, thread: Thread): Promise<Published[]> {
  const said: Published[] = []
  for (const gift of giftsDue(held, thread)) {
    try {
      said.push(publish(held, turn, thread, await shareOf(held, thread, gift)))
    } catch (error) {
      if (error instanceof ApiError && error.symbol === 'rate_limited') break
      throw error
    }
  }
  return said
}

/** The entry that gives a key to laptops, each of whose encryption keys is here. */
export async function shareOf(
  { workspace, system }: Held,
  thread: Thread,
  { reader, devices, key: [key, secret] }: Gift,
): Promise<Statement> {
  const header = createOf(thread)?.header
  if (!header) throw new Error('a thread that is shared has a create')
  const place = { ws: header.ws, nonce: header.ctl.nonce, author: workspace.key.public }
  const wraps = await Promise.all(
    devices.map((device) => {
      const prekey = workspace.prekeys.get(device)
      if (!prekey) throw new Error('a laptop that is given a key has an encryption key')
      return wrapThreadKey(secret, place, { device, prekey: prekey.id, x25519: prekey.x25519, ekm: system.dice(32) })
    }),
  )
  return { kind: 'share', ctl: { reader, devices: [...devices], key, wraps } }
}
