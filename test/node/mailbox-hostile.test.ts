/** Servers that drop, replay, reorder, withhold or serve garbage, mailboxes that are full, and teammates who fill them: it costs time, and nothing else. */
import { describe, expect, test } from 'vitest'
import {
  encodeMailbox,
  type Mail,
  mailboxId,
  mailboxItemId,
  type MailboxMessageOf,
  mailboxWriteKey,
  openPrekey,
  parseMailbox,
  sealMail,
  signPut,
  toHex,
} from '../../protocol/index.ts'
import type { FrameStream } from '../../src/net/net.ts'
import type { OnMailbox } from '../../src/net/memory-servers.ts'
import { actor, dice } from '../cast.ts'
import { sealedStory, workspaceOn } from './impostor.ts'
import { itemsAt, withPost } from './mailboxes.ts'
import { handOff, inboxItem, type Laptop, says, SESSION, view, viewOnce, type World } from './world.ts'

type Items = MailboxMessageOf<'items'>['items']

/** A server that changes what it gives. */
const giving =
  (change: (items: Items) => Items) =>
  (serve: OnMailbox): OnMailbox =>
  (stream) =>
    serve({
      ...stream,
      device: stream.device,
      send(frame) {
        const message = parseMailbox(frame)
        if (!message.ok || message.value.t !== 'items') return stream.send(frame)
        return stream.send(encodeMailbox({ ...message.value, items: change(message.value.items) }))
      },
    })

const left = (world: World, at: Laptop, id: string) =>
  viewOnce(world, at, id, ({ delivery }) => delivery.carriers !== undefined)

/** What bob left for frank by way of such a server, and frank who came for it. */
async function fetched(around?: (serve: OnMailbox) => OnMailbox, texts: readonly string[] = ['one', 'two', 'three']) {
  const here = await withPost(around ? { around } : {})
  const { world, start, bob, frank } = here
  await start(bob)
  const [first = '', ...more] = texts
  const { thread_id } = await handOff(bob, 'frank', first)
  for (const text of more) await bob.node.sendMessage({ thread_id, message: says(text) }, SESSION)
  await left(world, bob, thread_id)
  await bob.stop()
  await start(frank)
  return { ...here, thread_id }
}

describe('a server that', () => {
  test('withholds everything: the sender delivers it itself', async () => {
    const { world, start, bob, frank, thread_id } = await fetched(giving(() => []))
    await world.until('frank is connected', async () => (await frank.node.status()).bootstrap[0]?.connected)
    expect(await inboxItem(frank, thread_id)).toBeUndefined()
    await start(bob)
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
  })

  test('gives everything backwards, and twice: the thread is as it was written', async () => {
    const { world, frank, thread_id } = await fetched(giving((items) => [...items.toReversed(), ...items]))
    const seen = await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 3)
    expect(seen.entries.map(({ sequence_no }) => sequence_no)).toEqual([1, 3, 5])
    expect(seen.unread_count).toBe(3)
  })

  test('withholds the end: it comes with the next beacon of who has it', async () => {
    const { world, start, bob, frank, thread_id } = await fetched(giving((items) => items.slice(0, 1)))
    await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 1)
    await start(bob)
    await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 3)
  })

  test('gives items another name, or bytes that nobody sealed: it is hung up on, and whoever sent them delivers them', async () => {
    const garbage = giving((items) => items.map(([id, item]) => [id, item.map((byte) => byte ^ 1)]))
    const { world, start, bob, frank, thread_id } = await fetched(garbage)
    await world.until('frank is connected', async () => (await frank.node.status()).bootstrap[0]?.connected)
    expect(await inboxItem(frank, thread_id)).toBeUndefined()
    await start(bob)
    await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 3)
  })

  test('forgets what it said that it keeps: nothing was deleted because of its word', async () => {
    const { world, post, start, bob, frank } = await withPost()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'forgotten')
    await left(world, bob, thread_id)
    for (const space of ['mailbox', 'item'] as const)
      await post.disk.write((await post.disk.rows(space)).map(([key]) => ({ type: 'del', space, key })))
    await start(frank)
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
  })

  test('speaks no word of the protocol, or says nothing: the node goes on without it', async () => {
    for (const around of [
      (): OnMailbox => (stream: FrameStream) => stream.send(Uint8Array.of(1, 2, 3)),
      (): OnMailbox => () => new Promise(() => undefined),
    ]) {
      const { world, start, bob, frank } = await withPost({ around })
      await start(bob)
      const { thread_id } = await handOff(bob, 'frank', 'all the same')
      await start(frank)
      await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
      expect((await view(bob, thread_id)).delivery).not.toHaveProperty('carriers')
    }
  })
})

