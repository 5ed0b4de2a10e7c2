import { describe, expect, test } from 'vitest'
import { createMemoryHub } from '../../src/net/memory-net.ts'
import type { Net } from '../../src/net/net.ts'
import { realSystem } from '../../src/system.ts'
import { netContract } from './contract.ts'
import { removedContract } from './contract-removed.ts'
import { type Diary, diary, published, seedOf, team, until, type World } from './world.ts'

const deviceOf = (name: string): string => Buffer.from(seedOf(name)).toString('hex')

function memoryWorld(): World {
  const hub = createMemoryHub(realSystem())
  const nets: Net[] = []
  return {
    async make(name, system) {
      const net = hub.net(deviceOf(name), system)
      nets.push(net)
      return net
    },
    separate: (one, other) => hub.cut(one, other),
    whyNoSearch: async () => undefined,
    async close() {
      await Promise.all(nets.map((net) => net.stop()))
    },
  }
}

netContract('the net in memory', memoryWorld)
removedContract('the net in memory', memoryWorld)

describe('the hub of a net in memory', () => {
  async function three() {
    const hub = createMemoryHub(realSystem())
    const books = ['a', 'b', 'c'].map((name) => diary(hub.net(deviceOf(name))))
    const [a, b, c] = books
    if (a === undefined || b === undefined || c === undefined) throw new Error('three names, three nodes')
    await Promise.all(books.map((book) => book.net.start(book.handlers)))
    for (const { net } of books) net.setTopics(['topic'])
    team(a, b, c)
    await until(() => books.every(({ syncsRunning }) => syncsRunning === 2))
    return { hub, a, b, c }
  }
  const heard = (book: Diary): string[] => book.gossip.map(({ text }) => text)

  test('a link that is cut breaks the stream and carries nothing; healed, it is as before', async () => {
    const { hub, a, b, c } = await three()
    hub.cut(a.net.device, b.net.device)
    await until(() => a.syncsRunning === 1 && b.syncsRunning === 1 && c.syncsRunning === 2)
    expect(a.changes.at(-1)).toMatchObject({ device: b.net.device, connected: false })
    await published(a, 'topic', 'by another way')
    await until(() => heard(b).length === 1)
    expect(b.gossip[0]?.from).toBe(c.net.device)
    hub.heal(a.net.device, b.net.device)
    await until(() => a.syncsRunning === 2 && b.syncsRunning === 2)
  })

  test('gossip can be lost and can be late, hop by hop', async () => {
    const { hub, a, b, c } = await three()
    hub.setGossipFault(({ from, to }) =>
      from === a.net.device && to === b.net.device ? 'drop' : from === c.net.device ? { delayMs: 50 } : 'pass',
    )
    expect(await a.net.publish('topic', Buffer.from('news'))).toBe(2)
    await until(() => heard(c).length === 1)
    expect(heard(b)).toEqual([])
    await until(() => heard(b).length === 1)
    expect(b.gossip[0]?.from).toBe(c.net.device)
  })
})
