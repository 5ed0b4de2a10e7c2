/** Gossip among teammates, on a running host. */
import { TopicValidatorResult } from '@libp2p/gossipsub'
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

export interface GossipParts {
  host: Host
  log: Log
  teammate(device: DeviceKey): boolean
  onGossip: NetHandlers['onGossip']
}

export interface Gossip {
  setTopics(topics: ReadonlySet<string>): void
  publish(topic: string, data: Uint8Array): Promise<number>
}

export function createGossip({ host, log, teammate, onGossip }: GossipParts): Gossip {
  const { gossip } = host.services

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
