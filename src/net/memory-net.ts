/**
 * The net without a network: nodes of one process around a hub. Links can be cut and healed, gossip
 * can be lost or late. Nothing here reads real time; everything but the delays runs in microtasks.
 */
import assert from 'node:assert/strict'
import type { System } from '../system.ts'
import { createGate, type Gate } from './gate.ts'
import { createMemoryServers, type MemoryServer, type OnMailbox } from './memory-servers.ts'
import { memoryStreams } from './memory-stream.ts'
import {
  type DeviceKey,
  type FrameStream,
  GOSSIP_MESSAGE_BYTES_MAX,
  type GossipVerdict,
  type Net,
  NetError,
  type NetHandlers,
} from './net.ts'
import { createSyncPairs, letGo, type SyncPairs } from './sync-pairs.ts'

/** What happens to one gossip message on one link: it passes, is lost, or comes later by so many milliseconds. */
export type GossipFate = 'pass' | 'drop' | { delayMs: number }
export type GossipFault = (hop: { from: DeviceKey; to: DeviceKey; topic: string }) => GossipFate

export interface MemoryHub {
  /** A node of this hub, not started, with the hub's clock or its own. A device that was stopped can be made anew. */
  net(device: DeviceKey, system?: System): Net
  /** Breaks what runs between two devices and lets nothing new through. */
  cut(one: DeviceKey, other: DeviceKey): void
  heal(one: DeviceKey, other: DeviceKey): void
  setGossipFault(fault: GossipFault): void
  /** A bootstrap server of this hub. Links to it are cut and healed like others. */
  bootstrap(device: DeviceKey, onMailbox: OnMailbox): MemoryServer
}

interface Message {
  id: number
  author: DeviceKey
  topic: string
  data: Uint8Array
}

/** What the hub knows of a started node. */
interface Seat {
  device: DeviceKey
  handlers: NetHandlers
  gate: Gate
  pairs: SyncPairs
  team: ReadonlySet<DeviceKey>
  topics: ReadonlySet<string>
  /** Open streams to each connected device. */
  connections: Map<DeviceKey, Set<FrameStream>>
  seen: Set<number>
}

/** A message is offered again at most for as long as the network is busy with it. */
const SEEN_COUNT_MAX = 4096

const addressOf = (device: DeviceKey): string => `/memory/${device}/p2p/${device}`
/** As everywhere, the key at the end of an address may be left out. */
const leadsTo = (device: DeviceKey, address: string): boolean =>
  [address, `${address}/p2p/${device}`].includes(addressOf(device))

