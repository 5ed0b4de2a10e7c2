/** A mailbox service in memory, and devices that speak with it. */
import {
  encodeMailbox,
  fromHex,
  type Hex,
  mailboxId,
  type MailboxMessage,
  type MailboxMessageOf,
  mailboxWriteKey,
  parseMailbox,
  signOpen,
  signPut,
  type SigningKey,
  signingKey,
} from '../../protocol/index.ts'
import { createMailboxService, type MailboxLimits, type MailboxService } from '../../src/bootstrap/mailbox.ts'
import { memoryStreams } from '../../src/net/memory-stream.ts'
import type { FrameStream } from '../../src/net/net.ts'
import { openMemoryStore } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { SILENT_LOG } from '../../src/system.ts'
import { type Actor, actor, dice, seedOf } from '../cast.ts'
import { type TestClock, testClock } from '../node/clock.ts'

export const SERVER = actor('server').device
const WORKSPACE_KEY = seedOf('workspace key')
export const DAY_MS = 24 * 60 * 60 * 1000

/** A mailbox of a device, with both keys: what its teammates know and what it alone has. */
export interface Box {
  id: Hex
  write: SigningKey
  read: SigningKey
}

export function boxOf(who: Actor): Box {
  const write = mailboxWriteKey(WORKSPACE_KEY, 0, who.device)
  const read = signingKey(seedOf('mailbox', who.name))
  return { write, read, id: mailboxId({ writer: write.public, reader: read.public }) }
}

/** Sealed, as far as the server can tell. */
export function item(label: string, bytes = 100): Uint8Array {
  const content = new Uint8Array(bytes)
  content.set(seedOf('item', label).subarray(0, bytes))
  return content
}

export interface Visit {
  stream: FrameStream
  welcome: MailboxMessageOf<'welcome'>
  say(message: MailboxMessage): Promise<void>
  /** The next message of type `t`; every other one is a failure. */
  hear<T extends MailboxMessage['t']>(t: T): Promise<MailboxMessageOf<T>>
  /** Puts and hears the answer. */
  put(box: Box, content: Uint8Array, ttl?: number): Promise<MailboxMessage>
  open(box: Box): Promise<void>
  /** Opens and hears all that is there. */
  fetch(box: Box): Promise<Uint8Array[]>
  drop(box: Box, ids: Hex[]): Promise<void>
  /** Resolves with why the server ended the stream. */
  ended(): Promise<string>
}

export interface PostOffice {
  clock: TestClock
  service: MailboxService
  store: Store
  visit(who: Actor): Promise<Visit>
}

export interface OfficeOptions {
  limits?: Partial<MailboxLimits>
  store?: Store
  clock?: TestClock
}

export async function postOffice(options: OfficeOptions = {}): Promise<PostOffice> {
  const clock = options.clock ?? testClock()
  const store = options.store ?? (await openMemoryStore())
  const service = await createMailboxService({
    store,
    system: { clock, dice: dice('server'), log: SILENT_LOG },
    device: SERVER,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  return { clock, service, store, visit: (who) => visit(service, who) }
}

export function visit(service: MailboxService, who: Actor): Promise<Visit> {
  const [stream, counter] = memoryStreams(who.device, SERVER)
  void service.serve(counter).then(() => counter.close())
  return visitOn(stream)
}

/** The same over a stream that is open already, whatever net it belongs to. */
export async function visitOn(stream: FrameStream): Promise<Visit> {
  const welcome = await hear(stream, 'welcome')
  const visit: Visit = {
    stream,
    welcome,
    say: (message) => stream.send(encodeMailbox(message)),
    hear: (t) => hear(stream, t),
    async put(box, content, ttl = DAY_MS) {
      await visit.say(signPut({ key: box.write, reader: box.read.public, ttl, item: content }))
      return next(stream)
    },
    open: (box) =>
      visit.say(signOpen({ key: box.read, writer: box.write.public, nonce: welcome.nonce, server: stream.device })),
    async fetch(box) {
      await visit.open(box)
      const found: Uint8Array[] = []
      for (;;) {
        const { items, more } = await visit.hear('items')
        found.push(...items.map(([, content]) => content))
        if (!more) return found
      }
    },
    async drop(box, ids) {
      await visit.say({ t: 'drop', mailbox: box.id, ids })
      await visit.hear('dropped')
    },
    async ended() {
      try {
        for (let frame = await stream.receive(); frame !== undefined; frame = await stream.receive());
        return ''
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
  }
  return visit
}

async function next(stream: FrameStream): Promise<MailboxMessage> {
  const frame = await stream.receive()
  if (frame === undefined) throw new Error('the server closed the stream')
  const parsed = parseMailbox(frame)
  if (!parsed.ok) throw new Error(`the server said what is no message: ${parsed.refusal}`)
  return parsed.value
}

async function hear<T extends MailboxMessage['t']>(stream: FrameStream, t: T): Promise<MailboxMessageOf<T>> {
  const message = await next(stream)
  if (message.t !== t) throw new Error(`heard ${JSON.stringify(message)} instead of ${t}`)
  return message as MailboxMessageOf<T>
}

/** Without a signature that holds. */
export function forged(message: MailboxMessage): MailboxMessage {
  if (!('sig' in message)) return message
  const sig = fromHex(message.sig)
  sig[0] = (sig[0] ?? 0) ^ 1
  return { ...message, sig: Buffer.from(sig).toString('hex') }
}
