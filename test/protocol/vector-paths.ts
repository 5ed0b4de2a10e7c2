/** The ways by which entries come to a node. Whatever the way, the bytes are the same and so is the thread. */
import {
  type Checked,
  encodeGossip,
  encodeSync,
  type Entry,
  type Hex,
  openEntry,
  openEnvelope,
  parseEntry,
  parseGossip,
  parseSync,
  type RosterLog,
  sealEnvelope,
} from '../../protocol/index.ts'
import { putEntry, readEntries } from '../../src/node/rows.ts'
import { openMemoryStore } from '../../src/store/memory-store.ts'
import { seedOf } from '../cast.ts'
import { must } from './vector-checks.ts'
import { type Arrival, receive } from './vector-delivery.ts'

export interface Way {
  readonly name: string
  /** True where only what is stored goes this way. */
  readonly storedOnly?: boolean
  readonly open?: (envelope: Uint8Array) => Checked<Entry>
  readonly carry: (arrivals: readonly Arrival[], log: RosterLog) => Promise<readonly Arrival[]>
}

const W = { key: seedOf('workspace key'), epoch: 0 }
const BATCH_COUNT = 3

/** What is stored of all threads is written to a store and read back from it. */
async function throughStore(arrivals: readonly Arrival[], log: RosterLog): Promise<readonly Arrival[]> {
  const { graphs } = receive(arrivals, log)
  const bodies = new Map(arrivals.map(({ envelope, body }) => [must(parseEntry(envelope)).id, body]))
  const store = await openMemoryStore()
  const back: Arrival[] = []
  for (const [thread, graph] of graphs) {
    const entries = graph.nodes.map(({ entry }) => entry)
    await store.batch(entries.map(({ envelope }, arrival) => putEntry(thread, { envelope, arrival, receivedAt: 0 })))
    for await (const { envelope } of readEntries(store, thread))
      back.push({ envelope, body: bodies.get(must(parseEntry(envelope)).id) ?? null })
  }
  await store.close()
  return back
}

/** In batches of one thread each, as a peer answers. */
function throughSync(arrivals: readonly Arrival[]): readonly Arrival[] {
  const back: Arrival[] = []
  for (let at = 0; at < arrivals.length; at += BATCH_COUNT) {
    const batch = arrivals.slice(at, at + BATCH_COUNT)
    const th: Hex = must(parseEntry(batch[0]?.envelope ?? new Uint8Array(0))).thread
    const items = batch.map(({ envelope, body }): [Uint8Array, Uint8Array | null] => [envelope, body])
    const message = must(parseSync(encodeSync({ t: 'entries', th, items, heads: null })))
    if (message.t !== 'entries') throw new Error('another message came out')
    back.push(...message.items.map(([envelope, body]) => ({ envelope, body })))
  }
  return back
}

function throughGossip(arrivals: readonly Arrival[]): readonly Arrival[] {
  return arrivals.map(({ envelope, body }, at) => {
    const sealed = sealEnvelope(encodeGossip({ t: 'entry', envelope, body }), { ...W, salt: seedOf('salt', at) })
    const message = must(parseGossip(must(openEnvelope(sealed, W.key))))
    if (message.t !== 'entry') throw new Error('another message came out')
    return { envelope: message.envelope, body: message.body }
  })
}

export const WAYS: readonly Way[] = [
  { name: 'opened one by one', open: openEntry, carry: (arrivals) => Promise.resolve(arrivals) },
  { name: 'written to a store and read back', storedOnly: true, open: parseEntry, carry: throughStore },
  { name: 'in frames of sync', carry: (arrivals) => Promise.resolve(throughSync(arrivals)) },
  { name: 'in sealed envelopes of gossip', carry: (arrivals) => Promise.resolve(throughGossip(arrivals)) },
]

/** The roster as a peer hands it over. */
export function rosterThroughSync(entries: readonly Uint8Array[]): readonly Uint8Array[] {
  const message = must(parseSync(encodeSync({ t: 'roster', entries: [...entries] })))
  if (message.t !== 'roster') throw new Error('another message came out')
  return message.entries
}
