/** Everything between this node and its peers: sync sessions, gossip, the outbox's retries, who is in the team. */
import {
  encodeGossip,
  epochOf,
  GOSSIP_SIZE_BYTES_MAX,
  type Hex,
  openEntry,
  openEnvelope,
  parseGossip,
  sealEnvelope,
  threadDevices,
} from '../../protocol/index.ts'
import { createAllowance } from '../allowance.ts'
import type { FrameStream, GossipVerdict, Net, NetHandlers } from '../net/net.ts'
import { admit, type Admitted, createWaitingRoom, type WaitingRoom } from './admit.ts'
import { carriedFor, wantedToCarry } from './carry.ts'
import { noteCarrier } from './carriers.ts'
import { createAsking } from './asking.ts'
import { tellRemoved } from './farewell.ts'
import { createFetching, type Fetching } from './fetching.ts'
import { countRefusal, type Held } from './held.ts'
import type { Published } from './publish.ts'
import { recoveredWith } from './recovery.ts'
import { type PeerRow, putPeer, readPeers } from './rows.ts'
import { createSyncSession, type SyncSession } from './sync.ts'
import { participantsOf, sideOf } from './threads.ts'
import {
  currentKey,
  currentTopic,
  isRemoved,
  knowsRemovals,
  memberOfDevice,
  ownMember,
  removedDevices,
  rosterForRemoved,
  rosterOf,
  teamDevices,
} from './workspace.ts'

const RETRY_MS = 5000
/** How long a removed device may take to hear so, before it is hung up. */
const FAREWELL_MS = 1000
const BEACON_MS = 10 * 60 * 1000
/** Threads that others are told of when a device goes away. The beacon tells of all. */
const TOLD_THREADS_COUNT_MAX = 32
/** Entries of one author that gossip forwards: a burst, then a steady rate. */
const GOSSIP_BURST_COUNT = 400
const GOSSIP_REFILL_MS = 4000

export interface Peers {
  start(onJoin: (stream: FrameStream) => Promise<void>): Promise<void>
  stop(): Promise<void>
  /** Tells peers of an own entry that is on disk. */
  announce(published: Published): void
  /** The roster or the prekeys changed here: serve, dial and tell accordingly. */
  workspaceChanged(): void
  /** A thread that was kept apart is one like any other from now on. */
  threadAdmitted(thread: Hex): void
  peerRow(device: Hex): PeerRow | undefined
  keepRow(device: Hex, change: Partial<PeerRow>): void
  /** A conversation with it is open. */
  isConnected(device: Hex): boolean
  /** Something came by another way: receipts are announced, gaps are asked for. */
  onAdmitted(from: Hex, admitted: Admitted): void
  /** Brings chunks of artifacts from whoever has them. */
  readonly fetching: Fetching
  /** Where entries wait, whichever way they came. */
  readonly room: WaitingRoom
  /** Entries that wait for what they build on. */
  waiting(): number
}

export interface PeersParts {
  readonly held: Held
  readonly net: Net
  /** A device said hello for the first time. */
  readonly onMet: () => void
  /** Something was said in a thread whose `devices` are away. */
  readonly onAway: (said: Published, devices: readonly Hex[]) => void
  /** A device went away. */
  readonly onGone: () => void
  readonly onServer: (server: Hex, connected: boolean) => void
  /** Who is in the team, or what the roster says else, is to be told to the net anew. */
  readonly onTeam: () => void
  /** These threads gained something, or may be written in again. */
  readonly onThreads: (threads: Iterable<Hex>) => void
}

