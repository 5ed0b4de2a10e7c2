/** A program on raw libp2p that holds the keys of a device and says what it likes. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { gossipsub } from '@libp2p/gossipsub'
import { identify } from '@libp2p/identify'
import type { Stream } from '@libp2p/interface'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { onTestFinished } from 'vitest'
import {
  type GossipMessage,
  encodeGossip,
  FRAME_SIZE_BYTES_MAX,
  openPrekey,
  prekeysDigest,
  PROTOCOL_VERSION,
  sealEnvelope,
  type SyncMessageOf,
  topicOf,
} from '../../protocol/index.ts'
import { frameStream } from '../../src/net/libp2p-stream.ts'
import type { FrameStream } from '../../src/net/net.ts'
import { peerOfDevice, privateKeyOfSeed } from '../../src/net/peer-id.ts'
import { type Actor, actor, dice, seedOf } from '../cast.ts'
import { type Talk, talkOver } from '../node/impostor.ts'
import type { HostileTeam } from './hostile-team.ts'

export const SYNC = '/relay/sync/1'
export const JOIN = '/relay/join/1'

export interface HostilePeer extends Actor {
  readonly host: Awaited<ReturnType<typeof createHost>>
  /** A bare stream to bob's node. Rejects where it is refused. */
  stream(protocol: string): Promise<Stream>
  /** The same, in frames. */
  frames(protocol: string): Promise<FrameStream>
  /** A new conversation of sync with bob's node; an older one ends. */
  talk(): Promise<Talk>
  hello(change?: Partial<SyncMessageOf<'hello'>>): SyncMessageOf<'hello'>
  /** Sealed for the workspace, as gossip travels. */
  sealed(message: GossipMessage | Uint8Array): Uint8Array
  /** Returns once bob's node takes part in the topic and hears what is published. */
  meetGossip(): Promise<(data: Uint8Array) => Promise<void>>
}

let peers = 0

/** It has the lower key than bob, so that it is the one who opens the stream of sync. */
export async function hostilePeer(team: HostileTeam, name: string): Promise<HostilePeer> {
  const self = actor(name)
  const bob = actor('bob').device
  if (self.device > bob) throw new Error(`${name} would have to wait for bob to open the stream`)
  const host = await createHost(seedOf('device', name))
  onTestFinished(() => host.stop())
  const throwDice = dice(`hostile ${name} ${peers++}`)
  const prekeys: string[] = []
  for (const [, record] of await team.disk.rows('prekey')) {
    const prekey = openPrekey(record)
    if (prekey.ok) prekeys.push(prekey.value.id)
  }
  const topic = topicOf(team.key, 0)

  const hello: HostilePeer['hello'] = (change = {}) => {
    const { ws, point } = team.workspace.roster()
    const said = { t: 'hello' as const, v: PROTOCOL_VERSION, ws, ros: point, prekeys: prekeysDigest(prekeys) }
    return { ...said, frame: FRAME_SIZE_BYTES_MAX, clock: Date.now(), ...change }
  }
  const stream = (protocol: string) => host.dialProtocol(multiaddr(team.address), protocol)
  const frames = async (protocol: string) => frameStream(await stream(protocol), bob)

  return {
    ...self,
    host,
    hello,
    stream,
    frames,
    async talk() {
      const { talk, reading } = talkOver(await frames(SYNC), hello)
      reading.catch(() => undefined)
      return talk
    },
    sealed: (message) =>
      sealEnvelope(message instanceof Uint8Array ? message : encodeGossip(message), {
        key: team.key,
        epoch: 0,
        salt: throwDice(32),
      }),
    async meetGossip() {
      const { gossip } = host.services
      const heard = Promise.withResolvers<void>()
      const look = (): void => {
        if (gossip.getSubscribers(topic).some((peer) => peer.equals(peerOfDevice(bob)))) heard.resolve()
      }
      gossip.addEventListener('subscription-change', look)
      gossip.subscribe(topic)
      await host.dial(multiaddr(team.address))
      look()
      await heard.promise
      return async (data) => void (await gossip.publish(topic, data))
    },
  }
}

async function createHost(seed: Uint8Array) {
  return createLibp2p({
    privateKey: await privateKeyOfSeed(seed),
    addresses: { listen: [] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: {
      identify: identify(),
      ping: ping(),
      gossip: gossipsub({ allowPublishToZeroTopicPeers: true, emitSelf: false }),
    },
  })
}

/** Resolves once the stream has ended, however. */
export function ended(stream: Stream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.status !== 'open') resolve()
    stream.addEventListener('close', () => resolve())
  })
}
