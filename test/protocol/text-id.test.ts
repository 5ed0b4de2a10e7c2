import { fc, test as propertyTest } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { hash, ID_PREFIXES, type IdSort, parseTextId, textId } from '../../protocol/index.ts'

const ID = hash('payload', ['id'])
const SORTS = Object.keys(ID_PREFIXES) as IdSort[]

test.each(SORTS)('the id of a %s is its prefix and 26 characters, and parses to its first 16 bytes', (sort) => {
  const text = textId(sort, ID)
  expect(text).toMatch(/^[a-z]+_[a-z2-7]{26}$/)
  expect(parseTextId(sort, text)).toBe(ID.slice(0, 32))
  expect(parseTextId(sort, ` ${text.toUpperCase()} `)).toBe(ID.slice(0, 32))
})

test('an id of one sort is none of another', () => {
  for (const sort of SORTS)
    for (const other of SORTS) if (sort !== other) expect(parseTextId(other, textId(sort, ID))).toBeUndefined()
})

test('a typo, a beginning or a longer text is no full id', () => {
  const text = textId('thread', ID)
  for (const wrong of [text.slice(0, -1), `${text}a`, text.replace(/.$/, '1'), text.replace('_', '-'), '', 'ho_'])
    expect(parseTextId('thread', wrong)).toBeUndefined()
})

test('one id has one text: bits beyond the last byte are zero', () => {
  const text = textId('thread', '00'.repeat(32))
  expect(parseTextId('thread', `${text.slice(0, -1)}b`)).toBeUndefined()
})

propertyTest.prop([fc.string(), fc.constantFrom(...SORTS)])('never throws on what people type', (typed, sort) => {
  expect(parseTextId(sort, typed)).toBeUndefined()
  expect(parseTextId(sort, ID_PREFIXES[sort] + typed)?.length ?? 32).toBe(32)
})
