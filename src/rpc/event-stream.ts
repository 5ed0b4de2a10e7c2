/** The node's events as server-sent events (WHATWG HTML, section 9.2), without end until one side hangs up. */
import type { NodeApi, NodeEvent } from '../node/api.ts'
import type { Clock } from '../system.ts'

/** Keeps a silent stream distinguishable from a dead one. */
const HEARTBEAT_MS = 15_000
/** A reader that lags this far is cut off: it comes back and reads the inbox, which is the truth. */
const BACKLOG_COUNT_MAX = 1000

export interface EventStreams {
  /**
   * One stream for one listener; it starts with a comment, so that the listener knows that it is heard.
   * `check` throws once the listener may listen no longer, which ends the stream.
   */
  open(check?: () => void): ReadableStream<Uint8Array>
  closeAll(): void
}

export function eventStreams(api: Pick<NodeApi, 'onEvent'>, clock: Clock): EventStreams {
  const closers = new Set<() => void>()

  function open(check: () => void = () => undefined): ReadableStream<Uint8Array> {
    let leave = () => {}
    return new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const encoder = new TextEncoder()
          const close = () => {
            leave()
            controller.close()
          }
          const write = (chunk: string) => {
            if ((controller.desiredSize ?? 0) <= -BACKLOG_COUNT_MAX || !passes(check)) close()
            else controller.enqueue(encoder.encode(chunk))
          }
          const forget = api.onEvent((event) => write(encodeEvent(event)))
          const silence = clock.every(HEARTBEAT_MS, () => write(': still here\n\n'))
          leave = () => {
            forget()
            silence()
            closers.delete(close)
          }
          closers.add(close)
          write(': listening\n\n')
        },
        cancel: () => leave(),
      },
      { highWaterMark: 1 },
    )
  }

  return { open, closeAll: () => closers.forEach((close) => close()) }
}

function passes(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

function encodeEvent(event: NodeEvent): string {
  return `id: ${event.cursor}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Reads what {@link eventStreams} writes; comments and unknown fields are passed over. */
export async function* parseEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NodeEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      for (const line of block.split('\n')) {
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as NodeEvent
      }
    }
  }
}
