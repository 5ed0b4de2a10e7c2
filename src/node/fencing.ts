/**
 * What a thread needs once a device of it was removed: a fence, with which this side says that
 * nothing counts that the device writes from now on, a key that the device never gets, and that key
 * also for a reader whom the thread was shared with at the same moment. Whether something is missing
 * follows from the roster and the thread alone, so that nothing is forgotten when a node dies in between.
 */
import {
  commitThreadKey,
  DEVICE_WRAPS_COUNT_MAX,
  devicesToCover,
  hasBit,
  HEADER_SIZE_BYTES_MAX,
  type Hex,
  type Node,
  OLDER_KEYS_COUNT_MAX,
  type Roster,
  sealOlderKey,
  threadDevices,
  viewOf,
  wrapThreadKey,
} from '../../protocol/index.ts'
import { keepKey, type ThreadKey, writingKey } from './contents.ts'
import type { Held, Turn } from './held.ts'
import { hasForked, nextPast, publish, type Published } from './publish.ts'
import { giftsDue, giveKeys } from './reader-keys.ts'
import { isRecovering } from './settle.ts'
import { createOf, sideOf, type Thread } from './threads.ts'
import { isRemoved, isRosterForked, ownMember, rosterOf } from './workspace.ts'

/** Why a thread has no key yet that every removed device is left out of. */
export type KeyLack =
  /** The encryption keys of these devices are not here. */
  | { readonly why: 'prekeys'; readonly devices: readonly Hex[] }
  /** This device has written as many as it may in one thread. */
  | { readonly why: 'wraps' }
  /** More devices than one entry holds keys for. */
  | { readonly why: 'devices' }

export interface Secured {
  readonly said: Published[]
  readonly lack?: KeyLack
}

/** What one key for one device, and one older key, take in a header; and all else, the 16 parents included. */
const WRAPPED_BYTES = 160
const OLDER_BYTES = 90
const OTHER_BYTES = 1200

/** Which of it is done now; left out, all. */
export interface Duties {
  readonly fence: boolean
  readonly keys: boolean
}

/** Writes what the thread needs because of the roster that is held; nothing where this device has no say in it. */
export async function secure(
  held: Held,
  turn: Turn,
  thread: Thread,
  duties: Duties = { fence: true, keys: true },
): Promise<Secured> {
  const said: Published[] = []
  if (!hasSay(held, thread)) return { said }
  if (duties.fence) for (const device of unfenced(held, thread)) said.push(fence(held, turn, thread, device))
  if (!duties.keys) return { said }
  const made = needsKey(held, thread) ? await writeKey(held, turn, thread) : undefined
  if (made && 'node' in made) said.push(made)
  said.push(...(await giveKeys(held, turn, thread)))
  return made && 'why' in made ? { said, lack: made } : { said }
}

/**
 * Fences a removed device before an entry of it is taken in that was not known when the roster was:
 * whatever of this side came to include it first would give it effect.
 */
export function fenceBefore(held: Held, turn: Turn, thread: Thread, device: Hex): Published | undefined {
  if (!isRemoved(held.workspace, device) || !hasSay(held, thread)) return undefined
  return unfenced(held, thread).includes(device) ? fence(held, turn, thread, device) : undefined
}

function fence(held: Held, turn: Turn, thread: Thread, device: Hex): Published {
  return publish(held, turn, thread, { kind: 'fence', ctl: { device } })
}

/** Whether this device may write fences and keys in the thread now. */
export function hasSay(held: Held, thread: Thread): boolean {
  const member = ownMember(held.workspace)
  const side = sideOf(thread, held.workspace.key.public)
  if (!member || member.role === 'reader' || (side !== 'sender' && side !== 'recipient')) return false
  return (
    !isRosterForked(held.workspace) &&
    !held.quarantined.has(thread.id) &&
    !hasForked(held, thread) &&
    !isRecovering(held, thread)
  )
}

