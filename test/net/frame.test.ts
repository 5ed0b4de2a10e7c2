import { fc, test as check } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { FRAME_SIZE_BYTES_MAX } from '../../protocol/index.ts'
import { createFrameReader, encodeFrame } from '../../src/net/frame.ts'

const FRAMES = [
  new Uint8Array(0),
  new Uint8Array([1]),
  new Uint8Array(127).fill(2),
  new Uint8Array(128).fill(3),
  new Uint8Array(300).fill(4),
  new Uint8Array(0),
]
const WIRE = new Uint8Array(Buffer.concat(FRAMES.map((frame) => encodeFrame(frame))))

function read(chunks: Iterable<Uint8Array>): Uint8Array[] {
  const reader = createFrameReader()
  const frames: Uint8Array[] = []
  for (const chunk of chunks) {
    reader.push(chunk)
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame)
  }
  expect(reader.atBoundary).toBe(true)
  return frames
}

describe('frames', () => {
  test('a length is an unsigned varint', () => {
    expect([...encodeFrame(new Uint8Array([7, 8]))]).toEqual([2, 7, 8])
    expect([...encodeFrame(new Uint8Array(300)).subarray(0, 2)]).toEqual([0xac, 0x02])
    expect([...encodeFrame(new Uint8Array(FRAME_SIZE_BYTES_MAX)).subarray(0, 3)]).toEqual([0x80, 0x80, 0x14])
  })

  test('frames that are cut in two at any point are the same frames', () => {
    for (let at = 0; at <= WIRE.length; at += 1) expect(read([WIRE.subarray(0, at), WIRE.subarray(at)])).toEqual(FRAMES)
  })

  test('frames that come byte by byte, or all in one, are the same frames', () => {
    expect(read([...WIRE].map((byte) => new Uint8Array([byte])))).toEqual(FRAMES)
    expect(read([WIRE])).toEqual(FRAMES)
  })

  check.prop([
    fc.array(fc.uint8Array({ maxLength: 2_000, size: 'max' }), { maxLength: 12 }),
    fc.array(fc.nat(400), { maxLength: 60 }),
  ])('any frames, cut anywhere, are the same frames', (frames, cuts) => {
    const wire = Buffer.concat(frames.map((frame) => encodeFrame(frame)))
    const chunks: Uint8Array[] = []
    let at = 0
    for (const cut of cuts) chunks.push(new Uint8Array(wire.subarray(at, (at += cut))))
    expect(read([...chunks, new Uint8Array(wire.subarray(at))])).toEqual(frames)
  })

  check.prop([fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 })])(
    'any bytes give frames or one refusal, never anything else',
    (chunks) => {
      const reader = createFrameReader()
      for (const chunk of chunks) {
        reader.push(chunk)
        try {
          while (reader.next() !== undefined);
        } catch (error) {
          expect(error).toMatchObject({ name: 'NetError', code: 'NET_FRAME' })
          expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'NET_FRAME' }))
        }
      }
    },
  )

  test.each([
    ['one byte too long', [0x81, 0x80, 0x14]],
    ['a length of four bytes', [0xff, 0xff, 0xff, 0x01]],
    ['a length without end', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80]],
    ['a length that is not in its shortest form', [0x81, 0x00]],
  ])('%s is refused as soon as it is seen, and for good', (_, wire) => {
    const reader = createFrameReader()
    reader.push(new Uint8Array(wire))
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'NET_FRAME' }))
    reader.push(new Uint8Array([1, 1]))
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'NET_FRAME' }))
    expect(reader.heldBytes).toBe(0)
  })

  test('a frame that is too large is not encoded', () => {
    expect(() => encodeFrame(new Uint8Array(FRAME_SIZE_BYTES_MAX + 1))).toThrow(
      expect.objectContaining({ code: 'NET_FRAME' }),
    )
  })

  test('single bytes of a large frame hold no more than the frame', () => {
    const reader = createFrameReader()
    const wire = encodeFrame(new Uint8Array(FRAME_SIZE_BYTES_MAX).fill(5))
    let most = 0
    let early = 0
    for (const byte of wire.subarray(0, wire.length - 1)) {
      reader.push(new Uint8Array([byte]))
      if (reader.next() !== undefined) early += 1
      most = Math.max(most, reader.heldBytes)
    }
    expect(early).toBe(0)
    expect(most).toBeLessThanOrEqual(FRAME_SIZE_BYTES_MAX + 100)
    expect(reader.atBoundary).toBe(false)
  })

  test('a million empty frames are held as the bytes they are', () => {
    const reader = createFrameReader()
    reader.push(new Uint8Array(1_000_000))
    expect(reader.next()).toEqual(new Uint8Array(0))
    expect(reader.heldBytes).toBeLessThan(1_001_000)
  })
})