/** One hub is one network. Delays run on the clock of `system`. */
export function createMemoryHub(system: System): MemoryHub {
  const seats = new Map<DeviceKey, Seat>()
  const cuts = new Set<string>()
  const tags = new Map<string, Set<DeviceKey>>()
  const searches = new Set<() => void>()
  let messages = 0
  let fault: GossipFault = () => 'pass'

  const linkOf = (one: DeviceKey, other: DeviceKey): string => [one, other].toSorted().join(' ')
  const reachable = (one: DeviceKey, other: DeviceKey): boolean =>
    seats.has(one) && seats.has(other) && !cuts.has(linkOf(one, other))

  const servers = createMemoryServers({ system, isCut: (one, other) => cuts.has(linkOf(one, other)) })

  /** Connects the two where both want it and nothing is in the way. */
  function reconsider(one: DeviceKey, other: DeviceKey): void {
    const a = seats.get(one)
    const b = seats.get(other)
    if (a === undefined || b === undefined || !reachable(one, other)) return
    if (!mayMeet(a, b) && !mayMeet(b, a)) return
    connect(a, b)
    welcome(a, other)
    welcome(b, one)
  }

  /** \`a\` wants it and \`b\` lets it in. */
  function mayMeet(a: Seat, b: Seat): boolean {
    const isServed = b.team.has(a.device) || b.gate.standing(a.device) === 'removed'
    return a.team.has(b.device) && isServed && b.gate.mayEnter(a.device)
  }

  function connect(a: Seat, b: Seat): void {
    if (a.connections.has(b.device)) return
    a.connections.set(b.device, new Set())
    b.connections.set(a.device, new Set())
  }

  function welcome(seat: Seat, device: DeviceKey): void {
    if (seat.team.has(device)) seat.handlers.onPeerChange({ device, connected: true, addresses: [addressOf(device)] })
    seat.pairs.connected(device)
  }

  function disconnect(a: Seat, device: DeviceKey): void {
    const b = seats.get(device)
    for (const [seat, other] of [
      [a, device],
      [b, a.device],
    ] as const) {
      const streams = seat?.connections.get(other)
      if (seat === undefined || streams === undefined) continue
      seat.connections.delete(other)
      for (const stream of streams) stream.abort('disconnected')
      seat.gate.left(other)
      seat.pairs.disconnected(other)
      if (seat.team.has(other))
        seat.handlers.onPeerChange({ device: other, connected: false, addresses: [addressOf(other)] })
    }
  }

  /** Both ends of a new stream over the connection of the two. */
  function openStreams(a: Seat, b: Seat): [FrameStream, FrameStream] {
    const ours = a.connections.get(b.device)
    const theirs = b.connections.get(a.device)
    if (ours === undefined || theirs === undefined) throw new NetError('NET_UNREACHABLE', 'not connected')
    const [near, far] = memoryStreams(a.device, b.device)
    ours.add(near)
    theirs.add(far)
    return [near, far]
  }

  function reached(device: DeviceKey): Seat {
    const seat = seats.get(device)
    if (seat === undefined) throw new NetError('NET_UNREACHABLE', 'nobody is there')
    return seat
  }

  /** Hands `message` to every connected teammate in its topic; returns to how many. */
  function flood(seat: Seat, message: Message, from: DeviceKey): number {
    const neighbours = [...seat.connections.keys()]
      .toSorted()
      .filter((device) => device !== from && device !== message.author)
    return neighbours.filter((device) => {
      const neighbour = seats.get(device)
      if (
        neighbour === undefined ||
        !seat.team.has(device) ||
        !neighbour.team.has(seat.device) ||
        !neighbour.topics.has(message.topic)
      )
        return false
      const fate = fault({ from: seat.device, to: device, topic: message.topic })
      if (fate === 'drop') return true
      const arrive = (): void => void take(neighbour, message, seat.device)
      if (fate === 'pass') queueMicrotask(arrive)
      else system.clock.after(fate.delayMs, arrive)
      return true
    }).length
  }

  async function take(seat: Seat, message: Message, from: DeviceKey): Promise<void> {
    if (seats.get(seat.device) !== seat || seat.seen.has(message.id) || !seat.topics.has(message.topic)) return
    if (!seat.team.has(from) || !seat.team.has(message.author)) return
    see(seat, message)
    let verdict: GossipVerdict = 'ignore'
    try {
      verdict = await seat.handlers.onGossip(message.topic, new Uint8Array(message.data), from)
    } catch (error) {
      system.log.error('gossip handler failed', { error: String(error) })
    }
    if (verdict === 'accept') flood(seat, message, from)
  }

  function see(seat: Seat, message: Message): void {
    seat.seen.add(message.id)
    const [oldest] = seat.seen
    if (seat.seen.size > SEEN_COUNT_MAX && oldest !== undefined) seat.seen.delete(oldest)
  }

  function net(device: DeviceKey, own: System = system): Net {
    const gate = createGate({ clock: own.clock, beacons: new Set(), expel: (guest) => seat && disconnect(seat, guest) })
    const ways = servers.seat(device)
    let seat: Seat | undefined
    let team: ReadonlySet<DeviceKey> = new Set()
    let topics: ReadonlySet<string> = new Set()

    function present(): Seat {
      if (seat === undefined) throw new NetError('NET_CLOSED', 'the net is not running')
      return seat
    }

    async function openSync(other: DeviceKey): Promise<FrameStream> {
      const host = reached(other)
      const [near, far] = openStreams(present(), host)
      host.pairs.accept(far)
      return near
    }

    async function serveJoin(host: Seat, stream: FrameStream): Promise<void> {
      try {
        await host.handlers.onJoin(stream)
      } catch (error) {
        own.log.debug('join ended', { error: String(error) })
      }
      letGo(own, stream)
    }

    return {
      device,
      async start(handlers) {
        assert(!seats.has(device), 'a device is started once at a time')
        const pairs = createSyncPairs({
          system: own,
          self: device,
          open: openSync,
          onSync: (stream) => handlers.onSync(stream),
        })
        seat = { device, handlers, gate, pairs, team, topics, connections: new Map(), seen: new Set() }
        seats.set(device, seat)
        ways.start(handlers)
        for (const other of team) queueMicrotask(() => reconsider(device, other))
      },
      async stop() {
        if (seat === undefined) return
        const leaving = seat
        gate.stop()
        ways.stop()
        await leaving.pairs.stop()
        for (const other of leaving.connections.keys()) disconnect(leaving, other)
        seats.delete(device)
        for (const advertisers of tags.values()) advertisers.delete(device)
        seat = undefined
      },
      addresses: () => (seat === undefined ? [] : [addressOf(device)]),
      setTeam(next, removed = new Set()) {
        team = new Set([...next.keys()].filter((other) => other !== device))
        const dropped = gate.setTeam(team, removed)
        if (seat === undefined) return
        const added = [...team].filter((other) => seat?.team.has(other) === false)
        seat.team = team
        for (const other of dropped) disconnect(seat, other)
        for (const other of added) queueMicrotask(() => reconsider(device, other))
      },
      setJoinOpen: (open) => gate.setJoinOpen(open),
      async openJoin(target, signal) {
        const visitor = present()
        if (signal.aborted) throw new NetError('NET_TIMEOUT', 'given up', signal.reason)
        if (!target.addresses.some((address) => leadsTo(target.device, address)) || !reachable(device, target.device))
          throw new NetError('NET_UNREACHABLE', 'nobody is there')
        const host = reached(target.device)
        gate.visit(target.device)
        if (!visitor.connections.has(target.device)) {
          if (!host.gate.mayEnter(device)) throw new NetError('NET_REFUSED', 'joining is closed')
          connect(visitor, host)
        }
        if (!host.gate.joinOpen) throw new NetError('NET_REFUSED', 'joining is closed')
        const [near, far] = openStreams(visitor, host)
        void serveJoin(host, far)
        return near
      },
      async advertise(tag) {
        present()
        const advertisers = tags.get(tag) ?? new Set()
        tags.set(tag, advertisers.add(device))
        for (const search of searches) search()
        return async () => void advertisers.delete(device)
      },
      async find(tag, signal) {
        present()
        const { promise, resolve, reject } = Promise.withResolvers<{ device: DeviceKey; addresses: string[] }>()
        const search = (): void => {
          const found = [...(tags.get(tag) ?? [])].find((other) => other !== device && reachable(device, other))
          if (found !== undefined) resolve({ device: found, addresses: [addressOf(found)] })
        }
        const onAbort = (): void =>
          reject(new NetError('NET_TIMEOUT', 'nobody on this network answers to that code', signal.reason))
        if (signal.aborted) onAbort()
        signal.addEventListener('abort', onAbort)
        searches.add(search)
        search()
        return promise.finally(() => {
          searches.delete(search)
          signal.removeEventListener('abort', onAbort)
        })
      },
      setTopics(next) {
        topics = new Set(next)
        if (seat !== undefined) seat.topics = topics
      },
      async publish(topic, data) {
        if (data.length > GOSSIP_MESSAGE_BYTES_MAX)
          throw new NetError('NET_FRAME', `a gossip message of ${data.length} bytes is too large`)
        const message = { id: messages++, author: device, topic, data: new Uint8Array(data) }
        see(present(), message)
        return flood(present(), message, device)
      },
      setBootstrap: (addresses) => ways.set(addresses),
      bootstrap: () => ways.status(),
      twin: () => undefined,
      async openMailbox(server, signal) {
        present()
        if (signal.aborted) throw new NetError('NET_TIMEOUT', 'given up', signal.reason)
        return ways.openMailbox(server)
      },
      peers: () =>
        [...team].map((other) =>
          seat?.connections.has(other) === true
            ? { device: other, connected: true, path: 'same network', address: addressOf(other) }
            : { device: other, connected: false },
        ),
      async ping(other) {
        if (!team.has(other) || !present().connections.has(other))
          throw new NetError('NET_UNREACHABLE', 'not connected')
        return 0
      },
    }
  }

  return {
    net,
    cut(one, other) {
      cuts.add(linkOf(one, other))
      const seat = seats.get(one)
      if (seat !== undefined) disconnect(seat, other)
      servers.linksChanged()
    },
    heal(one, other) {
      cuts.delete(linkOf(one, other))
      queueMicrotask(() => reconsider(one, other))
      for (const search of searches) search()
      servers.linksChanged()
    },
    bootstrap: (device, onMailbox) => servers.open(device, onMailbox),
    setGossipFault(next) {
      fault = next
    },
  }
}
