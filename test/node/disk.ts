import { openMemoryStore } from '../../src/store/memory-store.ts'
import { SPACES, type Space, type Store, StoreError, type Write } from '../../src/store/store.ts'

/** A disk that outlives the nodes which open it, and that fails when it is told to. */
export interface Disk {
  /** A store on this disk, as a node opens it. Closing it leaves what is written. */
  open(): Store
  /** The next batch that writes to one of `spaces` fails, and nothing of it is written. */
  failNext(...spaces: Space[]): void
  /** From now on every batch fails. */
  failForever(): void
  /** The next single row that is read of `space` cannot be read. */
  failNextRead(space: Space): void
  repair(): void
  /** Batches that failed. */
  readonly failures: number
  /** All rows of a space, in key order. */
  rows(space: Space): Promise<[key: string, value: Uint8Array][]>
  /** Every key and value but those of `apart`, as text that can be compared. */
  image(...apart: Space[]): Promise<string>
  /** Writes without a node. */
  write(writes: Write[]): Promise<void>
  copy(): Promise<Disk>
}

export async function createDisk(): Promise<Disk> {
  const store = await openMemoryStore()
  let failing: ReadonlySet<Space> | 'all' | undefined
  let unreadable: Space | undefined
  let failures = 0

  function check(writes: readonly Write[]): void {
    if (failing === undefined) return
    const spaces = failing
    if (spaces !== 'all' && !writes.some(({ space }) => spaces.has(space))) return
    if (spaces !== 'all') failing = undefined
    failures++
    throw new StoreError('STORE_FULL', 'No space is left on the disk.')
  }

  async function rows(space: Space): Promise<[string, Uint8Array][]> {
    const found: [string, Uint8Array][] = []
    for await (const row of store.range(space)) found.push(row)
    return found
  }

  const disk: Disk = {
    open() {
      let isClosed = false
      const whileOpen = (): Store => {
        if (isClosed) throw new StoreError('STORE_CLOSED', 'The store is closed.')
        return store
      }
      return {
        async get(space, key) {
          const opened = whileOpen()
          if (space !== unreadable) return opened.get(space, key)
          unreadable = undefined
          failures++
          throw new StoreError('STORE_FAILED', 'The disk could not be read.')
        },
        getMany: async (space, keys) => whileOpen().getMany(space, keys),
        async batch(writes) {
          const opened = whileOpen()
          check(writes)
          await opened.batch(writes)
        },
        range: (space, range) => whileOpen().range(space, range),
        close: async () => void (isClosed = true),
      }
    },
    failNext(...spaces) {
      failing = new Set(spaces.length > 0 ? spaces : SPACES.filter((space) => space !== 'peer'))
    },
    failForever() {
      failing = 'all'
    },
    failNextRead(space) {
      unreadable = space
    },
    repair() {
      failing = undefined
    },
    get failures() {
      return failures
    },
    rows,
    async image(...apart) {
      const spaces = SPACES.filter((space) => !apart.includes(space))
      const all = await Promise.all(spaces.map(async (space) => [space, await rows(space)] as const))
      return all
        .flatMap(([space, found]) =>
          found.map(([key, value]) => `${space} ${key} ${Buffer.from(value).toString('hex')}`),
        )
        .join('\n')
    },
    write: (writes) => store.batch(writes),
    async copy() {
      const other = await createDisk()
      const all = await Promise.all(SPACES.map(async (space) => [space, await rows(space)] as const))
      await other.write(
        all.flatMap(([space, found]) => found.map(([key, value]): Write => ({ type: 'put', space, key, value }))),
      )
      return other
    },
  }
  return disk
}
