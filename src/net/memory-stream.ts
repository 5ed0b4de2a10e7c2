/** A pair of FrameStreams in memory, with the bounds that a network would set. */
import { FRAME_SIZE_BYTES_MAX } from '../../protocol/index.ts'
import { type DeviceKey, type FrameStream, NetError } from './net.ts'

/** What may be on its way in one direction before send() waits. */
const WINDOW_BYTES = 1024 * 1024

/** One direction of the pair. */
interface Lane {
  frames: Uint8Array[]
  bytes: number
  finished: boolean
  failure: NetError | undefined
  /** Waits for frames; waits for room. */
  wakeReader: () => void
  wakeWriters: () => void
}

/** The end that `one` holds and the end that `other` holds. */
export function memoryStreams(one: DeviceKey, other: DeviceKey): [FrameStream, FrameStream] {
  const there = lane()
  const back = lane()
  return [end(other, there, back), end(one, back, there)]
}

function lane(): Lane {
  return {
    frames: [],
    bytes: 0,
    finished: false,
    failure: undefined,
    wakeReader: () => undefined,
    wakeWriters: () => undefined,
  }
}

function end(device: DeviceKey, out: Lane, into: Lane): FrameStream {
  let sending: Promise<void> = Promise.resolve()

  function check(lane: Lane): void {
    if (lane.failure !== undefined) throw lane.failure
  }

  async function transmit(frame: Uint8Array): Promise<void> {
    check(out)
    if (out.finished) throw new NetError('NET_CLOSED', 'the stream is closed')
    out.frames.push(frame)
    out.bytes += frame.length
    out.wakeReader()
    while (out.bytes > WINDOW_BYTES) {
      await new Promise<void>((resolve) => (out.wakeWriters = resolve))
      check(out)
    }
  }

  return {
    device,
    async send(frame) {
      if (frame.length > FRAME_SIZE_BYTES_MAX)
        throw new NetError('NET_FRAME', `a frame of ${frame.length} bytes is larger than ${FRAME_SIZE_BYTES_MAX}`)
      const copy = new Uint8Array(frame)
      const sent = sending.then(() => transmit(copy))
      sending = sent.catch(() => undefined)
      return sent
    },
    async receive() {
      for (;;) {
        const frame = into.frames.shift()
        if (frame !== undefined) {
          into.bytes -= frame.length
          into.wakeWriters()
          return frame
        }
        check(into)
        if (into.finished) return undefined
        await new Promise<void>((resolve) => (into.wakeReader = resolve))
      }
    },
    async close() {
      await sending
      out.finished = true
      out.wakeReader()
    },
    abort(reason) {
      for (const direction of [out, into]) {
        if (direction.failure !== undefined || (out.finished && into.finished)) continue
        direction.failure = new NetError('NET_CLOSED', `the stream broke: ${reason}`)
        direction.frames.length = 0
        direction.wakeReader()
        direction.wakeWriters()
      }
    },
  }
}
