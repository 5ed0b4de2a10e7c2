/** What lies in the store: keys and values of every space but search. The only file that knows their form. */
import {
  decodeCanonical,
  encodeCanonical,
  type Hex,
  type Intent,
  type RosterPoint,
  type Status,
  type Value,
} from '../../protocol/index.ts'
import type { Store, Write } from '../store/store.ts'

const ARRIVAL_DIGITS = 12
/** Local arrival numbers as text that sorts as they do. */
function arrivalKey(arrival: number): string {
  return String(arrival).padStart(ARRIVAL_DIGITS, '0')
}

/** Our own rows are read back by us alone; what does not decode is a damaged disk. */
export function decodeRow(bytes: Uint8Array): Value {
  const decoded = decodeCanonical(bytes, { bytesMax: Number.MAX_SAFE_INTEGER, depthMax: 32, mapKeysMax: 1 << 20 })
  if (!decoded.ok) throw new Error(`a row of the store does not decode: ${decoded.refusal}`)
  return decoded.value
}

function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes))
}

function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}

// entry: <thread>/<arrival> → [envelope, received at]

export interface StoredEntry {
  readonly envelope: Uint8Array
  readonly arrival: number
  /** This node's clock, ms. */
  readonly receivedAt: number
}

export function putEntry(thread: Hex, entry: StoredEntry): Write {
  const value = encodeCanonical([entry.envelope, entry.receivedAt])
  return { type: 'put', space: 'entry', key: `${thread}/${arrivalKey(entry.arrival)}`, value }
}

/** The entries of a thread in order of arrival: parents before children. */
export async function* readEntries(store: Store, thread: Hex): AsyncIterable<StoredEntry> {
  for await (const [key, value] of store.range('entry', { gt: `${thread}/`, lt: `${thread}0` })) {
    const [envelope, receivedAt] = decodeRow(value) as [Uint8Array, number]
    yield { envelope, receivedAt, arrival: Number(key.slice(thread.length + 1)) }
  }
}

// thread: <thread> → summary for listing; inbox: <arrival of its newest news> → thread

/** A thread as lists show it; everything in it can be rebuilt from the entries and bodies. */
export interface ThreadRow {
  intent: Intent
  /** Member and device of create's author, and the member it is for. */
  sender: Hex
  senderDevice: Hex
  recipient: Hex
  /** in, out, reader where it was shared with this device, or null where this node's member takes no part. */
  side: 'in' | 'out' | 'reader' | null
  status: Status
  final: boolean
  waitingFor: Hex[]
  heads: Hex[]
  createdAt: number
  updatedAt: number
  /** Arrival number of the newest news: the place in the inbox. */
  arrival: number
  unread: number
  /** Arrival number up to which this member has read. */
  read: number
  /** Beginning of the newest readable text. */
  preview: { text: string; mine: boolean; device?: Hex } | null
  /** What the summary is about, to find a handoff that is nearly the same. */
  gist: string | null
  /**
   * Own entries may have been lost here with a part of the disk. Nothing is written into the thread
   * until a device of the other side, which holds them, has been in sync: else this device would
   * sign a second entry with a number that it has used.
   */
  recovering: boolean
  /** A body is missing here: in a thread that this device takes part in any, elsewhere one that somebody waits for. */
  lacking: boolean
  /** Devices that signed two entries with one number here. */
  forked: Hex[]
  /** [author, bytes of its entries], where this node's member takes no part. */
  foreign: [author: Hex, size: number][]
}

export function putThreadRow(thread: Hex, row: ThreadRow): Write {
  return { type: 'put', space: 'thread', key: thread, value: encodeJson(row) }
}

export async function getThreadRow(store: Store, thread: Hex): Promise<ThreadRow | undefined> {
  const value = await store.get('thread', thread)
  return value && (decodeJson(value) as ThreadRow)
}

export async function* readThreadRows(store: Store): AsyncIterable<[thread: Hex, row: ThreadRow]> {
  for await (const [thread, value] of store.range('thread')) yield [thread, decodeJson(value) as ThreadRow]
}

export function putInbox(arrival: number, thread: Hex): Write {
  return { type: 'put', space: 'inbox', key: arrivalKey(arrival), value: encodeCanonical(thread) }
}

export function dropInbox(arrival: number): Write {
  return { type: 'del', space: 'inbox', key: arrivalKey(arrival) }
}

const INBOX_BATCH_COUNT = 64

export interface InboxRow {
  arrival: number
  thread: Hex
  row: ThreadRow
}

/** Threads with news before `before` (all if undefined), newest first. */
export async function* readInbox(store: Store, before?: number): AsyncIterable<InboxRow> {
  for (let last = before; ;) {
    const places: { arrival: number; thread: Hex }[] = []
    const bound = last === undefined ? {} : { lt: arrivalKey(last) }
    for await (const [key, value] of store.range('inbox', { ...bound, reverse: true, limit: INBOX_BATCH_COUNT })) {
      places.push({ arrival: Number(key), thread: decodeRow(value) as Hex })
    }
    const rows = await store.getMany(
      'thread',
      places.map(({ thread }) => thread),
    )
    for (const [i, place] of places.entries()) {
      const row = rows[i]
      if (row) yield { ...place, row: decodeJson(row) as ThreadRow }
    }
    if (places.length < INBOX_BATCH_COUNT) return
    last = places.at(-1)?.arrival
  }
}

