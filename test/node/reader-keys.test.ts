/** The keys of a thread that a reader is given: those that there are, and those that come. */
import { describe, expect, test } from 'vitest'
import {
  commitThreadKey,
  DEVICE_WRAPS_COUNT_MAX,
  encodeBody,
  type Entry,
  openPrekey,
  sealBody,
  sealOlderKey,
  signEntry,
  textId,
  type Wrapped,
  wrapThreadKey,
} from '../../protocol/index.ts'
import { actor, dice, wrapFor } from '../cast.ts'
import type { Disk } from './disk.ts'
import { message, opensAll, share } from './sharing.ts'
import { dropKeys, laptops, prekeysOn, running } from './shut-out-laptop.ts'
import { entriesMessage, impersonate, type SealedEntry, sealedStory, type SealedStory } from './impostor.ts'
import { agreed, arrives, handOff, SESSION, stoppedAcme, symbolOf, textsOf, view, viewOnce } from './world.ts'

describe('what is under other keys than the first', () => {
  const mallory = actor('mallory')
  const throwDice = dice('more keys')

  /** A wrap by mallory that begins a new key, leads to the first one, and knows of nothing but the create. */
  async function newKey(story: SealedStory, disk: Disk) {
    const key = throwDice(32)
    const { nonce, create } = story
    const past = { past: [create] }
    const { header } = story.draft(mallory, 'wrap', {}, past)
    const wraps: Wrapped[] = []
    for (const [, record] of await disk.rows('prekey')) {
      const prekey = openPrekey(record)
      if (!prekey.ok || ![mallory.device, actor('frank').device].includes(prekey.value.device)) continue
      const { device, id, x25519 } = prekey.value
      const place = { ws: header.ws, nonce, author: mallory.device }
      wraps.push(await wrapThreadKey(key, place, { device, prekey: id, x25519, ekm: throwDice(32) }))
    }
    const commit = commitThreadKey(key, { nonce, ws: header.ws, device: mallory.device, prev: header.prev })
    const older: [string, string][] = [[create.id, sealOlderKey(key, story.key, create.id)]]
    return { key, entry: story.add(story.draft(mallory, 'wrap', { commit, wraps, older, adds: null }, past)) }
  }

  function under({ key, entry }: { key: Uint8Array; entry: Entry }, story: SealedStory, body: string): SealedEntry {
    const { header } = story.draft(mallory, 'message', {}, { past: [entry] })
    const plainBody = encodeBody('message', { body, artifacts: [] })
    const sealed = sealBody(header, plainBody, { key, keyId: entry.id, iv: throwDice(32) })
    return { entry: story.add(signEntry(sealed.header, mallory.key)), body: sealed.sealed }
  }

  /** mallory hands off to frank, whose node alone runs. */
  async function lyingSender(...others: string[]) {
    const world = await stoppedAcme('frank', 'mallory', ...others)
    const [frank] = laptops(world, 'frank')
    await frank.start()
    const liar = await impersonate(world, world.laptop('mallory'))
    const { workspace } = liar
    const body = { summary: 'under the first', artifacts: [] }
    const to = actor('frank')
    const story = await sealedStory({ workspace, disk: frank.disk, from: mallory, to, dice: throwDice, body })
    return { world, frank, liar, story }
  }

  test.each([1, 2])(
    'opens too, of %i keys that were made at once: each is given, and leads to what it replaced',
    async (count) => {
      const { world, frank, liar, story } = await lyingSender('carol')
      const carol = world.laptop('carol')
      await carol.start()
      const said = [story.first]
      for (let number = 1; number <= count; number++) {
        const made = await newKey(story, frank.disk)
        said.push({ entry: made.entry, body: null }, under(made, story, `under key ${number}`))
      }
      const talk = await liar.meet(frank)
      await talk.say(entriesMessage(story.create.id, said))
      await talk.catchUp()
      const thread_id = textId('thread', story.create.id)
      await share(frank, thread_id, 'carol')
      const texts = ['under the first', ...Array.from({ length: count }, (_, i) => `under key ${i + 1}`)]
      await arrives(world, carol, thread_id)
      expect(textsOf(await opensAll(world, carol, thread_id))).toEqual(texts)
      const seen = await view(frank, thread_id)
      expect(seen.entries.filter(({ kind }) => kind === 'share')).toHaveLength(count)
      expect(seen.readers).toHaveLength(1)
    },
  )

  test('is given by itself a limited number of times: keys without end use up nothing that one may say', async () => {
    const readers = ['carol', 'dave', 'erin']
    const { world, frank, liar, story } = await lyingSender(...readers)
    const said = [story.first]
    for (let number = 0; number < DEVICE_WRAPS_COUNT_MAX; number++) {
      const made = await newKey(story, frank.disk)
      said.push({ entry: made.entry, body: null })
    }
    const prekeys = await prekeysOn(frank.disk)
    const { create, nonce } = story
    const place = { ws: create.header.ws, nonce, author: mallory.device }
    for (const name of readers) {
      const { device } = world.laptop(name)
      const prekey = prekeys.get(device)
      if (!prekey) throw new Error(`frank has no key of ${name}`)
      const wrap = await wrapThreadKey(story.key, place, {
        device,
        prekey: prekey.id,
        x25519: prekey.x25519,
        ekm: throwDice(32),
      })
      const ctl = { reader: liar.workspace.member(name), devices: [device], key: create.id, wraps: [wrap] }
      said.push({ entry: story.add(story.draft(mallory, 'share', ctl, { past: [create] })), body: null })
    }
    const talk = await liar.meet(frank)
    await talk.say(entriesMessage(create.id, said))
    await talk.catchUp()
    const thread_id = textId('thread', create.id)
    await frank.node.accept({ thread_id }, SESSION)
    await message(frank, thread_id, 'is that so?')
    const shares = (await view(frank, thread_id)).entries.filter(({ kind, mine }) => kind === 'share' && mine)
    expect(shares).toHaveLength(64)
  })

  test('is given by the other side where a liar gave the reader what opens nothing, once the reader says so', async () => {
    const { world, frank, liar, story } = await lyingSender('carol')
    const carol = world.laptop('carol')
    await carol.start()
    const { create } = story
    const nothing = { key: create.id, devices: [carol.device], wraps: [wrapFor(carol.device)] }
    const ctl = { reader: liar.workspace.member('carol'), ...nothing }
    const shared = story.add(story.draft(mallory, 'share', ctl, { past: [create] }))
    const talk = await liar.meet(frank)
    await talk.say(entriesMessage(create.id, [story.first, { entry: shared, body: null }], [shared.id]))
    await talk.catchUp()
    const thread_id = textId('thread', create.id)
    await arrives(world, carol, thread_id)
    await world.until('frank knows that carol cannot read it', () =>
      share(frank, thread_id, 'carol').catch(() => undefined),
    )
    expect(textsOf(await opensAll(world, carol, thread_id))).toEqual(['under the first'])
    await agreed(world, thread_id, frank, carol)
    expect(await symbolOf(share(frank, thread_id, 'carol'))).toBe('state_changed')
  })
})

