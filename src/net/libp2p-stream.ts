/**
 * A FrameStream on a libp2p stream.
 *
 * libp2p's own ways to read a stream have no backpressure (`for await` and byteStream both buffer
 * what arrives), so this one pauses the stream while enough is held; the sender then runs out of
 * yamux window. Held at most, whatever the peer does: READ_HELD_BYTES_MAX, one window that was
 * already on its way when the pause began and one that a resume lets in. A stream through a hole in
 * routers (WebRTC) cannot be paused: it is reset once 4 MiB wait to be read, so whoever speaks on it
 * has to leave less than that unanswered, as sync does.
 */
import assert from 'node:assert/strict'
import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { createFrameReader, encodeFrame } from './frame.ts'
import { type DeviceKey, type FrameStream, NetError } from './net.ts'

/** More than one frame, so that the next one arrives while this one is worked on. */
const READ_HELD_BYTES_MAX = 512 * 1024

/** How long close() waits for the peer to take what was sent. */
const CLOSE_TIMEOUT_MS = 5_000

type End = { state: 'open' } | { state: 'finished' } | { state: 'broken'; error: NetError }

export function frameStream(stream: Stream, device: DeviceKey): FrameStream {
  const reader = createFrameReader()
  // A stream that closed before we looked has lost its connection: we have not closed our half yet.
  let end: End =
    stream.status !== 'open'
      ? broken()
      : stream.remoteWriteStatus === 'closed'
        ? { state: 'finished' }
        : { state: 'open' }
  let wakeReader: (() => void) | undefined
  let wakeWriter: (() => void) | undefined
  let sending: Promise<void> = Promise.resolve()

  function broken(cause?: unknown): End {
    return { state: 'broken', error: new NetError('NET_CLOSED', 'the stream broke', cause) }
  }

  stream.addEventListener('message', (event: StreamMessageEvent) => {
    if (event.data instanceof Uint8Array) reader.push(event.data)
    else for (const part of event.data) reader.push(part)
    // From a microtask: a pause inside the dispatch that a resume() caused is undone by yamux.
    if (reader.heldBytes > READ_HELD_BYTES_MAX) queueMicrotask(pauseIfFull)
    wakeReader?.()
  })
  stream.addEventListener('remoteCloseWrite', () => {
    if (end.state === 'open') end = { state: 'finished' }
    wakeReader?.()
  })
  stream.addEventListener('close', (event: StreamCloseEvent) => {
    // Without an error and without the peer's own goodbye it is the connection that ended.
    if (event.error !== undefined || end.state === 'open') end = broken(event.error)
    wakeReader?.()
    wakeWriter?.()
  })
  stream.addEventListener('drain', () => wakeWriter?.())

  function pauseIfFull(): void {
    if (reader.heldBytes <= READ_HELD_BYTES_MAX) return
    try {
      stream.pause()
    } catch {
      // It closed in the meantime; 'close' says so.
    }
  }

  function resume(): void {
    if (stream.readStatus !== 'paused') return
    try {
      stream.resume()
    } catch {
      // As above.
    }
  }

  function next(): Uint8Array | undefined {
    try {
      return reader.next()
    } catch (error) {
      abort('the peer broke the framing')
      throw error
    }
  }

  async function transmit(encoded: Uint8Array): Promise<void> {
    if (stream.writeStatus !== 'writable')
      throw end.state === 'broken' ? end.error : new NetError('NET_CLOSED', 'the stream is closed')
    try {
      stream.send(encoded) // Throws at once on a stream that was aborted.
    } catch (error) {
      throw new NetError('NET_CLOSED', 'the stream broke', error)
    }
    // onDrain() resolves at once from its second use on, so wait for the event and look again.
    while (stream.writableNeedsDrain && end.state !== 'broken' && stream.status === 'open') {
      await new Promise<void>((resolve) => (wakeWriter = resolve))
      wakeWriter = undefined
    }
    if (end.state === 'broken') throw end.error
    if (stream.writableNeedsDrain) throw new NetError('NET_CLOSED', 'the stream closed before the frame was taken')
  }

  function abort(reason: string): void {
    try {
      stream.abort(new Error(reason))
    } catch {
      // Already gone.
    }
  }

  return {
    device,
    async send(frame) {
      const encoded = encodeFrame(frame)
      const sent = sending.then(() => transmit(encoded))
      sending = sent.catch(() => undefined)
      return sent
    },
    async receive() {
      for (;;) {
        const frame = next()
        if (frame !== undefined) return frame
        resume() // May deliver what libp2p held back, also after the peer has closed.
        const late = next()
        if (late !== undefined) return late
        if (end.state === 'broken') throw end.error
        if (end.state === 'finished' && stream.readBufferLength === 0) {
          if (!reader.atBoundary) throw new NetError('NET_CLOSED', 'the stream ended inside a frame')
          return undefined
        }
        assert(wakeReader === undefined, 'receive() has one caller at a time')
        await new Promise<void>((resolve) => (wakeReader = resolve))
        wakeReader = undefined
      }
    },
    async close() {
      await sending
      try {
        await stream.close({ signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) })
      } catch {
        abort('the peer did not take what was sent')
      }
    },
    abort,
  }
}
