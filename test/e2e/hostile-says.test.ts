/** An enrolled device that lies, over real libp2p, to a running node: what it says is refused by name, kept as proof and shown, and the others are served. */
import { expect, test } from 'vitest'
import {
  decodeCanonical,
  DEPS_COUNT_MAX,
  encodeCanonical,
  FORKED_ENTRIES_COUNT_MAX,
  fromHex,
  type Hex,
  sign,
  signEntry,
  signPrekey,
  SYNC_IDS_COUNT_MAX,
  textId,
  type Value,
} from '../../protocol/index.ts'
import type { ThreadView } from '../../src/node/api.ts'
import { type Actor, actor, begin, dice, foundWorkspace, seedOf } from '../cast.ts'
import { entriesMessage, type SealedEntry, sealedStory, type SealedStory, type Talk } from '../node/impostor.ts'
import { happens, type NodeProcess } from './crash-node.ts'
import { type HostilePeer, hostilePeer } from './hostile-peer.ts'
import { type HostileTeam, hostileTeam, served, statusOf } from './hostile-team.ts'

interface Scene {
  team: HostileTeam
  mallory: HostilePeer
  talk: Talk
  /** A handoff from mallory to bob whose bodies open. */
  story(summary: string): Promise<SealedStory>
  /** What bob's node counted since the scene began, by name. */
  refused(): Promise<Record<string, number>>
}

let scenes = 0

async function scene(): Promise<Scene> {
  const team = await hostileTeam()
  const mallory = await hostilePeer(team, 'mallory')
  const talk = await mallory.talk()
  await talk.catchUp()
  const before = (await statusOf(team.bob)).refused
  const throwDice = dice(`scene ${scenes++}`)
  return {
    team,
    mallory,
    talk,
    story: (summary) =>
      sealedStory({
        workspace: team.workspace,
        disk: team.disk,
        from: mallory,
        to: actor('bob'),
        body: { summary, artifacts: [] },
        dice: throwDice,
      }),
    async refused() {
      const now = Object.entries((await statusOf(team.bob)).refused)
      return Object.fromEntries(
        now.flatMap(([name, count]) => (count > (before[name] ?? 0) ? [[name, count - (before[name] ?? 0)]] : [])),
      )
    },
  }
}

/** Says it and waits until it was taken in. */
async function deliver(talk: Talk, thread: Hex, ...items: SealedEntry[]): Promise<void> {
  await talk.say(entriesMessage(thread, items))
  await talk.catchUp()
}

async function viewAt(node: NodeProcess, thread: Hex): Promise<ThreadView> {
  const client = node.session()
  try {
    return await client.call('tasks/get', { thread_id: textId('thread', thread) })
  } finally {
    client.close()
  }
}

/** One finding of `relay-node doctor --json`. */
async function finding(node: NodeProcess, check: string): Promise<Record<string, unknown>> {
  const { findings } = (await node.laptop.run('doctor --json')).json() as { findings: Record<string, unknown>[] }
  const found = findings.find((one) => one['check'] === check)
  if (found === undefined) throw new Error(`doctor says nothing of ${check}`)
  return found
}

/** An entry that names more parents than there can be, which our own encoder would not make. */
function manyHeaded(story: SealedStory, by: Actor, deps: readonly Hex[]): Uint8Array {
  const outer = decodeCanonical(story.draft(by, 'message').envelope, { bytesMax: 16 * 1024 })
  const [bytes] = (outer.ok ? outer.value : []) as Uint8Array[]
  const header = decodeCanonical(bytes ?? new Uint8Array(), { bytesMax: 16 * 1024 })
  const parents = deps.toSorted().map(fromHex)
  if (!header.ok || typeof header.value !== 'object') throw new Error('what was just signed has a header')
  const changed = encodeCanonical({ ...(header.value as Record<string, Value>), deps: parents })
  return encodeCanonical([changed, sign(by.key, 'entry', [changed])])
}

const unknownIds = (count: number): Hex[] =>
  Array.from({ length: count }, (_, i) => Buffer.from(seedOf('unknown', i)).toString('hex'))
const heardOf = (talk: Talk, t: string): number => talk.heard.filter((message) => message.t === t).length