test('a reader who is removed gets nothing that comes later; another one gets all of it, under each key', async () => {
  const world = await stoppedAcme('frank', 'carol', 'dave')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  const [carol, dave] = [world.laptop('carol'), world.laptop('dave')]
  for (const at of [bob, frank, carol, dave]) await at.start()
  await world.connected()
  const { thread_id } = await handOff(bob, 'frank', 'before')
  await share(bob, thread_id, 'carol')
  await opensAll(world, carol, thread_id)
  await arrives(world, frank, thread_id)
  await bob.node.remove({ name: 'carol' })
  await viewOnce(world, frank, thread_id, ({ readers }) => readers.length === 0)
  // Nothing is sealed under the key that carol has: it is refused until there is another one.
  const after = await world.until('there is a key without carol', () =>
    message(bob, thread_id, 'after').catch(() => undefined),
  )
  expect(after.thread_id).toBe(thread_id)
  await agreed(world, thread_id, bob, frank)
  await share(frank, thread_id, 'dave')
  await arrives(world, dave, thread_id)
  expect(textsOf(await opensAll(world, dave, thread_id))).toEqual(['before', 'after'])
  expect((await view(dave, thread_id)).readers).toMatchObject([{ handle: 'dave@acme', shared_by: 'frank@acme' }])
  expect(
    (await view(frank, thread_id)).entries.filter(({ kind, reader }) => kind === 'share' && reader === 'dave@acme'),
  ).toHaveLength(1)
})

