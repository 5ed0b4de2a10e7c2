/** A node's net with the faults that the hub does not make: slow links, gossip that comes twice, death in the middle of a word. */
import type { SyncMessage } from '../../protocol/index.ts'
import { parseSync } from '../../protocol/index.ts'
import type { DeviceKey, FrameStream, GossipVerdict, Net } from '../../src/net/net.ts'
import type { Clock } from '../../src/system.ts'
import { never } from './disk.ts'

export interface NetParts {
  readonly net: Net
  /** The network's own clock: what is on its way travels on when its sender is dead. */
  readonly clock: Clock
  isAlive(): boolean
  /** Called before something is said. True: the node dies before it is said. */
  diesBefore(what: 'publish' | 'send'): boolean
  crash(): void
  /** How long a frame takes to `device` now, ms. */
  delayTo(device: DeviceKey): number
  /** After how many ms a message that was just gossiped comes again; undefined: it does not. */
  comesAgainAfter(): number | undefined
  /** True: this message is swallowed. For broken nodes. */
  swallows(message: SyncMessage): boolean
  /** Resolves when the node dies. */
  readonly death: Promise<void>
}

export function faultyNet(parts: NetParts): Net {
  const { net, clock, isAlive, diesBefore, crash, comesAgainAfter, death } = parts
  let stopped = false
  return {
    ...net,
    stop() {
      stopped = true
      return net.stop()
    },
    start: (handlers) =>
      net.start({
        async onSync(stream) {
          if (isAlive()) await Promise.race([handlers.onSync(slowStream(stream, parts)), death])
        },
        async onJoin(stream) {
          if (isAlive()) await Promise.race([handlers.onJoin(stream), death])
        },
        async onGossip(topic, data, from) {
          if (!isAlive()) return 'ignore'
          const again = comesAgainAfter()
          if (again !== undefined)
            clock.after(again, () => {
              if (isAlive() && !stopped) handlers.onGossip(topic, data, from).catch(() => undefined)
            })
          const died = death.then((): GossipVerdict => 'ignore')
          return Promise.race([handlers.onGossip(topic, data, from), died])
        },
        onPeerChange(change) {
          if (isAlive()) handlers.onPeerChange(change)
        },
        onBootstrapChange(change) {
          if (isAlive()) handlers.onBootstrapChange(change)
        },
      }),
    setTeam(team, removed) {
      if (isAlive()) net.setTeam(team, removed)
    },
    setTopics(topics) {
      if (isAlive()) net.setTopics(topics)
    },
    setBootstrap(addresses) {
      if (isAlive()) net.setBootstrap(addresses)
    },
    openMailbox: (server, signal) => (isAlive() ? net.openMailbox(server, signal) : never()),
    async publish(topic, data) {
      if (isAlive() && diesBefore('publish')) crash()
      return isAlive() ? net.publish(topic, data) : never()
    },
  }
}

/** The stream with the pace of its link; frames keep their order. */
function slowStream(stream: FrameStream, parts: NetParts): FrameStream {
  const { clock, isAlive, diesBefore, crash, delayTo, swallows } = parts
  let last: Promise<void> = Promise.resolve()

  async function deliver(frame: Uint8Array): Promise<void> {
    const delay = delayTo(stream.device)
    if (delay > 0) await new Promise<void>((resolve) => void clock.after(delay, resolve))
    await stream.send(frame)
  }

  return {
    device: stream.device,
    async send(frame) {
      if (isAlive() && diesBefore('send')) crash()
      if (!isAlive()) return never()
      const message = parseSync(frame)
      if (message.ok && swallows(message.value)) return
      const sent = last.then(() => deliver(frame))
      last = sent.catch(() => undefined)
      await sent
    },
    async receive() {
      const frame = isAlive() ? await stream.receive() : undefined
      return isAlive() ? frame : never()
    },
    async close() {
      if (isAlive()) await stream.close()
    },
    abort(reason) {
      if (isAlive()) stream.abort(reason)
    },
  }
}
