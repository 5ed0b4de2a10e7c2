/**
 * Counts what passes through circuits, and holds back a sender whose receiver is slow.
 *
 * libp2p joins the two streams of a circuit by a queue without bound, so a receiver that does not
 * read would fill the server's memory at the rate of the sender. Bytes are counted where a stream
 * takes them in and where they leave on the other one. Listening for the stream's messages would
 * be the official way, but a message that comes between two listeners of libp2p's own would reach
 * this one alone and be lost.
 */
import assert from 'node:assert/strict'
import type { Stream } from '@libp2p/interface'

/** Above the first a sender is paused, below the second it goes on. */
const PAUSE_BYTES = 256 * 1024
const RESUME_BYTES = 64 * 1024

/** What libp2p's streams have beside their interface. */
interface Tapped extends Stream {
  onData(data: { byteLength: number }): void
}

/** Calls `take` with the size of all that the peer sends on `stream`, before libp2p has it. */
export function tap(stream: Stream, take: (bytes: number) => void): void {
  const tapped = stream as Tapped
  assert(typeof tapped.onData === 'function', 'a stream of libp2p takes its data in by onData')
  const onData = tapped.onData.bind(stream)
  tapped.onData = (data) => {
    const { byteLength } = data
    onData(data)
    take(byteLength)
  }
}

function tapSend(stream: Stream, sent: (bytes: number) => void): void {
  const send = stream.send.bind(stream)
  stream.send = (data) => {
    sent(data.byteLength)
    return send(data)
  }
}

export interface RelayMeterParts {
  /** What all circuits together may hold. */
  heldBytesMax: number
  /** Bytes went from one side of a circuit to the other. False where the sender has used up its share. */
  charge(bytes: number, sender: Stream): boolean
  /** A circuit was ended because all of them hold too much. */
  onOverflow(): void
}

export interface RelayMeter {
  readonly heldBytes: number
  /** Watches one circuit until its streams close. */
  join(one: Stream, other: Stream): void
}

export function createRelayMeter({ heldBytesMax, charge, onOverflow }: RelayMeterParts): RelayMeter {
  let heldBytes = 0

  function direction(from: Stream, to: Stream, end: (reason: string) => void): void {
    let held = 0
    let closed = false
    const add = (bytes: number): void => {
      // What libp2p itself says and hears while it sets the circuit up has no other side.
      const after = Math.max(0, held + bytes)
      if (closed) return
      heldBytes += after - held
      held = after
    }
    tap(from, (bytes) => {
      if (!charge(bytes, from)) return end('the quota of relayed bytes is used up')
      add(bytes)
      if (heldBytes > heldBytesMax) {
        onOverflow()
        return end('the receiver is too slow')
      }
      // From a microtask: a pause inside the dispatch that a resume() caused is undone by yamux.
      if (held > PAUSE_BYTES) queueMicrotask(() => held > PAUSE_BYTES && pause(from))
    })
    tapSend(to, (bytes) => {
      add(-bytes)
      if (held < RESUME_BYTES && from.readStatus === 'paused') queueMicrotask(() => resume(from))
    })
    from.addEventListener('close', () => {
      add(-held)
      closed = true
    })
  }

  return {
    get heldBytes() {
      return heldBytes
    },
    join(one, other) {
      const end = (reason: string): void => {
        one.abort(new Error(reason))
        other.abort(new Error(reason))
      }
      direction(one, other, end)
      direction(other, one, end)
    },
  }
}

function pause(stream: Stream): void {
  try {
    stream.pause()
  } catch {
    // It closed in the meantime.
  }
}

function resume(stream: Stream): void {
  try {
    stream.resume()
  } catch {
    // As above.
  }
}
