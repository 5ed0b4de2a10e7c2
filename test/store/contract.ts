import { fc } from '@fast-check/vitest'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SPACES, StoreError, type Range, type Space, type Store, type Write } from '../../src/store/store.ts'
import { model } from './model.ts'

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values)
const put = (space: Space, key: string, value: Uint8Array): Write => ({ type: 'put', space, key, value })
const del = (space: Space, key: string): Write => ({ type: 'del', space, key })

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

// Few keys, so that they meet again; among them what sorts differently as UTF-16, what a sublevel's
// own separators are, prefixes of each other, and the empty key.
const key = fc.oneof(
  fc.constantFrom('', 'a', 'b', 'ab', 'a b', 'a!b', 'a"', '!', '\0', '\u{ffff}', '\u{1f600}', 'ä'),
  fc.string({ unit: 'binary', maxLength: 3 }),
)
const space = fc.constantFrom<Space>('meta', 'entry', 'outbox')
const value = fc.uint8Array({ maxLength: 40 })
const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('put' as const), space, key, value }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('del' as const), space, key }) },
)
const lower = fc.oneof(fc.constant({}), fc.record({ gt: key }), fc.record({ gte: key }))
const upper = fc.oneof(fc.constant({}), fc.record({ lt: key }), fc.record({ lte: key }))
const rest = fc.record({ reverse: fc.boolean(), limit: fc.nat({ max: 12 }) }, { requiredKeys: [] })
const range: fc.Arbitrary<Range> = fc.tuple(lower, upper, rest).map((parts) => Object.assign({}, ...parts) as Range)

/** What every store keeps to. `open` gives an empty one. */
export function storeContract(name: string, open: () => Promise<Store>): void {
  describe(`the store contract, kept by the ${name}`, () => {
    let store: Store
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    test('holds what a plain map holds, after any batches, read in any way', async () => {
      const anything = fc.record({
        batches: fc.array(fc.array(write, { maxLength: 12 }), { maxLength: 6 }),
        keys: fc.array(key, { maxLength: 6 }),
        ranges: fc.array(fc.tuple(space, range), { minLength: 1, maxLength: 6 }),
      })
      await fc.assert(
        fc.asyncProperty(anything, async ({ batches, keys, ranges }) => {
          await clear(store)
          const expected = model()
          for (const writes of batches) {
            await store.batch(writes)
            expected.batch(writes)
          }
          for (const at of SPACES) expect(await collect(store.range(at))).toStrictEqual(expected.range(at, {}))
          for (const [at, bounds] of ranges) {
            expect(await collect(store.range(at, bounds))).toStrictEqual(expected.range(at, bounds))
          }
          const wanted = keys.map((one) => expected.get('entry', one))
          expect(await store.getMany('entry', keys)).toStrictEqual(wanted)
          for (const [index, one] of keys.entries()) expect(await store.get('entry', one)).toStrictEqual(wanted[index])
        }),
        { numRuns: 150 },
      )
    })

    test('answers undefined for what is not there', async () => {
      expect(await store.get('entry', 'nothing')).toBeUndefined()
      expect(await store.getMany('entry', ['nothing', ''])).toStrictEqual([undefined, undefined])
      expect(await store.getMany('entry', [])).toStrictEqual([])
    })

    test('keeps the spaces apart', async () => {
      await store.batch(SPACES.map((at, index) => put(at, 'same', bytes(index))))
      for (const [index, at] of SPACES.entries()) {
        expect(await collect(store.range(at))).toStrictEqual([['same', bytes(index)]])
      }
    })

    test('applies the writes of a batch in their order', async () => {
      await store.batch([
        put('meta', 'a', bytes(1)),
        del('meta', 'a'),
        put('meta', 'a', bytes(2)),
        put('meta', 'b', bytes(3)),
        del('meta', 'b'),
      ])
      expect(await collect(store.range('meta'))).toStrictEqual([['a', bytes(2)]])
    })

    test('applies batches in the order of the calls', async () => {
      await Promise.all(Array.from({ length: 50 }, (_, index) => store.batch([put('meta', 'last', bytes(index))])))
      expect(await store.get('meta', 'last')).toStrictEqual(bytes(49))
    })

    test('takes nothing of a batch that has a write it cannot take', async () => {
      const unpaired = '\u{d800}'
      await expect(store.batch([put('meta', 'good', bytes(1)), put('meta', unpaired, bytes(2))])).rejects.toThrow(
        'not well-formed',
      )
      expect(await collect(store.range('meta'))).toStrictEqual([])
      await store.batch([put('meta', 'good', bytes(3))])
      expect(await store.get('meta', 'good')).toStrictEqual(bytes(3))
    })

    test('shows a range as it was at the call, whatever is written while it is read', async () => {
      await store.batch([put('entry', 'a', bytes(1)), put('entry', 'b', bytes(2)), put('entry', 'c', bytes(3))])
      const before = store.range('entry')
      await store.batch([put('entry', 'a', bytes(9)), del('entry', 'b'), put('entry', 'd', bytes(4))])
      const seen: string[] = []
      for await (const [at, found] of before) {
        await store.batch([del('entry', 'c')])
        seen.push(`${at}=${found.join()}`)
      }
      expect(seen).toStrictEqual(['a=1', 'b=2', 'c=3'])
      expect(await collect(store.range('entry'))).toStrictEqual([
        ['a', bytes(9)],
        ['d', bytes(4)],
      ])
    })

    test('lets nobody change a stored value in place', async () => {
      const given = bytes(1, 2, 3)
      const done = store.batch([put('meta', 'a', given)])
      given.fill(9)
      await done
      const read = await store.get('meta', 'a')
      read?.fill(8)
      expect(await store.get('meta', 'a')).toStrictEqual(bytes(1, 2, 3))
    })

    test('holds values of any size', async () => {
      const large = new Uint8Array(1024 * 1024).fill(7)
      await store.batch([put('body', 'large', large), put('body', 'empty', bytes())])
      expect(await store.getMany('body', ['large', 'empty'])).toStrictEqual([large, bytes()])
    })

    test('does every batch it was handed before close(), and nothing after it', async () => {
      let acknowledged = 0
      const batches = Array.from({ length: 5 }, async (_, index) => {
        await store.batch([put('meta', String(index), bytes(index))])
        acknowledged++
      })
      const halfway = store.range('meta')
      const closing = store.close()
      const closed: unknown = expect.objectContaining({ code: 'STORE_CLOSED' })
      await expect(store.batch([put('meta', 'late', bytes(1))])).rejects.toThrow(closed)
      await closing
      await Promise.all(batches)
      expect(acknowledged).toBe(5)
      await expect(store.get('meta', '0')).rejects.toThrow(closed)
      await expect(store.getMany('meta', ['0'])).rejects.toThrow(closed)
      await expect(store.batch([])).rejects.toThrow(closed)
      await expect((async () => collect(store.range('meta')))()).rejects.toThrow(closed)
      await expect(collect(halfway)).rejects.toThrow(closed)
      await expect(store.get('meta', '0')).rejects.toBeInstanceOf(StoreError)
      await store.close()
    })
  })
}

async function clear(store: Store): Promise<void> {
  for (const at of SPACES) {
    const found = await collect(store.range(at))
    await store.batch(found.map(([one]) => del(at, one)))
  }
}
