import { expect, test } from 'vitest'
import { machineInterfaces, watchMachine } from '../../src/net/watch.ts'
import { manualSystem } from './world.ts'

function watched() {
  const { system, advance } = manualSystem()
  let skipped = 0
  let interfaces = 'wifi 10.0.0.2'
  const seen: string[] = []
  const end = watchMachine({
    clock: { ...system.clock, now: () => system.clock.now() + skipped },
    interfaces: () => interfaces,
    onWake: () => seen.push('wake'),
    onMove: () => seen.push('move'),
  })
  return {
    seen,
    advance,
    end,
    sleep: (ms: number) => void (skipped += ms),
    move: (next: string) => void (interfaces = next),
  }
}

test('sleep is noticed once, a slow moment is not', () => {
  const { seen, advance, sleep } = watched()
  advance(60_000)
  sleep(5_000)
  advance(10_000)
  expect(seen).toEqual([])
  sleep(60_000)
  advance(10_000)
  expect(seen).toEqual(['wake'])
})

test('another network is noticed within seconds, and once', () => {
  const { seen, advance, move, end } = watched()
  advance(20_000)
  move('wifi 192.168.7.3')
  advance(5_000)
  advance(20_000)
  expect(seen).toEqual(['move'])
  end()
  move('none')
  advance(20_000)
  expect(seen).toEqual(['move'])
})

test('the interfaces of this machine are the same text twice', () => {
  expect(machineInterfaces()).toContain('127.0.0.1')
  expect(machineInterfaces()).toBe(machineInterfaces())
})
