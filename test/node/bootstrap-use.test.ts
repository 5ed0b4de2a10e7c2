/** Bootstrap servers: the owner names them for everybody, and an address that is none is told from one that is. */
import { describe, expect, test } from 'vitest'
import { peerIdText } from '../../protocol/index.ts'
import { checkBootstrapAddress } from '../../src/node/bootstrap-address.ts'
import { actor } from '../cast.ts'
import { pair, refused, stoppedAcme, symbolOf } from './world.ts'

const SERVER = peerIdText(actor('carol').device)
const at = (way: string, peer = SERVER): string => `${way}/p2p/${peer}`

describe('an address', () => {
  test.each([
    at('/ip4/11.0.0.1/tcp/4001'),
    at('/ip6/::1/tcp/4001'),
    at('/dns4/relay.example/tcp/443/wss'),
    at('/dns/relay.example/tcp/443/tls/ws'),
    at('/dns6/localhost/tcp/65535/ws'),
    at('/memory/aa'),
  ])('%s is taken', (address) => {
    expect(checkBootstrapAddress(address)).toEqual({ ok: true, server: actor('carol').device })
  })

  test.each([
    ['relay.example:4001', 'does not begin with'],
    [at('/dns4/relay example/tcp/4001'), 'not the name of a host'],
    [at('/ip4/300.0.0.1/tcp/4001'), 'not an IPv4 address'],
    [at('/ip6/fe80::x/tcp/4001'), 'not an IPv6 address'],
    [at('/unix/a/tcp/4001'), 'begins with /unix'],
    [at('/ip4/11.0.0.1/udp/4001'), 'names no TCP port'],
    [at('/ip4/11.0.0.1/tcp/0'), '"0" is not a port'],
    [at('/ip4/11.0.0.1/tcp/65536'), '"65536" is not a port'],
    [at('/ip4/11.0.0.1/tcp/4001/quic'), '"quic" is no way'],
    ['/ip4/11.0.0.1/tcp/4001', 'does not end in /p2p/'],
    [`${at('/ip4/11.0.0.1/tcp/4001')}/p2p-circuit`, 'does not end in /p2p/'],
    [at('/ip4/11.0.0.1/tcp/4001', SERVER.slice(0, -1)), 'not the PeerId'],
    [at('/ip4/11.0.0.1/tcp/4001', 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG'), 'not the PeerId'],
    [at(`/dns4/${'a'.repeat(300)}/tcp/4001`), 'more than 256 bytes'],
    ['', 'does not begin with'],
  ])('%s is not one, and it is said why', (address, why) => {
    const checked = checkBootstrapAddress(address)
    expect(checked).toMatchObject({ ok: false, hint: expect.stringContaining('relay-node bootstrap') as string })
    expect(checked.ok ? '' : checked.why).toContain(why)
  })
})

/** Serves nobody, but is there. */
const idle = async (): Promise<void> => undefined

describe('a server that the owner names', () => {
  test('is used by everybody, over a restart, until it is dropped', async () => {
    const world = await pair()
    const { bob, frank } = world
    const { address } = world.hub.bootstrap(actor('carol').device, idle)
    const { items } = await bob.node.useBootstrap({ addresses: [address] })
    expect(items).toMatchObject([{ addresses: [address], named_by: 'team', peer_id: SERVER }])
    const uses = async (laptop: typeof bob) =>
      (await laptop.node.listBootstrap()).items.some(({ connected }) => connected)
    for (const laptop of [bob, frank]) await world.until(`${laptop.name} uses it`, () => uses(laptop))
    await frank.restart()
    await world.until('frank uses it again', () => uses(frank))
    expect((await frank.node.status()).bootstrap).toMatchObject([{ connected: true }])
    await bob.node.dropBootstrap({ address })
    await world.until('frank uses none', async () => (await frank.node.listBootstrap()).items.length === 0)
  })

  test('is learnt by whoever joins', async () => {
    const world = await stoppedAcme()
    const bob = world.laptop('bob')
    const frank = await world.stranger('frank')
    await bob.start()
    await frank.start()
    const { address } = world.hub.bootstrap(actor('carol').device, idle)
    await bob.node.useBootstrap({ addresses: [address] })
    const { code } = await bob.node.invite({ name: 'frank', standalone: true })
    await frank.node.join({ code })
    await world.until('frank is connected to it', async () =>
      (await frank.node.listBootstrap()).items.some(({ connected }) => connected),
    )
  })

  test('that goes away is shown as such, and comes back', async () => {
    const world = await pair()
    const { bob } = world
    const server = world.hub.bootstrap(actor('carol').device, idle)
    await bob.node.useBootstrap({ addresses: [server.address] })
    const isUp = async () => (await bob.node.listBootstrap()).items[0]?.connected
    await world.until('it is there', isUp)
    server.close()
    expect((await bob.node.listBootstrap()).items).toMatchObject([
      { connected: false, last_failure: 'nobody is there' },
    ])
    world.hub.bootstrap(actor('carol').device, idle)
    await world.until('it is there again', isUp)
  })
})

test('of the settings is used beside those of the team', async () => {
  const world = await stoppedAcme()
  const bob = world.laptop('bob')
  const { address } = world.hub.bootstrap(actor('carol').device, idle)
  await bob.start({ bootstrap: [address] })
  await world.until('it is connected', async () => (await bob.node.listBootstrap()).items[0]?.connected)
  expect((await bob.node.listBootstrap()).items).toMatchObject([{ named_by: 'settings' }])
  const error = await refused(bob.node.dropBootstrap({ address }))
  expect(error).toMatchObject({ symbol: 'invalid_params', hint: expect.stringContaining('settings') as string })
})

test('only the owner names servers; what is no address, or too many, changes nothing', async () => {
  const { bob, frank } = await pair()
  const good = at('/dns4/relay.example/tcp/4001')
  expect(await symbolOf(frank.node.useBootstrap({ addresses: [good] }))).toBe('forbidden')
  expect(await symbolOf(frank.node.dropBootstrap({ address: good }))).toBe('forbidden')
  expect(await refused(bob.node.useBootstrap({ addresses: [good, 'relay.example'] }))).toMatchObject({
    symbol: 'invalid_params',
    message: expect.stringContaining('"relay.example"') as string,
  })
  const many = Array.from({ length: 17 }, (_, i) => at(`/dns4/relay${i}.example/tcp/4001`))
  expect(await symbolOf(bob.node.useBootstrap({ addresses: many }))).toBe('invalid_params')
  expect((await bob.node.listBootstrap()).items).toEqual([])
  const before = (await bob.node.status()).roster.position
  await bob.node.useBootstrap({ addresses: many.slice(0, 16) })
  await bob.node.useBootstrap({ addresses: many.slice(0, 3) })
  expect((await bob.node.status()).roster.position).toBe(before + 1)
  expect(await symbolOf(bob.node.dropBootstrap({ address: good }))).toBe('invalid_params')
})
