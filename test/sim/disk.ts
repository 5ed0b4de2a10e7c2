/** A disk that outlives the nodes that run on it, and a store on it that dies with its node. */
import { openMemoryStore } from '../../src/store/memory-store.ts'
import { SPACES, type Space, type Store, type Write } from '../../src/store/store.ts'

export type Row = [key: string, value: Uint8Array]

export interface Disk {
  /** A store as one node opens it. */
  open(options: OpenOptions): Store
  rows(space: Space): Promise<Row[]>
  /** The same rows on another disk: a backup. */
  copy(): Promise<Disk>
}

/** What becomes of a batch. `lie`: the disk says that it is written, and writes it a little later. */
export type BatchFate = 'write' | 'crash before' | 'crash after' | { lieForMs: number }

export interface OpenOptions {
  /** Once false, nothing that was asked of the store is answered any more: its node is dead. */
  isAlive(): boolean
  fateOf(writes: readonly Write[]): BatchFate
  crash(): void
  /** Something is on the disk now. */
  onWritten(writes: readonly Write[]): void
  /** Runs `run` after so long, unless the node died. */
  after(ms: number, run: () => void): void
}

/** What a dead program waits for. */
export function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}

export async function createDisk(rows: ReadonlyMap<Space, readonly Row[]> = new Map()): Promise<Disk> {
  const store = await openMemoryStore()
  const first = [...rows].flatMap(([space, found]) =>
    found.map(([key, value]): Write => ({ type: 'put', space, key, value })),
  )
  if (first.length > 0) await store.batch(first)

  async function rowsOf(space: Space): Promise<Row[]> {
    const found: Row[] = []
    for await (const row of store.range(space)) found.push(row)
    return found
  }

  return {
    open: (options) => storeOn(store, options),
    rows: rowsOf,
    async copy() {
      const all = new Map<Space, Row[]>()
      for (const space of SPACES) all.set(space, await rowsOf(space))
      return createDisk(all)
    },
  }
}

function storeOn(store: Store, options: OpenOptions): Store {
  const { isAlive, fateOf, crash, onWritten, after } = options

  async function whileAlive<T>(task: () => Promise<T>): Promise<T> {
    if (!isAlive()) return never()
    const result = await task()
    return isAlive() ? result : never()
  }

  async function land(writes: readonly Write[]): Promise<void> {
    await store.batch(writes)
    onWritten(writes)
  }

  return {
    get: (space, key) => whileAlive(() => store.get(space, key)),
    getMany: (space, keys) => whileAlive(() => store.getMany(space, keys)),
    batch: (writes) =>
      whileAlive(async () => {
        const fate = fateOf(writes)
        if (fate === 'crash before') return crash()
        if (typeof fate === 'object') return after(fate.lieForMs, () => void land(writes))
        await land(writes)
        if (fate === 'crash after') crash()
      }),
    async *range(space, range) {
      for await (const row of store.range(space, range)) {
        if (!isAlive()) await never()
        yield row
      }
    },
    close: async () => undefined,
  }
}
