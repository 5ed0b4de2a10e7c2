/**
 * One conversation of /relay/sync/1 with one peer: both say what they hold, each pulls what it
 * lacks, and later either says when there is something new. The messages are protocol/sync.ts.
 */
import {
  bucketDigests,
  bucketOf,
  differingBuckets,
  encodeSync,
  FRAME_SIZE_BYTES_MAX,
  hasBit,
  type Hex,
  type Node,
  parseSync,
  pastOf,
  PROTOCOL_VERSION,
  SYNC_HEADS_COUNT_MAX,
  SYNC_IDS_COUNT_MAX,
  type SyncMessage,
  type SyncMessageOf,
} from '../../protocol/index.ts'
import type { FrameStream } from '../net/net.ts'
import { admit, type Admitted, admitBodies, takeWaiting, type WaitingRoom } from './admit.ts'
import { countRefusal, type Held } from './held.ts'
import { sideOf, type Thread, threadDevices } from './threads.ts'
import { admitPrekey, admitRoster, heldPrekeysDigest, rosterOf, rosterSuffix, rosterUndo } from './workspace.ts'

/** Batches that may be under way to a peer that has not said it took them in. */
const CREDIT_COUNT = 4
const BATCH_SIZE_BYTES = 256 * 1024
/** Answers that a peer may ask for before it takes any. */
const JOBS_COUNT_MAX = 1024
/** Gossip is usually faster than a pull; this long it may take. */
const GOSSIP_GRACE_MS = 40

export interface SyncOptions {
  readonly held: Held
  readonly room: WaitingRoom
  readonly stream: FrameStream
  /** Something was taken in: receipts are to be announced, gaps to be filled. */
  readonly onAdmitted: (from: Hex, admitted: Admitted) => void
  /** The roster or a prekey changed. */
  readonly onWorkspaceChanged: () => void
  /** The peer holds exactly the threads that are held here. */
  readonly onInSync: (device: Hex) => void
  readonly onHello: (from: Hex, hello: SyncMessageOf<'hello'>) => void
}

export interface SyncSession {
  readonly device: Hex
  /** Runs until either side closes. */
  run(): Promise<void>
  /** Asks for what the peer holds of a thread beyond what is here. */
  pull(thread: Hex): void
  /** Says what the newest entries of a thread are. */
  tellHeads(thread: Hex, heads: readonly Hex[]): void
  /** Says what is held of the roster, the prekeys and all threads: a beacon. */
  tellAll(): void
  close(): Promise<void>
}

type Job = () => AsyncIterable<SyncMessage> | Iterable<SyncMessage>

