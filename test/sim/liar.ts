/**
 * A member of the workspace whose node was replaced by a program that lies. Its key is the true one,
 * and it knows whatever anybody wrote, so only the rules stand between it and the others.
 */
import {
  activeDevices,
  commitThreadKey,
  type Draft,
  encodeBody,
  encodeGossip,
  encodeSync,
  type Hex,
  openPrekey,
  parseSync,
  type Prekey,
  prekeysDigest,
  PROTOCOL_VERSION,
  sealBody,
  sealEnvelope,
  signEntry,
  type SyncMessage,
  toHex,
  topicOf,
  wrapThreadKey,
} from '../../protocol/index.ts'
import type { FrameStream } from '../../src/net/net.ts'
import { SILENT_LOG } from '../../src/system.ts'
import { actor, CLOCK_MS, wrapFor } from '../cast.ts'
import { createHeader, devicesOf, entriesOfThread } from './checkers/verdicts.ts'
import { type Lie, lie } from './lies.ts'
import type { Random } from './random.ts'
import { type World, rosterOn } from './world.ts'

export interface Liar {
  /** Does one of the things that it can think of. */
  act(): Promise<void>
  /** Says no more, and hangs up. */
  stop(): Promise<void>
}

/** Half-truths are more dangerous than noise: most of what it says is well formed. */
const HABITS = ['lie', 'lie', 'lie', 'hand off', 'tell one by one', 'announce', 'noise', 'replay', 'gossip'] as const

/** It makes keys of its own too, and shares, where it may be removed. */
const HABITS_OF_REMOVALS = [...HABITS, 'take over', 'share nothing'] as const

