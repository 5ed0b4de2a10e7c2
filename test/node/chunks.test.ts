/** Content that is too large for a body: it comes when it is wanted, chunk by chunk, and is checked. */
import { describe, expect, test } from 'vitest'
import {
  ARTIFACT_SIZE_BYTES_MAX,
  CHUNK_SIZE_BYTES,
  type SyncMessage,
  THREAD_ARTIFACTS_SIZE_BYTES_MAX,
} from '../../protocol/index.ts'
import type { ArtifactListing } from '../../src/node/api.ts'
import { fileOf, noise, readAll, sha256, sixteen } from './attachments.ts'
import { chunksIn, overheard } from './overheard.ts'
import {
  arrives,
  handOff,
  type Laptop,
  pair,
  plain,
  refused,
  says,
  SESSION,
  stoppedAcme,
  trio,
  uuid,
  view,
  viewOnce,
} from './world.ts'

const MIB = 1024 * 1024

/** bob and frank, and all that frank hears. */
async function listening() {
  const world = await stoppedAcme('frank')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  const heard: SyncMessage[] = []
  const listeners: ((message: SyncMessage) => void)[] = []
  const hear = (message: SyncMessage): void => {
    heard.push(message)
    for (const listener of listeners) listener(message)
  }
  const start = () => frank.start({ through: (net) => overheard(net, hear) })
  await bob.start()
  await start()
  await world.connected()
  return {
    ...world,
    bob,
    frank,
    heard,
    start,
    onHeard: (listener: (message: SyncMessage) => void) => listeners.push(listener),
  }
}

async function listings(at: Laptop, thread_id: string): Promise<ArtifactListing[]> {
  return (await view(at, thread_id)).artifacts
}

/** One large file from bob, whose entry is at frank. */
async function oneFile(bytes: Buffer) {
  const world = await listening()
  const { thread_id, artifact_ids } = await handOff(world.bob, 'frank', 'a large file', {
    artifacts: [fileOf('large.bin', bytes)],
  })
  await arrives(world, world.frank, thread_id)
  await viewOnce(world, world.frank, thread_id, ({ artifacts }) => artifacts.length === 1)
  return { ...world, thread_id, ids: { thread_id, artifact_id: artifact_ids[0] ?? '' } }
}

test('sixteen artifacts of all types, from nothing to 8 MiB, are read back byte for byte by both sides', async () => {
  const world = await pair()
  const { bob, frank } = world
  const all = sixteen()
  const { thread_id, artifact_ids } = await handOff(bob, 'frank', 'all of them', {
    artifacts: all.map(([artifact]) => artifact),
  })
  expect(new Set(artifact_ids).size).toBe(16)
  await arrives(world, frank, thread_id)
  const seen = await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts.length === 16)
  expect(seen.artifacts.map(({ artifact_id }) => artifact_id)).toEqual(artifact_ids)
  for (const [i, [, bytes]] of all.entries()) {
    const ids = { thread_id, artifact_id: artifact_ids[i] ?? '' }
    expect(seen.artifacts[i]).toMatchObject({ size: bytes.length, sha256: sha256(bytes) })
    for (const at of [bob, frank]) {
      const read = await readAll(at, ids, 32 * 1024)
      expect(Buffer.compare(read.bytes, bytes), `${i} at ${at.name}`).toBe(0)
      expect(read.slice).toMatchObject({ here: true, verified: true, sha256: sha256(bytes) })
    }
  }
  expect((await listings(frank, thread_id)).every(({ here }) => here)).toBe(true)
})

