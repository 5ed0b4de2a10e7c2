/** A net in front of a node's own: what peers say in sync is heard. */
import { parseSync, type SyncMessage } from '../../protocol/index.ts'
import type { Net } from '../../src/net/net.ts'

export function overheard(net: Net, hear: (message: SyncMessage) => void): Net {
  return {
    ...net,
    start: (handlers) =>
      net.start({
        ...handlers,
        onSync: (stream) =>
          handlers.onSync({
            ...stream,
            async receive() {
              const frame = await stream.receive()
              const message = frame && parseSync(frame)
              if (message?.ok) hear(message.value)
              return frame
            },
          }),
      }),
  }
}

/** Ids of the chunks that came, in their order, each as often as it came. */
export function chunksIn(messages: readonly SyncMessage[]): string[] {
  return messages.flatMap((message) =>
    message.t === 'chunks' ? message.items.flatMap(([id, sealed]) => (sealed ? [id] : [])) : [],
  )
}
