/** Inputs for fuzzing: valid samples whose bytes are flipped, inserted, deleted, cut off and spliced. */
import { fc } from '@fast-check/vitest'
import { fromHex } from '../../protocol/index.ts'

type Change =
  | { do: 'flip'; at: number; bit: number }
  | { do: 'set'; at: number; byte: number }
  | { do: 'insert'; at: number; bytes: Uint8Array }
  | { do: 'delete'; at: number; count: number }
  | { do: 'truncate'; at: number }
  | { do: 'splice'; at: number; from: number; start: number; count: number }

const at = fc.nat(1 << 20)
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ do: fc.constant('flip' as const), at, bit: fc.nat(7) }),
  // Heads of CBOR items: lengths, simple values, ends of what a byte can say.
  fc.record({
    do: fc.constant('set' as const),
    at,
    byte: fc.oneof(fc.nat(255), fc.constantFrom(0, 0x1b, 0x5f, 0x7f, 0x9b, 0xbf, 0xff)),
  }),
  fc.record({ do: fc.constant('insert' as const), at, bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }) }),
  fc.record({ do: fc.constant('delete' as const), at, count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ do: fc.constant('truncate' as const), at }),
  fc.record({ do: fc.constant('splice' as const), at, from: at, start: at, count: fc.integer({ min: 1, max: 200 }) }),
)

/** One of the samples after a few changes, or bytes that were never valid. */
export function mutated(samples: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const changed = fc
    .tuple(fc.nat(samples.length - 1), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([which, changes]) => {
      let bytes = samples[which] ?? new Uint8Array()
      for (const one of changes) bytes = apply(bytes, one, samples)
      return bytes
    })
  return fc.oneof({ weight: 40, arbitrary: changed }, { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) })
}

function apply(bytes: Uint8Array, one: Change, samples: readonly Uint8Array[]): Uint8Array {
  const place = one.at % (bytes.length + 1)
  switch (one.do) {
    case 'flip':
    case 'set': {
      const copy = Uint8Array.from(bytes)
      if (place < copy.length) copy[place] = one.do === 'set' ? one.byte : (copy[place] ?? 0) ^ (1 << one.bit)
      return copy
    }
    case 'insert':
      return joined(bytes.subarray(0, place), one.bytes, bytes.subarray(place))
    case 'delete':
      return joined(bytes.subarray(0, place), bytes.subarray(place + one.count))
    case 'truncate':
      return bytes.slice(0, place)
    case 'splice': {
      const other = samples[one.from % samples.length] ?? bytes
      const start = one.start % (other.length + 1)
      return joined(bytes.subarray(0, place), other.subarray(start, start + one.count), bytes.subarray(place))
    }
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

/** Inputs on which some reader of this form has failed, ours or that of a library below it; each goes to every target. */
export const KEPT: readonly (readonly [name: string, input: Uint8Array])[] = [
  ['arrays nested until a stack overflows', new Uint8Array(8000).fill(0x81)],
  ['maps nested until a stack overflows', Uint8Array.from({ length: 8000 }, (_, i) => [0xa1, 0x61, 0x61][i % 3] ?? 0)],
  ['tags nested until a stack overflows', new Uint8Array(8000).fill(0xc1)],
  ['an array that promises 2^53 - 1 items', fromHex('9b001fffffffffffff')],
  ['bytes that promise 2^64 - 1 bytes', fromHex('5bffffffffffffffff')],
  ['a map with the key __proto__', fromHex('a1695f5f70726f746f5f5f01')],
  ['a text that begins with a byte order mark', fromHex('64efbbbf61')],
  ['a text that is half a surrogate pair', fromHex('63eda080')],
  ['an integer that no double can hold', fromHex('1b0020000000000001')],
  ['a map that reads as a link', fromHex('a1612f6161')],
  ['a float that is not a number', fromHex('fb7ff8000000000000')],
  ['an indefinite length', fromHex('9fff')],
  ['nothing', new Uint8Array()],
]
