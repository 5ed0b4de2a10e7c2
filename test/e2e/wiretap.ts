/** A wire that is listened to: what laptops and a server say to each other passes through here, and is kept. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Wiretap extends AsyncDisposable {
  /** The server's address by way of this wire. */
  readonly address: string
  /** All that went either way, as text that can be searched. */
  heard(): string
}

/** Taps the way to a multiaddr of the form /ip4/127.0.0.1/tcp/PORT/p2p/ID. */
export async function tapWire(address: string): Promise<Wiretap> {
  const [, port = '', peer = ''] = /^\/ip4\/127\.0\.0\.1\/tcp\/(\d+)\/p2p\/(\w+)$/.exec(address) ?? []
  const chunks: Buffer[] = []
  const sockets = new Set<Socket>()
  function listen(from: Socket, to: Socket): void {
    sockets.add(from)
    from.on('data', (chunk) => {
      chunks.push(chunk)
      to.write(chunk)
    })
    // An end that breaks is the other one's end too.
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer((laptop) => {
    const beyond = connect(Number(port), '127.0.0.1')
    listen(laptop, beyond)
    listen(beyond, laptop)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `/ip4/127.0.0.1/tcp/${(server.address() as AddressInfo).port}/p2p/${peer}`,
    heard: () => Buffer.concat(chunks).toString('latin1'),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}