export function createSyncSession(options: SyncOptions): SyncSession {
  const { held, stream, room } = options
  const { workspace } = held
  const jobs = new Map<string, Job>()
  let jobNumber = 0
  let credit = CREDIT_COUNT
  let wake: (() => void) | undefined
  let ended = false
  /** The last hello that was answered with one of our own. */
  let answeredTo = ''
  /** Threads of which the full list of ids was already asked for, so that a lying peer causes no loop. */
  const askedInFull = new Set<Hex>()

  /** A job under the same name replaces an earlier one that has not begun. */
  function enqueue(job: Job, name = `#${jobNumber++}`): void {
    if (jobs.size >= JOBS_COUNT_MAX && !jobs.has(name)) return stream.abort('asks for more than it takes')
    jobs.set(name, job)
    wake?.()
  }
  function say(message: SyncMessage): void {
    enqueue(() => [message])
  }

  async function pump(): Promise<void> {
    while (!ended) {
      const next = jobs.entries().next().value
      if (!next) {
        await woken()
        continue
      }
      const [name, job] = next
      jobs.delete(name)
      for await (const message of job()) {
        if (message.t === 'entries' || message.t === 'bodies') {
          while (credit === 0 && !ended) await woken()
          credit--
        }
        if (ended) return
        await stream.send(encodeSync(message))
      }
    }
  }
  function woken(): Promise<void> {
    return new Promise((resolve) => {
      wake = () => {
        wake = undefined
        resolve()
      }
    })
  }

  function hello(): SyncMessage | undefined {
    const roster = rosterOf(workspace)
    if (!roster) return undefined
    const clock = held.system.clock.now()
    return { t: 'hello', v: PROTOCOL_VERSION, ws: roster.ws, ros: roster.point, prekeys: heldPrekeysDigest(workspace), frame: FRAME_SIZE_BYTES_MAX, clock }
  }
  function digests(): Hex {
    return bucketDigests([...held.facts].map(([thread, facts]) => [thread, facts.headsDigest] as const))
  }

  async function handle(message: SyncMessage): Promise<void> {
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
        return enqueue(() => lackingBeyond(message), `vector ${message.th}`)
      case 'ids':
        return enqueue(() => lackingIn(message), `ids ${message.th}`)
      case 'entries':
        return onEntries(message)
      case 'want':
        return enqueue(() => wantedBodies(message), `want ${message.th}`)
      case 'bodies':
        return onBodies(message)
      case 'heads':
        return onHeads(message)
      case 'got':
        credit = Math.min(credit + 1, CREDIT_COUNT)
        return wake?.()
    }
  }

  function onHello(message: SyncMessageOf<'hello'>): void {
    const prekeysHere = heldPrekeysDigest(workspace)
    const roster = rosterOf(workspace)
    if (!roster || message.ws !== roster.ws || message.v !== PROTOCOL_VERSION) return stream.abort('another workspace or version')
    options.onHello(stream.device, message)
    const suffix = rosterSuffix(workspace, message.ros).map((entry) => entry.envelope)
    for (const entries of inBatches(suffix, (envelope) => envelope.length)) say({ t: 'roster', entries })
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
    say({ t: 'digests', buckets: digests() })
  }

  async function onRoster(message: SyncMessageOf<'roster'>): Promise<void> {
    const changed = await held.turn(async (turn) => {
      turn.undo.push(rosterUndo(workspace))
      const admitted = await admitRoster(workspace, message.entries)
      for (const { refusal } of admitted.refused) countRefusal(held, refusal)
      turn.writes.push(...admitted.writes)
      return admitted.writes.length > 0
    })
    if (!changed) return
    options.onWorkspaceChanged()
    for (const { from, items } of takeWaiting(room)) options.onAdmitted(from, await admit(held, room, { from, items }))
  }

  async function onPrekeys(message: SyncMessageOf<'prekeys'>): Promise<void> {
    const changed = await held.turn(async (turn) => {
      turn.undo.push(rosterUndo(workspace))
      for (const record of message.records) {
        const admitted = admitPrekey(workspace, record)
        if (admitted.ok) turn.writes.push(...admitted.value)
        else countRefusal(held, admitted.refusal)
      }
      return turn.writes.length > 0
    })
    if (changed) options.onWorkspaceChanged()
  }

  function onDigests(message: SyncMessageOf<'digests'>): void {
    const buckets = differingBuckets(message.buckets, digests())
    if (buckets.length === 0) return options.onInSync(stream.device)
    const differing = new Set(buckets)
    const threads = [...held.facts].flatMap(([thread, facts]): [Hex, Hex][] => (differing.has(bucketOf(thread)) ? [[thread, facts.headsDigest]] : []))
    for (const batch of inBatches(threads, () => 72)) say({ t: 'threads', threads: batch })
  }

  function onThreads(message: SyncMessageOf<'threads'>): void {
    for (const [thread, digest] of message.threads) if (held.facts.get(thread)?.headsDigest !== digest) pull(thread)
  }

  function pull(thread: Hex): void {
    enqueue(async function* () {
      yield { t: 'vector', th: thread, tips: await read(thread, tipsOf) }
    }, `pull ${thread}`)
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
    const { chosen, heads, withBodies, bodies } = await read(id, (thread) => ({
      chosen: choose(thread),
      heads: [...thread.graph.heads].slice(0, SYNC_HEADS_COUNT_MAX),
      // Sealed bodies go to the devices of the thread; others hold the headers.
      withBodies: threadDevices(thread).includes(stream.device),
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
    if (heads.length > 0) yield { t: 'entries', th: id, items, heads }
  }

  async function onEntries(message: SyncMessageOf<'entries'>): Promise<void> {
    const items = message.items.map(([envelope, body]) => ({ envelope, body }))
    const isLast = message.heads !== null
    const admitted = await admit(held, room, { from: stream.device, items, more: !isLast, ...(isLast ? { thread: message.th } : {}) })
    say({ t: 'got' })
    options.onAdmitted(stream.device, { ...admitted, missing: new Map() })
    if (admitted.missingRoster) sayHello()
    if (!message.heads) return
    // Whether all is here again shows in the digests.
    if (held.facts.get(message.th)?.recovering) sayHello()
    const { heads } = message
    const rest = await read(message.th, (thread) => ({
      lacks: heads.some((head) => !thread.graph.byId.has(head)),
      ids: [...thread.graph.byId.keys()].slice(0, SYNC_IDS_COUNT_MAX),
      bodies: missingBodies(thread),
    }))
    if (rest.bodies.length > 0) say({ t: 'want', th: message.th, ids: rest.bodies })
    if (rest.lacks && !askedInFull.has(message.th)) {
      if (askedInFull.size >= JOBS_COUNT_MAX) askedInFull.clear()
      askedInFull.add(message.th)
      say({ t: 'ids', th: message.th, ids: rest.ids })
    } else askedInFull.delete(message.th)
  }

  /** Bodies of threads that this device takes part in. */
  function missingBodies(thread: Thread): Hex[] {
    if (!sideOf(thread, workspace.key.public)) return []
    const missing = thread.graph.nodes.filter(({ entry }) => entry.header.body !== null && !thread.bodies.has(entry.id))
    return missing.map((node) => node.entry.id).slice(0, SYNC_IDS_COUNT_MAX)
  }

  async function* wantedBodies(message: SyncMessageOf<'want'>): AsyncIterable<SyncMessage> {
    const wanted = await read(message.th, (thread) =>
      threadDevices(thread).includes(stream.device) ? message.ids.filter((id) => thread.bodies.has(id)) : [],
    )
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

  async function onHeads(message: SyncMessageOf<'heads'>): Promise<void> {
    // The header may be here by way of someone who had no body for us.
    const lacks = (thread: Thread) => message.heads.some((head) => !thread.graph.byId.has(head)) || missingBodies(thread).length > 0
    if (!(await read(message.th, lacks))) return
    held.system.clock.after(GOSSIP_GRACE_MS, () => {
      void read(message.th, lacks).then((still) => {
        if (still && !ended) pull(message.th)
      }, () => undefined)
    })
  }

  function sayHello(): void {
    enqueue(() => [hello()].filter((message) => message !== undefined), 'hello')
  }

  return {
    device: stream.device,
    async run() {
      sayHello()
      const pumping = pump().catch(() => undefined)
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
        wake?.()
        await pumping
      }
    },
    pull,
    tellHeads(thread, heads) {
      const newest = heads.slice(0, SYNC_HEADS_COUNT_MAX)
      enqueue(() => [{ t: 'heads', th: thread, heads: newest }], `heads ${thread}`)
    },
    tellAll: sayHello,
    close: () => stream.close(),
  }
}

/** All tips of each device's chain: one, unless it forked. */
function tipsOf(thread: Thread): [device: Hex, seq: number, entry: Hex][] {
  const tips: [Hex, number, Hex][] = []
  for (const [device, nodes] of thread.graph.byDevice) {
    const inner = new Set(nodes.map((node) => node.entry.header.prev))
    for (const { entry } of nodes) if (!inner.has(entry.id)) tips.push([device, entry.header.seq, entry.id])
  }
  return tips
}

function inBatches<T>(items: readonly T[], size: (item: T) => number): T[][] {
  const batches: T[][] = []
  let room = 0
  for (const item of items) {
    const batch = batches.at(-1)
    const needed = size(item) + 8
    if (batch && room >= needed) batch.push(item)
    else {
      batches.push([item])
      room = BATCH_SIZE_BYTES
    }
    room -= needed
  }
  return batches
}
