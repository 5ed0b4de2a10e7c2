/** kill -9 in the middle of work. */
import { randomUUID } from 'node:crypto'
import type { Laptop } from '../stage/laptop.ts'

const KILL_AFTER_COUNT = 40
const SENDERS_COUNT = 4
const MESSAGES_COUNT_MAX = 45

/** All send into one thread at once; after some messages every node is killed. Gives the messages that were acknowledged. */
export async function sendUntilKilled(laptops: readonly Laptop[], thread: string): Promise<string[]> {
  const acknowledged: string[] = []
  let killed: Promise<unknown> | undefined
  const send = async (laptop: Laptop, sender: number): Promise<void> => {
    const session = randomUUID()
    for (let n = 0; n < MESSAGES_COUNT_MAX; n++) {
      const body = `${laptop.name} ${sender}.${n}`
      const answer = await laptop
        .call(
          'message/send',
          { thread_id: thread, message: { role: 'user', parts: [{ type: 'text', text: body }] } },
          session,
        )
        .catch(() => undefined)
      // The connection broke before the answer came: nothing was promised.
      if (answer === undefined) return
      if (answer.result !== undefined) acknowledged.push(body)
      if (acknowledged.length >= KILL_AFTER_COUNT) killed ??= Promise.all(laptops.map((laptop) => laptop.kill()))
    }
  }
  await Promise.all(
    laptops.flatMap((laptop) => Array.from({ length: SENDERS_COUNT }, (_, sender) => send(laptop, sender))),
  )
  await (killed ?? Promise.reject(new Error('nothing was killed')))
  return acknowledged
}
