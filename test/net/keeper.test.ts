import { describe, expect, test } from 'vitest'
import { createKeeper } from '../../src/net/keeper.ts'
import { manualSystem, until } from './world.ts'

const DEVICE = 'aa'.repeat(32)

function keep() {
  const { system, advance } = manualSystem()
  const dials: { at: number; signal: AbortSignal; succeed(): void; fail(): void }[] = []
  let connected = false
  const keeper = createKeeper({
    system,
    connected: () => connected,
    reach(_device, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      dials.push({ at: system.clock.now(), signal, succeed: resolve, fail: () => reject(new Error('nobody there')) })
      return promise
    },
  })
  async function failLast(): Promise<void> {
    const before = dials.length
    dials.at(-1)?.fail()
    await until(() => keeper.lastFailure(DEVICE) === 'nobody there')
    expect(dials.length).toBe(before)
  }
  function setConnected(next: boolean): void {
    connected = next
    if (next) keeper.connected(DEVICE)
    else keeper.disconnected(DEVICE)
  }
  return { keeper, dials, advance, failLast, setConnected }
}

describe('the keeper', () => {
  test('dials at once, then after pauses that double from half a second to ten seconds, for ever', async () => {
    const { keeper, dials, advance, failLast } = keep()
    keeper.keep(new Set([DEVICE]))
    expect(dials.length).toBe(1)
    for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      await failLast()
      const before = dials.length
      advance(pause * 0.99)
      expect(dials.length).toBe(before)
      advance(pause * 0.02)
      expect(dials.length).toBe(before + 1)
    }
  })

  test('a reason to believe in it ends the pause, and the pauses start small again', async () => {
    const { keeper, dials, advance, failLast } = keep()
    keeper.keep(new Set([DEVICE]))
    for (let index = 0; index < 5; index += 1) {
      await failLast()
      advance(10_000)
    }
    await failLast()
    const before = dials.length
    keeper.retry(DEVICE)
    expect(dials.length).toBe(before + 1)
    await failLast()
    advance(510)
    expect(dials.length).toBe(before + 2)
  })

  test('a move gives up what is under way and begins anew', () => {
    const { keeper, dials } = keep()
    keeper.keep(new Set([DEVICE]))
    keeper.retryAll()
    expect(dials.map(({ signal }) => signal.aborted)).toEqual([true, false])
  })

  test('a connection that lasts clears the failures; one that is hung up on at once does not', async () => {
    const { keeper, dials, advance, failLast, setConnected } = keep()
    keeper.keep(new Set([DEVICE]))
    for (let index = 0; index < 3; index += 1) {
      await failLast()
      advance(4_100)
    }
    setConnected(true)
    dials.at(-1)?.succeed()
    expect(keeper.lastFailure(DEVICE)).toBeUndefined()
    setConnected(false)
    const before = dials.length
    await until(() => {
      advance(100)
      return dials.length === before + 1
    })
    setConnected(true)
    advance(20_000)
    dials.at(-1)?.succeed()
    await Promise.resolve()
    setConnected(false)
    advance(510)
    expect(dials.length).toBe(before + 2)
  })

  test('an attempt that fails after the other side has reached us is no failure', async () => {
    const { keeper, dials, advance, setConnected } = keep()
    keeper.keep(new Set([DEVICE]))
    setConnected(true)
    dials.at(-1)?.fail()
    await new Promise((resolve) => setImmediate(resolve))
    expect(keeper.lastFailure(DEVICE)).toBeUndefined()
    advance(60_000)
    expect(dials.length).toBe(1)
  })

  test('who is dropped is dialled no more, and nobody is after the stop', async () => {
    const { keeper, dials, advance, failLast } = keep()
    keeper.keep(new Set([DEVICE]))
    await failLast()
    keeper.keep(new Set())
    advance(60_000)
    expect(dials.length).toBe(1)
    keeper.keep(new Set([DEVICE]))
    keeper.stop()
    expect(dials.map(({ signal }) => signal.aborted)).toEqual([false, true])
    advance(60_000)
    expect(dials.length).toBe(2)
  })
})
