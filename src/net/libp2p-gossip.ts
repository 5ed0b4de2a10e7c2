/** Gossip among teammates, on a running host. */
import assert from 'node:assert/strict'
import { TopicValidatorResult } from '@libp2p/gossipsub'
import type { Connection, Stream } from '@libp2p/interface'
import type { Log } from '../system.ts'
import { netErrorOf } from './libp2p-errors.ts'
import type { Host } from './libp2p-host.ts'
import { type DeviceKey, GOSSIP_MESSAGE_BYTES_MAX, type GossipVerdict, NetError, type NetHandlers } from './net.ts'
import { deviceOfPeer } from './peer-id.ts'

const VERDICTS: Record<GossipVerdict, TopicValidatorResult> = {
  accept: TopicValidatorResult.Accept,
  ignore: TopicValidatorResult.Ignore,
  reject: TopicValidatorResult.Reject,
}

const GOSSIP_PROTOCOLS = '/meshsub/'

export interface GossipParts {
  host: Host
  /** Open connections to a device, best first. */
  connectionsTo(device: DeviceKey): Connection[]
  /** Asks who is there, which is what makes gossipsub open its stream. */
  meet(connection: Connection): void
  log: Log
  teammate(device: DeviceKey): boolean
  onGossip: NetHandlers['onGossip']
}

export interface Gossip {
  /** Sees to it that our gossip to a connected device runs, and on the best connection to it. */
  attend(device: DeviceKey): void
  setTopics(topics: ReadonlySet<string>): void
  publish(topic: string, data: Uint8Array): Promise<number>
}

export function createGossip(parts: GossipParts): Gossip {
  const { host, log, teammate, onGossip } = parts
  const { gossip } = host.services
  const outbound = outboundOf(gossip)

  function listen(topic: string): void {
    gossip.topicValidators.set(topic, async (neighbour, message) => {
      const from = deviceOfPeer(neighbour)
      const author = message.type === 'signed' ? deviceOfPeer(message.from) : undefined
      // Not a rejection: a neighbour may have learned of a new teammate before we did.
      if (from === undefined || author === undefined || !teammate(from) || !teammate(author))
        return TopicValidatorResult.Ignore
      try {
        return VERDICTS[await onGossip(topic, message.data, from)]
      } catch (error) {
        log.error('gossip handler failed', { error: String(error) })
        return TopicValidatorResult.Ignore
      }
    })
    gossip.subscribe(topic)
  }

  return {
    attend(device) {
      const [best] = parts.connectionsTo(device)
      if (best === undefined || best.streams.some(isSound)) return
      // gossipsub keeps one stream to a peer and would open no second one. Ending this one in order, after it has
      // been forgotten, loses nothing: the other side takes whichever stream is newest, and the topics are said again.
      const peer = best.remotePeer.toString()
      const old = outbound.get(peer)
      outbound.delete(peer)
      parts.meet(best)
      old?.close().catch((error: unknown) => log.debug('a gossip stream did not close', { error: String(error) }))
    },
    setTopics(topics) {
      for (const topic of gossip.getTopics()) {
        if (topics.has(topic)) continue
        gossip.unsubscribe(topic)
        gossip.topicValidators.delete(topic)
      }
      for (const topic of topics) if (!gossip.getTopics().includes(topic)) listen(topic)
    },
    async publish(topic, data) {
      if (data.length > GOSSIP_MESSAGE_BYTES_MAX)
        throw new NetError(
          'NET_FRAME',
          `a gossip message of ${data.length} bytes is larger than ${GOSSIP_MESSAGE_BYTES_MAX}`,
        )
      try {
        const { recipients } = await gossip.publish(topic, data)
        return recipients.length
      } catch (error) {
        throw netErrorOf('publish', error)
      }
    },
  }
}

/** Our gossip on a connection. The other side closes its half where it has forgotten us, and then hears nothing. */
function isSound({ protocol, direction, writeStatus, remoteWriteStatus }: Stream): boolean {
  return (
    direction === 'outbound' &&
    protocol.startsWith(GOSSIP_PROTOCOLS) &&
    writeStatus === 'writable' &&
    remoteWriteStatus === 'writable'
  )
}

/** gossipsub's streams to its peers by PeerId, which its type does not show. */
function outboundOf(gossip: Host['services']['gossip']): Map<string, { close(): Promise<void> }> {
  assert('streamsOutbound' in gossip && gossip.streamsOutbound instanceof Map, 'gossipsub holds its streams')
  return gossip.streamsOutbound as Map<string, { close(): Promise<void> }>
}
