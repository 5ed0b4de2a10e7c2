import { once } from 'node:events'
import { expect, test } from 'vitest'
import { type Hex, mailboxItemId, type MailboxMessage } from '../../protocol/index.ts'
import { frank } from '../cast.ts'
import { type Laptop, laptop } from '../cli/laptop.ts'
import { type Front, startFront } from './front.ts'
import { guest } from './libp2p-world.ts'
import { boxOf, DAY_MS, item, visitOn } from './post-office.ts'

const FRANKS = boxOf(frank)

const start = (host: Laptop, options = ''): Promise<Front> =>
  startFront(host.spawn(`bootstrap --listen 127.0.0.1:0 --stun-port 0 --json ${options}`))

const addressOf = ({ ready }: Front): string => String((ready['addresses'] as string[])[0])

test('what was told to be stored is there after kill -9 in the middle of a flood', async () => {
  await using host = laptop()
  const stored = new Set<Hex>()
  for (const round of [0, 1, 2]) {
    await using front = await start(host)
    const bob = await guest(`bob ${round}`)
    const bobs = await visitOn(await bob.mailbox(addressOf(front)))
    let answers = 0
    const ended = once(front.child, 'exit')
    try {
      for (let index = 0; ; index++) {
        const content = item(`${round} ${index}`, 2_000)
        const answer: MailboxMessage = await bobs.put(FRANKS, content)
        expect(answer).toEqual({ t: 'stored', id: mailboxItemId(FRANKS.id, content) })
        if (answer.t === 'stored') stored.add(answer.id)
        answers += 1
        // The next put is on its way when the process dies.
        if (answers === 40) queueMicrotask(() => front.child.kill('SIGKILL'))
      }
    } catch (error) {
      expect(String(error)).toMatch(/stream|closed/)
    }
    await ended
  }
  await using front = await start(host)
  const { guest: node, ...franks } = await guest('frank')
  const visit = await visitOn(await franks.mailbox(addressOf(front)))
  const found = new Set((await visit.fetch(FRANKS)).map((content) => mailboxItemId(FRANKS.id, content)))
  expect(stored.size).toBeGreaterThanOrEqual(120)
  expect([...stored].filter((id) => !found.has(id))).toEqual([])
  await visit.drop(FRANKS, [...found])
  expect(await (await visitOn(await franks.mailbox(addressOf(front)))).fetch(FRANKS)).toEqual([])
  await node.stop()
})

test('keeps to the disk it was given, and keeps nothing where it shall keep nothing', async () => {
  await using host = laptop()
  {
    await using front = await start(host, '--disk 2K')
    expect(front.ready['mailbox']).toBe(true)
    const bob = await guest('bob')
    const bobs = await visitOn(await bob.mailbox(addressOf(front)))
    expect(await bobs.put(FRANKS, item('a', 1_000))).toMatchObject({ t: 'stored' })
    expect(await bobs.put(FRANKS, item('b', 1_000), DAY_MS)).toMatchObject({ why: 'server_full' })
  }
  await using front = await start(host, '--no-mailbox')
  expect(front.ready['mailbox']).toBe(false)
  const bob = await guest('bob')
  const bobs = await visitOn(await bob.mailbox(addressOf(front)))
  expect(await bobs.put(FRANKS, item('c'))).toMatchObject({ why: 'not_offered' })
})
