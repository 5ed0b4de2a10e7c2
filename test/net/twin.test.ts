import { expect, test } from 'vitest'
import { createTwinWatch } from '../../src/net/twin.ts'
import { manualSystem } from './world.ts'

test('another machine with our key is spoken of for a while after it was seen last', () => {
  const { system, advance } = manualSystem()
  const twins = createTwinWatch(system.clock)
  expect(twins.words()).toBeUndefined()
  twins.seen('is on this network, at 192.168.1.7:4001')
  advance(20 * 60_000)
  twins.seen('is on this network, at 192.168.1.8:4001')
  advance(20 * 60_000)
  expect(twins.words()).toBe('another machine runs with this key: it is on this network, at 192.168.1.8:4001')
  advance(20 * 60_000)
  expect(twins.words()).toBeUndefined()
})
