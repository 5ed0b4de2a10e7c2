import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { CBOR_MAP_KEYS_COUNT_MAX, decodeCanonical, encodeCanonical, fromHex, toHex } from '../../protocol/index.ts'
import { VALUES } from './samples.ts'

const LIMITS = { bytesMax: 4096 }

describe('one value, one encoding', () => {
  propertyTest.prop([VALUES])('what is encoded decodes to the same', (original) => {
    const decoded = decodeCanonical(encodeCanonical(original), { bytesMax: 1 << 20 })
    expect(decoded).toEqual({ ok: true, value: original })
  })

  propertyTest.prop([fc.uint8Array({ maxLength: 60 })], { numRuns: 2000 })(
    'bytes that decode are the encoding of what they decode to',
    (bytes) => {
      const decoded = decodeCanonical(bytes, LIMITS)
      if (decoded.ok) expect(encodeCanonical(decoded.value)).toEqual(bytes)
    },
  )

  propertyTest.prop([VALUES, fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 500 })(
    'one changed byte is refused or another value',
    (original, place, change) => {
      const bytes = encodeCanonical(original)
      const at = place % bytes.length
      bytes[at] = (bytes[at] ?? 0) ^ change
      const decoded = decodeCanonical(bytes, { bytesMax: 1 << 20 })
      if (decoded.ok) expect(decoded.value).not.toEqual(original)
    },
  )

  test.each([
    ['a number in more bytes than it needs', '1817'],
    ['a number in eight bytes', '1b0000000000000001'],
    ['a number beyond 2^53 - 1', '1b0020000000000000'],
    ['a number below -(2^53 - 1)', '3b001fffffffffffff'],
    ['a length in more bytes than it needs', '58020102'],
    ['an indefinite array', '9f01ff'],
    ['an indefinite text', '7f6161ff'],
    ['keys out of order', 'a2616201616101'],
    ['a longer key before a shorter', 'a262616101616201'],
    ['a repeated key', 'a2616101616102'],
    ['a key that is a number', 'a10101'],
    ['a float', 'fb3ff8000000000000'],
    ['a float that is a whole number', 'fb3ff0000000000000'],
    ['undefined', 'f7'],
    ['a simple value', 'f0'],
    ['a tag', 'c101'],
    ['a link', 'd82a4100'],
    ['broken UTF-8', '61ff'],
    ['a lone surrogate', '63eda080'],
    ['an overlong character', '62c080'],
    ['a byte after the end', '0000'],
    ['nothing', ''],
    ['an array that ends early', '8201'],
    ['a text that ends early', '6361'],
    ['an array that claims four thousand million items', '9affffffff'],
    ['bytes that claim two to the fifty-third', '5b0020000000000000'],
    ['a map in which __proto__ stands twice', 'a2695f5f70726f746f5f5f01695f5f70726f746f5f5f01'],
    ['a map that an encoder takes for a link', 'a2612f0165627974657301'],
  ])('refuses %s', (_, hex) => {
    expect(decodeCanonical(fromHex(hex), LIMITS)).toMatchObject({ ok: false, refusal: 'not_canonical' })
  })

  test('the smallest and the greatest number pass', () => {
    for (const n of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])
      expect(decodeCanonical(encodeCanonical(n), LIMITS)).toEqual({ ok: true, value: n })
  })

  test('a text may begin with a byte order mark, as files do', () => {
    expect(decodeCanonical(encodeCanonical('\uFEFFusing System;'), LIMITS)).toEqual({
      ok: true,
      value: '\uFEFFusing System;',
    })
  })

  test('a key named __proto__ is a key like any other', () => {
    const decoded = decodeCanonical(fromHex('a1695f5f70726f746f5f5fa1616101'), LIMITS)
    expect(decoded.ok && Object.keys(decoded.value as object)).toEqual(['__proto__'])
    expect(({} as { a?: unknown }).a).toBeUndefined()
  })

  test('what decodes does not share memory with the frame it came in', () => {
    const frame = Buffer.from(encodeCanonical([Uint8Array.of(1, 2)]))
    const decoded = decodeCanonical(frame, LIMITS)
    frame.fill(0)
    expect(decoded).toEqual({ ok: true, value: [Uint8Array.of(1, 2)] })
  })
})

describe('limits of shape', () => {
  test.each([
    ['arrays', 0x81],
    ['maps', 0xa1],
  ])('a hundred thousand nested %s are refused and overflow nothing', (_, head) => {
    const item = head === 0xa1 ? [0xa1, 0x60] : [head]
    const bytes = Uint8Array.from({ length: 100_000 }, (__, i) => item[i % item.length] ?? 0)
    expect(decodeCanonical(bytes, { bytesMax: 100_000 })).toMatchObject({ ok: false, refusal: 'too_deep' })
  })

  test('depth counts what is open, not what has been', () => {
    const wide = Array.from({ length: 100 }, () => [[[]]])
    expect(decodeCanonical(encodeCanonical(wide), LIMITS).ok).toBe(true)
  })

  test('size is checked first', () => {
    expect(decodeCanonical(new Uint8Array(11).fill(0x81), { bytesMax: 10 })).toMatchObject({ refusal: 'oversize' })
  })

  test('a map may have as many keys as the limit says, wherever it stands', () => {
    const map = (keys: number) => [Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, 0]))]
    expect(decodeCanonical(encodeCanonical(map(CBOR_MAP_KEYS_COUNT_MAX)), LIMITS).ok).toBe(true)
    expect(decodeCanonical(encodeCanonical(map(CBOR_MAP_KEYS_COUNT_MAX + 1)), LIMITS)).toMatchObject({
      refusal: 'too_many_keys',
    })
  })
})

propertyTest.prop([fc.uint8Array()])('hex says the same as bytes', (bytes) => {
  expect(fromHex(toHex(bytes))).toEqual(bytes)
})
