/** A bootstrap server in memory whose mailboxes are real, and two laptops that are never there at the same time. */
import { createMailboxService, type MailboxLimits, type MailboxService } from '../../src/bootstrap/mailbox.ts'
import type { MemoryServer, OnMailbox } from '../../src/net/memory-servers.ts'
import { SILENT_LOG } from '../../src/system.ts'
import { actor, dice } from '../cast.ts'
import { createDisk, type Disk } from './disk.ts'
import { type Laptop, stoppedAcme, type World } from './world.ts'

export interface Post {
  readonly device: string
  readonly server: MemoryServer
  readonly service: MailboxService
  readonly disk: Disk
}

/** A server of the world's hub. `around`: what stands between its laptops and the service. */
export async function openPost(
  world: World,
  options: { name?: string; limits?: Partial<MailboxLimits>; around?: (serve: OnMailbox) => OnMailbox } = {},
): Promise<Post> {
  const { name = 'server', limits = {}, around = (serve) => serve } = options
  const { device } = actor(name)
  const disk = await createDisk()
  const system = { clock: world.clock, dice: dice(name), log: SILENT_LOG }
  const service = await createMailboxService({ store: disk.open(), system, device, limits })
  const server = world.hub.bootstrap(
    device,
    around((stream) => service.serve(stream)),
  )
  return { device, server, service, disk }
}

/** acme with bob, frank and carol, all stopped, who use mailboxes at the server that the owner named. */
export async function withPost(options: Parameters<typeof openPost>[1] = {}) {
  const world = await stoppedAcme('frank', 'carol')
  const post = await openPost(world, options)
  const start = (laptop: Laptop): Promise<void> => laptop.start({ mailbox: true, bootstrap: [post.server.address] })
  const [bob, frank, carol] = [world.laptop('bob'), world.laptop('frank'), world.laptop('carol')]
  return { world, post, start, bob, frank, carol }
}

/** Items that lie at the server. */
export function itemsAt({ service }: Post): number {
  return service.facts().items
}
