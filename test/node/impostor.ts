/**
 * An enrolled laptop whose node was replaced by a program that says what it likes: its keys are the
 * true ones, so only the rules stand between it and the others.
 */
import { onTestFinished } from 'vitest'
import {
  admitRosterEntry,
  type BodyKind,
  type BodyOf,
  commitThreadKey,
  type CtlOf,
  currentRoster,
  emptyRosterLog,
  encodeBody,
  encodeSync,
  type Entry,
  hash,
  type Header,
  type Hex,
  memberByName,
  openPrekey,
  parseEntry,
  parseRosterEntry,
  parseSync,
  prekeysDigest,
  PROTOCOL_VERSION,
  type RosterHeader,
  sealBody,
  signEntry,
  signRosterEntry,
  type SyncMessage,
  type SyncMessageOf,
  toHex,
  wrapThreadKey,
} from '../../protocol/index.ts'
import type { FrameStream, Net } from '../../src/net/net.ts'
import { decodeRow } from '../../src/node/rows.ts'
import {
  type Actor,
  actor,
  CLOCK_MS,
  emptyStory,
  mustAdmit,
  type SayOptions,
  type Story,
  type Workspace,
} from '../cast.ts'
import type { Disk } from './disk.ts'
import type { Laptop, World } from './world.ts'

/** A conversation of /relay/sync/1, spoken by hand. */
export interface Talk {
  /** Everything that was heard, and its size in bytes. */
  readonly heard: SyncMessage[]
  readonly heardBytes: number
  readonly isOver: boolean
  say(...messages: SyncMessage[]): Promise<void>
  sayBytes(frame: Uint8Array): Promise<void>
  /** The next message of that type after those that were asked for before. */
  hear<T extends SyncMessage['t']>(t: T): Promise<SyncMessageOf<T>>
  /** Says hello and hears the answer to it: whatever was said before has been taken in. */
  catchUp(): Promise<void>
  /** Resolves once the other side has ended it. */
  over(): Promise<void>
}

export interface Impostor extends Actor {
  readonly workspace: Workspace
  readonly net: Net
  /** Appears before a laptop that is running. */
  meet(laptop: Laptop): Promise<Talk>
  hello(change?: Partial<SyncMessageOf<'hello'>>): SyncMessageOf<'hello'>
}

/** Takes the place of a laptop that is stopped. */
export async function impersonate(world: World, laptop: Laptop): Promise<Impostor> {
  const self = actor(laptop.name)
  const workspace = await workspaceOn(laptop.disk)
  const prekeyIds = [...(await prekeysOn(laptop.disk)).values()].map(({ id }) => id)
  const net = world.hub.net(self.device, laptop.system)
  const team = new Set<string>()
  const streams = new Map<string, PromiseWithResolvers<Talk>>()
  const streamOf = (device: string): PromiseWithResolvers<Talk> => {
    const found = streams.get(device) ?? Promise.withResolvers<Talk>()
    streams.set(device, found)
    return found
  }
  const hello: Impostor['hello'] = (change = {}) => {
    const { ws, point } = workspace.roster()
    const plain = { t: 'hello' as const, v: PROTOCOL_VERSION, ws, ros: point, prekeys: prekeysDigest(prekeyIds) }
    return { ...plain, frame: 320 * 1024, clock: CLOCK_MS, ...change }
  }
  await net.start({
    async onSync(stream) {
      const { talk, reading } = talkOver(stream, hello)
      streamOf(stream.device).resolve(talk)
      await reading
    },
    onJoin: async () => undefined,
    onGossip: async () => 'ignore',
    onPeerChange: () => undefined,
    onBootstrapChange: () => undefined,
  })
  onTestFinished(() => net.stop())
  return {
    ...self,
    workspace,
    net,
    hello,
    meet(other) {
      team.add(other.device)
      net.setTeam(new Map([...team].map((device) => [device, []])))
      return streamOf(other.device).promise
    },
  }
}

/** The conversation on a stream that is open. */
export function talkOver(stream: FrameStream, hello: () => SyncMessage): { talk: Talk; reading: Promise<void> } {
  const heard: SyncMessage[] = []
  const next = new Map<string, number>()
  let heardBytes = 0
  let isOver = false
  let more = Promise.withResolvers<void>()
  const tell = (): void => {
    more.resolve()
    more = Promise.withResolvers()
  }
  async function read(): Promise<void> {
    try {
      for (let frame = await stream.receive(); frame; frame = await stream.receive()) {
        const message = parseSync(frame)
        if (!message.ok) throw new Error(`the node says what the protocol does not have: ${message.refusal}`)
        heard.push(message.value)
        heardBytes += frame.length
        tell()
      }
    } catch {
      // However it ended, it is over.
    }
    isOver = true
    tell()
  }
  const talk: Talk = {
    heard,
    get heardBytes() {
      return heardBytes
    },
    get isOver() {
      return isOver
    },
    async say(...messages) {
      for (const message of messages) await stream.send(encodeSync(message))
    },
    sayBytes: (frame) => stream.send(frame),
    async hear(t) {
      for (let at = next.get(t) ?? 0; ; at++) {
        while (at >= heard.length) {
          if (isOver) throw new Error(`the other side ended before it said ${t}`)
          await more.promise
        }
        const message = heard[at]
        if (message?.t !== t) continue
        next.set(t, at + 1)
        return message as SyncMessageOf<typeof t>
      }
    },
    async catchUp() {
      next.set('digests', heard.length)
      await talk.say(hello())
      await talk.hear('digests')
    },
    async over() {
      while (!isOver) await more.promise
    },
  }
  return { talk, reading: read() }
}

