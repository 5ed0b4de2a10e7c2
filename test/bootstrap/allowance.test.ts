import { fc, test as property } from '@fast-check/vitest'
import { isIPv6, SocketAddress } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createAllowance } from '../../src/allowance.ts'
import { ipBytes, sourceOf } from '../../src/ip-address.ts'
import { testClock } from '../node/clock.ts'

describe('an allowance', () => {
  test('gives each source a burst, then a steady rate', () => {
    const clock = testClock()
    const allowance = createAllowance({ clock, burst: 3, refillMs: 3_000 })
    const takes = (source: string): number => {
      let count = 0
      while (allowance.take(source)) count += 1
      return count
    }
    expect([takes('a'), takes('a'), takes('b')]).toEqual([3, 0, 3])
    clock.advance(1_000)
    expect([takes('a'), takes('b'), takes('c')]).toEqual([1, 1, 3])
    clock.advance(60_000)
    expect(takes('a')).toBe(3)
  })

  test('refills at its rate also when the clock was set back', () => {
    let now = 1_000_000
    const allowance = createAllowance({ clock: { ...testClock(), now: () => now }, burst: 2, refillMs: 2_000 })
    expect([allowance.take('a', 2), allowance.take('a')]).toEqual([true, false])
    now -= 900_000
    expect(allowance.take('a')).toBe(false)
    now += 1_000
    expect([allowance.take('a'), allowance.take('a')]).toEqual([true, false])
  })

  test('takes all of an amount or nothing', () => {
    const allowance = createAllowance({ clock: testClock(), burst: 10, refillMs: 1_000 })
    expect([allowance.take('a', 11), allowance.take('a', 10), allowance.take('a', 1)]).toEqual([false, true, false])
  })

  test('forgets who was quiet, and lets no crowd fill its memory', () => {
    const clock = testClock()
    const allowance = createAllowance({ clock, burst: 1, refillMs: 1_000 })
    for (let source = 0; source < 100_000; source++) allowance.take(String(source))
    expect(allowance.take('one more')).toBe(false)
    clock.advance(1_000)
    expect(allowance.take('one more')).toBe(true)
  })
})

describe('an IP address', () => {
  test.each([
    ['10.0.0.1', '0a000001'],
    ['::ffff:10.0.0.1', '0a000001'],
    ['::ffff:a00:1', '0a000001'],
    ['2001:db8::1', '20010db8000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221'],
  ])('%s is the bytes %s', (text, hex) => {
    expect(Buffer.from(ipBytes(text) ?? []).toString('hex')).toBe(hex)
  })

  test.each(['', 'host', '10.0.0', '1:2', ':::'])('"%s" is none', (text) => {
    expect(ipBytes(text)).toBeUndefined()
  })

  property.prop([fc.ipV6()])('of version 6 has the same bytes in whatever form it is written', (text) => {
    fc.pre(isIPv6(text))
    const { address } = new SocketAddress({ family: 'ipv6', address: text })
    expect(ipBytes(text)).toEqual(ipBytes(address))
  })

  test('is a source of its own, or with all of its IPv6 network of 64 bits', () => {
    expect(sourceOf('10.0.0.1')).not.toBe(sourceOf('10.0.0.2'))
    expect(sourceOf('10.0.0.1')).toBe(sourceOf('::ffff:10.0.0.1'))
    expect(sourceOf('2001:db8:0:1::1')).toBe(sourceOf('2001:db8:0:1:ffff::2'))
    expect(sourceOf('2001:db8:0:1::1')).not.toBe(sourceOf('2001:db8:0:2::1'))
    expect(sourceOf('host')).toBe('host')
  })
})
