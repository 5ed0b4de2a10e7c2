/** Two laptops that never meet hand work to each other by way of a bootstrap server that can read none of it. */
import { describe, expect, test } from 'vitest'
import { itemsAt, openPost, withPost } from './mailboxes.ts'
import { handOff, plain, says, SESSION, type Laptop, textsOf, view, viewOnce, type World } from './world.ts'

const LARGE = 'x'.repeat(200 * 1024)

const left = (world: World, at: Laptop, id: string) =>
  viewOnce(world, at, id, ({ delivery }) => delivery.carriers !== undefined)

describe('a handoff to a laptop that is away', () => {
  test.each([
    ['small', 'short'],
    ['of several items', LARGE],
  ])('lies in its mailbox until it comes: %s', async (_size, text) => {
    const { world, post, start, bob, frank } = await withPost()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', text)
    const { delivery } = await left(world, bob, thread_id)
    expect(delivery).toEqual({
      stored_here: true,
      carriers: [{ name: expect.stringMatching(/^mailbox at /) as string, at: expect.any(String) as string }],
    })
    await bob.stop()
    await start(frank)
    const seen = await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
    expect(plain(seen.entries[0]?.content)?.summary).toBe(text)
    await world.until('what frank fetched is gone', () => itemsAt(post) === 1 || itemsAt(post) === 0)
    await frank.node.accept({ thread_id }, SESSION)
    await world.until('his answer lies in bob’s mailbox', () => itemsAt(post) >= 2)
    await frank.stop()
    await start(bob)
    const back = await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
    expect(back.delivery).toMatchObject({
      carriers: [{ name: expect.stringMatching(/^mailbox at /) as string }],
      delivered: [{ device: 'frank/frank-laptop' }],
      accepted: { device: 'frank/frank-laptop' },
    })
    await world.until('nothing is owed', async () => (await bob.node.status()).outbox === 0)
  })

  test('is known to be delivered by a receipt alone, though the two never meet', async () => {
    const { world, start, bob, frank, post } = await withPost()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'read this')
    await left(world, bob, thread_id)
    await bob.stop()
    await start(frank)
    await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
    await world.until('his receipt lies in bob’s mailbox', () => itemsAt(post) === 1)
    await frank.stop()
    await start(bob)
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
    await world.until('it is empty', () => itemsAt(post) === 0)
  })

  test('goes on with what was said meanwhile: each side builds on the other’s, one after the other', async () => {
    const { world, start, bob, frank, post } = await withPost()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'one')
    await left(world, bob, thread_id)
    let [here, there] = [frank, bob]
    for (let i = 2; i <= 6; i++) {
      await there.stop()
      await start(here)
      await viewOnce(world, here, thread_id, ({ entries }) => entries.length === i - 1)
      const before = itemsAt(post)
      await here.node.sendMessage({ thread_id, message: says(`${i}`) }, SESSION)
      await world.until('it is left', async () => (await view(here, thread_id)).delivery.carriers !== undefined)
      expect(itemsAt(post)).toBeGreaterThanOrEqual(before)
      ;[here, there] = [there, here]
    }
    expect(textsOf(await view(there, thread_id))).toEqual(['one', '2', '3', '4', '5', '6'])
  })
})

describe('what is left', () => {
  test('is left once, over a restart too, and no more once it was acknowledged', async () => {
    const { world, post, start, bob, frank } = await withPost()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'once')
    await left(world, bob, thread_id)
    expect(itemsAt(post)).toBe(1)
    await bob.stop()
    await start(bob)
    world.clock.advance(5 * 60_000)
    const other = await handOff(bob, 'frank', 'twice')
    await left(world, bob, other.thread_id)
    expect(itemsAt(post)).toBe(2)
    await start(frank)
    await world.connected()
    await viewOnce(world, bob, other.thread_id, ({ delivery }) => delivery.delivered !== undefined)
    await world.until('frank emptied it', () => itemsAt(post) === 0)
    await frank.stop()
    world.clock.advance(5 * 60_000)
    expect(itemsAt(post)).toBe(0)
  })

  test('goes nowhere while the other side is connected, or where mailboxes are not wanted', async () => {
    const { world, post, start, bob, frank } = await withPost()
    await start(bob)
    await start(frank)
    await world.connected()
    const { thread_id } = await handOff(bob, 'frank', 'directly')
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.delivered !== undefined)
    await frank.stop()
    await bob.stop()
    await bob.start({ bootstrap: [post.server.address] })
    await handOff(bob, 'frank', 'later')
    world.clock.advance(5 * 60_000)
    expect(itemsAt(post)).toBe(0)
    expect((await bob.node.status()).bootstrap[0]).not.toHaveProperty('mailbox')
  })

  test('is left at every server, and losing one loses nothing', async () => {
    const { world, post, bob, frank } = await withPost()
    const second = await openPost(world, { name: 'second' })
    const bootstrap = [post.server.address, second.server.address]
    await bob.start({ mailbox: true, bootstrap })
    const { thread_id } = await handOff(bob, 'frank', 'at both')
    await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.carriers?.length === 2)
    await bob.stop()
    post.server.close()
    await frank.start({ mailbox: true, bootstrap })
    await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
  })

  test('waits for a server that was not there, and is left when it comes back', async () => {
    const { world, post, start, bob } = await withPost()
    post.server.close()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'patience')
    world.hub.bootstrap(post.device, (stream) => post.service.serve(stream))
    await left(world, bob, thread_id)
  })

  test('cannot be read where it lies: no header, no name, no text', async () => {
    const { world, post, start, bob } = await withPost()
    await start(bob)
    const { thread_id } = await handOff(bob, 'frank', 'a secret plan')
    await left(world, bob, thread_id)
    const image = Buffer.from(await post.disk.image(), 'utf8').toString()
    for (const text of ['a secret plan', 'frank', 'bob', 'acme', 'create', 'inform', frankKey()])
      expect(image).not.toContain(Buffer.from(text).toString('hex'))
    const entries = await bob.disk.rows('entry')
    expect(image).not.toContain(
      Buffer.from(entries[0]?.[1] ?? [])
        .toString('hex')
        .slice(80, 200),
    )

    function frankKey(): string {
      return world.laptop('frank').device
    }
  })
})

test('what a newcomer joined lies in a mailbox together with the roster that says so', async () => {
  const { world, post, start, bob, frank } = await withPost()
  await start(bob)
  const dave = await world.stranger('dave')
  await start(dave)
  const { code } = await bob.node.invite({ name: 'dave', standalone: true })
  await dave.node.join({ code })
  await world.connected()
  const { thread_id } = await handOff(dave, 'frank', 'from someone new')
  await left(world, dave, thread_id)
  await dave.stop()
  await bob.stop()
  expect(frank.running).toBe(false)
  await start(frank)
  const seen = await viewOnce(world, frank, thread_id, ({ entries }) => entries[0]?.body === 'ok')
  expect(seen.from.handle).toBe('dave@acme')
  expect(post.service.facts().refusals.signature).toBe(0)
})
