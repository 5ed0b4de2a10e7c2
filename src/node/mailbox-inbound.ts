/** Taking in what lay in this device's mailboxes, and telling which items are safe here, so that the server may let go of them. */
import {
  type Entry,
  epochOf,
  type Hex,
  isBodyOf,
  type Mail,
  MAILBOX_ITEMS_COUNT_MAX,
  openEntry,
  openEnvelope,
  parseMail,
  WAITING_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import { admit, type Admitted, admitBodies, admitWaiting, type WaitingRoom } from './admit.ts'
import { countRefusal, type Held } from './held.ts'
import { createOf, sideOf } from './threads.ts'
import { takePrekeys, takeRoster } from './workspace-news.ts'

export interface InboundParts {
  readonly held: Held
  readonly room: WaitingRoom
  /** The server it came from. */
  readonly from: Hex
  onAdmitted(from: Hex, admitted: Admitted): void
  onWorkspaceChanged(): void
}

export interface Inbound {
  /** Takes items in; gives those that may be dropped, of these and of those that were taken before. */
  take(items: readonly (readonly [id: Hex, item: Uint8Array])[]): Promise<Hex[]>
  /** Items that were taken before and may be dropped by now. */
  settled(): Promise<Hex[]>
  /** Whether the body of an item was let go of that turned out to be this device's since: it is there to be read once more. */
  isMissed(): Promise<boolean>
  /** Items that wait: for a key, for what their entry builds on, or for the rest of its body. */
  readonly waiting: number
}

interface Awaited {
  readonly thread: Hex
  readonly entry: Hex
}

interface Waiting extends Awaited {
  /** When it was first read, ms. */
  readonly since: number
  /** It was read when this device took no part in its thread. */
  readonly isForeign: boolean
}

/** What is for a reader comes before the share that makes it one: so long it is left where it is. */
const SHARE_AWAITED_MS = 10 * 60_000

/** A body that is coming in pieces. */
interface Assembly extends Awaited {
  readonly parts: Map<number, Uint8Array>
  readonly of: number
}

export function createInbound(parts: InboundParts): Inbound {
  const { held, room, from, onAdmitted, onWorkspaceChanged } = parts
  /** Items whose entry is not wholly here. */
  const waiting = new Map<Hex, Waiting>()
  const assemblies = new Map<Hex, Assembly>()
  /** Items of an epoch whose key is not here. */
  const unread = new Set<Hex>()

  /** undefined: not readable yet, or not any more. */
  function open(item: Uint8Array): Mail | 'garbage' | undefined {
    const epoch = epochOf(item)
    if (!epoch.ok) return 'garbage'
    const key = held.workspace.keys.get(epoch.value)
    if (!key) return undefined
    const plain = openEnvelope(item, key)
    const mail = plain.ok ? parseMail(plain.value) : plain
    if (mail.ok) return mail.value
    countRefusal(held, mail.refusal)
    return 'garbage'
  }

  async function takeNews({ roster, prekeys }: Extract<Mail, { t: 'workspace' }>): Promise<void> {
    const isNew = await takeRoster(held, roster)
    if ((await takePrekeys(held, prekeys)) || isNew) onWorkspaceChanged()
    if (isNew) await admitWaiting(held, room, onAdmitted)
  }

  function keepPiece({ th, entry, at, of, bytes }: Extract<Mail, { t: 'piece' }>): void {
    const before = assemblies.get(entry)
    const assembly = before?.of === of && before.thread === th ? before : { thread: th, entry, of, parts: new Map() }
    assemblies.delete(entry)
    assemblies.set(entry, assembly)
    assembly.parts.set(at, bytes)
    let size = [...assemblies.values()]
      .flatMap((one) => [...one.parts.values()])
      .reduce((sum, part) => sum + part.length, 0)
    for (const [oldest, one] of assemblies) {
      if (size <= WAITING_SIZE_BYTES_MAX) break
      assemblies.delete(oldest)
      for (const part of one.parts.values()) size -= part.length
    }
  }

  /** Puts together what is complete, for entries that are here. */
  async function assemble(): Promise<void> {
    for (const { thread, entry, of, parts: pieces } of assemblies.values()) {
      if (pieces.size < of) continue
      const known = await held.turn(async () => (await held.threads.load(thread)).graph.byId.get(entry)?.entry)
      if (!known) continue
      assemblies.delete(entry)
      const body = Buffer.concat(Array.from({ length: of }, (_, at) => pieces.get(at) ?? new Uint8Array()))
      // Pieces of two senders that do not fit each other cost time: the author has the body still.
      if (isBodyOf(known, body)) onAdmitted(from, await admitBodies(held, thread, [[entry, new Uint8Array(body)]]))
    }
  }

  function isOwn(thread: Hex): Promise<boolean> {
    return held.turn(async () => sideOf(await held.threads.load(thread), held.workspace.key.public) !== undefined)
  }

  /** Whether it is known of a thread that this device takes no part in it; a create says so itself. */
  function isForeign(threadId: Hex, entry?: Entry): Promise<boolean> {
    return held.turn(async () => {
      const thread = await held.threads.load(threadId)
      const own = held.workspace.key.public
      const header = createOf(thread)?.header ?? entry?.header
      if (header?.kind !== 'create') return false
      return sideOf(thread, own) === undefined && ![...header.ctl.senders, ...header.ctl.recipients].includes(own)
    })
  }

  async function wait(id: Hex, awaited: Awaited, entry?: Entry): Promise<void> {
    const since = waiting.get(id)?.since ?? held.system.clock.now()
    waiting.set(id, { ...awaited, since, isForeign: await isForeign(awaited.thread, entry) })
  }

  /** Whether an entry is here as far as it is this device's, or refused for good. */
  async function isSettled({ thread: threadId, entry, since }: Waiting): Promise<boolean> {
    if (held.refusedIds.has(entry)) return true
    const isHere = await held.turn(async () => {
      const thread = await held.threads.load(threadId)
      const node = thread.graph.byId.get(entry)
      return node && (node.entry.header.body === null || thread.bodies.has(entry))
    })
    if (isHere !== false) return isHere === true
    return !(await isOwn(threadId)) && held.system.clock.now() - since >= SHARE_AWAITED_MS
  }

  async function settled(): Promise<Hex[]> {
    await assemble()
    const done: Hex[] = []
    for (const [id, awaited] of waiting) if (await isSettled(awaited)) done.push(id)
    // Asked twice at once, each item is given once.
    return done.filter((id) => waiting.delete(id))
  }

  return {
    async take(items) {
      const done: Hex[] = []
      const entries: { envelope: Uint8Array; body: Uint8Array | null }[] = []
      for (const [id, item] of items) {
        const mail = open(item)
        unread.delete(id)
        if (mail === undefined && unread.size < MAILBOX_ITEMS_COUNT_MAX) unread.add(id)
        if (mail === undefined) continue
        if (mail === 'garbage') done.push(id)
        else if (mail.t === 'workspace') {
          await takeNews(mail)
          done.push(id)
        } else if (mail.t === 'piece') {
          keepPiece(mail)
          await wait(id, { thread: mail.th, entry: mail.entry })
        } else {
          const entry = openEntry(mail.envelope)
          if (entry.ok) await wait(id, { thread: entry.value.thread, entry: entry.value.id }, entry.value)
          else done.push(id)
          entries.push(mail)
        }
      }
      if (entries.length > 0) onAdmitted(from, await admit(held, room, { from, items: entries }))
      return [...done, ...(await settled())]
    },
    settled,
    async isMissed() {
      let isMissed = false
      for (const [id, item] of waiting) {
        if (!item.isForeign || !(await isOwn(item.thread))) continue
        waiting.set(id, { ...item, isForeign: false })
        isMissed = true
      }
      return isMissed
    },
    get waiting() {
      return waiting.size + unread.size
    },
  }
}