/** Removed devices of the other side that nobody of this side has fenced yet. */
export function unfenced(held: Held, thread: Thread): Hex[] {
  const { graph } = thread
  const own = sideOf(thread, held.workspace.key.public)
  const other = own === 'sender' ? 'recipient' : 'sender'
  const done = new Set(graph.byKind.fence.flatMap(({ side, entry }) => (side === own ? [entry.header.ctl.device] : [])))
  const create = createOf(thread)?.header.ctl
  const past = nextPast(held, thread)
  const isKnown = (device: Hex): boolean =>
    create?.senders.includes(device) === true ||
    create?.recipients.includes(device) === true ||
    // An added one can be fenced once the entry that adds it is in one's own past.
    graph.byKind.wrap.some(({ entry, index }) => entry.header.ctl.adds === device && hasBit(past, index))
  return threadDevices(thread.graph).filter(
    (device) =>
      isRemoved(held.workspace, device) && sideOf(thread, device) === other && !done.has(device) && isKnown(device),
  )
}

/** Whether somebody waits for a key: every one that could be written with is known to a removed device, or a reader lacks one. */
export function needsKeys(held: Held, thread: Thread): boolean {
  return needsKey(held, thread) || giftsDue(held, thread).length > 0
}

function needsKey(held: Held, thread: Thread): boolean {
  return thread.keys.size > 0 && writingKey(held.workspace, thread) === undefined
}

/** Writes a wrap with a fresh key for exactly those who are to have it, and the older keys under it. */
async function writeKey(held: Held, turn: Turn, thread: Thread): Promise<Published | KeyLack> {
  const { workspace, system } = held
  const { graph } = thread
  const author = workspace.key.public
  const chain = graph.byDevice.get(author) ?? []
  const roster = rosterOf(workspace)
  const nonce = createOf(thread)?.header.ctl.nonce
  if (!roster || nonce === undefined) throw new Error('a thread in which something is said has a roster and a create')
  if (chain.filter(({ entry }) => entry.header.kind === 'wrap').length >= DEVICE_WRAPS_COUNT_MAX)
    return { why: 'wraps' }
  const covered = coveredBy(held, thread, roster)
  const room = HEADER_SIZE_BYTES_MAX - OTHER_BYTES - covered.length * WRAPPED_BYTES
  if (room < 0) return { why: 'devices' }
  const lacking = covered.filter((device) => !workspace.prekeys.has(device))
  if (lacking.length > 0) return { why: 'prekeys', devices: lacking }
  const key = system.dice(32)
  const place = { ws: roster.ws, nonce, author }
  const wraps = await Promise.all(
    covered.flatMap((device) => {
      const prekey = workspace.prekeys.get(device)
      return prekey
        ? [wrapThreadKey(key, place, { device, prekey: prekey.id, x25519: prekey.x25519, ekm: system.dice(32) })]
        : []
    }),
  )
  const older = keysToCarry(thread, Math.min(OLDER_KEYS_COUNT_MAX, Math.floor(room / OLDER_BYTES))).map(
    ([id, one]): [Hex, Hex] => [id, sealOlderKey(key, one, id)],
  )
  const prev: Node | undefined = chain.at(-1)
  const commit = commitThreadKey(key, { nonce, ws: roster.ws, device: author, prev: prev?.entry.id ?? null })
  const made = publish(held, turn, thread, { kind: 'wrap', ctl: { commit, wraps, older, adds: null } })
  turn.writes.push(keepKey(thread, made.node.entry.id, key))
  return made
}

function coveredBy(held: Held, thread: Thread, roster: Roster): Hex[] {
  return devicesToCover(viewOf(thread.graph, nextPast(held, thread)), null, roster)
}

/** The first key of the thread and the newest, as many as there is room for: so that who comes later reads what came before. */
function keysToCarry(thread: Thread, count: number): ThreadKey[] {
  const { create, wrap } = thread.graph.byKind
  const known = [...create, ...wrap].flatMap(({ entry: { id } }): ThreadKey[] => {
    const key = thread.keys.get(id)
    return key ? [[id, key]] : []
  })
  return known.filter((_, at) => count > 0 && (at === 0 || at > known.length - count))
}
