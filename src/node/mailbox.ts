/**
 * Mailboxes at the bootstrap servers, for those who want them: what teammates who are away have not
 * acknowledged is left there, and what was left for this device is fetched. One conversation of
 * /relay/mailbox/1 with each server that is connected.
 */
import {
  encodeMailbox,
  type Hex,
  MAILBOX_ITEMS_COUNT_MAX,
  MAILBOX_TTL_MS_MAX,
  mailboxId,
  mailboxItemId,
  type MailboxMessageOf,
  mailboxWriteKey,
  parseMailbox,
  signOpen,
  signPut,
  type SigningKey,
  type TurnedAway,
} from '../../protocol/index.ts'
import type { FrameStream, Net } from '../net/net.ts'
import { noteMailbox } from './carriers.ts'
import type { Held } from './held.ts'
import { createInbound } from './mailbox-inbound.ts'
import { newsFor, type Parcel, parcelsFor, type Slot, slotOf } from './mailbox-outbound.ts'
import type { Peers } from './peers.ts'

/** How often it is looked for what is to be left, and whether what waits has settled. */
const ROUND_MS = 60_000
/** Mailboxes of so many epochs are opened, newest first: a server opens only so many, and what lies in older ones is over. */
const EPOCHS_OPEN_COUNT_MAX = 32
/** How long a server or a mailbox that turned something away is left alone. */
const PAUSE_MS = 10 * 60_000
/** How often items that wait are read once more: what they wait for may have been let go of here. */
const READ_AGAIN_MS = 10 * 60_000

export interface MailboxParts {
  readonly held: Held
  readonly net: Net
  readonly peers: Peers
  /** The key that reads and empties this device's mailboxes. */
  readonly key: SigningKey
}

/** A server or a mailbox took nothing. */
export interface TurnedAwayFact {
  readonly why: TurnedAway
  /** Whose mailbox. */
  readonly device: Hex
  /** ms */
  readonly at: number
}

export interface MailboxFacts {
  /** Entries that were left at the server since the node started. */
  readonly left: number
  /** Items of one's own there that wait for something. */
  readonly waiting: number
  readonly turnedAway: readonly TurnedAwayFact[]
}

export interface Mailboxes {
  /** A server connected. */
  serverConnected(server: Hex): void
  /** Something may be to be left for somebody, or can be read by now. */
  look(): void
  /** A receipt was written in a thread with devices that are away. It stands in no outbox. */
  acknowledged(thread: Hex, devices: readonly Hex[]): void
  facts(server: Hex): MailboxFacts | undefined
  start(): void
  stop(): void
}

export function createMailboxes(parts: MailboxParts): Mailboxes {
  const { held, net } = parts
  const { system } = held
  const talks = new Map<Hex, Talk>()
  const records = new Map<Hex, ServerRecord>()
  const stopping = new AbortController()
  let cancelRounds = (): void => undefined

  function recordOf(server: Hex): ServerRecord {
    const record = records.get(server) ?? { left: 0, turnedAway: new Map(), receipts: new Map() }
    records.set(server, record)
    return record
  }

  function begin(server: Hex): void {
    if (talks.has(server) || stopping.signal.aborted) return
    const talk = createTalk(parts, server, recordOf(server))
    talks.set(server, talk)
    net
      .openMailbox(server, stopping.signal)
      .then((stream) => talk.run(stream))
      .catch((error: unknown) => system.log.debug('a mailbox stream ended', { server, error: String(error) }))
      .finally(() => {
        if (talks.get(server) === talk) talks.delete(server)
      })
  }

  function look(): void {
    // A stream that broke while its server stays connected is opened anew with the next round.
    for (const { device, connected } of net.bootstrap()) if (connected) begin(device)
    for (const talk of talks.values()) talk.look()
  }

  return {
    serverConnected: begin,
    look,
    acknowledged(thread, devices) {
      for (const { device: server } of net.bootstrap()) {
        const { receipts } = recordOf(server)
        for (const device of devices) receipts.set(device, (receipts.get(device) ?? new Set<Hex>()).add(thread))
      }
      look()
    },
    facts(server) {
      const record = records.get(server)
      const waiting = talks.get(server)?.waiting() ?? 0
      return record && { left: record.left, waiting, turnedAway: [...record.turnedAway.values()] }
    },
    start() {
      cancelRounds = system.clock.every(ROUND_MS, look)
      look()
    },
    stop() {
      cancelRounds()
      stopping.abort()
      for (const talk of talks.values()) talk.stop()
    },
  }
}

/** What is remembered of a server from one conversation to the next. */
interface ServerRecord {
  /** Entries that were left there. */
  left: number
  /** Device → why the last thing for it was not taken; nothing where it was. */
  readonly turnedAway: Map<Hex, TurnedAwayFact>
  /** Device → threads with a receipt that is to be left for it. */
  readonly receipts: Map<Hex, Set<Hex>>
}

interface Talk {
  run(stream: FrameStream): Promise<void>
  look(): void
  waiting(): number
  stop(): void
}

