import { describe, expect, test } from 'vitest'
import {
  encodeMailbox,
  MAILBOX_ITEM_SIZE_BYTES_MAX,
  mailboxItemId,
  type MailboxMessage,
  signOpen,
  signPut,
} from '../../protocol/index.ts'
import { createMailboxService } from '../../src/bootstrap/mailbox.ts'
import { memoryStreams } from '../../src/net/memory-stream.ts'
import { openMemoryStore } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { SILENT_LOG } from '../../src/system.ts'
import { alice, bob, dice, frank, mallory } from '../cast.ts'
import { testClock } from '../node/clock.ts'
import { boxOf, DAY_MS, forged, item, postOffice, SERVER, visit } from './post-office.ts'

const FRANKS = boxOf(frank)
const ALICES = boxOf(alice)

describe('an item', () => {
  test('is told to be stored, and waits for the device it is for', async () => {
    const office = await postOffice()
    const bobs = await office.visit(bob)
    const first = item('first')
    const second = item('second')
    expect(await bobs.put(FRANKS, first)).toEqual({ t: 'stored', id: mailboxItemId(FRANKS.id, first) })
    await bobs.put(FRANKS, second)
    await bobs.put(ALICES, item('other'))
    const franks = await office.visit(frank)
    expect(await franks.fetch(FRANKS)).toEqual([first, second])
    expect(office.service.facts()).toMatchObject({ mailboxes: 2, items: 3, streams: 2 })
  })

  test('comes at once where its mailbox is open', async () => {
    const office = await postOffice()
    const franks = await office.visit(frank)
    expect(await franks.fetch(FRANKS)).toEqual([])
    const bobs = await office.visit(bob)
    const news = item('news')
    await bobs.put(FRANKS, news)
    expect(await franks.hear('items')).toEqual({
      t: 'items',
      mailbox: FRANKS.id,
      items: [[mailboxItemId(FRANKS.id, news), news]],
      more: false,
    })
  })

  test('is kept once, however often and by whomever it is put', async () => {
    const office = await postOffice()
    const same = item('same')
    for (const who of [bob, bob, alice]) {
      const there = await office.visit(who)
      expect(await there.put(FRANKS, same)).toMatchObject({ t: 'stored' })
    }
    const franks = await office.visit(frank)
    expect(await franks.fetch(FRANKS)).toEqual([same])
    expect(office.service.facts()).toMatchObject({ items: 1 })
  })

  test('comes in frames that fit, oldest first, however much there is', async () => {
    const office = await postOffice()
    const bobs = await office.visit(bob)
    const sizes = [60_000, 10, MAILBOX_ITEM_SIZE_BYTES_MAX, 30_000, 30_000, 30_000, 7]
    const contents = sizes.map((size, index) => item(String(index), size))
    for (const content of contents) await bobs.put(FRANKS, content)
    const small = Array.from({ length: 300 }, (_, index) => item(`small ${index}`, 40))
    for (const content of small) await bobs.put(FRANKS, content)
    const franks = await office.visit(frank)
    expect(await franks.fetch(FRANKS)).toEqual([...contents, ...small])
  })

  test('is gone once its device has dropped it, from the disk too', async () => {
    const office = await postOffice()
    const bobs = await office.visit(bob)
    const contents = [item('a'), item('b')]
    for (const content of contents) await bobs.put(FRANKS, content)
    const franks = await office.visit(frank)
    await franks.fetch(FRANKS)
    await franks.drop(
      FRANKS,
      contents.map((content) => mailboxItemId(FRANKS.id, content)),
    )
    expect(office.service.facts()).toMatchObject({ mailboxes: 0, items: 0, bytes: 0 })
    for (const space of ['mailbox', 'item'] as const)
      for await (const row of office.store.range(space)) expect(row).toBeUndefined()
  })

  test('runs out, at the latest when the server says, and is swept from the disk', async () => {
    const office = await postOffice({ limits: { ttlMs: 2 * DAY_MS } })
    const bobs = await office.visit(bob)
    expect(bobs.welcome.ttl).toBe(2 * DAY_MS)
    await bobs.put(FRANKS, item('short'), DAY_MS)
    await bobs.put(FRANKS, item('long'), 300 * DAY_MS)
    office.clock.advance(DAY_MS)
    const franks = await office.visit(frank)
    expect(await franks.fetch(FRANKS)).toEqual([item('long')])
    expect(office.service.facts()).toMatchObject({ items: 1 })
    office.clock.advance(DAY_MS)
    expect(office.service.facts()).toMatchObject({ items: 0, bytes: 0 })
    await office.store.batch([]) // Waits for the batch before.
    for await (const row of office.store.range('item')) expect(row).toBeUndefined()
  })

  test('that is put again is kept as long as the later wish says', async () => {
    const office = await postOffice()
    const bobs = await office.visit(bob)
    await bobs.put(FRANKS, item('a'), DAY_MS)
    await bobs.put(FRANKS, item('a'), 3 * DAY_MS)
    await bobs.put(FRANKS, item('a'), DAY_MS)
    office.clock.advance(2 * DAY_MS)
    const franks = await office.visit(frank)
    expect(await franks.fetch(FRANKS)).toEqual([item('a')])
  })
})

