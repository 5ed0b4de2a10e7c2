/**
 * Frames on a byte stream: an unsigned varint length, shortest form, at most FRAME_SIZE_BYTES_MAX,
 * then that many bytes. Source: protocol/spec/sync.md.
 */
import { FRAME_SIZE_BYTES_MAX } from '../../protocol/index.ts'
import { NetError } from './net.ts'

/** Bytes of the longest length that a frame may have: 7 bits each. */
const LENGTH_SIZE_BYTES_MAX = Math.ceil(Math.log2(FRAME_SIZE_BYTES_MAX + 1) / 7)

/** The frame with its length in front. Throws NetError NET_FRAME where it is too large. */
export function encodeFrame(frame: Uint8Array): Uint8Array {
  if (frame.length > FRAME_SIZE_BYTES_MAX)
    throw new NetError('NET_FRAME', `a frame of ${frame.length} bytes is larger than ${FRAME_SIZE_BYTES_MAX}`)
  const length: number[] = []
  for (let rest = frame.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      length.push(rest)
      break
    }
    length.push((rest & 0x7f) | 0x80)
  }
  const encoded = new Uint8Array(length.length + frame.length)
  encoded.set(length)
  encoded.set(frame, length.length)
  return encoded
}

export interface FrameReader {
  /** Takes the next bytes of the stream, however they were cut. */
  push(chunk: Uint8Array): void
  /** The next complete frame, or undefined until more bytes have come. Throws NetError NET_FRAME, then always. */
  next(): Uint8Array | undefined
  /** Memory that is held for bytes not yet returned. */
  readonly heldBytes: number
  /** True between two frames: the stream may end here. */
  readonly atBoundary: boolean
}

/** What one chunk costs beside its bytes, so that many tiny chunks cannot hide. */
const CHUNK_OVERHEAD_BYTES = 64

/**
 * Parses only as far as next() asks, because a mebibyte of empty frames would be a million objects.
 * A frame's buffer is made once its length is known, so a peer that sends single bytes costs no
 * more than one frame.
 */
export function createFrameReader(): FrameReader {
  const chunks: Uint8Array[] = []
  let chunksBytes = 0
  let offset = 0
  let length = 0
  let lengthBytes = 0
  let body: Uint8Array | undefined
  let filled = 0
  let failure: NetError | undefined

  function fail(message: string): never {
    failure = new NetError('NET_FRAME', message)
    chunks.length = 0
    chunksBytes = 0
    body = undefined
    throw failure
  }

  function consume(count: number): void {
    const chunk = chunks[0]
    offset += count
    if (chunk !== undefined && offset >= chunk.length) {
      chunks.shift()
      chunksBytes -= chunk.length + CHUNK_OVERHEAD_BYTES
      offset = 0
    }
  }

  function readLength(): boolean {
    for (let chunk = chunks[0]; chunk !== undefined; chunk = chunks[0]) {
      const byte = chunk[offset] ?? 0
      consume(1)
      length += (byte & 0x7f) * 2 ** (7 * lengthBytes)
      lengthBytes += 1
      if (byte < 0x80) {
        if (byte === 0 && lengthBytes > 1) fail('the length of a frame is not in its shortest form')
        if (length > FRAME_SIZE_BYTES_MAX)
          fail(`the peer announced a frame of ${length} bytes, more than ${FRAME_SIZE_BYTES_MAX}`)
        return true
      }
      if (lengthBytes >= LENGTH_SIZE_BYTES_MAX)
        fail(`the peer announced a frame of more than ${FRAME_SIZE_BYTES_MAX} bytes`)
    }
    return false
  }

  return {
    push(chunk) {
      if (chunk.length === 0 || failure !== undefined) return
      chunks.push(chunk)
      chunksBytes += chunk.length + CHUNK_OVERHEAD_BYTES
    },
    next() {
      if (failure !== undefined) throw failure
      if (body === undefined) {
        if (!readLength()) return undefined
        body = new Uint8Array(length)
      }
      for (let chunk = chunks[0]; chunk !== undefined && filled < body.length; chunk = chunks[0]) {
        const part = chunk.subarray(offset, offset + body.length - filled)
        body.set(part, filled)
        filled += part.length
        consume(part.length)
      }
      if (filled < body.length) return undefined
      const frame = body
      body = undefined
      filled = length = lengthBytes = 0
      return frame
    },
    get heldBytes() {
      return chunksBytes + (body?.length ?? 0)
    },
    get atBoundary() {
      return chunks.length === 0 && body === undefined && lengthBytes === 0
    },
  }
}
