/** Collections that forget what was put in first, so that nobody can make them grow for ever. */

/** Leaves the newest `countMax` of a map or set, which hold things in the order in which they came. */
export function keepNewest<K>(kept: Map<K, unknown> | Set<K>, countMax: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= countMax) break
    kept.delete(oldest)
  }
}
