/** Where a node listens: as a person writes it, as libp2p writes it, and a port that is picked once. */
import { createServer } from 'node:net'
import { UsageError } from './failure.ts'

const HINT = 'Write a port (4300), an address (192.168.1.5:4300 or [::1]:4300), or a multiaddr (/ip4/0.0.0.0/tcp/4300).'

/** The multiaddr that `text` means: a port, host:port, or a multiaddr as it is. */
export function parseListen(text: string): string {
  if (text.startsWith('/')) {
    if (/^\/ip[46]\/[^/]+\/tcp\/\d{1,5}$/.test(text) && portOf(text) <= PORT_MAX) return text
    throw new UsageError(`"${text}" is not an address to listen on.`, HINT)
  }
  const match = /^(?:(?:\[([0-9a-fA-F:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3})):)?(\d{1,5})$/.exec(text)
  if (match === null || Number(match[3]) > PORT_MAX)
    throw new UsageError(`"${text}" is not an address to listen on.`, HINT)
  const [, six, four = '0.0.0.0', port] = match
  return six === undefined ? `/ip4/${four}/tcp/${port}` : `/ip6/${six}/tcp/${port}`
}

const PORT_MAX = 65_535

/** `address` with a free port in place of port 0, so that teammates find this laptop where it was. */
export async function withFixedPort(address: string): Promise<string> {
  if (portOf(address) !== 0) return address
  const host = address.split('/')[2] ?? ''
  return address.replace(/\/tcp\/0$/, `/tcp/${await freePort(host)}`)
}

function portOf(address: string): number {
  return Number(address.split('/').at(-1))
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', () => reject(new UsageError(`This laptop has no address ${host}.`, HINT)))
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new UsageError('No port is free.', HINT)),
      )
    })
  })
}

/** An address for people: without the PeerId that ends it. */
export function addressText(address: string): string {
  return address.replace(/\/p2p\/[^/]+$/, '')
}
