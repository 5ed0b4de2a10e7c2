/** Histories in words: for a person to read, and for the explorer to walk again. */
import type { Cast, Shape } from './explorer-world.ts'

export interface Told {
  /** One line an entry: its number, who says what, the numbers of the entries that it names. */
  readonly entries: readonly string[]
  /** The same in one line, as `--replay` takes it. */
  readonly replay: string
}

export function describe(cast: Cast, shape: Shape): Told {
  const told = shape.items.map((item, i) => {
    const { prev, deps } = item.entry.header
    const parents = (prev === null ? deps : [prev, ...deps]).map((id) =>
      shape.items.findIndex(({ entry }) => entry.id === id),
    )
    const who = cast.devices[item.device]?.name ?? '?'
    const what = cast.acts[item.act]?.name ?? 'create'
    return { i, who, what, parents: parents.toSorted((a, b) => a - b) }
  })
  return {
    entries: told.map(
      ({ i, who, what, parents }) => `${i}: ${who} ${what}${i === 0 ? '' : `, naming ${parents.join(' and ')}`}`,
    ),
    replay: told
      .slice(1)
      .map(({ who, what, parents }) => `${who} ${what} @${parents.join()}`)
      .join('; '),
  }
}

export interface Said {
  readonly device: number
  readonly act: number
  /** Positions of the entries that it names. */
  readonly parents: readonly number[]
}

/** Reads what {@link describe} wrote for a replay. Throws on anything else. */
export function parseReplay(cast: Cast, text: string): Said[] {
  return text.split(';').map((part, i) => {
    const [, who = '', what = '', on = ''] = /^\s*(\w+) ([\w ]+?) @([\d,]+)\s*$/.exec(part) ?? []
    const device = cast.devices.findIndex(({ name }) => name === who)
    const act = cast.acts.findIndex(({ name }) => name === what)
    const parents = on.split(',').map(Number)
    if (device < 0 || act < 0 || on === '' || parents.some((parent) => parent > i))
      throw new Error(`entry ${i + 1} is not of this world: ${part.trim()}`)
    return { device, act, parents }
  })
}
