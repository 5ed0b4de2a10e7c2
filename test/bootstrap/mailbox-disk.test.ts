import { expect, test } from 'vitest'
import { mailboxItemId } from '../../protocol/index.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { bob, frank } from '../cast.ts'
import { createDisk } from '../node/disk.ts'
import { temporaryFolder } from '../store/folder.ts'
import { boxOf, DAY_MS, item, postOffice } from './post-office.ts'

const FRANKS = boxOf(frank)

test('what was stored is there after a restart, in its order, with its quotas and for its time', async () => {
  const folder = await temporaryFolder()
  const limits = { mailboxItems: 3 }
  const first = await openLevelStore(folder)
  const before = await postOffice({ store: first, limits })
  const bobs = await before.visit(bob)
  await bobs.put(FRANKS, item('short'), DAY_MS)
  for (const label of ['b', 'a']) await bobs.put(FRANKS, item(label), 3 * DAY_MS)
  before.service.stop()
  await first.close()

  const second = await openLevelStore(folder)
  const after = await postOffice({ store: second, limits, clock: before.clock })
  expect(after.service.facts()).toMatchObject({ mailboxes: 1, items: 3, bytes: 3 * 612 })
  const again = await after.visit(bob)
  expect(await again.put(FRANKS, item('c'))).toMatchObject({ why: 'mailbox_full' })
  after.clock.advance(DAY_MS)
  await again.put(FRANKS, item('c'))
  const franks = await after.visit(frank)
  expect(await franks.fetch(FRANKS)).toEqual([item('b'), item('a'), item('c')])
  after.service.stop()
  await second.close()
})

test('an item that the disk did not take is turned away, and is not there', async () => {
  const disk = await createDisk()
  const office = await postOffice({ store: disk.open() })
  const bobs = await office.visit(bob)
  const franks = await office.visit(frank)
  await bobs.put(FRANKS, item('a'))
  disk.failNext('item')
  expect(await bobs.put(FRANKS, item('b'))).toEqual({
    t: 'turned-away',
    id: mailboxItemId(FRANKS.id, item('b')),
    why: 'server_full',
  })
  expect(office.service.facts()).toMatchObject({ items: 1 })
  // A store that failed takes nothing more until it is opened again; what it holds is handed out.
  expect(await bobs.put(FRANKS, item('c'))).toMatchObject({ why: 'server_full' })
  expect(await franks.fetch(FRANKS)).toEqual([item('a')])
  const later = await postOffice({ store: disk.open(), clock: office.clock })
  const again = await later.visit(bob)
  expect(await again.put(FRANKS, item('b'))).toMatchObject({ t: 'stored' })
})

test('an item is told and shown to nobody before it is on the disk', async () => {
  const disk = await createDisk()
  const store = disk.open()
  const gate = Promise.withResolvers<void>()
  const office = await postOffice({
    store: {
      ...store,
      async batch(writes) {
        await gate.promise
        await store.batch(writes)
      },
    },
  })
  const bobs = await office.visit(bob)
  const franks = await office.visit(frank)
  const heard: string[] = []
  const told = bobs.put(FRANKS, item('a')).then(({ t }) => heard.push(`bob: ${t}`))
  const shown = franks.fetch(FRANKS).then((items) => heard.push(`frank: ${items.length}`))
  await office.visit(frank) // A whole exchange passes.
  expect(heard).toEqual([])
  gate.resolve()
  await Promise.all([told, shown])
  expect(heard.toSorted()).toEqual(['bob: stored', 'frank: 1'])
})
