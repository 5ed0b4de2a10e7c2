/** What the tests of inviting and joining share. */
import type { FrameStream, Net } from '../../src/net/net.ts'
import { founder, type Laptop, refused, type World } from './world.ts'

/** bob, whose door is open to whoever he invites, and frank’s laptop, which is in no workspace. */
export async function inviting() {
  const world = await founder()
  const frank = await world.stranger('frank')
  await frank.start()
  return { ...world, frank }
}

/** What became of each invite. */
export const states = async (at: Laptop): Promise<string[]> =>
  (await at.node.listInvites()).items.map(({ state }) => state)
/** Why a join was refused. */
export const reason = async (call: Promise<unknown>): Promise<unknown> => (await refused(call)).details['reason']
export const isIn = async (at: Laptop): Promise<boolean> => (await at.node.whoami()).node_state === 'ready'

/** A stranger’s net without a node behind it. */
export async function bareNet(
  world: World,
  name: string,
  onJoin: (stream: FrameStream) => Promise<void>,
): Promise<Net> {
  const { device, system } = await world.stranger(name)
  const net = world.hub.net(device, system)
  const idle = {
    onSync: async () => undefined,
    onGossip: async () => 'ignore' as const,
    onPeerChange: () => undefined,
    onBootstrapChange: () => undefined,
  }
  await net.start({ ...idle, onJoin })
  return net
}
