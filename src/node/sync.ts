/**
 * One conversation of /relay/sync/1 with one peer: both say what they hold, each pulls what it
 * lacks, and later either says when there is something new. The messages are protocol/sync.ts.
 */
import {
  bucketOf,
  differingBuckets,
  hasBit,
  headsDigest,
  type Hex,
  type Node,
  parseSync,
  pastOf,
  PROTOCOL_VERSION,
  SYNC_HEADS_COUNT_MAX,
  SYNC_IDS_COUNT_MAX,
  type SyncMessage,
  type SyncMessageOf,
  threadDevices,
} from '../../protocol/index.ts'
import type { FrameStream } from '../net/net.ts'
import { admit, type Admitted, admitBodies, admitWaiting, type WaitingRoom } from './admit.ts'
import { createApart } from './apart.ts'
import { BATCH_SIZE_BYTES, inBatches, rosterMessages } from './batches.ts'
import { wantedToCarry } from './carry.ts'
import type { Asking } from './asking.ts'
import { wantedChunks } from './chunks.ts'
import type { Fetching } from './fetching.ts'
import { countRefusal, type Held, type ThreadFacts } from './held.ts'
import { createOutbound } from './outbound.ts'
import { missingBodies, sideOf, type Thread, tipsOf } from './threads.ts'
import { heldPrekeysDigest, memberOfDevice, rosterOf, rosterSuffix } from './workspace.ts'
import { helloOf, takePrekeys, takeRoster } from './workspace-news.ts'

/** Threads that the full list of ids was asked for at the same time. */
const FULL_LISTS_COUNT_MAX = 1024
/** Refused entries in one batch, after which a peer is not worth listening to. */
const REFUSED_COUNT_MAX = 64
/** Gossip is usually faster than a pull; this long it may take. */
const GOSSIP_GRACE_MS = 40

export interface SyncOptions {
  readonly held: Held
  readonly room: WaitingRoom
  readonly stream: FrameStream
  readonly asking: Asking
  readonly fetching: Fetching
  /** Something was taken in: receipts are to be announced, gaps to be filled. */
  readonly onAdmitted: (from: Hex, admitted: Admitted) => void
  /** The roster or a prekey changed. */
  readonly onWorkspaceChanged: () => void
  /** The peer holds exactly the threads that are held here. */
  readonly onInSync: (device: Hex) => void
  readonly onHello: (from: Hex, hello: SyncMessageOf<'hello'>) => void
  /** The peer keeps bodies of a thread for others. */
  readonly onCarried: (from: Hex, carried: SyncMessageOf<'carried'>) => void
}

export interface SyncSession {
  readonly device: Hex
  /** Runs until either side closes. */
  run(): Promise<void>
  /** Asks for what the peer holds of a thread beyond what is here. */
  pull(thread: Hex): void
  /** Says what the newest entries of a thread are. */
  tellHeads(thread: Hex, heads: readonly Hex[]): void
  /** Says which bodies are kept here for others. */
  tellCarried(thread: Hex, ids: Hex[]): void
  /** Says what is held of the roster, the prekeys and all threads: a beacon. */
  tellAll(): void
  /** Says these roster entries and nothing else any more, and takes in nothing. Resolves when the peer has hung up. */
  farewell(entries: readonly Uint8Array[]): Promise<void>
  close(): Promise<void>
}

