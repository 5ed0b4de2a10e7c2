import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fc } from '@fast-check/vitest'
import { Level } from 'level'
import { beforeEach, expect, test } from 'vitest'
import { readLog } from '../../src/store/log-reader.ts'
import { fileOf, temporaryFolder } from './folder.ts'

// Smaller than a block, larger than a block, and such that one ends within a header's length of a block's end.
const SIZES = [10, 20_000, 40_000, 5_300, 1, 0, 3_000]

let log: Uint8Array
let records: Uint8Array[]

/** A log that LevelDB wrote: one record a batch, each a put of one value. */
beforeEach(async () => {
  const folder = join(await temporaryFolder(), 'db')
  const db = new Level<string, Uint8Array>(folder, { valueEncoding: 'view' })
  for (const [index, size] of SIZES.entries()) await db.put('key', new Uint8Array(size).fill(index + 1))
  await db.close()
  log = new Uint8Array(await readFile(await fileOf(folder, /\.log$/)))
  records = readLog(log).records
})

test('reads what LevelDB wrote', () => {
  const content = readLog(log)
  expect(content.damage).toBeUndefined()
  expect(content.records).toHaveLength(SIZES.length)
  for (const [index, size] of SIZES.entries()) {
    const value = content.records[index]?.slice(-size || Infinity)
    expect(value).toStrictEqual(new Uint8Array(size).fill(index + 1))
  }
})

test('a log that was cut anywhere is whole up to there', () => {
  fc.assert(
    fc.property(fc.nat({ max: log.length }), (length) => {
      const content = readLog(log.subarray(0, length))
      expect(content.damage).toBeUndefined()
      expect(content.records).toStrictEqual(records.slice(0, content.records.length))
    }),
  )
})

test('zeroes behind the last record are room, not damage', () => {
  expect(readLog(new Uint8Array(Buffer.concat([log, new Uint8Array(50_000)])))).toStrictEqual({ records })
})

test('one wrong byte anywhere is told, but for one that makes the last record look cut short', () => {
  fc.assert(
    fc.property(fc.nat({ max: log.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const damaged = Uint8Array.from(log)
      damaged[at] = (damaged[at] ?? 0) ^ change
      const content = readLog(damaged)
      expect(content.records.every((record, index) => Buffer.compare(record, records[index] ?? record) === 0)).toBe(
        true,
      )
      if (content.damage === undefined) expect(content.records.length).toBeGreaterThanOrEqual(records.length - 1)
    }),
    { numRuns: 200 },
  )
})

test('says what and where', () => {
  const flipped = Uint8Array.from(log)
  flipped[12] = 99
  expect(readLog(flipped).damage).toBe('a checksum mismatch at byte 0')
})