test.each(['recipient', 'sender'] as const)(
  'a share and a new key that were made at once: the reader is given that key too, where the %s shares',
  async (side) => {
    const world = await running('frank', 'frank2', 'carol', 'carol2')
    const [bob, frank, frank2] = laptops(world, 'bob', 'frank', 'frank2')
    const readers = laptops(world, 'carol', 'carol2')
    const [from, to] = side === 'recipient' ? ([bob, 'frank'] as const) : ([frank, 'bob'] as const)
    const { thread_id } = await handOff(from, to, 'before')
    for (const at of [bob, frank]) await arrives(world, at, thread_id)
    await agreed(world, thread_id, bob, frank)
    await frank2.stop()
    for (const at of [bob, ...readers]) world.cut(frank, at)
    await share(frank, thread_id, 'carol')
    await bob.node.remove({ name: 'frank/frank2-laptop' })
    await message(bob, thread_id, 'under the new key')
    for (const at of [bob, ...readers]) await world.heal(frank, at)
    for (const at of readers) {
      await arrives(world, at, thread_id)
      expect(textsOf(await opensAll(world, at, thread_id))).toEqual(['before', 'under the new key'])
    }
    const [shown] = await agreed(world, thread_id, bob, frank, ...readers)
    expect(shown?.entries.filter(({ kind }) => kind === 'share')).toHaveLength(2)
    expect(shown?.readers).toMatchObject([
      { handle: 'carol@acme', devices: ['carol/carol-laptop', 'carol/carol2-laptop'] },
    ])
    for (const at of [bob, frank]) expect(await symbolOf(share(at, thread_id, 'carol'))).toBe('state_changed')
    // Each laptop says that it opens all of it now, so nothing is owed to it any more.
    await world.until('nobody waits for the readers', async () => (await bob.node.status()).outbox === 0)
  },
)

test('a laptop of the reader whose encryption key came later is given all of it by sharing once more', async () => {
  const world = await stoppedAcme('frank', 'carol', 'carol2')
  const [bob, frank, carol, carol2] = laptops(world, 'bob', 'frank', 'carol', 'carol2')
  await dropKeys(bob.disk, carol2.device)
  await dropKeys(carol.disk, carol2.device)
  await bob.start()
  await carol.start()
  const { thread_id } = await handOff(bob, 'frank', 'the beginning')
  expect(await share(bob, thread_id, 'carol')).toMatchObject({
    devices: ['carol/carol-laptop'],
    warnings: [expect.stringContaining('carol/carol2-laptop')],
  })
  await opensAll(world, carol, thread_id)
  await carol2.start()
  await frank.start()
  await world.connected()
  expect(await share(bob, thread_id, 'carol')).toMatchObject({ devices: ['carol/carol2-laptop'], warnings: [] })
  await arrives(world, carol2, thread_id)
  expect(textsOf(await opensAll(world, carol2, thread_id))).toEqual(['the beginning'])
  expect(await symbolOf(share(bob, thread_id, 'carol'))).toBe('state_changed')
})
