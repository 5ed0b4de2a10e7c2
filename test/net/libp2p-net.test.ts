import { netContract } from './contract.ts'
import { libp2pWorld } from './libp2p-world.ts'

netContract('the net over libp2p', libp2pWorld)