describe('what is not wanted stays where it is:', () => {
  test('of a large file nothing comes with the handoff, and the index says so', async () => {
    const { bob, frank, thread_id, heard } = await oneFile(noise('file', 3 * CHUNK_SIZE_BYTES))
    expect(await listings(bob, thread_id)).toMatchObject([{ here: true, size: 3 * CHUNK_SIZE_BYTES }])
    expect(await listings(frank, thread_id)).toMatchObject([{ here: false, here_bytes: 0, size: 3 * CHUNK_SIZE_BYTES }])
    expect(chunksIn(heard)).toEqual([])
    expect(await frank.disk.rows('chunk')).toEqual([])
  })

  test('a page brings the chunk that it lies in, and no other', async () => {
    const bytes = noise('file', 3 * CHUNK_SIZE_BYTES)
    const { frank, thread_id, ids, heard } = await oneFile(bytes)
    const at = CHUNK_SIZE_BYTES + 1000
    const slice = await frank.node.readArtifact({ ...ids, offset: at, max_bytes: 5000 })
    expect(Buffer.from(plain(slice.content) ?? '', slice.encoding)).toEqual(bytes.subarray(at, at + 5000))
    expect(slice).toMatchObject({ here: false, here_bytes: CHUNK_SIZE_BYTES, verified: false, truncated: true })
    expect(chunksIn(heard)).toHaveLength(1)
    expect(await listings(frank, thread_id)).toMatchObject([{ here: false, here_bytes: CHUNK_SIZE_BYTES }])
    const over = await frank.node.readArtifact({ ...ids, offset: CHUNK_SIZE_BYTES - 100, max_bytes: 200 })
    const page = bytes.subarray(CHUNK_SIZE_BYTES - 100, CHUNK_SIZE_BYTES + 100)
    expect(Buffer.from(plain(over.content) ?? '', over.encoding)).toEqual(page)
    expect(new Set(chunksIn(heard)).size).toBe(2)
    const last = await frank.node.readArtifact({ ...ids, offset: bytes.length - 1 })
    expect(last).toMatchObject({ here: true, verified: true, truncated: false })
    expect(chunksIn(heard)).toHaveLength(3)
  })

  test('after the accept all of it comes, and can be read without a network and after a restart', async () => {
    const bytes = noise('file', 2 * MIB)
    const world = await oneFile(bytes)
    const { bob, frank, thread_id, ids } = world
    await frank.node.accept({ thread_id }, SESSION)
    const later = noise('another file', MIB)
    await viewOnce(world, bob, thread_id, ({ status }) => status === 'accepted')
    const said = { thread_id, message: says('one more'), artifacts: [fileOf('later.bin', later)] }
    const { artifact_ids } = await bob.node.sendMessage(said, SESSION)
    await viewOnce(
      world,
      frank,
      thread_id,
      ({ artifacts }) => artifacts.length === 2 && artifacts.every(({ here }) => here),
    )
    expect(await frank.disk.rows('wanted')).toEqual([])
    await bob.stop()
    await frank.restart()
    expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
    const other = { thread_id, artifact_id: artifact_ids[0] ?? '' }
    expect(Buffer.compare((await readAll(frank, other)).bytes, later)).toBe(0)
  })

  test('what the recipient adds comes to the sender when it is read', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { thread_id } = await handOff(bob, 'frank', 'please do')
    await arrives(world, frank, thread_id)
    await frank.node.accept({ thread_id }, SESSION)
    const bytes = noise('result', MIB)
    await frank.node.complete({ thread_id, result_summary: 'done', artifacts: [fileOf('r.bin', bytes)] }, SESSION)
    const { artifacts } = await viewOnce(world, bob, thread_id, (seen) => seen.artifacts.length === 1)
    expect(artifacts[0]).toMatchObject({ here: false })
    const read = await readAll(bob, { thread_id, artifact_id: artifacts[0]?.artifact_id ?? '' })
    expect(Buffer.compare(read.bytes, bytes)).toBe(0)
  })
})