function createTalk(parts: MailboxParts, server: Hex, record: ServerRecord): Talk {
  const { held, net, key, peers } = parts
  const { workspace, system } = held
  const inbound = createInbound({
    held,
    room: peers.room,
    from: server,
    onAdmitted: peers.onAdmitted,
    onWorkspaceChanged: peers.workspaceChanged,
  })
  /** Mailboxes that were opened: name → writer key. */
  const opened = new Map<Hex, Hex>()
  /** Which mailbox each item that waits lies in. */
  const places = new Map<Hex, Hex>()
  const puts = new Map<Hex, (answer: TurnedAway | 'stored') => void>()
  const { turnedAway, receipts } = record
  let stream: FrameStream | undefined
  let welcome: MailboxMessageOf<'welcome'> | undefined
  let readAt = 0
  let working: Promise<void> | undefined
  let isDue = false

  const now = (): number => system.clock.now()
  const say = (message: Parameters<typeof encodeMailbox>[0]): Promise<void> =>
    stream ? stream.send(encodeMailbox(message)) : Promise.resolve()
  const host = (): string => net.bootstrap().find(({ device }) => device === server)?.host ?? ''

  async function open(again: boolean): Promise<void> {
    if (!welcome) return
    const epochs = [...workspace.keys].toSorted(([one], [other]) => other - one)
    for (const [epoch, w] of epochs.slice(0, EPOCHS_OPEN_COUNT_MAX)) {
      const writer = mailboxWriteKey(w, epoch, workspace.key.public).public
      const mailbox = mailboxId({ writer, reader: key.public })
      if (opened.has(mailbox) && !again) continue
      opened.set(mailbox, writer)
      await say(signOpen({ key, writer, nonce: welcome.nonce, server }))
    }
    readAt = now()
  }

  async function drop(ids: readonly Hex[]): Promise<void> {
    for (const [mailbox, of] of Map.groupBy(ids, (id) => places.get(id) ?? '')) {
      for (let at = 0; at < of.length; at += MAILBOX_ITEMS_COUNT_MAX)
        await say({ t: 'drop', mailbox, ids: of.slice(at, at + MAILBOX_ITEMS_COUNT_MAX) })
      for (const id of of) places.delete(id)
    }
  }

  async function onItems({ mailbox, items }: MailboxMessageOf<'items'>): Promise<void> {
    if (!opened.has(mailbox)) throw new Error('the server sends of a mailbox that is not open')
    for (const [id, item] of items) {
      if (mailboxItemId(mailbox, item) !== id) throw new Error('the server gives an item a name that it does not have')
      places.set(id, mailbox)
    }
    await drop(await inbound.take(items))
    await open(await inbound.isMissed())
  }

  function put(slot: Slot, item: Uint8Array): Promise<TurnedAway | 'stored'> {
    const { writer, reader } = slot
    const id = mailboxItemId(mailboxId({ writer: writer.public, reader }), item)
    const { promise, resolve } = Promise.withResolvers<TurnedAway | 'stored'>()
    puts.set(id, resolve)
    say(signPut({ key: writer, reader, ttl: MAILBOX_TTL_MS_MAX, item })).catch(() => answered(id, 'not_offered'))
    return promise
  }

  function answered(id: Hex, answer: TurnedAway | 'stored'): void {
    puts.get(id)?.(answer)
    puts.delete(id)
  }

  /** Leaves all of it. False: something was turned away, which is remembered, or the stream is over. */
  async function leave(device: Hex, slot: Slot, mail: Parcel['mail']): Promise<boolean> {
    for (const one of mail) {
      const answer = await put(slot, slot.seal(one))
      if (!stream) return false
      if (answer === 'stored') continue
      turnedAway.set(device, { why: answer, device, at: now() })
      return false
    }
    turnedAway.delete(device)
    return true
  }

  function isPaused(device: Hex): boolean {
    return [...turnedAway.values()].some(
      (pause) => now() - pause.at < PAUSE_MS && (pause.device === device || pause.why !== 'mailbox_full'),
    )
  }

  async function leaveFor(device: Hex): Promise<void> {
    const ttl = Math.min(welcome?.ttl ?? 0, MAILBOX_TTL_MS_MAX)
    const news = newsFor(held, device, peers.peerRow(device), server)
    if (news) {
      if (!(await leave(device, news.slot, news.mail))) return
      peers.keepRow(device, { mailed: { ...peers.peerRow(device)?.mailed, [server]: news.position } })
    }
    const slot = slotOf(held, device)
    const owed = new Set([...(held.outbox.get(device)?.values() ?? []), ...(receipts.get(device) ?? [])])
    for (const threadId of owed) {
      for (const { thread, entry, mail } of await parcelsFor(held, threadId, { server, device, ttl })) {
        if (peers.isConnected(device) || !slot || !(await leave(device, slot, mail))) return
        record.left++
        await held.turn(async (turn) =>
          noteMailbox(held, turn, await held.threads.load(thread), { entry, server, device, host: host() }),
        )
      }
      receipts.get(device)?.delete(threadId)
    }
  }

  async function work(): Promise<void> {
    while (isDue && stream && welcome) {
      isDue = false
      await open(inbound.waiting > 0 && now() - readAt >= READ_AGAIN_MS)
      if (inbound.waiting > 0) await drop(await inbound.settled())
      for (const device of new Set([...held.outbox.keys(), ...receipts.keys()]))
        if (!peers.isConnected(device) && !isPaused(device)) await leaveFor(device)
    }
  }

  function look(): void {
    isDue = true
    working ??= work()
      .catch((error: unknown) => system.log.debug('a mailbox could not be served', { server, error: String(error) }))
      .finally(() => {
        working = undefined
        if (isDue && stream && welcome) look()
      })
  }

  return {
    async run(given) {
      stream = given
      try {
        for (let frame = await given.receive(); frame; frame = await given.receive()) {
          const message = parseMailbox(frame)
          if (!message.ok) throw new Error('the server says what the protocol does not have')
          const { value } = message
          if (value.t === 'welcome') {
            welcome = value
            look()
          } else if (value.t === 'items') await onItems(value)
          else if (value.t === 'stored') answered(value.id, 'stored')
          else if (value.t === 'turned-away') answered(value.id, value.why)
        }
      } finally {
        stream = undefined
        for (const id of puts.keys()) answered(id, 'not_offered')
        given.abort('the mailbox stream is over')
      }
    },
    look,
    waiting: () => inbound.waiting,
    stop: () => stream?.abort('stopped'),
  }
}
