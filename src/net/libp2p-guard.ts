/** What a connected device may open here: strangers and bootstrap servers are connected too. */
import type { Connection, Stream } from '@libp2p/interface'
import type { Standing } from './gate.ts'
import type { Host } from './libp2p-host.ts'
import { PING_PROTOCOL } from './libp2p-links.ts'
import type { DeviceKey } from './net.ts'
import { deviceOfPeer } from './peer-id.ts'

export interface GuardParts {
  host: Host
  standing(device: DeviceKey): Standing
  /** Registered by libp2p's own services. */
  protocols: readonly string[]
}

/**
 * Puts handlers that libp2p's own services have registered behind the standing of whoever opens
 * the stream. libp2p's stream middleware would be the place for this, but each stream adds a
 * handler to the registered list, which then run twice.
 */
export async function guardHandlers({ host, standing, protocols }: GuardParts): Promise<void> {
  const { registrar } = host.services.parts
  for (const protocol of protocols) {
    const { handler, options } = registrar.getHandler(protocol)
    const guarded = (stream: Stream, connection: Connection): void | Promise<void> => {
      const device = deviceOfPeer(connection.remotePeer)
      if (device !== undefined && mayUse(standing(device), protocol)) return handler(stream, connection)
      stream.abort(new Error('not for strangers'))
    }
    await registrar.handle(protocol, guarded, { ...options, force: true })
  }
}

/** Anyone who may connect may show that the connection lives; a bootstrap server may learn where we are, and bring others. */
function mayUse(standing: Standing, protocol: string): boolean {
  if (protocol === PING_PROTOCOL || standing === 'teammate') return true
  return standing === 'beacon' && (protocol.startsWith('/ipfs/id/') || protocol.startsWith('/libp2p/circuit/relay/'))
}
