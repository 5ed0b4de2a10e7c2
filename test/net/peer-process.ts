/** A node in a process of its own, so that it can be killed: `peer-process.ts NAME LISTEN TEAMMATE-KEY`. Prints its address, stops on SIGTERM. */
import { createLibp2pNet } from '../../src/net/libp2p-net.ts'
import { realSystem } from '../../src/system.ts'
import { readAll, seedOf } from './world.ts'

const [name = '', listen = '', teammate = ''] = process.argv.slice(2)
const net = await createLibp2pNet({
  seed: seedOf(name),
  listen: [listen],
  lan: false,
  system: realSystem(),
})
await net.start({
  onSync: (stream) => readAll(stream, (frame) => void stream.send(frame)),
  onJoin: async () => undefined,
  onGossip: async () => 'accept',
  onPeerChange: () => undefined,
  onBootstrapChange: () => undefined,
})
net.setTeam(new Map([[teammate, []]]))
process.once('SIGTERM', () => void net.stop())
console.log(net.addresses()[0])
