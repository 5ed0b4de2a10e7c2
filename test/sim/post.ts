/** A bootstrap server of the simulated network, with real mailboxes on a disk of its own: it goes and comes back. */
import { createMailboxService } from '../../src/bootstrap/mailbox.ts'
import type { MemoryHub } from '../../src/net/memory-net.ts'
import type { MemoryServer } from '../../src/net/memory-servers.ts'
import { openMemoryStore } from '../../src/store/memory-store.ts'
import { type Clock, SILENT_LOG } from '../../src/system.ts'
import { actor } from '../cast.ts'
import type { Random } from './random.ts'

export interface Post {
  readonly address: string
  readonly isUp: boolean
  open(): void
  close(): void
}

export async function createPost(parts: { hub: MemoryHub; clock: Clock; random: Random }): Promise<Post> {
  const { hub, clock, random } = parts
  const { device } = actor('post')
  const system = { clock, dice: (count: number) => random.bytes(count), log: SILENT_LOG }
  const service = await createMailboxService({ store: await openMemoryStore(), system, device })
  const open = (): MemoryServer => hub.bootstrap(device, (stream) => service.serve(stream))
  let server: MemoryServer | undefined = open()
  const { address } = server
  return {
    address,
    get isUp() {
      return server !== undefined
    },
    open() {
      server ??= open()
    },
    close() {
      server?.close()
      server = undefined
    },
  }
}
