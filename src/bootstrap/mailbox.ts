/** The mailbox of a bootstrap server: conversations of /relay/mailbox/1. Source: protocol/spec/mailbox.md. */
import {
  checkOpen,
  checkPut,
  encodeMailbox,
  type Hex,
  mailboxId,
  mailboxItemId,
  type MailboxMessage,
  type MailboxMessageOf,
  parseMailbox,
  toHex,
  type TurnedAway,
  TURNED_AWAY_REASONS,
} from '../../protocol/index.ts'
import { type Allowance, createAllowance } from '../allowance.ts'
import type { DeviceKey, FrameStream } from '../net/net.ts'
import type { Store } from '../store/store.ts'
import type { System } from '../system.ts'
import { type MailboxShelf, openShelf, SHELF_LIMITS, type ShelfFacts, type ShelfLimits } from './mailbox-shelf.ts'

export interface MailboxLimits extends ShelfLimits {
  /** Open streams of one device. */
  streamsPerDevice: number
  /** Mailboxes that are open on one stream: a device has one for each epoch that it drains. */
  openPerStream: number
  /** Of one device. Beyond it the server takes its time. */
  messagesPerMinute: number
}

export const MAILBOX_LIMITS: MailboxLimits = {
  ...SHELF_LIMITS,
  streamsPerDevice: 4,
  openPerStream: 64,
  messagesPerMinute: 1_200,
}

/** Why an item, or a whole stream, was turned away. */
export const MAILBOX_REFUSALS = [
  ...TURNED_AWAY_REASONS,
  'message', // no message of the protocol, or none that a device sends
  'signature', // not by the key of the mailbox, or not for this stream
  'not_open', // a drop in a mailbox that was not opened on this stream
  'streams',
  'open',
] as const
export type MailboxRefusal = (typeof MAILBOX_REFUSALS)[number]

export interface MailboxFacts extends ShelfFacts {
  streams: number
  refusals: Readonly<Record<MailboxRefusal, number>>
}

export interface MailboxService {
  /** Speaks with one device until it goes, breaks a rule, or the service stops. Never rejects for what the device did. */
  serve(stream: FrameStream): Promise<void>
  facts(): MailboxFacts
  /** Ends every stream. The store stays open. */
  stop(): void
}

export interface MailboxParts {
  /** Without one nothing is kept: every item is turned away as not_offered. */
  store: Store | undefined
  system: System
  /** The server's own key, which an `open` names. */
  device: DeviceKey
  limits?: Partial<MailboxLimits>
}

/** What one frame of items holds, unless a single one is larger: also what a reader that is slow costs. */
const BATCH_BYTES = 64 * 1024
const BATCH_COUNT_MAX = 256
const MINUTE_MS = 60_000
/** How long a device waits that says too much. */
const PACE_MS = 100
/** How long a device that has said all may take to read what is on its way. */
const LINGER_MS = 10_000

/** Reads what is kept. Rejects with StoreError. */
export async function createMailboxService(parts: MailboxParts): Promise<MailboxService> {
  const { system, device } = parts
  const limits: MailboxLimits = { ...MAILBOX_LIMITS, ...parts.limits }
  const shelf = parts.store === undefined ? undefined : await openShelf(parts.store, system, limits)
  const refusals = Object.fromEntries(MAILBOX_REFUSALS.map((why) => [why, 0])) as Record<MailboxRefusal, number>
  const pace = createAllowance({ clock: system.clock, burst: limits.messagesPerMinute, refillMs: MINUTE_MS })
  const streams = new Set<FrameStream>()
  /** Who is told when something comes into a mailbox. */
  const listeners = new Map<Hex, Set<() => void>>()

  function listen(mailbox: Hex, wake: () => void): () => void {
    const present = listeners.get(mailbox) ?? new Set()
    listeners.set(mailbox, present.add(wake))
    return () => {
      present.delete(wake)
      if (present.size === 0 && listeners.get(mailbox) === present) listeners.delete(mailbox)
    }
  }

  const desk: Desk = {
    shelf,
    server: device,
    limits,
    system,
    pace,
    refuse: (why) => void (refusals[why] += 1),
    listen,
    arrived: (mailbox) => listeners.get(mailbox)?.forEach((wake) => wake()),
  }

  return {
    async serve(stream) {
      const others = [...streams].filter((one) => one.device === stream.device)
      if (others.length >= limits.streamsPerDevice) {
        desk.refuse('streams')
        return stream.abort('this device has too many mailbox streams open')
      }
      streams.add(stream)
      try {
        await converse(desk, stream)
      } finally {
        streams.delete(stream)
      }
    },
    facts: () => ({
      ...(shelf?.facts() ?? { mailboxes: 0, items: 0, bytes: 0 }),
      streams: streams.size,
      refusals,
    }),
    stop() {
      shelf?.stop()
      for (const stream of streams) stream.abort('the mailbox stops')
    },
  }
}

/** What all conversations have in common. */
interface Desk {
  shelf: MailboxShelf | undefined
  server: DeviceKey
  limits: MailboxLimits
  system: System
  pace: Allowance
  refuse(why: MailboxRefusal): void
  listen(mailbox: Hex, wake: () => void): () => void
  arrived(mailbox: Hex): void
}

