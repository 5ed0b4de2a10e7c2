/**
 * What the node knows of the network: teammates' devices come and go, each with one long stream of
 * frames; small sealed messages are published to a topic; a stranger may reach the join protocol
 * while it is open. A device is named by its Ed25519 public key, 64 lower-case hex characters.
 */

import { GOSSIP_SIZE_BYTES_MAX } from '../../protocol/index.ts'

export type DeviceKey = string

/** A gossip message as it travels: what sealing adds beside {@link GOSSIP_SIZE_BYTES_MAX} is less than this. */
export const GOSSIP_MESSAGE_BYTES_MAX = GOSSIP_SIZE_BYTES_MAX + 1024

/** One long, ordered stream of frames to one device. */
export interface FrameStream {
  readonly device: DeviceKey
  /** Resolves once the stream may take another frame; rejects with NetError when it is gone. Frames are at most FRAME_SIZE_BYTES_MAX. */
  send(frame: Uint8Array): Promise<void>
  /** The next frame, or undefined once the other side has closed. Rejects with NetError when the stream broke or the peer sent an oversize frame. One caller at a time. */
  receive(): Promise<Uint8Array | undefined>
  close(): Promise<void>
  abort(reason: string): void
}

/** How a connected peer is reached. */
export type Path = 'same network' | 'direct' | 'hole-punched' | 'relayed'

/** One of the bootstrap servers that this node was told to use. */
export interface BootstrapStatus {
  device: DeviceKey
  /** As given, each ending in /p2p/<PeerId>. */
  addresses: string[]
  /** Host and port of the first address, for people. */
  host: string
  connected: boolean
  /** Whether it holds a place for us, so that teammates reach us through it. */
  relaying: boolean
  roundTripMs?: number
  /** Why it was not reached, or gives no place, in words; another key at its address is one reason. */
  lastFailure?: string
}

export interface PeerStatus {
  device: DeviceKey
  connected: boolean
  path?: Path
  /** The bootstrap server that relays, where the path is 'relayed': host and port of its address. */
  via?: string
  /** Why no better path is in use, in words, where the path is 'relayed'. */
  whyNotDirect?: string
  address?: string
  /** Round trip of the last ping, milliseconds. */
  roundTripMs?: number
  /** Why the last attempt to reach it failed, in words. */
  lastFailure?: string
}

export type GossipVerdict = 'accept' | 'ignore' | 'reject'

/** What the node gives to the net. All are called by the net, never before start(). */
export interface NetHandlers {
  /** A stream of /relay/sync/1 with a teammate, or with a removed device that came, is open; called on both sides, one live stream a peer. The stream is closed when the promise settles, and the promise must settle once the stream has ended: until then this peer gets no other. */
  onSync(stream: FrameStream): Promise<void>
  /** A stranger opened /relay/join/1 while joining was open. The stream is closed when the promise settles. */
  onJoin(stream: FrameStream): Promise<void>
  /** A gossip message of `topic`; `from` is the neighbour that forwarded it. The verdict decides whether it is forwarded. */
  onGossip(topic: string, data: Uint8Array, from: DeviceKey): Promise<GossipVerdict>
  /** A teammate connected, vanished, or was found at new dialable addresses. */
  onPeerChange(change: { device: DeviceKey; connected: boolean; addresses: string[] }): void
  /** A bootstrap server connected or vanished. */
  onBootstrapChange(change: { device: DeviceKey; connected: boolean }): void
}

export interface Net {
  readonly device: DeviceKey
  start(handlers: NetHandlers): Promise<void>
  stop(): Promise<void>
  /** Dialable multiaddrs of this node, each ending in /p2p/<PeerId>; empty where there is no network. */
  addresses(): string[]
  /**
   * The devices that are served and kept connected, with their last known addresses. Whoever is
   * dropped from the list is hung up at once; whoever is new is dialled at once. Devices of `removed`
   * are never dialled; one that comes gets a sync stream, for FAREWELL_TTL_MS and for nothing else.
   */
  setTeam(team: ReadonlyMap<DeviceKey, readonly string[]>, removed?: ReadonlySet<DeviceKey>): void
  /** The bootstrap servers to keep connected: multiaddrs, each ending in /p2p/<PeerId>. Others are left out, with a word in the log. */
  setBootstrap(addresses: readonly string[]): void
  /** Every bootstrap server of the list. */
  bootstrap(): BootstrapStatus[]
  /** Opens /relay/mailbox/1 on a bootstrap server that is connected. Rejects with NetError. */
  openMailbox(server: DeviceKey, signal: AbortSignal): Promise<FrameStream>
  /** While true, strangers may reach the join protocol (and nothing else): JOIN_STRANGERS_COUNT_MAX at once, JOIN_TTL_MS each. */
  setJoinOpen(open: boolean): void
  /** Opens /relay/join/1 to `device` at one of `addresses`. Rejects with NetError. */
  openJoin(target: { device: DeviceKey; addresses: readonly string[] }, signal: AbortSignal): Promise<FrameStream>
  /** Makes this node findable under `tag`, on the same network and through the bootstrap servers, until the returned function is called. */
  advertise(tag: string): Promise<() => Promise<void>>
  /** Devices found there under `tag`; resolves with the first one, rejects with NetError when `signal` aborts. */
  find(tag: string, signal: AbortSignal): Promise<{ device: DeviceKey; addresses: string[] }>
  /** The one set of topics this node takes part in. */
  setTopics(topics: readonly string[]): void
  /** Best effort; resolves with how many peers it was handed to. At most GOSSIP_MESSAGE_BYTES_MAX. */
  publish(topic: string, data: Uint8Array): Promise<number>
  /** Another machine that was seen to run with our key, in words that say where; undefined where none was of late. */
  twin(): string | undefined
  /** Every device of the team. */
  peers(): PeerStatus[]
  /** Measures a round trip, milliseconds. Rejects with NetError. */
  ping(device: DeviceKey, signal: AbortSignal): Promise<number>
}

export type NetErrorCode =
  | 'NET_UNREACHABLE'
  | 'NET_REFUSED'
  | 'NET_TIMEOUT'
  | 'NET_CLOSED'
  | 'NET_FRAME'
  | 'NET_ADDRESS_IN_USE'
  | 'NET_FAILED'

/** The network failed. `message` is fit for a person; `cause` is the underlying error. */
export class NetError extends Error {
  readonly code: NetErrorCode
  constructor(code: NetErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'NetError'
    this.code = code
  }
}
