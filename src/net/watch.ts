/** Notices that the machine slept, or moved to another network. Neither is told to a program, so both are polled. */
import { networkInterfaces } from 'node:os'
import type { Clock } from '../system.ts'

const TICK_MS = 1_000
/** Between two ticks of one second: less is a busy machine, more is a closed lid. */
const SLEEP_MS_MIN = 10_000
const INTERFACES_EVERY_TICKS = 5

export interface WatchParts {
  clock: Clock
  /** The interfaces of the machine as one text that differs where they do. */
  interfaces(): string
  onWake(): void
  onMove(): void
}

/** Returns what ends the watch. */
export function watchMachine({ clock, interfaces, onWake, onMove }: WatchParts): () => void {
  let last = clock.now()
  let ticks = 0
  let before = interfaces()
  return clock.every(TICK_MS, () => {
    const now = clock.now()
    const slept = now - last >= TICK_MS + SLEEP_MS_MIN
    last = now
    if (slept) onWake()
    ticks += 1
    if (ticks % INTERFACES_EVERY_TICKS !== 0) return
    const after = interfaces()
    const moved = after !== before
    before = after
    if (moved) onMove()
  })
}

/** The addresses of this machine, in a stable order. */
export function machineInterfaces(): string {
  return Object.entries(networkInterfaces())
    .flatMap(([name, addresses]) => (addresses ?? []).map(({ address }) => `${name} ${address}`))
    .toSorted()
    .join('\n')
}