describe('is turned away by name:', () => {
  const size = 100
  const cost = size + 512

  test.each([
    ['mailbox_full', { mailboxItems: 2 }],
    ['mailbox_full', { mailboxBytes: 2 * cost }],
    ['writer_quota', { writerItems: 2 }],
    ['writer_quota', { writerBytes: 2 * cost }],
    ['server_full', { items: 2 }],
    ['server_full', { diskBytes: 2 * cost }],
  ] as const)('%s, with %o', async (why, limits) => {
    const office = await postOffice({ limits })
    const bobs = await office.visit(bob)
    for (const label of ['a', 'b']) expect(await bobs.put(FRANKS, item(label, size))).toMatchObject({ t: 'stored' })
    const third = item('c', size)
    expect(await bobs.put(FRANKS, third)).toEqual({ t: 'turned-away', id: mailboxItemId(FRANKS.id, third), why })
    expect(office.service.facts().refusals[why]).toBe(1)
    // What is there already costs nothing more, and what is dropped makes room.
    expect(await bobs.put(FRANKS, item('b', size))).toMatchObject({ t: 'stored' })
    const franks = await office.visit(frank)
    await franks.fetch(FRANKS)
    await franks.drop(FRANKS, [mailboxItemId(FRANKS.id, item('a', size))])
    expect(await bobs.put(FRANKS, third)).toMatchObject({ t: 'stored' })
  })

  test('too_large', async () => {
    const office = await postOffice()
    const bobs = await office.visit(bob)
    expect(await bobs.put(FRANKS, item('a', MAILBOX_ITEM_SIZE_BYTES_MAX + 1))).toMatchObject({ why: 'too_large' })
  })

  test('one writer’s quota is no other’s', async () => {
    const office = await postOffice({ limits: { writerItems: 1 } })
    const bobs = await office.visit(bob)
    await bobs.put(FRANKS, item('a'))
    expect(await bobs.put(ALICES, item('b'))).toMatchObject({ why: 'writer_quota' })
    const alices = await office.visit(alice)
    expect(await alices.put(FRANKS, item('c'))).toMatchObject({ t: 'stored' })
  })

  test('not_offered, where no mailbox is kept', async () => {
    const service = await createMailboxService({
      store: undefined,
      system: { clock: testClock(), dice: dice('server'), log: SILENT_LOG },
      device: SERVER,
    })
    const bobs = await visit(service, bob)
    expect(await bobs.put(FRANKS, item('a'))).toMatchObject({ why: 'not_offered' })
    expect(await bobs.fetch(FRANKS)).toEqual([])
  })
})

