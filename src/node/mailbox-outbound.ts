/**
 * What is left in the mailbox of a device that is away: what it has not acknowledged, and what of a
 * thread and of the workspace it may need to understand that.
 */
import {
  chainTo,
  type Hex,
  hasBit,
  type Mail,
  MAIL_SIZE_BYTES_MAX,
  mailOf,
  mailboxWriteKey,
  type Node,
  pastOf,
  sealMail,
  type SigningKey,
} from '../../protocol/index.ts'
import { mailboxPlace } from './carriers.ts'
import type { Held } from './held.ts'
import type { PeerRow } from './rows.ts'
import type { Thread } from './threads.ts'
import { currentKey, rosterOf } from './workspace.ts'

/** Where an item goes, and what writes and seals it. */
export interface Slot {
  readonly writer: SigningKey
  readonly reader: Hex
  seal(mail: Mail): Uint8Array
}

/** The mailbox of `device` in an epoch; undefined where its prekey record or the key of the epoch is not here. */
export function slotOf(held: Held, device: Hex, epoch?: number): Slot | undefined {
  const { workspace } = held
  const isActive = rosterOf(workspace)?.devices.get(device)?.removed === false
  const reader = isActive ? workspace.prekeys.get(device)?.mailbox : undefined
  const key = epoch === undefined ? undefined : workspace.keys.get(epoch)
  const current = key && epoch !== undefined ? { key, epoch } : currentKey(workspace)
  if (reader === undefined || !current) return undefined
  return {
    writer: mailboxWriteKey(current.key, current.epoch, device),
    reader,
    seal: (mail) => sealMail(mail, current),
  }
}

/** One entry and the mail that carries it. */
export interface Parcel {
  readonly thread: Hex
  readonly entry: Hex
  readonly mail: readonly Mail[]
}

/** Where parcels are left, and when those that were left before are gone from there. */
export interface Destination {
  readonly server: Hex
  readonly device: Hex
  /** How long the server keeps an item, ms. */
  readonly ttl: number
}

/** What of one thread is to be left for a device, parents first. What was left before is left out. */
export function parcelsFor(held: Held, threadId: Hex, to: Destination): Promise<Parcel[]> {
  return held.turn(async () => {
    const thread = await held.threads.load(threadId)
    const parcels: Parcel[] = []
    for (const { entry } of needed(held, thread, to.device)) {
      if (isLeft(held, thread, entry.id, to)) continue
      const body = thread.bodies.has(entry.id) ? ((await held.store.get('body', entry.id)) ?? null) : null
      parcels.push({ thread: thread.id, entry: entry.id, mail: mailOf(entry, body) })
    }
    return parcels
  })
}

/** What `device` has not acknowledged, this device's newest receipt, and what those build on and `device` has not built on itself. */
function needed(held: Held, thread: Thread, device: Hex): Node[] {
  const { graph } = thread
  const owed = held.outbox.get(device)
  const unacknowledged = graph.nodes.filter((node) => owed?.has(node.entry.id) === true)
  // A receipt is owed to nobody, and tells the other side that all came.
  const receipt = graph.byKind.ack.findLast(({ entry }) => entry.header.dev === held.workspace.key.public)
  const wanted = pastOf(graph, receipt ? [...unacknowledged, receipt] : unacknowledged)
  const known = pastOf(graph, graph.byDevice.get(device) ?? [])
  return graph.nodes.filter(({ index }) => hasBit(wanted, index) && !hasBit(known, index))
}

function isLeft(held: Held, thread: Thread, entry: Hex, { server, device, ttl }: Destination): boolean {
  const at = thread.carriers.get(entry)?.get(mailboxPlace(server, device))?.at
  return at !== undefined && held.system.clock.now() - at < ttl
}

export interface News {
  readonly slot: Slot
  readonly mail: readonly Mail[]
  /** The roster's position as of this news. */
  readonly position: number
}

/**
 * What `device` may lack of the roster, with all prekeys, sealed with the key of the epoch that it
 * knows; undefined where it lacks nothing, or was left it at `server` before.
 */
export function newsFor(held: Held, device: Hex, row: PeerRow | undefined, server: Hex): News | undefined {
  const { log, prekeys } = held.workspace
  const roster = rosterOf(held.workspace)
  if (!roster) return undefined
  const chain = chainTo(log, roster.point)
  const enrolled = chain.findIndex(({ header }) => header.kind === 'add-device' && header.ctl.device === device)
  const known = Math.max(row?.point?.[0] ?? 0, enrolled)
  const [position] = roster.point
  if (position <= Math.max(known, row?.mailed?.[server] ?? 0)) return undefined
  const before = chain[known]
  const slot = slotOf(held, device, before && log.rosters.get(before.id)?.epoch)
  if (!slot) return undefined
  const suffix = chain.slice(known + 1).map(({ envelope }): ['roster', Uint8Array] => ['roster', envelope])
  const records = [...prekeys.values()].map(({ bytes }): ['prekeys', Uint8Array] => ['prekeys', bytes])
  return { slot, position, mail: inMail([...suffix, ...records]) }
}

const OVERHEAD_BYTES = 64
const ITEM_OVERHEAD_BYTES = 8

function inMail(parts: readonly ['roster' | 'prekeys', Uint8Array][]): Mail[] {
  const mail: Extract<Mail, { t: 'workspace' }>[] = []
  let room = 0
  for (const [what, bytes] of parts) {
    const size = bytes.length + ITEM_OVERHEAD_BYTES
    if (mail.length === 0 || room < size) {
      mail.push({ t: 'workspace', roster: [], prekeys: [] })
      room = MAIL_SIZE_BYTES_MAX - OVERHEAD_BYTES
    }
    mail.at(-1)?.[what].push(bytes)
    room -= size
  }
  return mail
}
