/**
 * One live sync stream for each connected pair, whatever connections come and go: the device with
 * the lower key opens it, the other accepts it. Never two calls of onSync at once for one device.
 */
import type { System } from '../system.ts'
import { backoffMs } from './backoff.ts'
import type { DeviceKey, FrameStream } from './net.ts'

/** How long a peer may take to close its half after our handler is done. */
const LINGER_MS = 5_000
/** How long our own handlers may take to notice that we stop. */
const STOP_TIMEOUT_MS = 1_000
/** A stream that lived so long did its work; one that ends sooner counts as a failure. */
const LASTING_MS = 10_000

export interface SyncPairsParts {
  system: System
  self: DeviceKey
  open(device: DeviceKey, signal: AbortSignal): Promise<FrameStream>
  onSync(stream: FrameStream): Promise<void>
}

export interface SyncPairs {
  /** A teammate is connected, or a connected device became a teammate. Calling it again does no harm. */
  connected(device: DeviceKey): void
  /** Nothing connects us to it any more, or it is no teammate any more. */
  disconnected(device: DeviceKey): void
  /** A better connection to it is open: the stream moves there. What was on its way on the old one is asked for again. */
  renew(device: DeviceKey): void
  /** A connected teammate opened a stream. A newer one replaces an older one. */
  accept(stream: FrameStream): void
  /** Resolves when the handlers have settled, or after STOP_TIMEOUT_MS. */
  stop(): Promise<void>
}

interface Pair {
  /** False once nothing connects us; the pair stays until its handler has settled. */
  wanted: boolean
  fails: number
  opening: AbortController | undefined
  cancelPause: (() => void) | undefined
  /** The stream that onSync has. */
  live: FrameStream | undefined
  /** Waits until onSync has let go of `live`. */
  waiting: FrameStream | undefined
  done: Promise<void>
}

export function createSyncPairs({ system, self, open, onSync }: SyncPairsParts): SyncPairs {
  const pairs = new Map<DeviceKey, Pair>()
  let stopped = false

  function reopen(device: DeviceKey, pair: Pair): void {
    if (pair.opening !== undefined || pair.cancelPause !== undefined || pair.live !== undefined) return
    openNow(device, pair)
  }

  function openNow(device: DeviceKey, pair: Pair): void {
    if (!pair.wanted || self > device) return
    pair.opening?.abort(new Error('a better connection is open'))
    pair.cancelPause?.()
    pair.cancelPause = undefined
    const controller = new AbortController()
    pair.opening = controller
    open(device, controller.signal).then(
      (stream) => {
        if (controller.signal.aborted) return stream.abort('no longer wanted')
        pair.opening = undefined
        serve(device, pair, stream)
      },
      (error: unknown) => {
        if (controller.signal.aborted) return
        pair.opening = undefined
        system.log.debug('sync stream not opened', { device, error: String(error) })
        reopenLater(device, pair)
      },
    )
  }

  function reopenLater(device: DeviceKey, pair: Pair): void {
    if (!pair.wanted || self > device) return
    pair.fails += 1
    pair.cancelPause?.()
    pair.cancelPause = system.clock.after(backoffMs(system, pair.fails), () => {
      pair.cancelPause = undefined
      reopen(device, pair)
    })
  }

  function serve(device: DeviceKey, pair: Pair, stream: FrameStream): void {
    if (pair.live === undefined) {
      pair.live = stream
      pair.done = run(device, pair, stream)
      return
    }
    pair.waiting?.abort('replaced by a newer stream')
    pair.waiting = stream
    pair.live.abort('replaced by a newer stream')
  }

  async function run(device: DeviceKey, pair: Pair, stream: FrameStream): Promise<void> {
    const startedAt = system.clock.now()
    try {
      await onSync(stream)
    } catch (error) {
      system.log.debug('sync stream ended', { device, error: String(error) })
    }
    letGo(system, stream)
    if (system.clock.now() - startedAt >= LASTING_MS) pair.fails = 0
    const next = pair.waiting
    pair.live = undefined
    pair.waiting = undefined
    if (next !== undefined) serve(device, pair, next)
    else if (pair.wanted) reopenLater(device, pair)
    else pairs.delete(device)
  }

  function drop(device: DeviceKey, reason: string): Promise<void> {
    const pair = pairs.get(device)
    if (pair === undefined) return Promise.resolve()
    pair.wanted = false
    pair.opening?.abort(new Error(reason))
    pair.opening = undefined
    pair.cancelPause?.()
    pair.cancelPause = undefined
    pair.waiting?.abort(reason)
    pair.waiting = undefined
    pair.live?.abort(reason)
    if (pair.live === undefined) pairs.delete(device)
    return pair.done
  }

  function pairWith(device: DeviceKey): Pair {
    const pair = pairs.get(device) ?? {
      wanted: false,
      fails: 0,
      opening: undefined,
      cancelPause: undefined,
      live: undefined,
      waiting: undefined,
      done: Promise.resolve(),
    }
    if (!pair.wanted) pair.fails = 0
    pair.wanted = true
    pairs.set(device, pair)
    return pair
  }

  return {
    connected(device) {
      if (!stopped) reopen(device, pairWith(device))
    },
    renew(device) {
      const pair = pairs.get(device)
      if (pair !== undefined) openNow(device, pair)
    },
    disconnected: (device) => void drop(device, 'disconnected'),
    accept(stream) {
      if (stopped) stream.abort('stopped')
      else if (stream.device < self) serve(stream.device, pairWith(stream.device), stream)
      else stream.abort('the device with the lower key opens the stream')
    },
    async stop() {
      stopped = true
      const all = [...pairs.keys()].map((device) => drop(device, 'stopped'))
      const patience = Promise.withResolvers<void>()
      const cancel = system.clock.after(STOP_TIMEOUT_MS, patience.resolve)
      await Promise.race([Promise.all(all), patience.promise])
      cancel()
    },
  }
}

/** Closes our half; a peer that does not close its own in time is cut off. */
export function letGo(system: System, stream: FrameStream): void {
  system.clock.after(LINGER_MS, () => stream.abort('closed long ago'))
  void stream.close()
}
