/** The worked examples of the page on sync: two messages in their frames, and a bucket. */
import { bucketDigests, encodeSync, fromHex, headsDigest, prekeysDigest } from '../../protocol/index.ts'
import { tagged } from '../../protocol/crypto.ts'
import { encodeFrame } from '../../src/net/frame.ts'
import { bob, CLOCK_MS, frank } from '../cast.ts'
import { cborLines, heading, type HexLine, rawLines, taggedLines } from './hex-lines.ts'
import * as world from './spec-world.ts'

export function sync(): HexLine[] {
  const { genesis, joined, bobsPrekey, franksPrekey, create, accept, ack, cancel } = world
  const hello = encodeSync({
    t: 'hello',
    v: 1,
    ws: genesis.id,
    ros: joined.point,
    prekeys: prekeysDigest([bobsPrekey.id, franksPrekey.id]),
    frame: 320 * 1024,
    clock: CLOCK_MS,
  })
  const vector = encodeSync({
    t: 'vector',
    th: create.id,
    tips: [
      [bob.device, 2, ack.id],
      [frank.device, 0, accept.id],
    ],
  })
  const framed = (message: Uint8Array, notes: Record<string, string>) => [
    ...rawLines(encodeFrame(message).slice(0, -message.length), `${message.length} bytes follow`),
    ...cborLines(message, { notes }),
  ]
  return [
    heading('hello'),
    ...framed(hello, { 'ros.1': 'the newest roster entry held', prekeys: 'digest of the prekey records held' }),
    heading('vector: this is held of the thread, send what lies beyond'),
    ...framed(vector, { 'tips.0.0': 'Bob’s laptop', 'tips.0.2': 'his ack', 'tips.1.2': 'Frank’s accept' }),
    heading(`the id of Bob’s cancel is not named: it lies in the past of his ack (${cancel.id.slice(0, 8)}…)`),
  ]
}

export function buckets(): HexLine[] {
  const { create, crossing } = world
  const heads = headsDigest(crossing.graph.heads)
  const at = Number.parseInt(create.id.slice(0, 2), 16)
  const digest = bucketDigests([[create.id, heads]]).slice(16 * at, 16 * at + 16)
  return [
    heading(`what bucket ${at} is the hash of: one pair for each thread whose id begins with ${create.id.slice(0, 2)}`),
    ...taggedLines(tagged('bucket', [[fromHex(create.id), fromHex(heads)]]), {
      notes: { '0.0': 'thread', '0.1': 'digest of its heads' },
    }),
    heading('the first 8 bytes of its SHA-256'),
    ...rawLines(fromHex(digest)),
  ]
}