describe('where the laptop that has it is away', () => {
  test('the answer names it and says that nothing is lost; later it comes', async () => {
    const bytes = noise('file', 2 * CHUNK_SIZE_BYTES)
    const world = await oneFile(bytes)
    const { bob, frank, ids } = world
    await frank.node.readArtifact(ids)
    await bob.stop()
    await world.until('frank sees it', async () => (await frank.node.whoami()).reachable_peers === 0)
    const first = await frank.node.readArtifact(ids)
    expect(first.content).toBeDefined()
    const slice = await frank.node.readArtifact({ ...ids, offset: CHUNK_SIZE_BYTES })
    expect(slice).toMatchObject({ offset: CHUNK_SIZE_BYTES, next_offset: CHUNK_SIZE_BYTES, truncated: true })
    expect(slice).toMatchObject({ here: false, here_bytes: CHUNK_SIZE_BYTES, verified: false })
    expect(slice.elsewhere).toMatchObject({ device: 'bob/bob-laptop', reachable: false })
    expect(slice.elsewhere?.why).toContain('Nothing is lost')
    expect(slice).not.toHaveProperty('content')
    await bob.start()
    await world.connected()
    expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
  })

  test('and what was accepted is fetched by itself when it comes back, also over a restart of the one who waits', async () => {
    const bytes = noise('file', MIB)
    const world = await oneFile(bytes)
    const { bob, frank, thread_id, ids } = world
    await bob.stop()
    await frank.node.accept({ thread_id }, SESSION)
    expect((await frank.disk.rows('wanted')).length).toBe(Math.ceil(MIB / CHUNK_SIZE_BYTES))
    await frank.restart()
    await bob.start()
    await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts[0]?.here === true)
    await bob.stop()
    expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
  })
})

test('a reader whom it is shared with fetches it too, and gives it to others where the publisher is away', async () => {
  const world = await trio()
  const { bob, frank, carol } = world
  const bytes = noise('file', 3 * CHUNK_SIZE_BYTES)
  const { thread_id, artifact_ids } = await handOff(bob, 'frank', 'x', { artifacts: [fileOf('a', bytes)] })
  const ids = { thread_id, artifact_id: artifact_ids[0] ?? '' }
  await bob.node.share({ thread_id, reader: 'carol@acme' }, SESSION)
  await viewOnce(world, carol, thread_id, ({ artifacts }) => artifacts.length === 1)
  expect(Buffer.compare((await readAll(carol, ids)).bytes, bytes)).toBe(0)
  await viewOnce(world, frank, thread_id, ({ participants }) => participants.length === 3)
  await bob.stop()
  await world.until('bob is gone', async () => (await frank.node.whoami()).reachable_peers === 1)
  expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
})

describe('what broke off goes on with the rest', () => {
  test('after the connection was lost: each chunk comes once', async () => {
    const bytes = noise('file', 12 * CHUNK_SIZE_BYTES)
    const world = await oneFile(bytes)
    const { bob, frank, thread_id, ids, heard } = world
    world.onHeard(({ t }) => t === 'chunks' && chunksIn(heard).length === 3 && world.cut(bob, frank))
    await frank.node.accept({ thread_id }, SESSION)
    await world.until('it is cut', async () => (await frank.node.whoami()).reachable_peers === 0)
    const kept = new Set((await frank.disk.rows('chunk')).map(([key]) => key.split('/')[1]))
    expect(chunksIn(heard)).toHaveLength(3)
    await world.heal(bob, frank)
    await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts[0]?.here === true)
    const afterwards = chunksIn(heard).slice(3)
    expect(afterwards.filter((id) => kept.has(id))).toEqual([])
    expect(new Set(afterwards).size).toBe(afterwards.length)
    expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
  })

  test('after a restart', async () => {
    const bytes = noise('file', 12 * CHUNK_SIZE_BYTES)
    const world = await oneFile(bytes)
    const { frank, thread_id, ids, heard, start } = world
    await frank.node.accept({ thread_id }, SESSION)
    await world.until('some are there', () => chunksIn(heard).length >= 3)
    await frank.stop()
    const kept = new Set((await frank.disk.rows('chunk')).map(([key]) => key.split('/')[1]))
    heard.length = 0
    await start()
    await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts[0]?.here === true)
    expect(chunksIn(heard).filter((id) => kept.has(id))).toEqual([])
    expect(chunksIn(heard)).toHaveLength(12 - kept.size)
    expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
  })
})