test('what others are supposed to have said is forged, refused and shown with who sent it', async () => {
  const { team, mallory, talk, story, refused } = await scene()
  const { create, first, draft } = await story('true')
  await deliver(talk, create.id, first)
  const asBob = signEntry({ ...draft(mallory, 'message').header, dev: actor('bob').device }, mallory.key)
  await deliver(talk, create.id, { entry: asBob, body: null })
  const prekey = signPrekey(
    {
      ws: team.workspace.ws,
      device: actor('frank').device,
      counter: 9,
      x25519: mallory.device,
      mailbox: mallory.device,
      created: 0,
    },
    mallory.key,
  )
  const invite = { key: mallory.device, name: 'eve', role: 'member' as const, kind: 'person' as const, expires: 0 }
  const roster = team.workspace.draft('invite', invite)
  const forged = encodeCanonical([roster.envelope.slice(3, -66), new Uint8Array(64)])
  await talk.say({ t: 'prekeys', records: [prekey.bytes] }, { t: 'roster', entries: [forged] })
  await talk.catchUp()
  const names = await refused()
  expect(names['bad_signature']).toBe(2)
  expect(Object.values(names).reduce((a, b) => a + b)).toBe(3)
  expect((await viewAt(team.bob, create.id)).entries).toHaveLength(1)
  expect((await statusOf(team.bob)).roster).toEqual({ position: 6, forked: false, workspace_id: expect.any(String) })
  expect(await finding(team.bob, 'refused entries')).toMatchObject({
    state: 'note',
    evidence: expect.stringMatching(/bad_signature: \d+.*from mallory\/mallory-laptop/),
    details: expect.arrayContaining([
      expect.objectContaining({
        from: 'mallory/mallory-laptop',
        refusal: 'bad_signature',
        size: asBob.envelope.length,
      }),
    ]),
  })
  expect((await team.bob.laptop.run('doctor')).stdout).toContain('1 from mallory/mallory-laptop (bad_signature)')
  await served(team)
})

test('what is said again, or in the wrong place, counts once and in its own place', async () => {
  const { team, mallory, talk, story, refused } = await scene()
  const [one, other] = [await story('one'), await story('other')]
  const said = one.seal(mallory, 'message', { body: 'once', artifacts: [] })
  for (let i = 0; i < 3; i++) await deliver(talk, one.create.id, one.first, said)
  await deliver(talk, other.create.id, other.first, said)
  const publish = await mallory.meetGossip()
  for (let i = 0; i < 3; i++)
    await publish(mallory.sealed({ t: 'entry', envelope: said.entry.envelope, body: said.body }))
  // Into another thread, with a parent that lies in this one; and from another workspace.
  const moved = signEntry({ ...said.entry.header, th: other.create.id, prev: one.create.id }, mallory.key)
  await deliver(talk, other.create.id, { entry: moved, body: said.body })
  const elsewhere = begin({
    workspace: (() => {
      const workspace = foundWorkspace(mallory, 'acme')
      workspace.enrol('bob', [actor('bob')])
      return workspace
    })(),
    senders: [mallory],
    recipients: [actor('bob')],
  })
  await deliver(talk, elsewhere.create.id, { entry: elsewhere.create, body: null })
  expect(await refused()).toEqual({ thread_mismatch: 1 })
  expect((await viewAt(team.bob, one.create.id)).entries.map(({ kind }) => kind)).toEqual(['create', 'message'])
  expect((await viewAt(team.bob, other.create.id)).entries.map(({ kind }) => kind)).toEqual(['create'])
  await expect(viewAt(team.bob, elsewhere.create.id)).rejects.toThrow('no such thread')
  await served(team)
})

test('a body that was cut from one entry and pasted to another is not read as that entry’s', async () => {
  const { team, mallory, talk, story, refused } = await scene()
  const here = await story('mine')
  const secret = here.seal(mallory, 'message', { body: 'for the first', artifacts: [] })
  here.add(secret.entry)
  const pasted = here.seal(mallory, 'message', { body: 'for the second', artifacts: [] })
  here.add(pasted.entry)
  await deliver(talk, here.create.id, here.first, secret, { entry: pasted.entry, body: secret.body })
  const third = here.draft(mallory, 'message')
  const named = here.withBody(
    mallory,
    { ...third.header, body: secret.entry.header.body },
    secret.body ?? new Uint8Array(),
  )
  await deliver(talk, here.create.id, named)
  const { entries } = await viewAt(team.bob, here.create.id)
  expect(entries.map(({ body }) => body)).toEqual(['ok', 'ok', 'missing', 'unreadable'])
  expect(JSON.stringify(entries).split('for the first')).toHaveLength(2)
  expect(await refused()).toEqual({})
  await served(team)
})

test('what is too large, too deep or of another form is named', async () => {
  const { team, talk, refused, mallory } = await scene()
  const deep = (levels: number) => new Uint8Array([...Array.from({ length: levels }, () => 0x81), 0xf6])
  const items = [new Uint8Array(9000), deep(9000), deep(20), new Uint8Array([0x9f, 0xff]), new Uint8Array(0)]
  await talk.say({
    t: 'entries',
    th: team.workspace.ws,
    items: items.map((envelope): [Uint8Array, null] => [envelope, null]),
    heads: null,
  })
  await talk.catchUp()
  expect(await refused()).toEqual({ oversize: 2, too_deep: 1, not_canonical: 2 })
  await talk.sayBytes(deep(300_000))
  await talk.over()
  expect(await refused()).toMatchObject({ too_deep: 2 })
  // A frame that is announced as larger than any.
  const stream = await mallory.stream('/relay/sync/1')
  const over = new Promise((resolve) => stream.addEventListener('close', resolve))
  stream.send(new Uint8Array([0xff, 0xff, 0xff, 0xff, 0x7f]))
  await over
  await served(team)
})