export function createPeers(options: PeersParts): Peers {
  const { held, net, onMet, onTeam, onThreads, onAway, onGone, onServer } = options
  const { workspace, system } = held
  const room = createWaitingRoom()
  const asking = createAsking(system.clock)
  const fetching = createFetching(held)
  const sessions = new Map<Hex, SyncSession>()
  /** Removed devices that are being told so, and are still connected. */
  const leaving = new Set<Hex>()
  const rows = new Map<Hex, PeerRow>()
  /** Peers whose rows changed since they were last written. */
  const unwritten = new Set<Hex>()
  let writing: Promise<void> | undefined
  const budgets = createAllowance({ clock: system.clock, burst: GOSSIP_BURST_COUNT, refillMs: GOSSIP_REFILL_MS })
  const timers: (() => void)[] = []
  let stopped = false

  function keepRow(device: Hex, change: Partial<PeerRow>): void {
    rows.set(device, { ...(rows.get(device) ?? { addresses: [], lastSeen: 0, skew: 0 }), ...change })
    unwritten.add(device)
    writing ??= writeRows()
  }

  /** One batch at a time: a peer that says hello a thousand times must not keep the disk from what others write. */
  async function writeRows(): Promise<void> {
    while (unwritten.size > 0) {
      const writes = [...unwritten].flatMap((device) => {
        const row = rows.get(device)
        return row ? [putPeer(device, row)] : []
      })
      unwritten.clear()
      try {
        await held.store.batch(writes)
      } catch (error) {
        system.log.warn('could not keep the addresses of peers', { error: String(error) })
      }
    }
    writing = undefined
  }

  function applyTeam(): void {
    const devices = [...teamDevices(workspace), ...leaving]
    const removed = ownMember(workspace) ? removedDevices(workspace).filter((device) => !leaving.has(device)) : []
    net.setTeam(new Map(devices.map((device) => [device, rows.get(device)?.addresses ?? []])), new Set(removed))
    // Everybody who is connected learns which topics this node is in, so the new one waits for who must not.
    const topic = leaving.size > 0 ? undefined : currentTopic(workspace)
    net.setTopics(topic === undefined ? [] : [topic])
    onTeam()
  }

  /** Tells devices that were removed so, and nothing else any more, before they are hung up. */
  function sayFarewells(): void {
    if (!ownMember(workspace)) return leaving.clear()
    for (const [device, session] of sessions) {
      if (leaving.has(device) || !isRemoved(workspace, device)) continue
      leaving.add(device)
      const hangUp = (): void => {
        cancel()
        if (leaving.delete(device) && !stopped) applyTeam()
      }
      const cancel = system.clock.after(FAREWELL_MS, hangUp)
      const entries = rosterForRemoved(workspace, device, rows.get(device)?.point ?? [0, ''])
      void session.farewell(entries.map(({ envelope }) => envelope)).then(hangUp)
    }
  }

  function onAdmitted(from: Hex, admitted: Admitted): void {
    for (const said of admitted.said) announce(said)
    for (const [thread, ids] of admitted.carried) tellCarried(thread, ids)
    for (const thread of admitted.missing.keys()) sessions.get(from)?.pull(thread)
    if (admitted.missingRoster) sessions.get(from)?.tellAll()
    onThreads(admitted.changed)
  }

  /** Tells the devices of a thread which of its bodies are kept here. */
  function tellCarried(thread: Hex, ids: Hex[]): void {
    held
      .turn(async () => threadDevices((await held.threads.load(thread)).graph))
      .then((devices) => devices.forEach((device) => sessions.get(device)?.tellCarried(thread, ids)))
      .catch((error: unknown) => system.log.warn('could not read a thread', { thread, error: String(error) }))
  }

  function headsOf(thread: Hex): Promise<Hex[]> {
    return held.turn(async () => [...(await held.threads.load(thread)).graph.heads])
  }

  /** A device went away before it acknowledged everything: whoever can may keep the newest of it. */
  async function tellOthers(device: Hex): Promise<void> {
    for (const thread of [...new Set(held.outbox.get(device)?.values())].slice(-TOLD_THREADS_COUNT_MAX)) {
      const heads = await headsOf(thread)
      for (const session of sessions.values()) session.tellHeads(thread, heads)
    }
  }

  /** Tells a device that was not here what is kept here of its threads. */
  async function tellAllCarried(session: SyncSession): Promise<void> {
    for await (const { thread, ids } of carriedFor(held, session.device)) session.tellCarried(thread, ids)
  }

  function workspaceChanged(): void {
    sayFarewells()
    applyTeam()
    for (const session of sessions.values()) session.tellAll()
    emitStatus()
  }

  function emitStatus(): void {
    held.emit({ type: 'status', cursor: String(held.arrival()) })
  }

  async function onSync(stream: FrameStream): Promise<void> {
    if (isRemoved(workspace, stream.device)) return tellRemoved(held, stream)
    let isMet = false
    const warn = (error: unknown) => system.log.warn('a thread could not be read', { error: String(error) })
    const session = createSyncSession({
      held,
      room,
      stream,
      asking,
      fetching,
      onAdmitted,
      onWorkspaceChanged: workspaceChanged,
      onInSync: (device) => {
        pullBodies(session)
        recoveredWith(held, device).then(
          ({ acks, threads }) => {
            acks.forEach(announce)
            onThreads(threads)
          },
          (error: unknown) => system.log.warn('a thread could not be marked as recovered', { error: String(error) }),
        )
      },
      onHello(device, hello) {
        const isNew = rows.get(device)?.met !== true
        const skew = hello.clock - system.clock.now()
        const knew = knowsRemovals(workspace, rows.get(device)?.point)
        keepRow(device, { lastSeen: system.clock.now(), skew, met: true, point: hello.ros })
        if (!knew && knowsRemovals(workspace, hello.ros)) emitStatus()
        if (isNew) onMet()
        if (!isMet) tellAllCarried(session).catch(warn)
        isMet = true
      },
      onCarried(device, { th, ids }) {
        held
          .turn(async (turn) => noteCarrier(held, turn, await held.threads.load(th), { ids, device }))
          .catch((error: unknown) => system.log.warn('a carrier could not be noted', { error: String(error) }))
      },
    })
    sessions.set(stream.device, session)
    try {
      await session.run()
    } catch (error) {
      system.log.debug('a sync stream ended', { device: stream.device, error: String(error) })
    } finally {
      if (sessions.get(stream.device) === session) sessions.delete(stream.device)
      if (!stopped && !sessions.has(stream.device) && !isRemoved(workspace, stream.device)) {
        tellOthers(stream.device).catch(warn)
        onGone()
      }
    }
  }

  /** The peer holds the same entries. Bodies of some may be missing here still: who brought those may not have had them. */
  function pullBodies(session: SyncSession): void {
    const own = workspace.key.public
    const member = memberOfDevice(workspace, session.device)?.id
    for (const [id, { lacking, recovering, side, sender, recipient }] of held.facts) {
      if (!lacking || (side === null && member !== sender && member !== recipient)) continue
      held
        .turn(async () => {
          const thread = await held.threads.load(id)
          // What recovers is compared again after each answer, which ends once somebody who takes part was met.
          const devices = recovering ? participantsOf(thread) : threadDevices(thread.graph)
          if (!devices.includes(session.device)) return false
          return sideOf(thread, own) !== undefined || wantedToCarry(held, thread).length > 0
        })
        .then((isWanted) => isWanted && session.pull(id))
        .catch((error: unknown) => system.log.warn('could not read a thread', { thread: id, error: String(error) }))
    }
  }

  /** Only what an enrolled author signed, sealed under the workspace's key, is passed on, at a bounded rate. */
  async function onGossip(_topic: string, data: Uint8Array, from: Hex): Promise<GossipVerdict> {
    const epoch = epochOf(data)
    if (!epoch.ok) return 'reject'
    // Keys of earlier epochs are known to devices that were removed.
    const current = currentKey(workspace)
    if (current?.epoch !== epoch.value || leaving.has(from)) return 'ignore'
    const plain = openEnvelope(data, current.key)
    const message = plain.ok ? parseGossip(plain.value) : plain
    if (!message.ok) {
      countRefusal(held, message.refusal)
      return 'reject'
    }
    if (message.value.t === 'hint') {
      if (!budgets.take(from)) return 'ignore'
      const { th, heads } = message.value
      const isNew = await held.turn(async () => {
        const thread = await held.threads.load(th)
        return heads.some((head) => !thread.graph.byId.has(head))
      })
      if (isNew) sessions.get(from)?.pull(th)
      return 'accept'
    }
    const entry = openEntry(message.value.envelope)
    if (!entry.ok) {
      countRefusal(held, entry.refusal)
      return 'reject'
    }
    const author = rosterOf(workspace)?.devices.get(entry.value.header.dev)
    if (!author || author.removed || !budgets.take(author.key)) return 'ignore'
    const { envelope, body } = message.value
    admit(held, room, { from, items: [{ envelope, body }] }).then(
      (admitted) => onAdmitted(from, admitted),
      (error: unknown) => system.log.error('an entry could not be stored', { error: String(error) }),
    )
    return 'accept'
  }

  function announce(said: Published): void {
    const { thread, node, sealed } = said
    const heads = [...thread.graph.heads]
    const current = currentKey(workspace)
    const topic = currentTopic(workspace)
    if (current && topic !== undefined) {
      let plain = encodeGossip({ t: 'entry', envelope: node.entry.envelope, body: sealed ?? null })
      // Four bytes of the padded size hold the length.
      if (plain.length > GOSSIP_SIZE_BYTES_MAX - 4)
        plain = encodeGossip({ t: 'hint', th: thread.id, heads: [node.entry.id] })
      const data = sealEnvelope(plain, { ...current, salt: system.dice(32) })
      net.publish(topic, data).catch((error: unknown) => system.log.debug('gossip failed', { error: String(error) }))
    }
    const devices = threadDevices(thread.graph).filter(
      (device) => device !== workspace.key.public && !isRemoved(workspace, device),
    )
    // While one of them is away everybody hears of it: whoever can may keep it for that one.
    const away = devices.filter((device) => !sessions.has(device))
    for (const device of away.length > 0 ? sessions.keys() : devices) sessions.get(device)?.tellHeads(thread.id, heads)
    if (away.length > 0) onAway(said, away)
  }

  /**
   * Gossip and notices may be lost; what a connected device has not acknowledged is offered again.
   * And after a loss each device is asked what it holds until the two are in sync.
   */
  function retry(): void {
    for (const [device, session] of sessions) {
      if (held.recovery.met?.has(device) === false) session.tellAll()
      const threads = new Set(held.outbox.get(device)?.values())
      for (const thread of threads) {
        headsOf(thread)
          .then((heads) => session.tellHeads(thread, heads))
          .catch((error: unknown) => system.log.warn('could not read a thread', { thread, error: String(error) }))
      }
    }
  }

  const handlers: Omit<NetHandlers, 'onJoin'> = {
    onSync,
    onGossip,
    onBootstrapChange({ device, connected }) {
      if (stopped) return
      emitStatus()
      onServer(device, connected)
    },
    onPeerChange({ device, connected, addresses }) {
      if (stopped || !rosterOf(workspace)?.devices.has(device)) return
      keepRow(device, { lastSeen: system.clock.now(), ...(addresses.length > 0 ? { addresses } : {}) })
      emitStatus()
      system.log.debug(connected ? 'a peer is connected' : 'a peer is gone', { device })
    },
  }

  return {
    async start(onJoin) {
      for await (const [device, row] of readPeers(held.store)) rows.set(device, row)
      await net.start({ ...handlers, onJoin })
      applyTeam()
      timers.push(system.clock.every(RETRY_MS, retry))
      timers.push(system.clock.every(BEACON_MS, () => [...sessions.values()].forEach((session) => session.tellAll())))
    },
    async stop() {
      stopped = true
      for (const cancel of timers) cancel()
      await net.stop()
      await writing
    },
    announce,
    workspaceChanged,
    threadAdmitted(thread) {
      onThreads([thread])
      for (const session of sessions.values()) session.tellAll()
    },
    peerRow: (device) => rows.get(device),
    keepRow,
    isConnected: (device) => sessions.has(device),
    onAdmitted,
    fetching,
    room,
    waiting: () => room.byId.size,
  }
}
