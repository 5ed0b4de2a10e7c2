import { expect, test } from 'vitest'
import { FRAME_SIZE_BYTES_MAX, parseSync, type SyncMessage } from '../../protocol/index.ts'
import type { FrameStream } from '../../src/net/net.ts'
import { createAsking } from '../../src/node/asking.ts'
import { createOutbound } from '../../src/node/outbound.ts'
import { testClock } from './clock.ts'

const id = (n: number): string => n.toString(16).padStart(64, '0')

/** A stream that keeps what was sent, and tells whoever waits for a count. */
function recorder() {
  const sent: SyncMessage[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let aborted: string | undefined
  const stream: FrameStream = {
    device: id(1),
    send(frame) {
      const message = parseSync(frame)
      if (!message.ok) throw new Error(`sent what is no message: ${message.refusal}`)
      expect(frame.length).toBeLessThanOrEqual(FRAME_SIZE_BYTES_MAX)
      sent.push(message.value)
      for (const { count, resolve } of waiting) if (sent.length >= count) resolve()
      return Promise.resolve()
    },
    receive: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
    abort: (reason) => {
      aborted = reason
    },
  }
  return {
    stream,
    sent,
    kinds: () => sent.map(({ t }) => t),
    aborted: () => aborted,
    reached: (count: number) =>
      sent.length >= count ? Promise.resolve() : new Promise<void>((resolve) => waiting.push({ count, resolve })),
  }
}

function batches(count: number) {
  return async function* (): AsyncIterable<SyncMessage> {
    for (let n = 0; n < count; n++) yield { t: 'entries', th: id(7), items: [], heads: null }
  }
}

/** Lets everything run that can run without anyone's help. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function outboundTo({ stream }: { stream: FrameStream }, onForgotten = () => {}) {
  const question = (thread: string): Promise<SyncMessage> => Promise.resolve({ t: 'vector', th: thread, tips: [] })
  return createOutbound({ stream, question, asking: createAsking(testClock()), onForgotten })
}

test('a batch that waits for room keeps no short message back', async () => {
  const peer = recorder()
  const out = outboundTo(peer)
  const running = out.run()
  out.answer('a', batches(9))
  await peer.reached(4)
  await settled()
  expect(peer.kinds()).toEqual(['entries', 'entries', 'entries', 'entries'])
  // What the peer needs to go on with its own batches: without it both sides would wait for ever.
  out.say({ t: 'got' })
  out.tell(id(3), [id(4)])
  out.ask(id(5))
  await peer.reached(7)
  expect(peer.kinds().slice(4)).toEqual(['got', 'heads', 'vector'])
  out.taken()
  out.taken()
  await peer.reached(9)
  expect(peer.kinds().slice(7)).toEqual(['entries', 'entries'])
  out.end()
  await running
})

test('a peer that takes nothing gets no more than a few batches, and cannot pile up answers', async () => {
  const peer = recorder()
  const out = outboundTo(peer)
  const running = out.run()
  for (let n = 0; n < 300; n++) out.answer(`want ${n}`, batches(2))
  await settled()
  expect(peer.sent.length).toBe(4)
  expect(peer.aborted()).toBe('asks for more than it takes')
  out.end()
  await running
})

test('questions are asked a few at a time, each thread once until its answer is here', async () => {
  const peer = recorder()
  const out = outboundTo(peer)
  const running = out.run()
  for (let n = 0; n < 5000; n++) out.ask(id(n))
  await settled()
  expect(peer.sent.length).toBe(32)
  out.ask(id(0))
  await settled()
  expect(peer.sent.length).toBe(32)
  out.answered(id(0))
  await peer.reached(33)
  expect(peer.aborted()).toBeUndefined()
  out.end()
  await running
})

test('of any number of threads that are named a few thousand are kept; what was let go is called for when those are answered', async () => {
  const peer = recorder()
  let calls = 0
  const out = outboundTo(peer, () => calls++)
  const running = out.run()
  for (let n = 0; n < 100_000; n++) out.ask(id(n))
  for (let n = 0; n < 8191; n++) out.answered(id(n))
  await settled()
  expect(calls).toBe(0)
  while (calls === 0) {
    const before = peer.sent.length
    for (const { th } of peer.sent as { th: string }[]) out.answered(th)
    await settled()
    if (peer.sent.length === before) break
  }
  expect(calls).toBe(1)
  expect(new Set(peer.sent.map((message) => JSON.stringify(message))).size).toBe(8192)
  out.end()
  await running
})

test('of many news on one thread the last is told', async () => {
  const peer = recorder()
  const out = outboundTo(peer)
  out.tell(id(1), [id(10)])
  out.tell(id(1), [id(11)])
  const running = out.run()
  await peer.reached(1)
  await settled()
  expect(peer.sent).toEqual([{ t: 'heads', th: id(1), heads: [id(11)] }])
  out.end()
  await running
})

function chunks(count: number) {
  return async function* (): AsyncIterable<SyncMessage> {
    for (let n = 0; n < count; n++) yield { t: 'chunks', th: id(8), items: [[id(n), new Uint8Array(0)]] }
  }
}

test('of 32 MiB in chunks two are under way, and whatever else there is to say goes between them', async () => {
  const peer = recorder()
  const out = outboundTo(peer)
  const running = out.run()
  out.give(chunks(128))
  await peer.reached(2)
  await settled()
  expect(peer.kinds()).toEqual(['chunks', 'chunks'])
  out.answer('a', batches(3))
  out.tell(id(3), [id(4)])
  await peer.reached(5)
  await settled()
  // Four batches in all, and news waits for none of them.
  expect(peer.kinds().slice(2)).toEqual(['entries', 'entries', 'heads'])
  out.taken()
  await peer.reached(6)
  await settled()
  expect(peer.kinds().slice(5)).toEqual(['entries'])
  for (let n = 0; n < 5; n++) out.taken()
  await peer.reached(8)
  await settled()
  expect(peer.kinds().slice(6)).toEqual(['chunks', 'chunks'])
  out.end()
  await running
})

test('a peer cannot pile up wishes for chunks that it does not take', async () => {
  const peer = recorder()
  const out = outboundTo(peer)
  const running = out.run()
  for (let n = 0; n < 300; n++) out.give(chunks(1))
  await settled()
  expect(peer.sent.length).toBe(2)
  expect(peer.aborted()).toBe('asks for more than it takes')
  out.end()
  await running
})
