/** What a bootstrap server counts, for Prometheus, on a loopback address. */
import { createServer, type Server } from 'node:http'
import { Gauge, Registry } from 'prom-client'
import { NetError } from '../net/net.ts'
import type { BootstrapServerFacts } from './server.ts'

export interface MetricsServer {
  /** host:port */
  readonly address: string
  stop(): Promise<void>
}

/** Serves GET /metrics. Rejects with NetError where it cannot listen. */
export async function startMetrics(
  at: { host: string; port: number },
  facts: () => BootstrapServerFacts,
): Promise<MetricsServer> {
  const registry = createRegistry(facts)
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  const port = await listen(server, at)
  return {
    address: `${at.host.includes(':') ? `[${at.host}]` : at.host}:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function createRegistry(facts: () => BootstrapServerFacts): Registry {
  const registry = new Registry()
  const register = (name: string, help: string, read: (facts: BootstrapServerFacts) => number): void => {
    const gauge: Gauge = new Gauge({
      name: `relay_node_${name}`,
      help,
      registers: [registry],
      collect: () => gauge.set(read(facts())),
    })
  }
  const registerByReason = (
    name: string,
    help: string,
    read: (facts: BootstrapServerFacts) => Record<string, number>,
  ) => {
    const gauge: Gauge<'why'> = new Gauge({
      name: `relay_node_${name}`,
      help,
      labelNames: ['why'],
      registers: [registry],
      collect() {
        for (const [why, count] of Object.entries(read(facts()))) gauge.set({ why }, count)
      },
    })
  }
  register('connections', 'Open connections', ({ net }) => net.connections)
  register('reservations', 'Places held, through which a laptop is reached', ({ net }) => net.reservations)
  register('circuits', 'Open circuits', ({ net }) => net.circuits)
  register('relayed_bytes_total', 'Bytes that circuits have carried', ({ net }) => net.relayedBytes)
  register('relay_held_bytes', 'Bytes held for slow receivers', ({ net }) => net.relayHeldBytes)
  registerByReason('refusals_total', 'Connections, places, circuits and questions refused', ({ net }) => net.refusals)
  register('stun_answered_total', 'STUN questions answered', ({ stun }) => stun?.answered ?? 0)
  register('stun_ignored_total', 'UDP packets that are no STUN question', ({ stun }) => stun?.ignored ?? 0)
  register('stun_limited_total', 'STUN questions beyond the rate of their source', ({ stun }) => stun?.limited ?? 0)
  register('resident_memory_bytes', 'Memory of the process', () => process.memoryUsage.rss())
  return registry
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new NetError('NET_ADDRESS_IN_USE', `another program listens on ${host}:${port}`, error)
          : new NetError('NET_FAILED', `cannot listen on ${host}:${port}: ${error.message}`, error),
      ),
    )
    server.listen(port, host, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}