test('a device that forks a thousandfold is bounded, proven and shown, also at a peer that takes no part in the thread', async () => {
  const { team, mallory, talk, story, refused } = await scene()
  const here = await story('many heads')
  const branches = Array.from({ length: FORKED_ENTRIES_COUNT_MAX + 100 }, (_, i) =>
    here.seal(mallory, 'message', { body: `version ${i}`, artifacts: [] }),
  )
  await deliver(talk, here.create.id, here.first)
  for (let at = 0; at < branches.length; at += 100)
    await talk.say(entriesMessage(here.create.id, branches.slice(at, at + 100)))
  const deps = branches.slice(0, DEPS_COUNT_MAX + 1).map(({ entry }) => entry.id)
  await talk.say({ t: 'entries', th: here.create.id, items: [[manyHeaded(here, mallory, deps), null]], heads: null })
  await talk.catchUp()
  expect(await refused()).toEqual({ schema: 1 })
  const fork = { device: 'mallory/mallory-laptop', thread_id: textId('thread', here.create.id) }
  expect((await viewAt(team.bob, here.create.id)).forks).toEqual(['mallory/mallory-laptop'])
  // He gets the headers, and with them the proof, as soon as he compares what he holds with bob.
  await team.frank.stop()
  await team.frank.start()
  await happens([team.frank], async () => (await statusOf(team.frank)).forks.length > 0)
  for (const node of [team.bob, team.frank]) {
    expect((await statusOf(node)).forks).toEqual([fork])
    expect(await finding(node, 'forks')).toMatchObject({
      state: 'note',
      evidence: `mallory/mallory-laptop in ${fork.thread_id}`,
      details: [fork],
    })
    const said = await node.laptop.run('doctor')
    expect(said).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`forks: mallory/mallory-laptop in ${fork.thread_id}`),
    })
  }
  await served(team)
})

test('heads that are announced and never delivered cost a question each, and nothing is believed', async () => {
  const { team, talk, story, refused } = await scene()
  const here = await story('one')
  await deliver(talk, here.create.id, here.first)
  const before = (await statusOf(team.bob)).threads
  for (let round = 0; round < 5; round++) {
    await talk.say({ t: 'heads', th: here.create.id, heads: unknownIds(50) })
    await talk.hear('vector')
    await talk.say({ t: 'entries', th: here.create.id, items: [], heads: unknownIds(50) })
    await talk.catchUp()
  }
  expect(heardOf(talk, 'vector')).toBeLessThanOrEqual(10)
  expect(heardOf(talk, 'ids')).toBeLessThanOrEqual(5)
  // Digests that always differ, and tips that nobody has.
  for (let round = 0; round < 20; round++) {
    const buckets = Buffer.from(seedOf('buckets', round)).toString('hex').repeat(64)
    await talk.say(
      { t: 'digests', buckets },
      { t: 'threads', threads: unknownIds(100).map((id): [Hex, Hex] => [id, id]) },
    )
    await talk.say({
      t: 'vector',
      th: here.create.id,
      tips: unknownIds(100).map((id): [Hex, number, Hex] => [id, round, id]),
    })
    await talk.say({ t: 'got' })
  }
  await talk.catchUp()
  expect((await statusOf(team.bob)).threads).toBe(before)
  expect(await refused()).toEqual({})
  await served(team)
})

test('ids and bodies that are wanted for ever are answered a few at a time, and not at all where they are not for the asker', async () => {
  const { team, talk } = await scene()
  const client = team.bob.session()
  const message = { role: 'user', parts: [{ type: 'text' as const, text: 'between bob and frank' }] }
  await client.call('message/send', { recipient: 'frank@acme', intent: 'inform', message })
  client.close()
  const ids = unknownIds(SYNC_IDS_COUNT_MAX)
  for (let i = 0; i < 10 && !talk.isOver; i++) {
    await talk.say({ t: 'ids', th: team.workspace.ws, ids }, { t: 'got' })
    await talk.say({ t: 'want', th: team.workspace.ws, ids })
  }
  await talk.catchUp()
  expect(heardOf(talk, 'entries')).toBeLessThanOrEqual(10)
  expect(heardOf(talk, 'bodies')).toBe(0)
  await served(team)
})
