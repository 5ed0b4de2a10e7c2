/** JSON whose form is right and whose values are odd. */
import { fc } from '@fast-check/vitest'

/** Texts of JSON, each for a value that some program has stumbled over. */
const ODD_VALUES = [
  'null',
  'true',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e\\u2066"',
  '"__proto__"',
  '"constructor"',
  '"../../etc"',
  '-1',
  '-0',
  '0.5',
  '1e308',
  '1e999',
  '9007199254740993',
  '[]',
  '[[]]',
  '{}',
  '{"__proto__":{"a":1}}',
  '{"toString":null}',
  `"${'x'.repeat(70_000)}"`,
  `"${'\\u0001'.repeat(300)}"`,
  `[${'0,'.repeat(3000)}0]`,
  '['.repeat(500) + ']'.repeat(500),
]

/** Marks that no sample holds, so that a value can be put in its place as text: JSON.stringify would repair it. */
const MARK = '@odd value@'

/** One of the samples, JSON texts, with one or two values or keys replaced. */
export function oddValues(samples: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const texts = samples.map((sample) => new TextDecoder().decode(sample))
  const replacement = fc.record({ place: fc.nat(1 << 16), value: fc.constantFrom(...ODD_VALUES), isKey: fc.nat(9) })
  return fc
    .tuple(fc.constantFrom(...texts), fc.array(replacement, { minLength: 1, maxLength: 2 }))
    .map(([text, replacements]) => {
      let changed = text
      for (const { place, value, isKey } of replacements) changed = replaced(changed, place, value, isKey === 0)
      return new TextEncoder().encode(changed)
    })
}

function replaced(text: string, place: number, value: string, isKey: boolean): string {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return text // The odd value of before cannot be read back; one is enough.
  }
  let left = place % Math.max(1, countOf(parsed))
  const walk = (at: unknown): unknown => {
    if (left-- === 0) return MARK
    if (Array.isArray(at)) return at.map(walk)
    if (typeof at !== 'object' || at === null) return at
    const pairs = Object.entries(at).map(([key, inner]): [string, unknown] => {
      const changed = walk(inner)
      return isKey && changed === MARK ? [MARK, inner] : [key, changed]
    })
    return Object.fromEntries(pairs)
  }
  const marked = JSON.stringify(walk(parsed))
  if (isKey && !value.startsWith('"')) return marked.replace(MARK, '__proto__')
  return marked.replace(`"${MARK}"`, () => value)
}

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countOf(inner), 1)
}
