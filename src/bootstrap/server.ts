/** A bootstrap server: the net on which laptops meet, STUN and metrics, started and stopped together. */
import type { BootstrapFacts, BootstrapNet } from '../net/bootstrap-net.ts'
import type { System } from '../system.ts'
import { type MetricsServer, startMetrics } from './metrics.ts'
import { startStun, type StunFacts, type StunServer } from './stun.ts'

export interface BootstrapServerParts {
  net: BootstrapNet
  system: System
  /** UDP port; 0 takes a free one. */
  stunPort: number
  /** Where Prometheus asks; nobody is answered without it. */
  metrics?: { host: string; port: number }
}

export interface BootstrapServerFacts {
  net: BootstrapFacts
  stun?: StunFacts
}

export interface BootstrapServer {
  addresses(): string[]
  readonly stunPort: number
  readonly metricsAddress: string | undefined
  facts(): BootstrapServerFacts
  stop(): Promise<void>
}

/** Rejects with NetError where a port cannot be used; then nothing is left running. */
export async function startBootstrapServer(parts: BootstrapServerParts): Promise<BootstrapServer> {
  const { net, system } = parts
  let stun: StunServer | undefined
  let metrics: MetricsServer | undefined

  const facts = (): BootstrapServerFacts => ({
    net: net.facts(),
    ...(stun === undefined ? {} : { stun: stun.facts() }),
  })

  async function stop(): Promise<void> {
    await Promise.all([net.stop(), stun?.stop(), metrics?.stop()])
  }

  try {
    stun = await startStun(parts.stunPort, system)
    if (parts.metrics !== undefined) metrics = await startMetrics(parts.metrics, facts)
    await net.start({ onMailbox: async (stream) => stream.abort('no mailbox is kept here') })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    addresses: () => net.addresses(),
    stunPort: stun.port,
    metricsAddress: metrics?.address,
    facts,
    stop,
  }
}
