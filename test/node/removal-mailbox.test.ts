/** Mailboxes over a removal: everybody has new ones, and the old ones are emptied by those they are for. */
import { describe, expect, test } from 'vitest'
import { commitWorkspaceKey, wrapWorkspaceKey } from '../../protocol/index.ts'
import { putRosterEntry, putSecret } from '../../src/node/rows.ts'
import { mustAdmit } from '../cast.ts'
import { workspaceOn } from './impostor.ts'
import { itemsAt, withPost } from './mailboxes.ts'
import { prekeysOn } from './shut-out-laptop.ts'
import { handOff, inboxItem, says, SESSION, textsOf, view, viewOnce } from './world.ts'

/** More than a server opens for one laptop. */
const EPOCHS_COUNT = 70

describe('a removal while everybody else is away', () => {
  test('reaches a laptop by its old mailbox, and what is said since by the new one', async () => {
    const { world, post, start, bob, frank, carol } = await withPost()
    await start(bob)
    const before = await handOff(bob, 'carol', 'before')
    const mine = await handOff(bob, 'frank', 'for frank, before')
    for (const { thread_id } of [before, mine])
      await viewOnce(world, bob, thread_id, ({ delivery }) => delivery.carriers !== undefined)
    expect(itemsAt(post)).toBe(2)
    await bob.node.remove({ name: 'frank' })
    const after = await handOff(bob, 'carol', 'after')
    await viewOnce(world, bob, after.thread_id, ({ delivery }) => delivery.carriers !== undefined)
    expect((await bob.node.status()).waiting.map(({ device }) => device)).toEqual(['carol/carol-laptop'])
    // The handoff, the roster with the new key, the old handoff, and what still lies there for frank.
    const laid = itemsAt(post)
    expect(laid).toBeGreaterThanOrEqual(4)
    await bob.node.sendMessage({ thread_id: mine.thread_id, message: says('never for frank') }, SESSION)
    world.clock.advance(5 * 60_000)
    expect(itemsAt(post)).toBe(laid)
    await bob.stop()

    await start(carol)
    for (const { thread_id } of [before, after])
      await viewOnce(world, carol, thread_id, ({ entries }) => entries[0]?.body === 'ok')
    expect((await carol.node.status()).roster).toEqual({ position: 8, forked: false, workspace_id: expect.any(String) })
    expect((await carol.disk.rows('secret')).map(([key]) => key)).toContain('workspace/1')
    await carol.node.accept({ thread_id: after.thread_id }, SESSION)
    await viewOnce(world, carol, after.thread_id, ({ delivery }) => delivery.carriers !== undefined)
    await carol.stop()

    await start(frank)
    await viewOnce(world, frank, mine.thread_id, ({ entries }) => entries[0]?.body === 'ok')
    expect(textsOf(await view(frank, mine.thread_id))).toEqual(['for frank, before'])
    expect(await inboxItem(frank, after.thread_id)).toBeUndefined()
    await frank.stop()

    await start(bob)
    await viewOnce(world, bob, after.thread_id, ({ status }) => status === 'accepted')
  })

  test('does not lose what somebody leaves in an old mailbox who knows of nothing yet', async () => {
    const { world, post, start, bob, frank, carol } = await withPost()
    await start(bob)
    await bob.node.remove({ name: 'frank' })
    await bob.stop()
    world.cut(bob, carol)
    await start(carol)
    const { thread_id } = await handOff(carol, 'bob', 'from one who knows of nothing')
    await viewOnce(world, carol, thread_id, ({ delivery }) => delivery.carriers !== undefined)
    await carol.stop()
    await start(bob)
    await viewOnce(world, bob, thread_id, ({ entries }) => entries[0]?.body === 'ok')
    await world.until('bob has emptied it', () => itemsAt(post) <= 2)
    expect(frank.running).toBe(false)
  })
})

test('of many epochs the newest mailboxes are opened, since a server opens only so many', async () => {
  const { world, start, bob, frank, carol } = await withPost()
  const disks = [bob, frank, carol].map(({ disk }) => disk)
  const workspace = await workspaceOn(bob.disk)
  const prekeys = [...(await prekeysOn(bob.disk)).values()]
  for (let epoch = 1; epoch <= EPOCHS_COUNT; epoch++) {
    const w = bob.system.dice(32)
    const place = { nonce: workspace.roster().nonce, epoch }
    const wraps = await Promise.all(
      prekeys.map(({ device, id, x25519 }) =>
        wrapWorkspaceKey(w, place, { device, prekey: id, x25519, ekm: bob.system.dice(32) }),
      ),
    )
    const rekey = workspace.draft('rekey', { epoch, commit: commitWorkspaceKey(w, place), wraps })
    mustAdmit(workspace.log, rekey)
    const rows = [putRosterEntry(rekey.header.n, rekey.id, rekey.envelope), putSecret(`workspace/${epoch}`, w)]
    for (const disk of disks) await disk.write(rows)
  }
  await start(carol)
  const { thread_id } = await handOff(carol, 'bob', 'to one who has seen many epochs')
  await viewOnce(world, carol, thread_id, ({ delivery }) => delivery.carriers !== undefined)
  await carol.stop()
  await start(bob)
  await viewOnce(world, bob, thread_id, ({ entries }) => entries[0]?.body === 'ok')
})