describe('a mailbox that is full, or a server that takes nothing', () => {
  test.each([
    ['mailbox_full', { mailboxItems: 2 }],
    ['server_full', { items: 2 }],
    ['writer_quota', { writerItems: 2 }],
  ] as const)('%s: what fits is left, the rest stays owed, and it is said why', async (why, limits) => {
    const { world, post, start, bob, frank } = await withPost({ limits })
    await start(bob)
    const ids: string[] = []
    for (const text of ['one', 'two', 'three', 'four']) ids.push((await handOff(bob, 'frank', text)).thread_id)
    const fact = await world.until(
      'it is said',
      async () => (await bob.node.status()).bootstrap[0]?.mailbox?.turned_away[0],
    )
    expect(fact).toMatchObject({ why, device: 'frank/frank-laptop' })
    expect(itemsAt(post)).toBe(2)
    expect((await bob.node.status()).outbox).toBe(4)
    await bob.stop()
    await start(frank)
    await viewOnce(world, frank, ids[0] ?? '', ({ entries }) => entries[0]?.body === 'ok')
    await world.until('frank emptied it', () => itemsAt(post) <= 2)
    await frank.stop()
    await start(bob)
    world.clock.advance(11 * 60_000)
    await start(frank)
    await viewOnce(world, frank, ids[3] ?? '', ({ entries }) => entries[0]?.body === 'ok')
  })
})

describe('a teammate who fills the mailbox of another', () => {
  /** Puts mail of mallory's into frank's mailbox. */
  async function fill(mail: (here: Awaited<ReturnType<typeof withPost>>) => Promise<Mail[]> | Mail[]) {
    const here = await withPost()
    const { world, post, start, frank } = here
    const secrets = new Map(await here.bob.disk.rows('secret'))
    const w = secrets.get('workspace/0')
    const prekeys = await here.bob.disk.rows('prekey')
    const record = openPrekey(prekeys.find(([device]) => device === frank.device)?.[1] ?? new Uint8Array())
    if (!w || !record.ok) throw new Error('bob holds the workspace key and the record of frank')
    const key = mailboxWriteKey(w, 0, frank.device)
    const reader = record.value.mailbox
    const net = world.hub.net(here.carol.device, here.carol.system)
    await net.start({
      onSync: async () => undefined,
      onJoin: async () => undefined,
      onGossip: async () => 'ignore',
      onPeerChange: () => undefined,
      onBootstrapChange: () => undefined,
    })
    net.setBootstrap([post.server.address])
    await world.until('it is connected', () => net.bootstrap()[0]?.connected)
    const stream = await net.openMailbox(post.device, new AbortController().signal)
    await stream.receive()
    const ids: string[] = []
    for (const one of await mail(here)) {
      const item = sealMail(one, { key: w, epoch: 0 })
      await stream.send(encodeMailbox(signPut({ key, reader, ttl: 60_000 * 60, item })))
      ids.push(mailboxItemId(mailboxId({ writer: key.public, reader }), item))
    }
    await world.until('all is stored', () => itemsAt(post) === ids.length)
    await net.stop()
    await start(frank)
    return here
  }

  test('with mail that means nothing: it is taken out', async () => {
    const { world, post, frank } = await fill(() => [
      { t: 'entry', envelope: Uint8Array.of(1, 2, 3), body: null },
      { t: 'workspace', roster: [Uint8Array.of(9)], prekeys: [Uint8Array.of(8)] },
    ])
    await world.until('it is empty', () => itemsAt(post) === 0)
    expect((await frank.node.status()).threads).toBe(0)
  })

  test('with entries whose parents never come, and pieces of nothing: they wait there, and true mail comes through', async () => {
    const { world, post, start, bob, frank } = await fill(async (here) => {
      const laptop = here.carol
      const carol = actor('carol')
      const story = await sealedStory({
        workspace: await workspaceOn(laptop.disk),
        disk: laptop.disk,
        from: carol,
        to: actor('frank'),
        body: { summary: 'never sent', artifacts: [] },
        dice: dice('orphans'),
      })
      const orphan = story.seal(carol, 'message', { body: 'an orphan', artifacts: [] })
      const pieces = Array.from({ length: 40 }, (_, i): Mail => {
        const name = toHex(dice(`piece ${i}`)(32))
        return { t: 'piece', th: name, entry: name, at: 0, of: 5, bytes: new Uint8Array(60 * 1024) }
      })
      return [{ t: 'entry', envelope: orphan.entry.envelope, body: orphan.body }, ...pieces]
    })
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'true')
    await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
    expect(itemsAt(post)).toBe(41)
    expect((await frank.node.status()).bootstrap[0]?.mailbox?.waiting).toBe(41)
    world.clock.advance(11 * 60_000)
    expect((await frank.node.status()).threads).toBe(1)
  })
})