async function converse(desk: Desk, stream: FrameStream): Promise<void> {
  const { shelf, system, limits } = desk
  const nonce = toHex(system.dice(32))
  const tray = createTray(shelf, (message) => stream.send(encodeMailbox(message)))

  /** undefined where the stream may go on. */
  async function take(frame: Uint8Array): Promise<MailboxRefusal | undefined> {
    const parsed = parseMailbox(frame)
    if (!parsed.ok) return 'message'
    const message = parsed.value
    switch (message.t) {
      case 'put':
        return onPut(message)
      case 'open':
        return onOpen(message)
      case 'drop':
        return onDrop(message)
      default:
        return 'message' // What a server says.
    }
  }

  async function onPut(message: MailboxMessageOf<'put'>): Promise<MailboxRefusal | undefined> {
    const { item, ttl } = message
    const mailbox = mailboxId(message)
    const id = mailboxItemId(mailbox, item)
    if (!checkPut(message)) return 'signature'
    const why: TurnedAway | undefined =
      shelf === undefined ? 'not_offered' : await shelf.put({ mailbox, item, ttl, writer: stream.device })
    if (why === undefined) {
      desk.arrived(mailbox)
      await stream.send(encodeMailbox({ t: 'stored', id }))
    } else {
      desk.refuse(why)
      await stream.send(encodeMailbox({ t: 'turned-away', id, why }))
    }
    return undefined
  }

  async function onOpen(message: MailboxMessageOf<'open'>): Promise<MailboxRefusal | undefined> {
    if (!checkOpen(message, { nonce, server: desk.server })) return 'signature'
    const mailbox = mailboxId(message)
    if (!tray.isOpen(mailbox) && tray.size >= limits.openPerStream) return 'open'
    tray.open(mailbox, desk.listen)
    return undefined
  }

  async function onDrop({ mailbox, ids }: MailboxMessageOf<'drop'>): Promise<MailboxRefusal | undefined> {
    if (!tray.isOpen(mailbox)) return 'not_open'
    await shelf?.drop(mailbox, ids)
    await stream.send(encodeMailbox({ t: 'dropped', mailbox, ids }))
    return undefined
  }

  const { log } = system
  const failed = (error: unknown): void => {
    log.debug('mailbox stream ended', { device: stream.device, error: String(error) })
    stream.abort('the mailbox stream failed')
  }
  const pushing = tray.push().catch(failed)
  try {
    await stream.send(encodeMailbox({ t: 'welcome', v: 1, nonce, ttl: limits.ttlMs }))
    for (let frame = await stream.receive(); frame !== undefined; frame = await stream.receive()) {
      // Waiting is felt by the sender: what it sends meanwhile fills its window and no more.
      while (!desk.pace.take(stream.device)) await new Promise<void>((go) => void system.clock.after(PACE_MS, go))
      const why = await take(frame)
      if (why === undefined) continue
      desk.refuse(why)
      stream.abort(`refused: ${why}`)
      break
    }
  } catch (error) {
    failed(error)
  }
  tray.close()
  const giveUp = system.clock.after(LINGER_MS, () => stream.abort('the device does not read'))
  await pushing
  giveUp()
}

interface Box {
  /** Arrival of the newest item that was sent. */
  sent: number
  /** Whether the `open` has had an answer. */
  answered: boolean
  /** Ends listening. */
  end(): void
}

/** The mailboxes that are open on one stream, and how far each has been sent. */
interface Tray {
  readonly size: number
  isOpen(mailbox: Hex): boolean
  open(mailbox: Hex, listen: Desk['listen']): void
  /** Sends what is there, then what comes, until close(). */
  push(): Promise<void>
  close(): void
}

function createTray(shelf: MailboxShelf | undefined, send: (message: MailboxMessage) => Promise<void>): Tray {
  const boxes = new Map<Hex, Box>()
  /** Mailboxes with something to send. */
  const due = new Set<Hex>()
  let closed = false
  let wake = Promise.withResolvers<void>()

  function call(mailbox: Hex): void {
    due.add(mailbox)
    wake.resolve()
  }

  /** One frame of a mailbox. True where more follows. */
  async function sendBatch(mailbox: Hex): Promise<boolean> {
    const box = boxes.get(mailbox)
    if (box === undefined) return false
    const kept = shelf?.after(mailbox, box.sent, BATCH_COUNT_MAX) ?? []
    const items: [Hex, Uint8Array][] = []
    let bytes = 0
    let taken = 0
    for (const one of kept) {
      const item = await shelf?.read(mailbox, one)
      if (items.length > 0 && bytes + (item?.length ?? 0) > BATCH_BYTES) break
      box.sent = one.arrival
      taken += 1
      if (item === undefined) continue // Dropped meanwhile.
      items.push([one.id, item])
      bytes += item.length
    }
    const more = taken < kept.length || kept.length === BATCH_COUNT_MAX
    // What came while the last batch was read went with it, so that there may be nothing left to say.
    if (items.length > 0 || !box.answered) await send({ t: 'items', mailbox, items, more })
    box.answered = true
    return more
  }

  return {
    get size() {
      return boxes.size
    },
    isOpen: (mailbox) => boxes.has(mailbox),
    open(mailbox, listen) {
      // Opened again it is sent from its beginning.
      const end = boxes.get(mailbox)?.end ?? listen(mailbox, () => call(mailbox))
      boxes.set(mailbox, { sent: 0, answered: false, end })
      call(mailbox)
    },
    async push() {
      while (!closed) {
        const [mailbox] = due
        if (mailbox === undefined) {
          await wake.promise
          wake = Promise.withResolvers()
          continue
        }
        due.delete(mailbox)
        if (await sendBatch(mailbox)) due.add(mailbox)
      }
    },
    close() {
      closed = true
      for (const { end } of boxes.values()) end()
      wake.resolve()
    },
  }
}
