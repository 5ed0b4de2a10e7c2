import { describe, expect, test } from 'vitest'
import { FAREWELL_TTL_MS, FAREWELLS_COUNT_MAX, JOIN_STRANGERS_COUNT_MAX, JOIN_TTL_MS } from '../../protocol/index.ts'
import { createGate } from '../../src/net/gate.ts'
import { manualSystem } from './world.ts'

function gate() {
  const { system, advance } = manualSystem()
  const expelled: string[] = []
  return {
    expelled,
    advance,
    gate: createGate({ clock: system.clock, beacons: new Set(['beacon']), expel: (device) => expelled.push(device) }),
  }
}
const strangers = Array.from({ length: JOIN_STRANGERS_COUNT_MAX }, (_, index) => `stranger ${index}`)

describe('the gate', () => {
  test('lets teammates in and out, beacons be dialled, and nobody else', () => {
    const { gate: door } = gate()
    door.setTeam(new Set(['mate']))
    expect(
      ['mate', 'beacon', 'other'].map((device) => [door.mayEnter(device), door.mayDial(device), door.standing(device)]),
    ).toEqual([
      [true, true, 'teammate'],
      [false, true, 'beacon'],
      [false, false, 'stranger'],
    ])
  })

  test('lets so many strangers in while joining is open, until one has left', () => {
    const { gate: door } = gate()
    expect(door.mayEnter('early')).toBe(false)
    door.setJoinOpen(true)
    expect(strangers.map((device) => door.mayEnter(device))).toEqual(strangers.map(() => true))
    expect(door.mayEnter('one more')).toBe(false)
    expect(door.mayEnter('stranger 0')).toBe(true)
    expect(door.standing('stranger 0')).toBe('guest')
    door.left('stranger 0')
    expect(door.mayEnter('one more')).toBe(true)
    door.setJoinOpen(false)
    expect(door.mayEnter('stranger 1')).toBe(false)
  })

  test('expels a stranger and the host of a visit when the time is over, never a teammate', () => {
    const { gate: door, expelled, advance } = gate()
    door.setJoinOpen(true)
    door.mayEnter('stranger')
    door.mayEnter('joiner')
    door.visit('host')
    door.visit('new host')
    expect([door.mayDial('host'), door.mayEnter('teammate?')]).toEqual([true, true])
    door.setTeam(new Set(['joiner', 'new host']))
    advance(JOIN_TTL_MS)
    expect(expelled.toSorted()).toEqual(['host', 'stranger', 'teammate?'])
    expect(door.mayDial('host')).toBe(false)
  })

  test('lets so many of those in who were removed, for as long as it takes to tell them, and dials none', () => {
    const { gate: door, expelled, advance } = gate()
    const removed = Array.from({ length: FAREWELLS_COUNT_MAX + 1 }, (_, index) => `removed ${index}`)
    door.setTeam(new Set(['mate']), new Set(removed))
    expect(removed.map((device) => door.mayEnter(device))).toEqual(removed.map((_, at) => at < FAREWELLS_COUNT_MAX))
    expect(removed.map((device) => [door.standing(device), door.mayDial(device)])).toEqual(
      removed.map(() => ['removed', false]),
    )
    advance(FAREWELL_TTL_MS)
    expect(expelled).toEqual(removed.slice(0, FAREWELLS_COUNT_MAX))
    expect(door.mayEnter(`removed ${FAREWELLS_COUNT_MAX}`)).toBe(true)
    // Whoever is a teammate again is not hung up on.
    door.setTeam(new Set(['mate', `removed ${FAREWELLS_COUNT_MAX}`]))
    advance(FAREWELL_TTL_MS)
    expect(expelled).toHaveLength(FAREWELLS_COUNT_MAX)
  })

  test('names who was dropped', () => {
    const { gate: door } = gate()
    expect(door.setTeam(new Set(['a', 'b']))).toEqual([])
    expect(door.setTeam(new Set(['b', 'c']))).toEqual(['a'])
  })
})