/** `removals`: it may be removed. */
export async function createLiar(world: World, random: Random, removals: boolean): Promise<Liar> {
  const { scene, liarsDisk } = world
  const self = actor('mallory')
  const roster = await rosterOn(liarsDisk)
  const { ws } = roster
  const parts = { scene, random, self, roster, removals }
  const prekeys = new Map<Hex, Prekey>()
  for (const [, record] of await liarsDisk.rows('prekey')) {
    const prekey = openPrekey(record)
    if (prekey.ok) prekeys.set(prekey.value.device, prekey.value)
  }
  const secret = (await liarsDisk.rows('secret')).find(([key]) => key === `workspace/${roster.epoch}`)?.[1]
  if (!secret) throw new Error('a member holds the key of the workspace')
  const streams = new Map<Hex, FrameStream>()
  const net = world.hub.net(self.device, {
    clock: world.hubClock,
    dice: (count) => random.bytes(count),
    log: SILENT_LOG,
  })

  function say(device: Hex, ...messages: SyncMessage[]): void {
    for (const message of messages)
      streams
        .get(device)
        ?.send(encodeSync(message))
        .catch(() => undefined)
  }

  const hello = (): SyncMessage => ({
    t: 'hello',
    v: PROTOCOL_VERSION,
    ws,
    ros: roster.point,
    prekeys: prekeysDigest([...prekeys.values()].map(({ id }) => id)),
    frame: 320 * 1024,
    clock: CLOCK_MS,
  })

  /** Answers some questions, with the truth or a part of it. */
  function answer(device: Hex, message: SyncMessage): void {
    if (message.t === 'digests' && random.chance(0.3)) say(device, message)
    if ((message.t === 'entries' || message.t === 'bodies') && random.chance(0.8)) say(device, { t: 'got' })
    if ((message.t === 'vector' || message.t === 'ids') && random.chance(0.6)) {
      const entries = random.some(entriesOfThread(scene, message.th), 0.9)
      const heads = random.chance(0.8) ? entries.slice(-2).map(({ id }) => id) : [toHex(random.bytes(32))]
      const items = entries.slice(0, 64).map(({ envelope }): [Uint8Array, null] => [envelope, null])
      say(device, { t: 'entries', th: message.th, items, heads })
    }
  }

  async function converse(stream: FrameStream): Promise<void> {
    streams.set(stream.device, stream)
    say(stream.device, hello())
    try {
      for (let frame = await stream.receive(); frame; frame = await stream.receive()) {
        const message = parseSync(frame)
        if (message.ok) answer(stream.device, message.value)
      }
    } catch {
      // However it ended, it is over.
    }
    if (streams.get(stream.device) === stream) streams.delete(stream.device)
  }

  await net.start({
    onSync: converse,
    onJoin: async () => undefined,
    onGossip: async () => (random.chance(0.5) ? 'accept' : 'ignore'),
    onPeerChange: () => undefined,
    onBootstrapChange: () => undefined,
  })
  net.setTeam(new Map(scene.holders.map(({ device }) => [device, []])))
  net.setTopics([topicOf(secret, roster.epoch)])

  function listeners(): Hex[] {
    return [...streams.keys()].toSorted()
  }

  function entriesMessage(thread: Hex, told: Lie[]): SyncMessage {
    const items = told.map(({ entry, body }): [Uint8Array, Uint8Array | null] => [
      entry.envelope,
      random.chance(0.8) ? body : null,
    ])
    return { t: 'entries', th: thread, items, heads: random.chance(0.5) ? told.map(({ entry }) => entry.id) : null }
  }

  /** A handoff that can be read. */
  async function handOff(): Promise<Lie | undefined> {
    const to = random.pick(scene.holders)
    const member = to && roster.devices.get(to.device)?.member
    if (!to || member === undefined) return undefined
    const [key, nonce] = [random.bytes(32), toHex(random.bytes(32))]
    const wraps = await Promise.all(
      [self.device, to.device].map((device) => {
        const prekey = prekeys.get(device)
        if (!prekey) throw new Error('everybody has a prekey')
        const place = { ws, nonce, author: self.device }
        return wrapThreadKey(key, place, { device, prekey: prekey.id, x25519: prekey.x25519, ekm: random.bytes(32) })
      }),
    )
    const ctl = {
      to: member,
      senders: [self.device],
      recipients: [to.device],
      intent: 'inform' as const,
      action: null,
      parent: null,
      nonce,
      commit: commitThreadKey(key, { nonce, ws, device: self.device, prev: null }),
      wraps,
    }
    const place = { v: PROTOCOL_VERSION, ws, th: null, dev: self.device, seq: 0, prev: null, deps: [] }
    const draft: Draft = { ...place, ros: roster.point, kind: 'create', ctl, body: null, ts: CLOCK_MS }
    const plain = encodeBody('create', { summary: `from mallory ${nonce}`, artifacts: [] })
    const { header, sealed } = sealBody(draft, plain, { key, keyId: null, iv: random.bytes(32) })
    return { entry: signEntry(header, self.key), body: sealed }
  }

  /** What it says next in a thread, on top of its own words and of nothing that it need not know. */
  function next(thread: Hex) {
    const own = entriesOfThread(scene, thread).filter(({ header }) => header.dev === self.device)
    const prev = own.toSorted((one, other) => other.header.seq - one.header.seq)[0]
    const place = { v: PROTOCOL_VERSION, ws, th: thread, dev: self.device, seq: prev ? prev.header.seq + 1 : 0 }
    return { ...place, prev: prev?.id ?? null, deps: prev ? [] : [thread], ros: roster.point, body: null, ts: CLOCK_MS }
  }

  /** A key that the rules store and that everybody can open who was in when the liar was, with as low an id as it can make. */
  async function takeOver(thread: Hex): Promise<Lie | undefined> {
    const create = createHeader(scene, thread)
    if (!create || !devicesOf(create).includes(self.device)) return undefined
    const { nonce } = create.ctl
    const plain = next(thread)
    const key = random.bytes(32)
    const wraps = await Promise.all(
      devicesOf(create).map((device) => {
        const prekey = prekeys.get(device)
        if (!prekey) throw new Error('everybody has a prekey')
        const place = { ws, nonce, author: self.device }
        return wrapThreadKey(key, place, { device, prekey: prekey.id, x25519: prekey.x25519, ekm: random.bytes(32) })
      }),
    )
    const commit = commitThreadKey(key, { nonce, ws, device: self.device, prev: plain.prev })
    const draft: Draft = { ...plain, kind: 'wrap', ctl: { commit, wraps, older: [], adds: null } }
    const entries = Array.from({ length: 16 }, (_, ts) => signEntry({ ...draft, ts }, self.key))
    const [lowest] = entries.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return lowest && { entry: lowest, body: null }
  }

  /** A share that the rules store and that opens nothing, with whoever was in when the liar was. */
  function shareNothing(thread: Hex): Lie | undefined {
    const create = createHeader(scene, thread)
    const others = scene.holders.filter(({ device }) => create && !devicesOf(create).includes(device))
    const reader = roster.devices.get(random.pick(others)?.device ?? '')?.member
    if (!create || reader === undefined || !devicesOf(create).includes(self.device)) return undefined
    const devices = activeDevices(roster).flatMap(({ key, member }) => (member === reader ? [key] : []))
    const ctl = { reader, devices, key: thread, wraps: devices.map(wrapFor) }
    return { entry: signEntry({ ...next(thread), kind: 'share', ctl }, self.key), body: null }
  }

  function aThread(): Hex | undefined {
    return random.pick([...scene.entries.values()].filter(({ header }) => header.kind === 'create'))?.id
  }

  function publish(told: Lie): void {
    const plain = encodeGossip({ t: 'entry', envelope: told.entry.envelope, body: told.body })
    const salt = random.bytes(32)
    const data = sealEnvelope(plain, { key: secret ?? new Uint8Array(32), epoch: roster.epoch, salt })
    net.publish(topicOf(secret ?? data, roster.epoch), data).catch(() => undefined)
  }

  return {
    async act() {
      const habit = random.pick<(typeof HABITS_OF_REMOVALS)[number]>(removals ? HABITS_OF_REMOVALS : HABITS)
      const thread = aThread()
      scene.note(`mallory: ${habit}`)
      if (habit === 'hand off') {
        const told = await handOff()
        for (const device of told ? random.some(listeners(), 0.7) : [])
          if (told) say(device, entriesMessage(told.entry.id, [told]))
        return
      }
      if (habit === 'noise') {
        for (const device of random.some(listeners(), 0.2))
          streams
            .get(device)
            ?.send(random.bytes(random.between(1, 400)))
            .catch(() => undefined)
        return
      }
      if (thread === undefined) return
      if (habit === 'take over' || habit === 'share nothing') {
        const told = habit === 'take over' ? await takeOver(thread) : shareNothing(thread)
        for (const device of told ? listeners() : []) if (told) say(device, entriesMessage(thread, [told]))
      }
      if (habit === 'lie')
        for (const device of random.some(listeners(), 0.6)) say(device, entriesMessage(thread, [lie(parts, thread)]))
      if (habit === 'gossip') publish(lie(parts, thread))
      if (habit === 'tell one by one') {
        // One tells it from the other only by whom it was told.
        const [one, other] = [lie(parts, thread), lie(parts, thread)]
        listeners().forEach((device, i) => say(device, entriesMessage(thread, [i % 2 === 0 ? one : other])))
      }
      if (habit === 'announce')
        for (const device of listeners()) say(device, { t: 'heads', th: thread, heads: [toHex(random.bytes(32))] })
      if (habit === 'replay') {
        const old = random.pick([...scene.entries.values()])
        for (const device of old ? listeners() : [])
          if (old) say(device, { t: 'entries', th: aThread() ?? thread, items: [[old.envelope, null]], heads: null })
      }
    },
    async stop() {
      await net.stop()
    },
  }
}