/** The roster that a disk holds, with the owner's pen: bob is played by the tests. */
export async function workspaceOn(disk: Disk): Promise<Workspace> {
  const log = emptyRosterLog()
  for (const [, envelope] of await disk.rows('roster')) {
    const entry = parseRosterEntry(envelope)
    if (!entry.ok || !admitRosterEntry(log, entry.value)?.ok)
      throw new Error('the roster on the disk does not hold together')
  }
  const owner = actor('bob')
  const roster: Workspace['roster'] = () => {
    const current = currentRoster(log)
    if (!current) throw new Error('there is no roster on the disk')
    return current
  }
  const draft: Workspace['draft'] = (kind, ctl, header = {}) => {
    const { point, ws } = roster()
    const plain = { v: PROTOCOL_VERSION, ws, n: point[0] + 1, prev: point[1], kind, ctl, ts: CLOCK_MS }
    return signRosterEntry({ ...plain, ...header } as RosterHeader, owner.key)
  }
  const unused = (): never => {
    throw new Error('whoever is in joined by an invite')
  }
  return {
    ws: roster().ws,
    log,
    owner,
    roster,
    draft,
    member(name) {
      const member = memberByName(roster(), name)
      if (!member) throw new Error(`no member ${name}`)
      return member.id
    },
    write: (kind, ctl) => mustAdmit(log, draft(kind, ctl)).point,
    enrol: unused,
    enrolDevice: unused,
  }
}

/** The entries of all threads that a disk holds. */
export async function entriesOn(disk: Disk): Promise<Entry[]> {
  return (await disk.rows('entry')).flatMap(([, value]) => {
    const [envelope] = decodeRow(value) as [Uint8Array, number]
    const entry = parseEntry(envelope)
    return entry.ok ? [entry.value] : []
  })
}

async function prekeysOn(disk: Disk): Promise<Map<Hex, { id: Hex; x25519: Hex }>> {
  const found = new Map<Hex, { id: Hex; x25519: Hex }>()
  for (const [device, record] of await disk.rows('prekey')) {
    const prekey = openPrekey(record)
    if (prekey.ok) found.set(device, prekey.value)
  }
  return found
}

// Threads whose bodies open.

export interface SealedEntry {
  readonly entry: Entry
  readonly body: Uint8Array | null
}

/** A thread that is written by hand, under a key that its devices really hold. */
export interface SealedStory extends Story {
  readonly key: Uint8Array
  readonly nonce: Hex
  readonly first: SealedEntry
  /** Signs an entry with a sealed body; not judged. `content`: what its kind has, or any bytes in its place. */
  seal<K extends BodyKind>(
    who: Actor,
    kind: K,
    content: BodyOf<K> | Uint8Array,
    more?: SayOptions & { ctl?: Partial<CtlOf<K>> },
  ): SealedEntry
  /** The entry with other bytes for its body, which its header names. */
  withBody(who: Actor, header: Header, body: Uint8Array): SealedEntry
}

export interface SealedOptions {
  readonly workspace: Workspace
  /** Where the prekeys are taken from. */
  readonly disk: Disk
  readonly from: Actor
  readonly to: Actor
  readonly body: BodyOf<'create'> | Uint8Array
  /** Arguments of the create that depend on the key. */
  readonly ctl?: (key: Uint8Array, nonce: Hex) => Partial<CtlOf<'create'>>
  readonly dice: (count: number) => Uint8Array
}

export async function sealedStory(options: SealedOptions): Promise<SealedStory> {
  const { workspace, from, to, dice } = options
  const key = dice(32)
  const nonce = toHex(dice(32))
  const prekeys = await prekeysOn(options.disk)
  const wraps = await Promise.all(
    [from, to].map(({ device }) => {
      const prekey = prekeys.get(device)
      if (!prekey) throw new Error('a device without a prekey')
      const place = { ws: workspace.ws, nonce, author: from.device }
      return wrapThreadKey(key, place, { device, prekey: prekey.id, x25519: prekey.x25519, ekm: dice(32) })
    }),
  )
  const commit = commitThreadKey(key, { nonce, ws: workspace.ws, device: from.device, prev: null })
  const story = emptyStory(workspace, [from], [to])
  const create = { nonce, commit, wraps, ...options.ctl?.(key, nonce) }

  function seal<K extends BodyKind>(
    who: Actor,
    kind: K,
    content: BodyOf<K> | Uint8Array,
    keyId: Hex | null,
    more: SayOptions & { ctl?: Partial<CtlOf<K>> },
  ) {
    const plain = content instanceof Uint8Array ? content : encodeBody(kind, content)
    const { header } = story.draft(who, kind, more.ctl ?? {}, more)
    const { header: sealed, sealed: body } = sealBody(header, plain, { key, keyId, iv: dice(32) })
    return { entry: signEntry(sealed, who.key), body }
  }

  const first = seal(from, 'create', options.body, null, { ctl: create })
  story.add(first.entry)
  return {
    ...story,
    create: first.entry,
    key,
    nonce,
    first,
    seal: (who, kind, content, more = {}) => seal(who, kind, content, first.entry.id, more),
    withBody(who, header, body) {
      const facts = header.body && { ...header.body, h: hash('ciphertext', [body]) }
      return { entry: signEntry({ ...header, body: facts }, who.key), body }
    },
  }
}

/** An `entries` message with everything that is given. */
export function entriesMessage(
  thread: Hex,
  items: readonly SealedEntry[],
  heads: readonly Hex[] | null = null,
): SyncMessage {
  return {
    t: 'entries',
    th: thread,
    items: items.map(({ entry, body }) => [entry.envelope, body]),
    heads: heads && [...heads],
  }
}
