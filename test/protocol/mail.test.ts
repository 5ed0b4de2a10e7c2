/** What is in an item of a mailbox: it fits, it parses to what it was, and the same is the same again. */
import { describe, expect, test } from 'vitest'
import {
  BODY_SIZE_BYTES_MAX,
  encodeCanonical,
  encodeMail,
  epochOf,
  fitsMailbox,
  HEADER_SIZE_BYTES_MAX,
  type Mail,
  MAIL_PIECES_COUNT_MAX,
  MAIL_SIZE_BYTES_MAX,
  mailOf,
  openEnvelope,
  parseMail,
  sealMail,
} from '../../protocol/index.ts'
import { ID, MAIL } from './samples.ts'

const key = new Uint8Array(32).fill(7)
const entry = (size: number) => ({ id: ID, thread: ID, envelope: new Uint8Array(size).fill(1) })
const bodyOf = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, i) => i % 251)

test.each(MAIL)('a $t parses to what was encoded', (mail) => {
  expect(parseMail(encodeMail(mail))).toEqual({ ok: true, value: mail })
})

test.each([
  ['another type', { t: 'letter' }],
  ['a key too many', { t: 'workspace', roster: [], prekeys: [], more: true }],
  ['a body that is text', { t: 'entry', envelope: new Uint8Array(1), body: 'text' }],
  [
    'no pieces',
    { t: 'piece', th: new Uint8Array(32), entry: new Uint8Array(32), at: 0, of: 0, bytes: new Uint8Array(1) },
  ],
  [
    'too many pieces',
    { t: 'piece', th: new Uint8Array(32), entry: new Uint8Array(32), at: 0, of: 9, bytes: new Uint8Array(1) },
  ],
])('%s is refused', (_what, value) => {
  expect(parseMail(encodeCanonical(value))).toMatchObject({ ok: false, refusal: 'message' })
})

describe('an entry is carried', () => {
  test('with its body, where both fit, or with none', () => {
    expect(mailOf(entry(500), null)).toEqual([{ t: 'entry', envelope: entry(500).envelope, body: null }])
    expect(mailOf(entry(500), bodyOf(60_000))).toHaveLength(1)
  })

  test.each([66_000, 65_536 + 16, BODY_SIZE_BYTES_MAX + 16])(
    'apart from a body of %i bytes, which comes in pieces',
    (size) => {
      const [first, ...pieces] = mailOf(entry(HEADER_SIZE_BYTES_MAX + 80), bodyOf(size))
      expect(first).toMatchObject({ t: 'entry', body: null })
      expect(pieces.length).toBeLessThanOrEqual(MAIL_PIECES_COUNT_MAX)
      const joined = pieces.flatMap((piece) => (piece.t === 'piece' ? [piece] : []))
      expect(joined.map(({ at, of }) => [at, of])).toEqual(joined.map((_, at) => [at, pieces.length]))
      expect(Buffer.concat(joined.map(({ bytes }) => bytes)).equals(bodyOf(size))).toBe(true)
      for (const mail of [first, ...pieces]) {
        if (!mail) throw new Error('there is a first')
        expect(encodeMail(mail).length).toBeLessThanOrEqual(MAIL_SIZE_BYTES_MAX)
        expect(fitsMailbox(sealMail(mail, { key, epoch: 0 }))).toBe(true)
      }
    },
  )
})

test('the largest mail fits the largest item', () => {
  const room =
    MAIL_SIZE_BYTES_MAX - encodeMail({ t: 'entry', envelope: new Uint8Array(0), body: new Uint8Array(65_000) }).length
  const mail: Mail = { t: 'entry', envelope: new Uint8Array(0), body: new Uint8Array(65_000 + room) }
  expect(encodeMail(mail)).toHaveLength(MAIL_SIZE_BYTES_MAX)
  expect(fitsMailbox(sealMail(mail, { key, epoch: 0 }))).toBe(true)
})

test('the same mail is the same item, and another mail, key or epoch another one', () => {
  const mail: Mail = { t: 'entry', envelope: bodyOf(300), body: null }
  const item = sealMail(mail, { key, epoch: 3 })
  expect(sealMail(mail, { key, epoch: 3 })).toEqual(item)
  expect(epochOf(item)).toEqual({ ok: true, value: 3 })
  expect(openEnvelope(item, key)).toEqual({ ok: true, value: encodeMail(mail) })
  const salt = (other: Uint8Array): string => Buffer.from(other.subarray(3, 36)).toString('hex')
  const others = [
    sealMail({ ...mail, envelope: bodyOf(301) }, { key, epoch: 3 }),
    sealMail(mail, { key: new Uint8Array(32).fill(8), epoch: 3 }),
    sealMail(mail, { key, epoch: 4 }),
  ]
  expect(new Set([item, ...others].map(salt)).size).toBe(4)
})
