import { expect, test } from 'vitest'
import { openPrekey, prekeyPublic, signPrekey } from '../../protocol/index.ts'
import { CLOCK_MS, frank, mallory } from '../cast.ts'

const fields = {
  ws: 'aa'.repeat(32),
  device: frank.device,
  counter: 0,
  x25519: await prekeyPublic(frank.prekeySeed),
  mailbox: mallory.device,
  created: CLOCK_MS,
}

test('a prekey record opens to what the device signed', () => {
  const record = signPrekey(fields, frank.key)
  expect(openPrekey(record.bytes)).toEqual({ ok: true, value: record })
})

test('every changed byte of a prekey record is refused', () => {
  const { bytes } = signPrekey(fields, frank.key)
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.slice()
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(openPrekey(changed)).toMatchObject({ ok: false })
  }
})

test('two records differ in id if they differ in anything', () => {
  const ids = [{}, { counter: 1 }, { ws: 'bb'.repeat(32) }, { created: 0 }, { mailbox: frank.device }].map(
    (change) => signPrekey({ ...fields, ...change }, frank.key).id,
  )
  expect(new Set(ids).size).toBe(ids.length)
})
