import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { parseDuration } from '../../src/cli/input.ts'
import { parseListen, withFixedPort } from '../../src/cli/listen-address.ts'
import { addSettings, hostDeviceName, readSettings } from '../../src/cli/settings.ts'
import { HomeError } from '../../src/home.ts'
import { type Laptop, laptop } from './laptop.ts'

function write(bob: Laptop, text: string): void {
  mkdirSync(dirname(bob.home.config), { recursive: true })
  writeFileSync(bob.home.config, text)
}

test('a setting has its value from the file, else its default, and says which', async () => {
  await using bob = laptop()
  write(bob, 'lan = false\ndevice = "bobs-mbp"\n')
  const { settings, source } = readSettings(bob.home)
  expect(settings).toMatchObject({ lan: false, device: 'bobs-mbp', log_level: 'info', bootstrap: [] })
  expect(source).toMatchObject({ lan: 'settings file', device: 'settings file', log_level: 'default' })
})

test.each([
  ['colour = "red"\n', 'unknown setting "colour"'],
  ['lan = "no"\n', '"lan" must be true or false'],
  ['device = "Bob\'s Mac"\n', '"device" must be a name'],
  ['device = 7\n', '"device" must be a string'],
  ['listen = "4300"\n', '"listen" must be a list'],
  ['listen = ["4300"]\n', '"listen" must be a list of addresses'],
  ['log_level = "loud"\n', '"log_level" must be one of debug, info, warn, error'],
  ['scope = "all"\n', '"scope" must be one of read, write'],
  ['lan = \n', 'line 1 is not TOML'],
])('the mistake in %j is named with file and key', async (text, said) => {
  await using bob = laptop()
  write(bob, text)
  const ran = await bob.run('config')
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toContain(`${bob.home.config}: ${said}`)
  expect(ran.stderr.trim().split('\n')).toHaveLength(1)
  expect(() => readSettings(bob.home)).toThrow(HomeError)
})

test('what is added leaves every line as a person wrote it', async () => {
  await using bob = laptop()
  write(bob, '# mine\nlan = false # no mDNS here')
  addSettings(bob.home, { lan: true, device: 'bobs-mbp', listen: ['/ip4/0.0.0.0/tcp/4300'] })
  expect(readFileSync(bob.home.config, 'utf8')).toBe(
    '# mine\nlan = false # no mDNS here\ndevice = "bobs-mbp"\nlisten = [ "/ip4/0.0.0.0/tcp/4300" ]\n',
  )
})

test('the name of a machine becomes the name of a device', () => {
  expect(hostDeviceName("Bob's MBP.local")).toBe('bob-s-mbp')
  expect(hostDeviceName('-_-')).toBe('laptop')
  expect(hostDeviceName('x'.repeat(80))).toHaveLength(32)
})

test('an address to listen on is a port, host and port, or a multiaddr', () => {
  expect(parseListen('4300')).toBe('/ip4/0.0.0.0/tcp/4300')
  expect(parseListen('127.0.0.1:4300')).toBe('/ip4/127.0.0.1/tcp/4300')
  expect(parseListen('[::1]:4300')).toBe('/ip6/::1/tcp/4300')
  expect(parseListen('/ip4/127.0.0.1/tcp/0')).toBe('/ip4/127.0.0.1/tcp/0')
  for (const text of ['', 'localhost', '70000', '/ip4/127.0.0.1/tcp/70000', '/ip4/127.0.0.1', 'host:1', ':1']) {
    expect(() => parseListen(text), text).toThrow('is not an address to listen on')
  }
})

test('port 0 becomes a free port, once', async () => {
  expect(await withFixedPort('/ip4/127.0.0.1/tcp/0')).toMatch(/^\/ip4\/127\.0\.0\.1\/tcp\/[1-9]\d+$/)
  expect(await withFixedPort('/ip4/127.0.0.1/tcp/4300')).toBe('/ip4/127.0.0.1/tcp/4300')
})

test('a length of time has a unit', () => {
  expect(['2s', '10m', '24h', '7d'].map(parseDuration)).toEqual([2, 600, 86_400, 604_800])
  for (const text of ['', '5', '0s', '-1s', '1.5h', '1w', 's'])
    expect(() => parseDuration(text), text).toThrow('is not a length of time')
})