describe('whoever breaks a rule loses the stream, and nothing changes:', () => {
  const put = (content = item('a')) =>
    signPut({ key: FRANKS.write, reader: FRANKS.read.public, ttl: DAY_MS, item: content })

  test('a put that the writer key did not sign', async () => {
    const office = await postOffice()
    const others = signPut({ key: mallory.key, reader: FRANKS.read.public, ttl: DAY_MS, item: item('a') })
    const faults: MailboxMessage[] = [
      forged(put()),
      { ...put(), ttl: 2 * DAY_MS } as MailboxMessage,
      { ...put(), item: item('b') } as MailboxMessage,
      { ...others, writer: FRANKS.write.public } as MailboxMessage,
    ]
    for (const fault of faults) {
      const there = await office.visit(mallory)
      await there.say(fault)
      expect(await there.ended()).toContain('signature')
    }
    expect(office.service.facts()).toMatchObject({ items: 0, refusals: { signature: faults.length } })
  })

  test('an open that was made for another stream, another server or another mailbox, or by another key', async () => {
    const office = await postOffice()
    const bobs = await office.visit(bob)
    await bobs.put(FRANKS, item('a'))
    const franks = await office.visit(frank)
    const { nonce } = franks.welcome
    const writer = FRANKS.write.public
    const mallorys = await office.visit(mallory)
    const faults = [
      // Heard on Frank's stream, said on another.
      signOpen({ key: FRANKS.read, writer, nonce, server: SERVER }),
      // Got from Frank by a server that passed this one's nonce on.
      signOpen({ key: FRANKS.read, writer, nonce: mallorys.welcome.nonce, server: mallory.device }),
      signOpen({ key: FRANKS.read, writer: ALICES.write.public, nonce, server: SERVER }),
      { ...signOpen({ key: mallory.key, writer, nonce, server: SERVER }), reader: FRANKS.read.public },
    ] as MailboxMessage[]
    for (const [index, fault] of faults.entries()) {
      const there = index === 1 ? mallorys : await office.visit(mallory)
      await there.say(fault)
      expect(await there.ended()).toContain('signature')
    }
    expect(await franks.fetch(FRANKS)).toEqual([item('a')])
  })

  test('a drop in a mailbox that was not opened on this stream', async () => {
    const office = await postOffice()
    const mallorys = await office.visit(mallory)
    await mallorys.put(FRANKS, item('a'))
    await mallorys.fetch(boxOf(mallory))
    await mallorys.say({ t: 'drop', mailbox: FRANKS.id, ids: [mailboxItemId(FRANKS.id, item('a'))] })
    expect(await mallorys.ended()).toContain('not_open')
    expect(office.service.facts()).toMatchObject({ items: 1 })
  })

  test('a message that only a server says, and bytes that are no message', async () => {
    const office = await postOffice()
    for (const frame of [encodeMailbox({ t: 'stored', id: FRANKS.id }), new Uint8Array([1, 2, 3]), new Uint8Array()]) {
      const there = await office.visit(mallory)
      await there.stream.send(frame)
      expect(await there.ended()).toContain('message')
    }
  })

  test('a stream or an open too many', async () => {
    const office = await postOffice({ limits: { streamsPerDevice: 2, openPerStream: 1 } })
    const franks = await office.visit(frank)
    await office.visit(frank)
    const [stream, counter] = memoryStreams(frank.device, SERVER)
    await office.service.serve(counter)
    await expect(stream.receive()).rejects.toThrow('too many')
    await franks.fetch(FRANKS)
    expect(await franks.fetch(FRANKS)).toEqual([]) // The same again is the same.
    await franks.open(ALICES)
    expect(await franks.ended()).toContain('open')
    expect(office.service.facts().refusals).toMatchObject({ streams: 1, open: 1 })
  })
})

test('a device that does not read costs what is on its way and one batch, and gets everything once it reads', async () => {
  const store = await openMemoryStore()
  let reads = 0
  const get: Store['get'] = (space, key) => {
    reads += 1
    return store.get(space, key)
  }
  const office = await postOffice({ store: { ...store, get } })
  const content = (index: number): Uint8Array => item(String(index), 60_000)
  const bobs = await office.visit(bob)
  const franks = await office.visit(frank)
  await franks.fetch(FRANKS)
  for (let index = 0; index < 100; index++) await bobs.put(FRANKS, content(index))
  // The memory stream takes a mebibyte before it makes its sender wait.
  expect(reads).toBeLessThan(25)
  const found: Uint8Array[] = []
  while (found.length < 100) found.push(...(await franks.hear('items')).items.map(([, bytes]) => bytes))
  expect(found).toEqual(Array.from({ length: 100 }, (_, index) => content(index)))
})

test('a device that says too much is answered at the pace of the server', async () => {
  const office = await postOffice({ limits: { messagesPerMinute: 3 } })
  const bobs = await office.visit(bob)
  for (const label of ['a', 'b', 'c']) expect(await bobs.put(FRANKS, item(label))).toMatchObject({ t: 'stored' })
  let answered = false
  const fourth = bobs.put(FRANKS, item('d')).then(() => (answered = true))
  const alices = await office.visit(alice)
  await alices.put(FRANKS, item('e')) // Others are served meanwhile.
  expect(answered).toBe(false)
  office.clock.advance(20_000)
  await fourth
  expect(office.service.facts()).toMatchObject({ items: 5 })
})
