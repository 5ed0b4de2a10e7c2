import type { Range, Space, Write } from '../../src/store/store.ts'

/** What a store should hold, kept in the plainest way. */
export interface Model {
  batch(writes: readonly Write[]): void
  get(space: Space, key: string): Uint8Array | undefined
  range(space: Space, range: Range): [string, Uint8Array][]
}

export function model(): Model {
  const spaces = new Map<Space, Map<string, Uint8Array>>()
  const content = (space: Space): Map<string, Uint8Array> => {
    const found = spaces.get(space) ?? new Map<string, Uint8Array>()
    spaces.set(space, found)
    return found
  }

  return {
    batch(writes) {
      for (const write of writes) {
        if (write.type === 'put') content(write.space).set(write.key, write.value)
        else content(write.space).delete(write.key)
      }
    },
    get: (space, key) => content(space).get(key),
    range(space, { gt, gte, lt, lte, reverse, limit }) {
      const found = [...content(space)]
        .filter(([key]) => gt === undefined || compare(key, gt) > 0)
        .filter(([key]) => gte === undefined || compare(key, gte) >= 0)
        .filter(([key]) => lt === undefined || compare(key, lt) < 0)
        .filter(([key]) => lte === undefined || compare(key, lte) <= 0)
        .toSorted(([a], [b]) => (reverse ? compare(b, a) : compare(a, b)))
      return found.slice(0, limit)
    },
  }
}

/** By UTF-8 bytes, which differs from JavaScript's own order of text beyond the basic plane. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
