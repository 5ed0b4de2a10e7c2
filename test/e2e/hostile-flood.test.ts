/** Peers that send too much, too slowly or nothing at all, enrolled and not: a running node stays small and serves the others meanwhile. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  encodeCanonical,
  encodeJoin,
  encodeSync,
  GOSSIP_SIZE_BYTES_MAX,
  type Hex,
  parseCode,
  parseJoin,
  inviteKey,
  peerIdText,
  signPrekey,
} from '../../protocol/index.ts'
import { encodeFrame } from '../../src/net/frame.ts'
import { actor, emptyStory, seedOf } from '../cast.ts'
import type { Talk } from '../node/impostor.ts'
import { ended, type HostilePeer, hostilePeer, JOIN, SYNC } from './hostile-peer.ts'
import { type HostileTeam, hostileTeam, served, statusOf } from './hostile-team.ts'

/** What one flood may leave behind in the memory of a node. All floods here are several times as large. */
const GROWTH_BYTES_MAX = 64 * 1024 * 1024

let labels = 0
const id = (): Hex => Buffer.from(seedOf('flood', labels++)).toString('hex')
const ids = (count: number): Hex[] => Array.from({ length: count }, id)

/** Runs `flood` while the others work, and sees that it left little behind. */
async function withstands(team: HostileTeam, flood: () => Promise<void>): Promise<void> {
  const before = await team.heap.used()
  await Promise.all([flood(), served(team)])
  const after = await team.heap.used()
  expect(after - before).toBeLessThan(GROWTH_BYTES_MAX)
  await served(team)
}

/** Says it as often as `count` says, unless the node ends it before. */
async function repeat(talk: Talk, count: number, say: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < count && !talk.isOver; round++) {
    try {
      await say(round)
    } catch {
      return // The node has ended it: that is one way to withstand.
    }
  }
}

async function enrolled(): Promise<{ team: HostileTeam; mallory: HostilePeer }> {
  const team = await hostileTeam()
  return { team, mallory: await hostilePeer(team, 'mallory') }
}

test('a peer that says one byte now and then is waited for, and nobody else waits', async () => {
  const { team, mallory } = await enrolled()
  const stream = await mallory.stream(SYNC)
  const heard = once(stream, 'message')
  const frame = encodeFrame(encodeSync(mallory.hello()))
  for (const byte of frame.subarray(0, 4)) {
    stream.send(new Uint8Array([byte]))
    await served(team)
  }
  stream.send(frame.subarray(4))
  await heard
  stream.abort(new Error('enough'))
})

test('connections that are begun and never finished, and streams on which nothing is said or read, keep nobody out', async () => {
  const { team, mallory } = await enrolled()
  const [, , host, , port] = team.address.split('/')
  const sockets = await Promise.all(
    Array.from({ length: 24 }, async (): Promise<Socket> => {
      const socket = connect(Number(port), host)
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    }),
  )
  sockets[0]?.write(Buffer.alloc(1000))
  await served(team)
  const mute = await mallory.stream(SYNC)
  await served(team)
  await mute.close()
  await served(team)
  // The next one takes the place of the last.
  for (let i = 0; i < 10; i++) await mallory.stream(SYNC)
  await served(team)
  // frank comes back through the same door.
  await team.frank.stop()
  await team.frank.start()
  await served(team)
})

test('gossip by the thousand, of every wrong kind, is dropped, and what was refused is counted', async () => {
  const { team, mallory } = await enrolled()
  const publish = await mallory.meetGossip()
  const story = emptyStory(team.workspace, [mallory], [actor('frank')])
  const create = story.draft(mallory, 'create')
  const forged = Uint8Array.from(create.envelope)
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
  const kinds = [
    () => new Uint8Array(GOSSIP_SIZE_BYTES_MAX).fill(1),
    () => encodeCanonical([7, seedOf('salt'), new Uint8Array(272)]),
    () => mallory.sealed(encodeCanonical({ t: 'entry' })),
    () => mallory.sealed({ t: 'entry', envelope: forged, body: new Uint8Array(8000) }),
    () => mallory.sealed({ t: 'hint', th: id(), heads: ids(8) }),
    () => mallory.sealed({ t: 'entry', envelope: create.envelope, body: null }),
  ]
  await withstands(team, async () => {
    for (let i = 0; i < 1500; i++) await publish(kinds[i % kinds.length]?.() ?? new Uint8Array())
  })
  const { refused } = await statusOf(team.bob)
  expect(refused['message']).toBeGreaterThan(0)
  expect(refused['bad_signature']).toBeGreaterThan(0)
})

test('hellos without end, read or not', async () => {
  const { team, mallory } = await enrolled()
  const talk = await mallory.talk()
  await withstands(team, async () => {
    await repeat(talk, 3000, () => talk.say(mallory.hello({ clock: labels++ })))
    if (!talk.isOver) await talk.catchUp().catch(() => undefined)
  })
  const deaf = await mallory.stream(SYNC)
  deaf.pause()
  const frame = encodeFrame(encodeSync(mallory.hello({ ros: [0, '00'.repeat(32)], prekeys: '00'.repeat(32) })))
  await withstands(team, async () => {
    const over = ended(deaf)
    for (let i = 0; i < 5000 && deaf.status === 'open'; i++) {
      if (!deaf.send(frame)) await Promise.race([once(deaf, 'drain'), over])
    }
  })
})