export function createSyncSession(options: SyncOptions): SyncSession {
  const { held, stream, room } = options
  const { workspace } = held
  const out = createOutbound({
    stream,
    asking: options.asking,
    question: async (thread) => ({ t: 'vector', th: thread, tips: await read(thread, tipsOf) }),
    // The peer names again what still differs.
    onForgotten: sayDigests,
  })
  const { say } = out
  const chunks = options.fetching.join(stream.device, (th, ids) => say({ t: 'want-chunks', th, ids }))
  let ended = false
  let leaving = false
  const over = Promise.withResolvers<void>()
  /** What the peer last said that it holds. */
  let peerBuckets: Hex | undefined
  const apart = createApart(held)
  /** Threads of which something was left, in the batches of the answer that is under way. */
  const leftNow = new Set<Hex>()
  /** The last hello that was answered with one of our own. */
  let answeredTo = ''
  /** Threads of which the full list of ids was already asked for, so that a lying peer causes no loop. */
  const askedInFull = new Set<Hex>()

  async function handle(message: SyncMessage): Promise<void> {
    if (leaving) return
    switch (message.t) {
      case 'hello':
        return onHello(message)
      case 'roster':
        return onRoster(message)
      case 'prekeys':
        return onPrekeys(message)
      case 'digests':
        return onDigests(message)
      case 'threads':
        return onThreads(message)
      case 'vector':
        return out.answer(`vector ${message.th}`, () => lackingBeyond(message))
      case 'ids':
        return out.answer(`ids ${message.th}`, () => lackingIn(message))
      case 'entries':
        return onEntries(message)
      case 'want':
        return out.answer(`want ${message.th}`, () => wantedBodies(message))
      case 'bodies':
        return onBodies(message)
      case 'want-chunks':
        return out.give(() => wantedChunks(held, stream.device, message))
      case 'chunks':
        return chunks.take(message.th, message.items).then(() => say({ t: 'got' }))
      case 'carried':
        return onCarried(message)
      case 'heads':
        return onHeads(message)
      case 'got':
        return out.taken()
    }
  }

  function onHello(message: SyncMessageOf<'hello'>): void {
    const prekeysHere = heldPrekeysDigest(workspace)
    const roster = rosterOf(workspace)
    if (!roster || message.ws !== roster.ws || message.v !== PROTOCOL_VERSION)
      return stream.abort('another workspace or version')
    options.onHello(stream.device, message)
    const suffix = rosterSuffix(workspace, message.ros).map((entry) => entry.envelope)
    for (const part of rosterMessages(suffix)) say(part)
    if (message.prekeys !== prekeysHere) {
      const records = [...workspace.prekeys.values()].map((prekey) => prekey.bytes)
      for (const batch of inBatches(records, (record) => record.length)) say({ t: 'prekeys', records: batch })
    }
    // The peer holds what is not here: saying what is here makes it send that, once for each thing it said.
    const said = `${message.ros[1]} ${message.prekeys}`
    if (said !== answeredTo && (!workspace.log.entries.has(message.ros[1]) || message.prekeys !== prekeysHere)) {
      answeredTo = said
      sayHello()
    }
    out.catchUp(() => {
      sayDigests()
      // A peer that holds the same says nothing to that.
      if (peerBuckets !== undefined && apart.isAllLeft(peerBuckets)) out.caughtUp()
    })
  }

  async function onRoster(message: SyncMessageOf<'roster'>): Promise<void> {
    if (!(await takeRoster(held, message.entries))) return
    options.onWorkspaceChanged()
    await admitWaiting(held, room, options.onAdmitted)
  }

  async function onPrekeys(message: SyncMessageOf<'prekeys'>): Promise<void> {
    if (await takePrekeys(held, message.records)) options.onWorkspaceChanged()
  }

  function onDigests(message: SyncMessageOf<'digests'>): void {
    peerBuckets = message.buckets
    if (apart.isAllLeft(message.buckets)) {
      out.caughtUp()
      options.onInSync(stream.device)
    }
    const differing = new Set(differingBuckets(message.buckets, apart.buckets()))
    if (differing.size === 0) return
    const threads = [...held.facts].flatMap(([thread, facts]): [Hex, Hex][] =>
      differing.has(bucketOf(thread)) && apart.isOpen(thread) ? [[thread, facts.headsDigest]] : [],
    )
    // An empty list says that there is nothing to ask for.
    for (const batch of threads.length > 0 ? inBatches(threads, () => 72) : [[]]) say({ t: 'threads', threads: batch })
  }

  function onThreads(message: SyncMessageOf<'threads'>): void {
    // What both hold is to count as equal from now on.
    if (message.threads.filter(([thread]) => apart.noteHolder(thread)).length > 0) sayDigests()
    for (const [thread, digest] of message.threads) {
      const isNeeded = (): boolean => {
        const facts = held.facts.get(thread)
        return facts?.headsDigest !== digest || facts.recovering || (facts.lacking && mayHaveBodies(facts))
      }
      if (held.facts.get(thread)?.headsDigest !== digest && !apart.isLeft(thread, digest)) out.ask(thread, isNeeded)
    }
    out.named()
  }

  /** Of a thread of others, bodies that might be carried are worth asking a device of its members for, and no other. */
  function mayHaveBodies({ side, sender, recipient }: ThreadFacts): boolean {
    const member = memberOfDevice(workspace, stream.device)?.id
    return side !== null || member === sender || member === recipient
  }

  /** Looks at a thread in the write queue, where memory and disk agree. */
  function read<T>(thread: Hex, look: (thread: Thread) => T | Promise<T>): Promise<T> {
    return held.turn(async () => look(await held.threads.load(thread)))
  }

  async function* lackingBeyond(message: SyncMessageOf<'vector'>): AsyncIterable<SyncMessage> {
    yield* batchesOf(message.th, (thread) => {
      const held = message.tips.flatMap(([, , id]) => thread.graph.byId.get(id) ?? [])
      const covered = pastOf(thread.graph, held)
      return thread.graph.nodes.filter((node) => !hasBit(covered, node.index))
    })
  }

  async function* lackingIn(message: SyncMessageOf<'ids'>): AsyncIterable<SyncMessage> {
    const ids = new Set(message.ids)
    yield* batchesOf(message.th, (thread) => thread.graph.nodes.filter((node) => !ids.has(node.entry.id)))
  }

  async function* batchesOf(id: Hex, choose: (thread: Thread) => Node[]): AsyncIterable<SyncMessage> {
    if (!apart.isOpen(id)) {
      yield { t: 'entries', th: id, items: [], heads: [] }
      return
    }
    const { chosen, heads, withBodies, bodies } = await read(id, (thread) => ({
      chosen: choose(thread),
      heads: [...thread.graph.heads].slice(0, SYNC_HEADS_COUNT_MAX),
      // Sealed bodies go to the devices of the thread unasked; others ask for those that they have room for.
      withBodies: threadDevices(thread.graph).includes(stream.device),
      bodies: thread.bodies,
    }))
    let items: [Uint8Array, Uint8Array | null][] = []
    let size = 0
    for (const { entry } of chosen) {
      const body = withBodies && bodies.has(entry.id) ? ((await held.store.get('body', entry.id)) ?? null) : null
      const more = entry.envelope.length + (body?.length ?? 0)
      if (items.length > 0 && size + more > BATCH_SIZE_BYTES) {
        yield { t: 'entries', th: id, items, heads: null }
        items = []
        size = 0
      }
      items.push([entry.envelope, body])
      size += more
    }
    // Where nothing is held this says so, and the peer may ask on.
    yield { t: 'entries', th: id, items, heads }
  }

  async function onEntries(message: SyncMessageOf<'entries'>): Promise<void> {
    const items = message.items.map(([envelope, body]) => ({ envelope, body }))
    const isLast = message.heads !== null
    const admitted = await admit(held, room, {
      from: stream.device,
      items,
      more: !isLast,
      ...(isLast ? { thread: message.th } : {}),
    })
    say({ t: 'got' })
    if (message.items.length > 0) apart.noteHolder(message.th)
    options.onAdmitted(stream.device, { ...admitted, missing: new Map() })
    if (admitted.missingRoster) sayHello()
    for (const thread of admitted.left) leftNow.add(thread)
    if (admitted.refused > REFUSED_COUNT_MAX) return stream.abort('sends what the rules refuse')
    if (!message.heads) return
    out.answered(message.th)
    // Whether all is here again shows in the digests.
    if (held.facts.get(message.th)?.recovering) sayHello()
    const { heads } = message
    const rest = await read(message.th, (thread) => ({
      lacks: heads.some((head) => !thread.graph.byId.has(head)),
      ids: [...thread.graph.byId.keys()].slice(0, SYNC_IDS_COUNT_MAX),
      bodies: wanted(thread),
    }))
    if (rest.bodies.length > 0) say({ t: 'want', th: message.th, ids: rest.bodies })
    if (leftNow.delete(message.th) && rest.lacks) return apart.leave(message.th, headsDigest(heads))
    if (rest.lacks && !askedInFull.has(message.th)) {
      if (askedInFull.size >= FULL_LISTS_COUNT_MAX) askedInFull.clear()
      askedInFull.add(message.th)
      say({ t: 'ids', th: message.th, ids: rest.ids })
    } else askedInFull.delete(message.th)
  }

  /** Bodies that are missing: all of a thread that this device takes part in; of others, those that it may keep for them. */
  function wanted(thread: Thread): Hex[] {
    const isOwn = sideOf(thread, workspace.key.public) !== undefined
    return (isOwn ? missingBodies(thread) : wantedToCarry(held, thread)).slice(0, SYNC_IDS_COUNT_MAX)
  }

  async function* wantedBodies(message: SyncMessageOf<'want'>): AsyncIterable<SyncMessage> {
    if (!apart.isOpen(message.th)) return
    const wanted = await read(message.th, (thread) => message.ids.filter((id) => thread.bodies.has(id)))
    let items: [Hex, Uint8Array][] = []
    let size = 0
    for (const id of wanted) {
      const body = await held.store.get('body', id)
      if (!body) continue
      if (items.length > 0 && size + body.length > BATCH_SIZE_BYTES) {
        yield { t: 'bodies', th: message.th, items }
        items = []
        size = 0
      }
      items.push([id, body])
      size += body.length
    }
    if (items.length > 0) yield { t: 'bodies', th: message.th, items }
  }

  async function onBodies(message: SyncMessageOf<'bodies'>): Promise<void> {
    const admitted = await admitBodies(held, message.th, message.items)
    say({ t: 'got' })
    options.onAdmitted(stream.device, admitted)
  }

  async function onCarried(message: SyncMessageOf<'carried'>): Promise<void> {
    const missing = await read(message.th, (thread) => new Set(wanted(thread)))
    const ids = message.ids.filter((id) => missing.has(id))
    if (ids.length > 0) say({ t: 'want', th: message.th, ids })
    options.onCarried(stream.device, message)
  }

  async function onHeads(message: SyncMessageOf<'heads'>): Promise<void> {
    if (apart.isLeft(message.th, headsDigest(message.heads))) return
    // The header may be here by way of someone who had no body for us.
    const lacks = (thread: Thread) =>
      message.heads.some((head) => !thread.graph.byId.has(head)) || wanted(thread).length > 0
    if (!(await read(message.th, lacks))) {
      // It is said until it is acknowledged: what came in a delivery that never ended has no receipt yet.
      const admitted = await admit(held, room, { from: stream.device, items: [], thread: message.th })
      return options.onAdmitted(stream.device, admitted)
    }
    held.system.clock.after(GOSSIP_GRACE_MS, () => {
      void read(message.th, lacks).then(
        (still) => {
          if (still && !ended) out.ask(message.th)
        },
        () => undefined,
      )
    })
  }

  function sayDigests(): void {
    say({ t: 'digests', buckets: apart.buckets() })
  }

  function sayHello(): void {
    const message = helloOf(held)
    if (message) say(message)
  }

  return {
    device: stream.device,
    async run() {
      sayHello()
      // Half a conversation would look like a whole one to both sides; a new one begins with what is still missing.
      const saying = out.run().catch((error: unknown) => stream.abort(`nothing more can be said: ${String(error)}`))
      try {
        for (let frame = await stream.receive(); frame; frame = await stream.receive()) {
          const message = parseSync(frame)
          if (!message.ok) {
            countRefusal(held, message.refusal)
            return stream.abort('a message that the protocol does not have')
          }
          await handle(message.value)
        }
      } finally {
        ended = true
        chunks.leave()
        out.end()
        await saying
        over.resolve()
      }
    },
    pull: (thread) => out.ask(thread),
    tellHeads: (thread, heads) => out.tell(thread, heads.slice(0, SYNC_HEADS_COUNT_MAX)),
    tellCarried: (thread, ids) => say({ t: 'carried', th: thread, ids }),
    tellAll: sayHello,
    farewell(entries) {
      leaving = true
      out.finish(rosterMessages(entries))
      return over.promise
    },
    close: () => stream.close(),
  }
}