describe('too much is refused with the limit and the size:', () => {
  const tooLarge = (limit: number, size: number) => ({ symbol: 'payload_too_large', details: { limit, size } })

  test('an artifact of more than 8 MiB, more than sixteen, and more than 32 MiB in one call', async () => {
    const { bob } = await pair()
    const large = Buffer.alloc(ARTIFACT_SIZE_BYTES_MAX + 1)
    const send = (...files: Buffer[]) =>
      refused(handOff(bob, 'frank', 'x', { artifacts: files.map((bytes, i) => fileOf(`${i}`, bytes)) }))
    expect(await send(large)).toMatchObject(tooLarge(ARTIFACT_SIZE_BYTES_MAX, large.length))
    const many = Array.from({ length: 17 }, () => Buffer.alloc(1))
    expect(await send(...many)).toMatchObject(tooLarge(16, 17))
    const full = large.subarray(1)
    expect(await send(full, full, full, full, Buffer.alloc(1))).toMatchObject(
      tooLarge(THREAD_ARTIFACTS_SIZE_BYTES_MAX, THREAD_ARTIFACTS_SIZE_BYTES_MAX + 1),
    )
    expect((await bob.node.listThreads({})).items).toEqual([])
    expect(await bob.disk.rows('chunk')).toEqual([])
  })

  test('more than 32 MiB in a thread, whoever adds the last of it, in whatever kind of entry', async () => {
    const world = await pair()
    const { bob, frank } = world
    const part = Buffer.alloc(ARTIFACT_SIZE_BYTES_MAX)
    const file = (name: string, bytes = part) => [fileOf(name, bytes)]
    const { thread_id } = await handOff(bob, 'frank', 'x', { artifacts: [fileOf('1', part), fileOf('2', part)] })
    const message = (at: Laptop, name: string, bytes = part) =>
      at.node.sendMessage({ thread_id, message: says(name), artifacts: file(name, bytes) }, SESSION)
    await message(bob, '3')
    await arrives(world, frank, thread_id)
    await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts.length === 3)
    await message(frank, '4')
    const over = tooLarge(THREAD_ARTIFACTS_SIZE_BYTES_MAX, THREAD_ARTIFACTS_SIZE_BYTES_MAX + 1)
    const one = Buffer.alloc(1)
    expect(await refused(message(frank, '5', one))).toMatchObject(over)
    await viewOnce(world, bob, thread_id, ({ artifacts }) => artifacts.length === 4)
    expect(await refused(message(bob, '5', one))).toMatchObject(over)
    await frank.node.accept({ thread_id }, SESSION)
    const result = { thread_id, result_summary: 'r', artifacts: file('r', one) }
    expect(await refused(frank.node.complete(result, SESSION))).toMatchObject(over)
    await frank.node.complete({ ...result, artifacts: [] }, SESSION)
  })
})

test('as much as fits stands in the body: the largest lie outside of it, and the ids are the same either way', async () => {
  const { bob } = await pair()
  const [small, middle, large] = [noise('s', 50_000), noise('m', 150_000), noise('l', 200_000)]
  const artifacts = [fileOf('s', small), fileOf('m', middle), fileOf('l', large)]
  const together = await handOff(bob, 'frank', 'three', { artifacts })
  expect(await bob.disk.rows('chunk')).toHaveLength(1)
  const alone = await handOff(bob, 'frank', 'one', { artifacts: artifacts.slice(2) })
  expect(await bob.disk.rows('chunk')).toHaveLength(1)
  expect(alone.artifact_ids[0]).toBe(together.artifact_ids[2])
  for (const [i, bytes] of [small, middle, large].entries()) {
    const ids = { thread_id: together.thread_id, artifact_id: together.artifact_ids[i] ?? '' }
    expect(Buffer.compare((await readAll(bob, ids)).bytes, bytes)).toBe(0)
  }
})