test('names of threads that nobody has, by the hundred thousand', async () => {
  const { team, mallory } = await enrolled()
  const talk = await mallory.talk()
  const some = ids(4000)
  await withstands(team, () =>
    repeat(talk, 60, async (round) => {
      const mark = round.toString(16).padStart(8, '0')
      await talk.say({ t: 'threads', threads: some.map((one): [Hex, Hex] => [mark + one.slice(8), one]) })
    }),
  )
})

test('announcements, questions and wishes without end', async () => {
  const { team, mallory } = await enrolled()
  const talk = await mallory.talk()
  await withstands(team, () =>
    repeat(talk, 2000, async (round) => {
      const heads = ids(4)
      await talk.say({ t: 'heads', th: id(), heads }, { t: 'vector', th: heads[0] ?? '', tips: [] })
      await talk.say({ t: 'want', th: id(), ids: heads }, { t: 'ids', th: id(), ids: heads })
      await talk.say({ t: 'digests', buckets: id().repeat(64) }, { t: 'got' })
      if (round % 100 === 0) await talk.catchUp()
    }),
  )
})

test('a new prekey with every breath', async () => {
  const { team, mallory } = await enrolled()
  const talk = await mallory.talk()
  const fields = { ws: team.workspace.ws, device: mallory.device, mailbox: mallory.device, created: 0 }
  const x25519 = Buffer.from(seedOf('x')).toString('hex')
  await withstands(team, () =>
    repeat(talk, 1000, async (round) => {
      await talk.say({
        t: 'prekeys',
        records: [signPrekey({ ...fields, x25519, counter: 100 + round }, mallory.key).bytes],
      })
    }),
  )
})

test('a stranger gets no stream; while somebody is invited it gets the join protocol, and nothing by it', async () => {
  const team = await hostileTeam()
  const trudy = await hostilePeer(team, 'trudy')
  // Refused, or ended before anything was said.
  for (const protocol of [SYNC, JOIN, '/meshsub/1.2.0']) await trudy.stream(protocol).then(ended, () => undefined)
  const bob = team.bob.session()
  const { code, invite_id } = await bob.call('relay/invite', { name: 'dave', standalone: true })
  const secret = parseCode(code)
  if (!secret.ok) throw new Error('bob made a code that does not parse')
  const key = inviteKey(secret.value.secret)
  const before = await team.heap.used()
  const ask = { t: 'ask' as const, v: 1, key: key.public, device: trudy.device, nonce: id() }
  const zeros = '00'.repeat(64)
  const prekey = signPrekey(
    {
      ws: team.workspace.ws,
      device: trudy.device,
      counter: 1,
      x25519: actor('frank').device,
      mailbox: trudy.device,
      created: 0,
    },
    trudy.key,
  )
  const claim = {
    t: 'claim' as const,
    device_name: 'x',
    prekey: prekey.bytes,
    invite_signature: zeros,
    device_signature: zeros,
  }
  const tries: [said: Uint8Array[], reasons: (string | undefined)[]][] = [
    [[new Uint8Array(100)], [undefined]],
    [[new Uint8Array(300_000).fill(0x81)], [undefined]],
    [[encodeJoin({ ...ask, v: 2 })], ['version']],
    [[encodeJoin({ ...ask, device: actor('frank').device })], ['proof']],
    [[encodeJoin({ ...ask, key: trudy.device })], ['unknown']],
    [
      [encodeJoin(ask), encodeJoin(claim)],
      ['offer', 'proof'],
    ],
    [[encodeJoin(claim)], [undefined]],
  ]
  for (const [said, reasons] of tries) {
    const frames = await trudy.frames(JOIN)
    for (const frame of said) await frames.send(frame)
    const heard: (string | undefined)[] = []
    while (heard.length < reasons.length) {
      const answer = await frames.receive().catch(() => undefined)
      const message = answer && parseJoin(answer)
      heard.push(message?.ok ? ('reason' in message.value ? message.value.reason : message.value.t) : undefined)
    }
    expect(heard).toEqual(reasons)
    frames.abort('done')
  }
  // It stays, says nothing, and the others work.
  await trudy.stream(JOIN)
  await served(team)
  expect((await team.heap.used()) - before).toBeLessThan(GROWTH_BYTES_MAX)
  await bob.call('relay/invite-revoke', { invite_id })
  bob.close()
  expect((await statusOf(team.bob)).teammates.map(({ handle }) => handle)).toEqual([
    'bob@acme',
    'frank@acme',
    'mallory@acme',
  ])
  expect(JSON.stringify(await statusOf(team.bob))).not.toContain(peerIdText(trudy.device))
})
