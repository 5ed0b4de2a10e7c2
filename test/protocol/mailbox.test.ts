import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  checkOpen,
  checkPut,
  encodeCanonical,
  encodeMailbox,
  fitsMailbox,
  fromHex,
  MAILBOX_ITEM_SIZE_BYTES_MAX,
  MAILBOX_ITEMS_COUNT_MAX,
  mailboxId,
  mailboxItemId,
  type MailboxMessageOf,
  mailboxWriteKey,
  parseMailbox,
  signingKey,
  signOpen,
  signPut,
} from '../../protocol/index.ts'
import { bob, frank, seedOf } from '../cast.ts'
import { ID, MAILBOX_MESSAGES } from './samples.ts'

const W = seedOf('workspace key')
const write = mailboxWriteKey(W, 3, frank.device)
const read = signingKey(seedOf('mailbox', 'frank'))
const item = Uint8Array.of(1, 2, 3)
const put = signPut({ key: write, reader: read.public, ttl: 1_000, item }) as MailboxMessageOf<'put'>
const place = { nonce: 'aa'.repeat(32), server: 'bb'.repeat(32) }
const open = signOpen({ key: read, writer: write.public, ...place }) as MailboxMessageOf<'open'>

describe('the name of a mailbox', () => {
  test('is another for each device, epoch, workspace and reader', () => {
    const writers = [
      write,
      mailboxWriteKey(W, 3, bob.device),
      mailboxWriteKey(W, 4, frank.device),
      mailboxWriteKey(seedOf('other key'), 3, frank.device),
    ]
    const names = writers.flatMap((writer) =>
      [read, signingKey(seedOf('mailbox', 'bob'))].map((reader) =>
        mailboxId({ writer: writer.public, reader: reader.public }),
      ),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  test('changes where writer and reader change places', () => {
    expect(mailboxId({ writer: read.public, reader: write.public })).not.toBe(
      mailboxId({ writer: write.public, reader: read.public }),
    )
  })

  property.prop([fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 })])(
    'an item has one name in a mailbox and another in the next',
    (one, other) => {
      expect(mailboxItemId(ID, one) === mailboxItemId(ID, other)).toBe(Buffer.compare(one, other) === 0)
      expect(mailboxItemId(ID, one)).not.toBe(mailboxItemId('cd'.repeat(32), one))
    },
  )
})

describe('a put', () => {
  test('is let in as its writer key signed it', () => {
    expect(checkPut(put)).toBe(true)
  })

  test.each([
    ['another item', { item: Uint8Array.of(1, 2, 4) }],
    ['another time', { ttl: 1_001 }],
    ['another reader', { reader: bob.device }],
    ['another writer', { writer: bob.device }],
    ['a signature for opening', { sig: open.sig }],
  ])('is not let in with %s', (_, change) => {
    expect(checkPut({ ...put, ...change })).toBe(false)
  })
})

describe('an open', () => {
  test('is let in as its reader key signed it', () => {
    expect(checkOpen(open, place)).toBe(true)
  })

  test.each([
    ['on another stream', {}, { nonce: ID }],
    ['at another server', {}, { server: ID }],
    ['of another mailbox', { writer: bob.device }, {}],
    ['by another key', { reader: bob.device }, {}],
    ['with the signature of a put', { sig: put.sig }, {}],
  ])('is not let in %s', (_, change, elsewhere) => {
    expect(checkOpen({ ...open, ...change }, { ...place, ...elsewhere })).toBe(false)
  })

  test('by the key that may write is an open of another mailbox', () => {
    const wrong = signOpen({ key: write, writer: write.public, ...place }) as MailboxMessageOf<'open'>
    expect(mailboxId(wrong)).not.toBe(mailboxId(open))
    expect(checkOpen({ ...wrong, reader: read.public }, place)).toBe(false)
  })
})

test.each(MAILBOX_MESSAGES)('a $t parses to what was encoded', (message) => {
  expect(parseMailbox(encodeMailbox(message))).toEqual({ ok: true, value: message })
})

test.each([
  ['of no type', {}],
  ['with a key too many', { t: 'stored', id: fromHex(ID), at: 1 }],
  ['with a negative time', { t: 'welcome', v: 1, nonce: fromHex(ID), ttl: -1 }],
  ['with a reason that is not on the list', { t: 'turned-away', id: fromHex(ID), why: 'because' }],
  [
    'that drops more than a mailbox holds',
    { t: 'drop', mailbox: fromHex(ID), ids: Array.from({ length: MAILBOX_ITEMS_COUNT_MAX + 1 }, () => fromHex(ID)) },
  ],
])('a message %s is refused', (_, value) => {
  expect(parseMailbox(encodeCanonical(value))).toMatchObject({ ok: false, refusal: 'message' })
})

test('an item of the largest size fits into a frame, and one byte more is too large', () => {
  const largest = new Uint8Array(MAILBOX_ITEM_SIZE_BYTES_MAX)
  const message = signPut({ key: write, reader: read.public, ttl: 1, item: largest })
  expect(parseMailbox(encodeMailbox(message))).toMatchObject({ ok: true })
  expect(fitsMailbox(largest)).toBe(true)
  expect(fitsMailbox(new Uint8Array(MAILBOX_ITEM_SIZE_BYTES_MAX + 1))).toBe(false)
})
