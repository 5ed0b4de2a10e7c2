/** One history, walked again by the explorer, with what comes of each step. */
import { Explorer, type History, type Rules, type Violation } from './explorer.ts'
import { hasBit } from './explorer-oracle.ts'
import { describe, parseReplay } from './explorer-telling.ts'
import type { World } from './explorer-world.ts'

export interface Replay {
  /** One line an entry: who says what, naming whom, and the state that it leads to. */
  readonly lines: readonly string[]
  /** What is promised and does not hold on the way, or one entry further. */
  readonly violations: readonly Violation[]
  /** As far as it is stored. */
  readonly history: History
}

/** Walks the history that {@link describe} told in one line. */
export function replay(rules: Rules, world: World, text: string): Replay {
  const { cast } = new Explorer(rules, world)
  const statements = parseReplay(cast, text)
  const explorer = new Explorer(rules, world, { entriesMax: statements.length + 1 })
  let history = explorer.first()
  const lines: string[] = []
  for (const { device, act, parents } of statements) {
    const mask = parents.reduce((past, parent) => past | (1 << parent) | (history.pasts[parent] ?? 0), 0)
    const past = history.closed.find((one) => one.mask === mask)
    const item = past && hasBit(mask, 0) ? explorer.itemOf(history, past, { device, act }) : undefined
    const next = past && item ? explorer.step(history, item, past) : undefined
    if (!next) {
      lines.push(`${cast.devices[device]?.name} ${cast.acts[act]?.name} on ${parents.join(' and ')}: refused`)
      return { lines, violations: explorer.found().violations, history }
    }
    history = next
    const { status, final, waitingFor } = history.state
    const names = waitingFor.map((key) => cast.devices.find((one) => one.key === key)?.name ?? '?')
    const end = final ? 'final' : `waiting for ${names.join(' and ')}`
    lines.push(`${describe(cast, history).entries.at(-1)} → ${status}, ${end}`)
  }
  explorer.expand(history)
  return { lines, violations: explorer.found().violations, history }
}
