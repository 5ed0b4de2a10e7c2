/** Who is in: newcomers become known to everyone who is connected, and a roster that contradicts itself stops what rests on it. */
import { expect, test } from 'vitest'
import { encodeSync, FRAME_SIZE_BYTES_MAX } from '../../protocol/index.ts'
import { putRosterEntry } from '../../src/node/rows.ts'
import { mustAdmit } from '../cast.ts'
import { entriesOn, impersonate, workspaceOn } from './impostor.ts'
import {
  arrives,
  handOff,
  type Laptop,
  pair,
  refused,
  says,
  SESSION,
  stoppedAcme,
  symbolOf,
  view,
  viewOnce,
  type World,
} from './world.ts'

async function join(world: World, owner: Laptop, name: string): Promise<Laptop> {
  const laptop = await world.stranger(name)
  await laptop.start()
  const { code } = await owner.node.invite({ name, standalone: true })
  await laptop.node.join({ code })
  return laptop
}

const knows = async (at: Laptop, handle: string): Promise<boolean> =>
  (await at.node.listTeammates({})).items.some((teammate) => teammate.handle === handle && teammate.reachable)

test('a newcomer is known at once to whoever is connected, and hands off and is handed to, both ways', async () => {
  const world = await pair()
  const { bob, frank } = world
  const carol = await join(world, bob, 'carol')
  await world.until(
    'frank and carol know each other',
    async () => (await knows(frank, 'carol@acme')) && (await knows(carol, 'frank@acme')),
  )
  await world.connected()
  const toCarol = await handOff(frank, 'carol', 'welcome')
  const toFrank = await handOff(carol, 'frank', 'thank you')
  await arrives(world, carol, toCarol.thread_id)
  await arrives(world, frank, toFrank.thread_id)
  await viewOnce(world, frank, toCarol.thread_id, ({ delivery }) => delivery.delivered !== undefined)
})

test('a newcomer learns of what was said before he came, without being able to read it', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'before your time')
  await arrives(world, frank, thread_id)
  const carol = await join(world, bob, 'carol')
  await world.until('the header is there', async () => (await entriesOn(carol.disk)).length > 0)
  expect(await symbolOf(carol.node.getThread({ thread_id }))).toBe('thread_not_found')
  expect(await carol.disk.image()).not.toContain(Buffer.from('before your time').toString('hex'))
})

test('whoever was away learns of newcomers when he is back', async () => {
  const world = await pair()
  const { bob, frank } = world
  await frank.stop()
  const carol = await join(world, bob, 'carol')
  await frank.start()
  await world.until(
    'they know each other',
    async () => (await knows(frank, 'carol@acme')) && (await knows(carol, 'frank@acme')),
  )
})

test('an entry that cites a roster entry which is not here waits until it is', async () => {
  const world = await pair()
  const { bob, frank } = world
  const carol = await join(world, bob, 'carol')
  await world.until(
    'everybody is known',
    async () => (await knows(frank, 'carol@acme')) && (await knows(carol, 'frank@acme')),
  )
  world.cut(bob, frank)
  const dave = await join(world, bob, 'dave')
  await world.until('carol knows dave', () => knows(carol, 'dave@acme'))
  // carol’s entry rests on a roster that frank can get from her alone.
  const { thread_id } = await handOff(carol, 'frank', 'from a later roster')
  await arrives(world, frank, thread_id)
  await world.until('frank knows dave', () => knows(frank, 'dave@acme'))
  expect(dave.running).toBe(true)
})

test('a member whose laptop has no key here yet cannot be handed to, and is told apart from one who does not exist', async () => {
  const world = await stoppedAcme('frank')
  const bob = world.laptop('bob')
  const frank = world.laptop('frank')
  await bob.disk.write([{ type: 'del', space: 'prekey', key: frank.device }])
  await bob.start()
  const error = await refused(handOff(bob, 'frank', 'hello'))
  expect(error.symbol).toBe('recipient_not_found')
  expect(error.message).toContain('key')
  await frank.start()
  await world.until('the key has come', async () => (await bob.disk.rows('prekey')).length === 2)
  await handOff(bob, 'frank', 'hello')
})

