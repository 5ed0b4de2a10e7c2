import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { multiaddr } from '@multiformats/multiaddr'
import { expect, test } from 'vitest'
import { detour as openDetour } from '../net/libp2p-world.ts'
import { until } from '../cli/laptop.ts'
import { ECHO, guest, meetingPlace } from './libp2p-world.ts'

test('bytes that are no connection cost a place for as long as they are connected, and nothing more', async () => {
  const { net, tcp, webSocket } = await meetingPlace({ connectionsPerSource: 2 })
  for (const address of [tcp, webSocket])
    for (let round = 0; round < 8; round++) {
      const [, , host = '', , port] = address.split('/')
      const socket = connect(Number(port), host)
      await once(socket, 'connect')
      socket.on('error', () => undefined)
      socket.write(randomBytes(round * 300))
      const closed = new Promise((resolve) => socket.once('close', resolve))
      if (round % 2 === 0) socket.destroy()
      else socket.end()
      socket.resume()
      await closed
    }
  const bob = await guest('bob')
  await until(() =>
    bob.connect(tcp).then(
      () => true,
      () => false,
    ),
  )
  expect(net.facts().connections).toBe(1)
})

test('whatever a stranger says on whatever protocol, others are served', async () => {
  const { net, tcp } = await meetingPlace()
  const frank = await guest('frank', tcp)
  const mallory = await guest('mallory', tcp)
  const connection = await mallory.guest.dial(multiaddr(tcp))
  await until(async () => (await mallory.guest.peerStore.get(connection.remotePeer)).protocols.length > 0)
  const { protocols } = await mallory.guest.peerStore.get(connection.remotePeer)
  expect(protocols).toEqual(expect.arrayContaining(['/relay/mailbox/1', '/libp2p/circuit/relay/0.2.0/hop']))
  for (const protocol of protocols)
    for (const bytes of [Buffer.alloc(0), Buffer.of(0), Buffer.of(0xff, 0xff, 0xff, 0xff, 0x7f), randomBytes(70_000)])
      for (const ending of ['close', 'abort'] as const) {
        const again = await mallory.guest.dial(multiaddr(tcp))
        const stream = await again.newStream(protocol).catch(() => undefined) // Reset while it was agreed on.
        try {
          stream?.send(bytes)
          if (ending === 'abort') stream?.abort(new Error('never mind'))
          else await stream?.close({ signal: AbortSignal.timeout(1_000) })
        } catch {
          // The server was faster.
        }
      }
  const bob = await guest('bob')
  await bob.dial(frank.places()[0] ?? '', ECHO)
  expect(net.facts()).toMatchObject({ circuits: 1 })
})

test('a laptop that moved is reached at its new connection as soon as the old one is found dead', async () => {
  const { net, tcp } = await meetingPlace()
  const detour = await openDetour(tcp)
  const before = await guest('frank', detour.address)
  expect(net.facts()).toMatchObject({ connections: 1, reservations: 1 })
  detour.silence()
  const after = await guest('frank', tcp)
  await until(() => net.facts().connections === 1)
  const bob = await guest('bob')
  await bob.dial(after.places()[0] ?? '', ECHO)
  await detour.close()
  await before.guest.stop()
})
