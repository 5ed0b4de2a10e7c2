import { describe, expect, test } from 'vitest'
import { openFirst, type Way } from '../../src/net/first-way.ts'
import { NetError } from '../../src/net/net.ts'
import { manualSystem, netError } from './world.ts'

/** A way that opens or fails when the test says so. */
function way() {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const open: Way = (signal) => {
    signals.push(signal)
    return promise
  }
  return { open, resolve, fail: (code: NetError['code'], words: string) => reject(new NetError(code, words)), signals }
}

function tried() {
  const { system, advance } = manualSystem()
  const [best, relay, other] = [way(), way(), way()]
  const controller = new AbortController()
  const opened = openFirst({
    clock: system.clock,
    best: best.open,
    others: [relay.open, other.open],
    signal: controller.signal,
  })
  return { best, relay, other, opened, advance, controller }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('of several ways', () => {
  test('the best is tried alone at first, and the others are never tried where it opens', async () => {
    const { best, relay, other, opened } = tried()
    await turn()
    best.resolve()
    await opened
    await turn()
    expect([best.signals.length, relay.signals.length, other.signals.length]).toEqual([1, 0, 0])
  })

  test('the others are tried once the head start is over; the first that opens ends the rest', async () => {
    const { best, relay, other, opened, advance } = tried()
    advance(300)
    await turn()
    expect([relay.signals.length, other.signals.length]).toEqual([1, 1])
    relay.resolve()
    await opened
    expect([best, other].map(({ signals }) => signals[0]?.aborted)).toEqual([true, true])
  })

  test('the others are tried at once where the best fails', async () => {
    const { best, other, opened } = tried()
    best.fail('NET_UNREACHABLE', 'nobody there')
    await turn()
    other.resolve()
    await opened
  })

  test('all failures are told, and a refusal before all others', async () => {
    const { best, relay, other, opened } = tried()
    best.fail('NET_UNREACHABLE', 'nobody there')
    relay.fail('NET_REFUSED', 'not wanted')
    other.fail('NET_UNREACHABLE', 'nobody there')
    expect(await netError(opened)).toMatchObject({ code: 'NET_REFUSED', message: 'nobody there; not wanted' })
  })

  test('giving up gives up all of them', async () => {
    const { best, relay, advance, controller } = tried()
    advance(300)
    await turn()
    controller.abort()
    expect([best, relay].map(({ signals }) => signals[0]?.aborted)).toEqual([true, true])
  })
})