test('a device that was removed is hung up on and answers its own people that it was', async () => {
  const world = await stoppedAcme('frank', 'carol')
  const [frank, carol] = [world.laptop('frank'), world.laptop('carol')]
  await frank.start()
  await carol.start()
  await world.connected()
  const bob = await impersonate(world, world.laptop('bob'))
  const removal = bob.workspace.draft('remove-device', { device: carol.device })
  const talk = await bob.meet(frank)
  await talk.say({ t: 'roster', entries: [removal.envelope] })
  await world.until(
    'frank no longer serves carol',
    () => !frank.net.peers().some(({ device }) => device === carol.device),
  )
  expect((await refused(handOff(frank, 'carol', 'still there?'))).symbol).toBe('recipient_not_found')
  // frank has told her.
  const error = await world.until('carol knows', async () => {
    const found = await refused(carol.node.listThreads({})).catch(() => undefined)
    return found
  })
  expect(error).toMatchObject({ symbol: 'unauthenticated' })
  expect(error.message).toContain('removed')
})

test('an owner who signs two rosters stops all writing, here and for everyone; what others send is kept', async () => {
  const world = await stoppedAcme('frank', 'carol')
  const [frank, carol] = [world.laptop('frank'), world.laptop('carol')]
  await frank.start()
  await carol.start()
  await world.connected()
  const { thread_id } = await handOff(carol, 'frank', 'before')
  await arrives(world, frank, thread_id)
  const bob = await impersonate(world, world.laptop('bob'))
  const { workspace } = bob
  const branches = ['dave', 'eve'].map((name) =>
    workspace.draft('add-member', { name, role: 'member', kind: 'person', invite: null }),
  )
  world.cut(frank, carol)
  const talk = await bob.meet(frank)
  await talk.say({ t: 'roster', entries: branches.map(({ envelope }) => envelope) })
  await world.until('frank sees it', async () => (await frank.node.status()).roster.forked)
  expect(await symbolOf(frank.node.accept({ thread_id }, SESSION))).toBe('verification_failed')
  expect(await symbolOf(handOff(frank, 'carol', 'x'))).toBe('verification_failed')

  const later = await carol.node.sendMessage({ thread_id, message: says('carol does not know yet') }, SESSION)
  expect(later.sequence_no).toBe(3)
  await world.heal(frank, carol)
  await viewOnce(world, frank, thread_id, ({ entries }) => entries.length === 2)
  await world.until('carol is shown both', async () => (await carol.node.status()).roster.forked)
  expect(await symbolOf(carol.node.sendMessage({ thread_id, message: says('x') }, SESSION))).toBe('verification_failed')
  await frank.restart()
  expect((await frank.node.status()).roster.forked).toBe(true)
  expect((await view(frank, thread_id)).entries).toHaveLength(2)
})

test('a long roster is passed on in frames that fit', async () => {
  const world = await stoppedAcme('frank')
  const [bob, frank] = [world.laptop('bob'), world.laptop('frank')]
  const workspace = await workspaceOn(bob.disk)
  const entries = Array.from({ length: 100 }, (_, i) => {
    const addresses = Array.from({ length: 16 }, (_, j) => `/dns4/${'x'.repeat(230)}/tcp/${1000 + 16 * i + j}`)
    const entry = workspace.draft('set-bootstrap', { addresses })
    mustAdmit(workspace.log, entry)
    return entry
  })
  await bob.disk.write(entries.map(({ header, id, envelope }) => putRosterEntry(header.n, id, envelope)))
  await bob.start()
  await frank.start()
  await world.until('frank holds it all', async () => (await frank.disk.rows('roster')).length === 104)
  const message = encodeSync({ t: 'roster', entries: entries.map(({ envelope }) => envelope) })
  expect(message.length).toBeGreaterThan(FRAME_SIZE_BYTES_MAX)
})
