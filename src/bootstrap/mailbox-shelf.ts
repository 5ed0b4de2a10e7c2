/**
 * The items that are kept for devices that are away: on disk, with what is known of each in memory,
 * so that quotas cost nothing. An item is on disk before anybody is told that it is stored.
 */
import {
  decodeCanonical,
  encodeCanonical,
  fromHex,
  type Hex,
  MAILBOX_ITEM_SIZE_BYTES_MAX,
  MAILBOX_ITEMS_COUNT_MAX,
  MAILBOX_TTL_MS_MAX,
  mailboxItemId,
  toHex,
  type TurnedAway,
} from '../../protocol/index.ts'
import type { DeviceKey } from '../net/net.ts'
import type { Store, Write } from '../store/store.ts'
import type { System } from '../system.ts'

/** Quotas. Bytes are of items and {@link ITEM_OVERHEAD_BYTES} each. */
export interface ShelfLimits {
  /** How long an item is kept at most, milliseconds. */
  ttlMs: number
  diskBytes: number
  items: number
  mailboxItems: number
  mailboxBytes: number
  /** Of one device that leaves items, in all mailboxes. */
  writerItems: number
  writerBytes: number
}

export const SHELF_LIMITS: ShelfLimits = {
  ttlMs: MAILBOX_TTL_MS_MAX,
  diskBytes: 1024 ** 3,
  items: 200_000,
  mailboxItems: MAILBOX_ITEMS_COUNT_MAX,
  mailboxBytes: 64 * 1024 ** 2,
  writerItems: 4 * MAILBOX_ITEMS_COUNT_MAX,
  writerBytes: 128 * 1024 ** 2,
}

/** What an item costs beside its bytes, on disk and in memory. */
const ITEM_OVERHEAD_BYTES = 512
const SWEEP_MS = 60_000
const SWEEP_COUNT_MAX = 1_000
/** An arrival is written with so many digits, so that keys sort by it. */
const ARRIVAL_DIGITS = 16

/** What a device wants to leave. */
export interface Parcel {
  mailbox: Hex
  item: Uint8Array
  /** Milliseconds from now. */
  ttl: number
  writer: DeviceKey
}

export interface Kept {
  id: Hex
  /** Larger than that of every item that came before. */
  arrival: number
}

export interface ShelfFacts {
  mailboxes: number
  items: number
  /** Of items, with what each costs beside its bytes. */
  bytes: number
}

export interface MailboxShelf {
  /** undefined once it is on disk, else why it is not kept. */
  put(parcel: Parcel): Promise<TurnedAway | undefined>
  /** What is kept in a mailbox and came after `arrival`, oldest first: at most `count`, without what has expired. */
  after(mailbox: Hex, arrival: number, count: number): Kept[]
  /** undefined where it is gone. */
  read(mailbox: Hex, kept: Kept): Promise<Uint8Array | undefined>
  /** Resolves once they are gone from the disk. */
  drop(mailbox: Hex, ids: readonly Hex[]): Promise<void>
  facts(): ShelfFacts
  stop(): void
}

/** One item, as it is known in memory. */
interface Slip {
  arrival: number
  expires: number
  writer: DeviceKey
  /** With what it costs beside its bytes. */
  bytes: number
  /** Settles when it is on disk, or is known not to be. */
  written: Promise<void>
}

/** A sum of items. */
interface Load {
  items: number
  bytes: number
}

