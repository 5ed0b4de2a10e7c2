/** What a device hears that was removed and does not know it yet: that, and nothing else. */
import { encodeSync, parseSync } from '../../protocol/index.ts'
import type { FrameStream } from '../net/net.ts'
import { rosterMessages } from './batches.ts'
import type { Held } from './held.ts'
import { rosterForRemoved, rosterOf } from './workspace.ts'

/** Answers a removed device that came by itself. It hangs up once it knows, or the net does in its place. */
export async function tellRemoved(held: Held, stream: FrameStream): Promise<void> {
  const { workspace } = held
  const frame = await stream.receive()
  const hello = frame && parseSync(frame)
  if (!hello?.ok || hello.value.t !== 'hello' || hello.value.ws !== rosterOf(workspace)?.ws)
    return stream.abort('removed from the workspace')
  const entries = rosterForRemoved(workspace, stream.device, hello.value.ros).map(({ envelope }) => envelope)
  for (const message of rosterMessages(entries)) await stream.send(encodeSync(message))
  // Whatever else it says is not heard.
  while (await stream.receive());
}
