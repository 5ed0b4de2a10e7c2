import { netContract } from './contract.ts'
import { removedContract } from './contract-removed.ts'
import { libp2pWorld } from './libp2p-world.ts'

netContract('the net over libp2p', libp2pWorld)
removedContract('the net over libp2p', libp2pWorld)