// outbox: <device>/<entry> → thread

export function putOutbox(device: Hex, entry: Hex, thread: Hex): Write {
  return { type: 'put', space: 'outbox', key: `${device}/${entry}`, value: encodeCanonical(thread) }
}

export function dropOutbox(device: Hex, entry: Hex): Write {
  return { type: 'del', space: 'outbox', key: `${device}/${entry}` }
}

export async function* readOutbox(store: Store): AsyncIterable<{ device: Hex; entry: Hex; thread: Hex }> {
  for await (const [key, value] of store.range('outbox')) {
    const [device = '', entry = ''] = key.split('/')
    yield { device, entry, thread: decodeRow(value) as Hex }
  }
}

// carried: <entry> → whose it is and since when; carrier: <thread>/<entry>/<where> → since when, and a mailbox's host

/** A sealed body that is kept for others. */
export interface CarriedRow {
  readonly thread: Hex
  /** Member that wrote it. */
  readonly author: Hex
  /** Bytes. */
  readonly size: number
  /** When its entry came here, ms. */
  readonly at: number
}

export function putCarried(entry: Hex, { thread, author, size, at }: CarriedRow): Write {
  return { type: 'put', space: 'carried', key: entry, value: encodeCanonical([thread, author, size, at]) }
}

export function dropCarried(entry: Hex): Write {
  return { type: 'del', space: 'carried', key: entry }
}

export async function* readCarried(store: Store): AsyncIterable<[entry: Hex, row: CarriedRow]> {
  for await (const [entry, value] of store.range('carried')) {
    const [thread, author, size, at] = decodeRow(value) as [Hex, Hex, number, number]
    yield [entry, { thread, author, size, at }]
  }
}

/** Somebody keeps an entry for the other side. */
export interface CarrierRow {
  /** A device, or a mailbox. */
  readonly where: string
  /** Host of the mailbox's server; null for a device. */
  readonly host: string | null
  /** ms */
  readonly at: number
}

export function putCarrier(thread: Hex, entry: Hex, { where, host, at }: CarrierRow): Write {
  return { type: 'put', space: 'carrier', key: `${thread}/${entry}/${where}`, value: encodeCanonical([at, host]) }
}

export async function* readCarriers(store: Store, thread: Hex): AsyncIterable<[entry: Hex, row: CarrierRow]> {
  for await (const [key, value] of store.range('carrier', { gt: `${thread}/`, lt: `${thread}0` })) {
    const [, entry = '', where = ''] = key.split('/')
    const [at, host] = decodeRow(value) as [number, string | null]
    yield [entry, { where, host, at }]
  }
}

// receipt: <method>/<idempotency key> → payload hash, result, time

export interface Receipt {
  payload: Hex
  result: unknown
  at: number
}

export function putReceipt(scope: string, key: string, receipt: Receipt): Write {
  return { type: 'put', space: 'receipt', key: `${scope}/${key}`, value: encodeJson(receipt) }
}

export async function getReceipt(store: Store, scope: string, key: string): Promise<Receipt | undefined> {
  const value = await store.get('receipt', `${scope}/${key}`)
  return value && (decodeJson(value) as Receipt)
}

/** Deletions of the receipts made before `before` (ms). */
export async function oldReceipts(store: Store, before: number): Promise<Write[]> {
  const writes: Write[] = []
  for await (const [key, value] of store.range('receipt'))
    if ((decodeJson(value) as Receipt).at < before) writes.push({ type: 'del', space: 'receipt', key })
  return writes
}

// peer: <device> → last addresses, last seen

export interface PeerRow {
  addresses: string[]
  lastSeen: number
  /** The peer's clock minus ours when it last said hello, ms. */
  skew: number
  /** It has said hello: it holds the roster that it is in. */
  met?: boolean
  /** The newest roster point that it said it holds. */
  point?: RosterPoint
  /** Server → position of the newest roster entry that was left in its mailbox there. */
  mailed?: Record<Hex, number>
}

export function putPeer(device: Hex, row: PeerRow): Write {
  return { type: 'put', space: 'peer', key: device, value: encodeJson(row) }
}

export async function* readPeers(store: Store): AsyncIterable<[device: Hex, row: PeerRow]> {
  for await (const [device, value] of store.range('peer')) yield [device, decodeJson(value) as PeerRow]
}

// quarantine: <thread> → since when

export function putQuarantine(thread: Hex, at: number): Write {
  return { type: 'put', space: 'quarantine', key: thread, value: encodeCanonical(at) }
}

export function dropQuarantine(thread: Hex): Write {
  return { type: 'del', space: 'quarantine', key: thread }
}

