/** Carol: a real libp2p peer with a key of her own that no roster names. */
import { noise } from '@chainsafe/libp2p-noise'
import { yamux } from '@chainsafe/libp2p-yamux'
import { tcp } from '@libp2p/tcp'
import { multiaddr } from '@multiformats/multiaddr'
import type { Stream } from '@libp2p/interface'
import { createLibp2p } from 'libp2p'

const PROTOCOLS = ['/relay/sync/1', '/relay/join/1', '/meshsub/1.2.0']
const PATIENCE_MS = 5000

/** The protocols of relay-node that the peer at `address` served to a stranger. */
export async function knockAsStranger(address: string): Promise<string[]> {
  const carol = await createLibp2p({ transports: [tcp()], connectionEncrypters: [noise()], streamMuxers: [yamux()] })
  const served: string[] = []
  try {
    for (const protocol of PROTOCOLS) {
      try {
        const stream = await carol.dialProtocol(multiaddr(address), protocol, {
          signal: AbortSignal.timeout(PATIENCE_MS),
        })
        if (await isServed(stream)) served.push(protocol)
      } catch {
        // Not served.
      }
    }
  } finally {
    await carol.stop()
  }
  return served
}

/** A stranger's connection is closed once its key is known, which may be a moment after the dial resolves. */
async function isServed(stream: Stream): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  stream.addEventListener('message', () => resolve(true))
  stream.addEventListener('close', () => resolve(false))
  AbortSignal.timeout(PATIENCE_MS).addEventListener('abort', () => resolve(stream.status === 'open'))
  stream.send(new Uint8Array([1, 0]))
  return promise
}
