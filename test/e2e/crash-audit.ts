/** Looks into the store of a node that does not run, and says what does not hold together there. */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Entry, type Hex, parseEntry, textId } from '../../protocol/index.ts'
import { decodeRow, readThreadRows } from '../../src/node/rows.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import type { Space, Store } from '../../src/store/store.ts'
import type { Acknowledged } from './crash-load.ts'
import type { NodeProcess } from './crash-node.ts'

/**
 * Faults in the store as the killed node left it, one line each. A copy is opened: the node itself
 * has to cope with the original. `own`: what this node said yes to; `others`: what has to be here by way of peers.
 */
export async function audit(node: NodeProcess, own: readonly Acknowledged[], others: readonly Acknowledged[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'relay-audit-'))
  try {
    await cp(node.laptop.home.store, folder, { recursive: true })
    const store = await openLevelStore(folder)
    try {
      return await faultsIn(store, node, own, others)
    } finally {
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function faultsIn(
  store: Store,
  { name, device }: NodeProcess,
  own: readonly Acknowledged[],
  others: readonly Acknowledged[],
): Promise<string[]> {
  const threads = await entriesIn(store)
  const faults = [...threads].flatMap(([thread, entries]) => chainFaults(thread, entries))
  const bodies = new Set<Hex>()
  for await (const [entry] of store.range('body')) bodies.add(entry)
  for (const entry of [...threads.values()].flat()) {
    if (entry.header.dev === device && entry.header.body !== null && !bodies.has(entry.id))
      faults.push(`own ${entry.header.kind} ${entry.id} has lost its body`)
  }
  for await (const [thread, row] of readThreadRows(store)) {
    const heads = headsOf(threads.get(thread) ?? [])
    if (heads.join() !== row.heads.toSorted().join()) faults.push(`the row of thread ${thread} names other heads`)
  }
  const written = own.filter(({ by }) => by.device === device)
  faults.push(...(await chunkFaults(store, written)))
  const here = namesIn(threads)
  for (const one of [...own, ...others])
    if (!here.has(nameOf(one))) faults.push(`acknowledged by ${one.by.name} and not here: ${nameOf(one)}`)
  return faults.map((fault) => `${name}: ${fault}`)
}

/** What is marked as here is here, and of own entries all chunks are. */
async function chunkFaults(store: Store, own: readonly Acknowledged[]): Promise<string[]> {
  const [chunks, marks] = [await keysIn(store, 'chunk'), await keysIn(store, 'present')]
  const faults = chunks.join() === marks.join() ? [] : ['other chunks are marked as here than are here']
  const wanted = new Map<string, number>()
  for (const { thread, chunks: count = 0 } of own) wanted.set(thread, (wanted.get(thread) ?? 0) + count)
  const found = new Map<string, number>()
  for (const key of chunks) {
    const thread = textId('thread', key.split('/')[0] ?? '')
    found.set(thread, (found.get(thread) ?? 0) + 1)
  }
  for (const [thread, count] of wanted)
    if ((found.get(thread) ?? 0) < count)
      faults.push(`${thread}: ${found.get(thread) ?? 0} of ${count} own chunks are here`)
  return faults
}

async function keysIn(store: Store, space: Space): Promise<string[]> {
  const keys: string[] = []
  for await (const [key] of store.range(space)) keys.push(key)
  return keys
}

async function entriesIn(store: Store): Promise<Map<Hex, Entry[]>> {
  const threads = new Map<Hex, Entry[]>()
  for await (const [key, value] of store.range('entry')) {
    const [envelope] = decodeRow(value) as [Uint8Array, number]
    const entry = parseEntry(envelope)
    if (!entry.ok) throw new Error(`the entry ${key} in the store does not parse: ${entry.refusal}`)
    const of = threads.get(entry.value.thread) ?? []
    of.push(entry.value)
    threads.set(entry.value.thread, of)
  }
  return threads
}

/** Every device's chain is one line from 0 on, and no entry lacks a parent. */
function chainFaults(thread: Hex, entries: readonly Entry[]): string[] {
  const faults: string[] = []
  const known = new Set<Hex>()
  const tips = new Map<Hex, { seq: number; id: Hex }>()
  for (const { id, header } of entries) {
    const tip = tips.get(header.dev)
    if (header.seq !== (tip?.seq ?? -1) + 1 || header.prev !== (tip?.id ?? null))
      faults.push(`thread ${thread}: number ${header.seq} of ${header.dev} does not follow on ${tip?.seq ?? 'nothing'}`)
    for (const parent of [...(header.prev === null ? [] : [header.prev]), ...header.deps])
      if (!known.has(parent)) faults.push(`thread ${thread}: ${id} is here before its parent ${parent}`)
    tips.set(header.dev, { seq: header.seq, id })
    known.add(id)
  }
  return faults
}

function headsOf(entries: readonly Entry[]): Hex[] {
  const named = new Set(entries.flatMap(({ header }) => [header.prev ?? '', ...header.deps]))
  return entries.flatMap(({ id }) => (named.has(id) ? [] : [id])).toSorted()
}

function nameOf({ by, kind, thread, message }: Acknowledged): string {
  return `${by.device} ${kind} ${thread} ${message ?? ''}`
}

/** What is in the store, in the words of {@link nameOf}. */
function namesIn(threads: ReadonlyMap<Hex, readonly Entry[]>): Set<string> {
  const names = new Set<string>()
  for (const { id, thread, header } of [...threads.values()].flat()) {
    const message = header.kind === 'message' ? textId('message', id) : ''
    names.add(`${header.dev} ${header.kind} ${textId('thread', thread)} ${message}`)
  }
  return names
}