export async function* readQuarantine(store: Store): AsyncIterable<[thread: Hex, at: number]> {
  for await (const [thread, at] of store.range('quarantine')) yield [thread, decodeRow(at) as number]
}

// refused: <number, counting up> → proof

export interface RefusedRow {
  refusal: string
  detail?: string | undefined
  /** The peer that sent it. */
  from: Hex
  /** The entry as received, hex. */
  envelope: Hex
  at: number
}

/** Keeps a proof, and lets go of the one `kept` numbers before. */
export function putRefused(number: number, row: RefusedRow, kept: number): Write[] {
  const put: Write = { type: 'put', space: 'refused', key: arrivalKey(number), value: encodeJson(row) }
  return number < kept ? [put] : [put, { type: 'del', space: 'refused', key: arrivalKey(number - kept) }]
}

/** The proofs that are kept, newest first. */
export async function* readRefused(store: Store): AsyncIterable<RefusedRow> {
  for await (const [, value] of store.range('refused', { reverse: true })) yield decodeJson(value) as RefusedRow
}

/** The number of the next proof. */
export async function nextRefused(store: Store): Promise<number> {
  for await (const [key] of store.range('refused', { reverse: true, limit: 1 })) return Number(key) + 1
  return 0
}

// roster: <position>/<id> → entry as received; prekey: <device> → record as received

export function putRosterEntry(position: number, id: Hex, envelope: Uint8Array): Write {
  return { type: 'put', space: 'roster', key: `${arrivalKey(position)}/${id}`, value: envelope }
}

export function putPrekey(device: Hex, record: Uint8Array): Write {
  return { type: 'put', space: 'prekey', key: device, value: record }
}

// secret: prekey/<id>, thread/<thread>/<key id>, workspace/<epoch>, invite/<id>, session/<hash of the token>

export function putSecret(name: string, value: Uint8Array): Write {
  return { type: 'put', space: 'secret', key: name, value }
}

export async function* readSecrets(store: Store, prefix: string): AsyncIterable<[rest: string, value: Uint8Array]> {
  for await (const [key, value] of store.range('secret', { gt: `${prefix}/`, lt: `${prefix}0` }))
    yield [key.slice(prefix.length + 1), value]
}

/** A session token, known by its hash. Times in ms. */
export interface SessionRow {
  readonly name: string
  readonly scope: 'read' | 'write'
  readonly createdAt: number
  readonly usedAt: number | null
  readonly expiresAt: number
  readonly revokedAt: number | null
}

export function putSession(id: Hex, row: SessionRow): Write {
  return putSecret(`session/${id}`, encodeJson(row))
}

export function dropSession(id: Hex): Write {
  return { type: 'del', space: 'secret', key: `session/${id}` }
}

export async function* readSessions(store: Store): AsyncIterable<[id: Hex, row: SessionRow]> {
  for await (const [id, value] of readSecrets(store, 'session')) yield [id, decodeJson(value) as SessionRow]
}

export function putBody(entry: Hex, sealed: Uint8Array): Write {
  return { type: 'put', space: 'body', key: entry, value: sealed }
}

export function dropBody(entry: Hex): Write {
  return { type: 'del', space: 'body', key: entry }
}

// meta: arrival → the greatest arrival number given out; met → devices in sync since a part of the store was lost;
// lists → form of the lists; twin → an own entry that was never written here; starts → how often this store was started and stopped

export function putArrival(arrival: number): Write {
  return { type: 'put', space: 'meta', key: 'arrival', value: encodeCanonical(arrival) }
}

export async function getArrival(store: Store): Promise<number> {
  const value = await store.get('meta', 'arrival')
  return value ? (decodeRow(value) as number) : 0
}

const MET_KEY = 'met'

/** Devices that were in sync since a part of the store was lost; undefined where nothing is lost, or nothing any more. */
export function putMet(devices: readonly Hex[] | undefined): Write {
  const place = { space: 'meta', key: MET_KEY } as const
  return devices ? { type: 'put', ...place, value: encodeCanonical([...devices]) } : { type: 'del', ...place }
}

export async function getMet(store: Store): Promise<Hex[] | undefined> {
  const value = await store.get('meta', MET_KEY)
  return value && (decodeRow(value) as Hex[])
}

const TWIN_KEY = 'twin'

/** An entry came that is signed with this device's key, and that this device never wrote. */
export interface TwinRow {
  readonly thread: Hex
  readonly entry: Hex
  /** ms */
  readonly at: number
}

export function putTwin({ thread, entry, at }: TwinRow): Write {
  return { type: 'put', space: 'meta', key: TWIN_KEY, value: encodeCanonical([thread, entry, at]) }
}

export async function getTwin(store: Store): Promise<TwinRow | undefined> {
  const value = await store.get('meta', TWIN_KEY)
  if (!value) return undefined
  const [thread, entry, at] = decodeRow(value) as [Hex, Hex, number]
  return { thread, entry, at }
}