test('a call that is repeated with its key adds nothing, however large; with another byte it is another call', async () => {
  const { bob } = await pair()
  const bytes = noise('file', 2 * MIB)
  const metadata = { client_idempotency_key: uuid() }
  const send = (content: Buffer) => handOff(bob, 'frank', 'once', { artifacts: [fileOf('a', content)], metadata })
  const first = await send(bytes)
  expect(await send(bytes)).toEqual(first)
  expect(await bob.disk.rows('chunk')).toHaveLength(Math.ceil(bytes.length / CHUNK_SIZE_BYTES))
  const other = Buffer.from(bytes)
  other[MIB] = (other[MIB] ?? 0) ^ 1
  expect((await refused(send(other))).symbol).toBe('duplicate_idempotency_key')
})

describe('on a full disk', () => {
  test('neither the entry nor its chunks are written', async () => {
    const { bob } = await pair()
    const image = await bob.disk.image('peer')
    bob.disk.failNext('chunk')
    const call = handOff(bob, 'frank', 'x', { artifacts: [fileOf('a', noise('a', MIB))] })
    expect(await refused(call)).toMatchObject({ symbol: 'internal', details: { store: 'STORE_FULL' } })
    expect(await bob.disk.image('peer')).toBe(image)
  })

  test('a reader is told, what came before stays, and with room again the rest comes', async () => {
    const bytes = noise('file', 3 * CHUNK_SIZE_BYTES)
    const { frank, ids, heard } = await oneFile(bytes)
    await frank.node.readArtifact(ids)
    frank.disk.failNext('chunk')
    const call = frank.node.readArtifact({ ...ids, offset: CHUNK_SIZE_BYTES })
    expect(await refused(call)).toMatchObject({ symbol: 'internal', details: { store: 'STORE_FULL' } })
    expect(await frank.disk.rows('chunk')).toHaveLength(1)
    expect((await frank.node.whoami()).reachable_peers).toBe(1)
    expect(Buffer.compare((await readAll(frank, ids)).bytes, bytes)).toBe(0)
    expect(chunksIn(heard)).toHaveLength(4)
  })

  test('what is fetched unasked pauses, and goes on by itself', async () => {
    const world = await oneFile(noise('file', 6 * CHUNK_SIZE_BYTES))
    const { frank, thread_id } = world
    frank.disk.failNext('chunk')
    await frank.node.accept({ thread_id }, SESSION)
    await world.until('it failed', () => frank.disk.failures > 0)
    await viewOnce(world, frank, thread_id, ({ artifacts }) => {
      world.clock.advance(60_000)
      return artifacts[0]?.here === true
    })
  })
})

test('from the chunks alone it is known again what is here and what is to be fetched', async () => {
  const world = await oneFile(noise('file', 4 * CHUNK_SIZE_BYTES))
  const { bob, frank, thread_id, ids } = world
  await frank.node.readArtifact({ ...ids, offset: 2 * CHUNK_SIZE_BYTES })
  await bob.stop()
  await frank.node.accept({ thread_id }, SESSION)
  const [before, image] = [await listings(frank, thread_id), await frank.disk.image('meta', 'peer')]
  expect(before).toMatchObject([{ here: false, here_bytes: CHUNK_SIZE_BYTES }])
  await frank.stop()
  const lists = await Promise.all(
    (['present', 'wanted'] as const).map(async (space) => [space, await frank.disk.rows(space)] as const),
  )
  expect(lists.map(([, rows]) => rows.length)).toEqual([1, 3])
  await frank.disk.write(lists.flatMap(([space, rows]) => rows.map(([key]) => ({ type: 'del' as const, space, key }))))
  await frank.start({ rebuild: true })
  expect(await listings(frank, thread_id)).toEqual(before)
  expect(await frank.disk.image('meta', 'peer', 'thread')).toBe(
    image
      .split('\n')
      .filter((line) => !line.startsWith('thread '))
      .join('\n'),
  )
})
