/** What tests of readers do in a thread. */
import type { ThreadView } from '../../src/node/api.ts'
import { type Laptop, says, SESSION, viewOnce, type World } from './world.ts'

export const share = (at: Laptop, thread_id: string, reader: string, key?: string) =>
  at.node.share(
    { thread_id, reader, ...(key === undefined ? {} : { metadata: { client_idempotency_key: key } }) },
    SESSION,
  )
export const message = (at: Laptop, thread_id: string, text: string) =>
  at.node.sendMessage({ thread_id, message: says(text) }, SESSION)

/** Once the laptop opens everything that is in the thread. */
export function opensAll(world: World, at: Laptop, thread_id: string): Promise<ThreadView> {
  return viewOnce(world, at, thread_id, ({ entries }) => entries.every(({ body }) => body === 'ok' || body === 'none'))
}
