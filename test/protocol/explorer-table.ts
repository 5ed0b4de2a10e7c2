/**
 * A hash table from keys of 64 bits to rows of unsigned 32-bit numbers, for tens of millions of
 * rows. Two sets of entries whose keys happen to be one would be taken for one: with ten million
 * sets the chance of a single such pair is about one in 400,000.
 */
export interface Key {
  readonly high: number
  readonly low: number
}

/** Mixes `value` into a hash of 32 bits. */
function mix(hash: number, value: number): number {
  let mixed = Math.imul(hash ^ value, 0x9e3779b1)
  mixed ^= mixed >>> 15
  mixed = Math.imul(mixed, 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

/** The key of what is said by `code` on the set of `past`. */
export function keyOn(past: Key, code: number): Key {
  const high = mix(mix(mix(0x51ed270b, past.high), past.low), code)
  const low = mix(mix(mix(0x2545f491, past.low), past.high), code)
  return { high, low }
}

/** The key of a set is that of its members, each taken in once, in whatever order. */
export function joinKeys(a: Key, b: Key): Key {
  return { high: (a.high ^ b.high) >>> 0, low: (a.low ^ b.low) >>> 0 }
}

export function isLower(a: Key, b: Key): boolean {
  return a.high < b.high || (a.high === b.high && a.low < b.low)
}

export class KeyTable {
  /** Rows in order of arrival: high, low, then the columns. */
  private rows: Uint32Array
  /** Number of the row + 1, or 0. */
  private slots: Uint32Array
  private readonly stride: number
  private count = 0

  constructor(columns: number) {
    this.stride = 2 + columns
    this.rows = new Uint32Array(1024 * this.stride)
    this.slots = new Uint32Array(2048)
  }

  get size(): number {
    return this.count
  }

  /** The number of the row with this key, or -1. */
  find(key: Key): number {
    const mask = this.slots.length - 1
    for (let slot = key.low & mask; ; slot = (slot + 1) & mask) {
      const row = (this.slots[slot] ?? 0) - 1
      if (row < 0) return -1
      if (this.rows[row * this.stride] === key.high && this.rows[row * this.stride + 1] === key.low) return row
    }
  }

  /** Adds a row with a key that is not there yet, all columns 0. */
  add(key: Key): number {
    if (this.count * 2 >= this.slots.length) this.grow()
    const row = this.count++
    this.rows[row * this.stride] = key.high
    this.rows[row * this.stride + 1] = key.low
    this.place(row, key.low)
    return row
  }

  get(row: number, column: number): number {
    return this.rows[row * this.stride + 2 + column] ?? 0
  }

  set(row: number, column: number, value: number): void {
    this.rows[row * this.stride + 2 + column] = value
  }

  private place(row: number, low: number): void {
    const mask = this.slots.length - 1
    let slot = low & mask
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask
    this.slots[slot] = row + 1
  }

  private grow(): void {
    const rows = new Uint32Array(this.rows.length * 2)
    rows.set(this.rows)
    this.rows = rows
    this.slots = new Uint32Array(this.slots.length * 2)
    for (let row = 0; row < this.count; row++) this.place(row, rows[row * this.stride + 1] ?? 0)
  }
}