/** Reads what is on disk. Rejects with StoreError. */
export async function openShelf(store: Store, system: System, limits: ShelfLimits): Promise<MailboxShelf> {
  const { clock, log } = system
  const mailboxes = new Map<Hex, { slips: Map<Hex, Slip>; load: Load }>()
  const writers = new Map<DeviceKey, Load>()
  const total: Load = { items: 0, bytes: 0 }
  let lastArrival = 0
  let failed = false

  function loadsOf(mailbox: Hex, writer: DeviceKey): Load[] {
    const box = mailboxes.get(mailbox) ?? { slips: new Map<Hex, Slip>(), load: { items: 0, bytes: 0 } }
    mailboxes.set(mailbox, box)
    const load = writers.get(writer) ?? { items: 0, bytes: 0 }
    writers.set(writer, load)
    return [box.load, load, total]
  }

  function add(mailbox: Hex, id: Hex, slip: Slip): void {
    for (const load of loadsOf(mailbox, slip.writer)) {
      load.items += 1
      load.bytes += slip.bytes
    }
    mailboxes.get(mailbox)?.slips.set(id, slip)
  }

  function remove(mailbox: Hex, id: Hex): void {
    const box = mailboxes.get(mailbox)
    const slip = box?.slips.get(id)
    if (box === undefined || slip === undefined) return
    for (const load of loadsOf(mailbox, slip.writer)) {
      load.items -= 1
      load.bytes -= slip.bytes
    }
    box.slips.delete(id)
    if (box.slips.size === 0) mailboxes.delete(mailbox)
    if (writers.get(slip.writer)?.items === 0) writers.delete(slip.writer)
  }

  function whyNot(mailbox: Hex, writer: DeviceKey, bytes: number): TurnedAway | undefined {
    const box = mailboxes.get(mailbox)?.load
    if (!fits(box, bytes, limits.mailboxItems, limits.mailboxBytes)) return 'mailbox_full'
    if (!fits(writers.get(writer), bytes, limits.writerItems, limits.writerBytes)) return 'writer_quota'
    if (failed || !fits(total, bytes, limits.items, limits.diskBytes)) return 'server_full'
    return undefined
  }

  /** A store that failed once takes nothing more until it is opened again. What it holds can be read all the same. */
  async function write(writes: readonly Write[]): Promise<void> {
    try {
      await store.batch(writes)
    } catch (error) {
      if (!failed) log.error('the mailbox takes nothing more until a restart', { error: String(error) })
      failed = true
      throw error
    }
  }

  async function put({ mailbox, item, ttl, writer }: Parcel): Promise<TurnedAway | undefined> {
    if (item.length > MAILBOX_ITEM_SIZE_BYTES_MAX) return 'too_large'
    const id = mailboxItemId(mailbox, item)
    const expires = clock.now() + Math.min(ttl, limits.ttlMs)
    const present = mailboxes.get(mailbox)?.slips.get(id)
    if (present !== undefined) return keepLonger(mailbox, id, present, expires)
    const bytes = item.length + ITEM_OVERHEAD_BYTES
    const why = whyNot(mailbox, writer, bytes)
    if (why !== undefined) return why
    lastArrival += 1
    const arrival = lastArrival
    const key = keyOf(mailbox, arrival)
    const facts = { id, writer, bytes, expires }
    const written = write([
      { type: 'put', space: 'mailbox', key, value: encodeFacts(facts) },
      { type: 'put', space: 'item', key, value: item },
    ])
    add(mailbox, id, { arrival, expires, writer, bytes, written })
    return settle(mailbox, id, written)
  }

  /** The same item again: it is kept once, for as long as the latest wish says. */
  async function keepLonger(mailbox: Hex, id: Hex, slip: Slip, expires: number): Promise<TurnedAway | undefined> {
    if (expires > slip.expires && !failed) {
      slip.expires = expires
      const value = encodeFacts({ id, ...slip })
      const before = slip.written
      slip.written = before.then(() =>
        write([{ type: 'put', space: 'mailbox', key: keyOf(mailbox, slip.arrival), value }]),
      )
    }
    return settle(mailbox, id, slip.written)
  }

  async function settle(mailbox: Hex, id: Hex, written: Promise<void>): Promise<TurnedAway | undefined> {
    try {
      await written
      return undefined
    } catch {
      remove(mailbox, id)
      return 'server_full'
    }
  }

  async function drop(mailbox: Hex, ids: readonly Hex[]): Promise<void> {
    const slips = mailboxes.get(mailbox)?.slips
    const keys: string[] = []
    for (const id of ids) {
      const slip = slips?.get(id)
      if (slip === undefined) continue
      keys.push(keyOf(mailbox, slip.arrival))
      remove(mailbox, id)
    }
    if (keys.length > 0) await write(keys.flatMap(deletions))
  }

  async function sweep(): Promise<void> {
    const now = clock.now()
    const keys: string[] = []
    for (const [mailbox, { slips }] of mailboxes)
      for (const [id, { arrival, expires }] of slips) {
        if (expires > now) continue
        if (keys.length === SWEEP_COUNT_MAX) break
        keys.push(keyOf(mailbox, arrival))
        remove(mailbox, id)
      }
    if (keys.length === 0 || failed) return
    await write(keys.flatMap(deletions))
    log.info('expired items dropped', { count: keys.length })
  }

  for await (const [key, value] of store.range('mailbox')) {
    const facts = decodeFacts(value)
    const [mailbox = '', arrival = ''] = key.split(' ')
    lastArrival = Math.max(lastArrival, Number(arrival))
    add(mailbox, facts.id, { ...facts, arrival: Number(arrival), written: Promise.resolve() })
  }
  const stopSweeping = clock.every(SWEEP_MS, () => {
    sweep().catch(() => undefined) // write() has said why.
  })

  return {
    put,
    after(mailbox, arrival, count) {
      const now = clock.now()
      const found: Kept[] = []
      // In order of arrival, since an item that is put again keeps its place.
      for (const [id, slip] of mailboxes.get(mailbox)?.slips ?? []) {
        if (slip.arrival <= arrival || slip.expires <= now) continue
        found.push({ id, arrival: slip.arrival })
        if (found.length === count) break
      }
      return found
    },
    async read(mailbox, { id, arrival }) {
      await mailboxes
        .get(mailbox)
        ?.slips.get(id)
        ?.written.catch(() => undefined) // Whoever put it is told; here it is not there.
      return store.get('item', keyOf(mailbox, arrival))
    },
    drop,
    facts: () => ({ mailboxes: mailboxes.size, ...total }),
    stop: stopSweeping,
  }
}

function fits(load: Load | undefined, bytes: number, itemsMax: number, bytesMax: number): boolean {
  const { items, bytes: before } = load ?? { items: 0, bytes: 0 }
  return items < itemsMax && before + bytes <= bytesMax
}

function keyOf(mailbox: Hex, arrival: number): string {
  return `${mailbox} ${String(arrival).padStart(ARRIVAL_DIGITS, '0')}`
}

function deletions(key: string): Write[] {
  return [
    { type: 'del', space: 'mailbox', key },
    { type: 'del', space: 'item', key },
  ]
}

/** A row of space `mailbox`: [id, writer, bytes, expires]. */
type Facts = Pick<Slip, 'writer' | 'bytes' | 'expires'> & { id: Hex }

function encodeFacts({ id, writer, bytes, expires }: Facts): Uint8Array {
  return encodeCanonical([fromHex(id), fromHex(writer), bytes, expires])
}

function decodeFacts(value: Uint8Array): Facts {
  const decoded = decodeCanonical(value, { bytesMax: 256 })
  if (!decoded.ok) throw new Error(`a row of the mailbox cannot be read: ${decoded.refusal}`)
  const [id, writer, bytes, expires] = decoded.value as [Uint8Array, Uint8Array, number, number]
  return { id: toHex(id), writer: toHex(writer), bytes, expires }
}
