/**
 * Keeps devices connected for ever, or in another state that is reached by trying and lost at any
 * time. libp2p's own reconnection gives up after half a minute; a laptop is away for days.
 */
import type { System } from '../system.ts'
import { type Backoff, backoffMs } from './backoff.ts'
import type { DeviceKey } from './net.ts'

export interface KeeperParts {
  system: System
  connected(device: DeviceKey): boolean
  /** Tries once, whatever that takes; rejects with the reason in words. */
  reach(device: DeviceKey, signal: AbortSignal): Promise<void>
  backoff?: Backoff
}

export interface Keeper {
  /** The devices to keep. New ones are dialled at once, dropped ones are left alone. */
  keep(devices: ReadonlySet<DeviceKey>): void
  /** There is new reason to believe that it can be reached: its pause ends now. */
  retry(device: DeviceKey): void
  /** The machine moved or woke: whatever is under way is given up and every pause ends now. */
  retryAll(): void
  connected(device: DeviceKey): void
  disconnected(device: DeviceKey): void
  /** Why the last attempt failed; undefined once it has succeeded. */
  lastFailure(device: DeviceKey): string | undefined
  stop(): void
}

/** A connection that held for so long was a good one; one that is hung up on at once counts as a failure. */
const LASTING_MS = 10_000

interface Kept {
  fails: number
  connectedAt: number
  attempt: AbortController | undefined
  cancelPause: (() => void) | undefined
  lastFailure: string | undefined
}

export function createKeeper({ system, connected, reach, backoff }: KeeperParts): Keeper {
  const kept = new Map<DeviceKey, Kept>()

  function attempt(device: DeviceKey): void {
    const state = kept.get(device)
    if (state === undefined || state.attempt !== undefined || connected(device)) return
    state.cancelPause?.()
    state.cancelPause = undefined
    const controller = new AbortController()
    state.attempt = controller
    reach(device, controller.signal).then(
      () => {
        if (state.attempt !== controller) return
        state.attempt = undefined
        state.lastFailure = undefined
        if (!connected(device)) pause(device, state) // Hung up on before we looked.
      },
      (error: unknown) => {
        if (state.attempt !== controller) return
        state.attempt = undefined
        if (connected(device)) return // It reached us first.
        state.lastFailure = error instanceof Error ? error.message : String(error)
        pause(device, state)
      },
    )
  }

  function pause(device: DeviceKey, state: Kept): void {
    if (kept.get(device) !== state || connected(device)) return
    state.fails += 1
    state.cancelPause?.()
    state.cancelPause = system.clock.after(backoffMs(system, state.fails, backoff), () => attempt(device))
  }

  function release(state: Kept): void {
    state.cancelPause?.()
    state.cancelPause = undefined
    const running = state.attempt
    state.attempt = undefined
    running?.abort(new Error('given up'))
  }

  return {
    keep(devices) {
      for (const [device, state] of kept) {
        if (devices.has(device)) continue
        kept.delete(device)
        release(state)
      }
      for (const device of devices) {
        if (kept.has(device)) continue
        kept.set(device, {
          fails: 0,
          connectedAt: 0,
          attempt: undefined,
          cancelPause: undefined,
          lastFailure: undefined,
        })
        attempt(device)
      }
    },
    retry(device) {
      const state = kept.get(device)
      if (state === undefined) return
      state.fails = 0
      attempt(device)
    },
    retryAll() {
      for (const [device, state] of kept) {
        release(state)
        state.fails = 0
        attempt(device)
      }
    },
    connected(device) {
      const state = kept.get(device)
      if (state === undefined) return
      state.cancelPause?.()
      state.cancelPause = undefined
      state.lastFailure = undefined
      state.connectedAt = system.clock.now()
    },
    disconnected(device) {
      const state = kept.get(device)
      if (state === undefined) return
      if (system.clock.now() - state.connectedAt >= LASTING_MS) state.fails = 0
      if (state.attempt === undefined) pause(device, state)
    },
    lastFailure: (device) => kept.get(device)?.lastFailure,
    stop() {
      for (const state of kept.values()) release(state)
      kept.clear()
    },
  }
}
