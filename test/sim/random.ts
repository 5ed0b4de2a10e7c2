/** Every choice of a run comes from its seed. */
import { hash, fromHex } from '../../protocol/index.ts'

export interface Random {
  /** A whole number from 0 up to, and without, `bound`. */
  below(bound: number): number
  /** From `least` to `most`, both included. */
  between(least: number, most: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T | undefined
  /** Each of `items` with that probability, in their order. */
  some<T>(items: readonly T[], probability: number): T[]
  shuffled<T>(items: readonly T[]): T[]
  bytes(count: number): Uint8Array
  /** Random choices of their own, which do not depend on how many were made here. */
  fork(label: string): Random
}

/** The same label, the same choices: 128 bits of a hash start the generator. */
export function random(label: string): Random {
  const words = new Uint32Array(fromHex(hash('payload', ['sim', label])).slice(0, 16).buffer)
  let [a = 0, b = 0, c = 0, d = 0] = words

  /** sfc32, of PractRand's small fast generators. */
  function next(): number {
    const sum = (((a + b) >>> 0) + d) >>> 0
    d = (d + 1) >>> 0
    a = (b ^ (b >>> 9)) >>> 0
    b = (c + (c << 3)) >>> 0
    c = ((c << 21) | (c >>> 11)) >>> 0
    c = (c + sum) >>> 0
    return sum
  }

  const self: Random = {
    below: (bound) => Math.floor((next() / 2 ** 32) * bound),
    between: (least, most) => least + self.below(most - least + 1),
    chance: (probability) => next() / 2 ** 32 < probability,
    pick: (items) => items[self.below(items.length)],
    some: (items, probability) => items.filter(() => self.chance(probability)),
    shuffled(items) {
      const left = [...items]
      return items.flatMap(() => left.splice(self.below(left.length), 1))
    },
    bytes(count) {
      const bytes = new Uint8Array(count)
      for (let at = 0; at < count; at++) bytes[at] = next() >>> 24
      return bytes
    },
    fork: (more) => random(`${label}/${more}`),
  }
  return self
}
