/** Real laptops that are never there at the same time: a teammate's, or a mailbox at a bootstrap server, hands on what it cannot read. */
import { once } from 'node:events'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bootstrapPlaces } from '../../src/home.ts'
import { openLevelStore } from '../../src/store/level-store.ts'
import { SPACES } from '../../src/store/store.ts'
import { startFront } from '../bootstrap/front.ts'
import { type Laptop, laptop, until } from '../cli/laptop.ts'
import { done } from './team.ts'
import { tapWire } from './wiretap.ts'

const LOCAL = '--listen 127.0.0.1:0 --no-lan'
/** Nothing but the text of the handoff holds these words. */
const SECRET = 'the paginated answer of the users endpoint'

interface Thread {
  status: string
  delivery: { carriers?: { name: string }[]; delivered?: { device: string }[]; accepted?: { device: string } }
  entries: { body: string }[]
}

/** The thread as a laptop shows it, once it is as `is` says. */
async function shown(machine: Laptop, id: string, is: (thread: Thread) => boolean): Promise<Thread> {
  let seen: Thread | undefined
  await until(async () => {
    const ran = await machine.run(`show ${id} --json`)
    const thread = ran.code === 0 ? (ran.json() as unknown as Thread) : undefined
    if (thread && is(thread)) seen = thread
    return seen !== undefined
  })
  if (!seen) throw new Error('until() returned before it was so')
  return seen
}

/** bob’s workspace with those who joined, all running. */
async function teamOf(bob: Laptop, members: Record<string, Laptop>, options = ''): Promise<void> {
  await done(bob, `init --yes --name bob --team acme --device bobs-mbp ${LOCAL} ${options}`)
  for (const [name, machine] of Object.entries(members)) {
    const { code } = await done(bob, `invite ${name} --standalone`)
    await done(machine, `join --code-stdin --device ${name}s-mbp ${LOCAL} ${options}`, String(code))
  }
}

/** All that lies in a folder and in the store in it, each as text that can be searched. */
async function allBytes(folder: string, store: string): Promise<string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const parts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name)).toString('latin1'))
  const opened = await openLevelStore(store)
  for (const space of SPACES)
    for await (const [key, value] of opened.range(space)) parts.push(key, Buffer.from(value).toString('latin1'))
  await opened.close()
  return parts.join('\n')
}

test('bob sends and goes; carol, who takes no part, hands it to frank; bob learns of it all when he is back', async () => {
  await using host = laptop()
  await using bob = laptop()
  await using frank = laptop()
  await using carol = laptop()
  // frank and carol find each other through it; it keeps no mailbox.
  await using server = await startFront(host.spawn('bootstrap --listen 127.0.0.1:0 --stun-port 0 --no-mailbox --json'))
  const [address] = server.ready['addresses'] as string[]
  await teamOf(bob, { frank, carol }, `--bootstrap ${address}`)
  await done(frank, 'stop')
  const { thread_id } = await done(bob, `send frank --summary "${SECRET}"`)
  const id = String(thread_id)
  const sent = await shown(bob, id, ({ delivery }) => delivery.carriers !== undefined)
  expect(sent.delivery).toMatchObject({ stored_here: true, carriers: [{ name: 'carol/carols-mbp' }] })
  expect(sent.delivery).not.toHaveProperty('delivered')
  expect((await bob.run('status')).stdout).toContain(
    'frank/franks-mbp: 1 not acknowledged yet, stored at carol/carols-mbp',
  )
  expect((await bob.run(`show ${id}`)).stdout).toContain('stored at carol/carols-mbp')
  await done(bob, 'stop')

  await done(frank, 'start --detach')
  await shown(frank, id, ({ entries }) => entries[0]?.body === 'ok')
  expect((await frank.run(`show ${id}`)).stdout).toContain(SECRET)
  await done(frank, `accept ${id}`)
  // carol tells bob; frank will be gone by then.
  await until(async () => ((await done(carol, 'status'))['carried'] as { entries: number }).entries === 1)
  await done(frank, 'stop')
  await done(bob, 'start --detach')
  const back = await shown(bob, id, ({ status }) => status === 'accepted')
  expect(back.delivery).toMatchObject({
    stored_here: true,
    carriers: [{ name: 'carol/carols-mbp' }],
    delivered: [{ device: 'frank/franks-mbp' }],
    accepted: { device: 'frank/franks-mbp' },
  })

  for (const machine of [bob, carol]) await done(machine, 'stop')
  expect(await allBytes(carol.home.home, carol.home.store)).not.toContain(SECRET)
  expect(await allBytes(bob.home.home, bob.home.store), 'the search finds what is there').toContain(SECRET)
})

test('bob and frank never meet: a mailbox at a bootstrap server keeps it, and neither its disk nor the wire shows anything of it', async () => {
  await using host = laptop()
  await using bob = laptop()
  await using frank = laptop()
  await using server = await startFront(host.spawn('bootstrap --listen 127.0.0.1:0 --stun-port 0 --json'))
  const [own = ''] = server.ready['addresses'] as string[]
  await using wire = await tapWire(own)
  const { address } = wire
  await teamOf(bob, { frank }, `--bootstrap ${address}`)
  await done(bob, `bootstrap use ${address}`)
  for (const machine of [bob, frank]) {
    await done(machine, 'stop')
    appendFileSync(machine.home.config, 'mailbox = true\n')
  }
  await done(bob, 'start --detach')
  const { thread_id } = await done(bob, `send frank --summary "${SECRET}"`)
  const id = String(thread_id)
  const sent = await shown(bob, id, ({ delivery }) => delivery.carriers !== undefined)
  expect(sent.delivery.carriers?.[0]?.name).toMatch(/^mailbox at 127\.0\.0\.1:\d+$/)
  await done(bob, 'stop')

  await done(frank, 'start --detach')
  await shown(frank, id, ({ entries }) => entries[0]?.body === 'ok')
  await done(frank, `accept ${id}`)
  await until(async () => {
    const { items } = (await done(frank, 'bootstrap list')) as { items: { mailbox?: { left: number } }[] }
    return (items[0]?.mailbox?.left ?? 0) >= 2
  })
  await done(frank, 'stop')
  await done(bob, 'start --detach')
  const back = await shown(bob, id, ({ status }) => status === 'accepted')
  expect(back.delivery).toMatchObject({ delivered: [{ device: 'frank/franks-mbp' }] })
  await done(bob, 'send frank --summary "still in the mailbox"')
  await until(async () => {
    const { waiting } = (await done(bob, 'status')) as unknown as { waiting: { stored_at: string[] }[] }
    return waiting[0]?.stored_at.length === 1
  })

  const ended = once(server.child, 'exit')
  server.child.kill('SIGTERM')
  await ended
  const doctor = await bob.run('doctor')
  expect(doctor.stdout).toMatch(/bootstrap server: 127\.0\.0\.1:\d+/)
  expect(doctor.stdout).toContain('Ask whoever runs it whether it is up.')
  await done(bob, 'stop')
  const places = bootstrapPlaces(host.home)
  const disk = await allBytes(host.home.home, places.store)
  const entry = (await rowsOf(bob, 'entry'))[0] ?? ''
  for (const text of [SECRET, 'still in the mailbox', 'acme', 'frank', 'bobs-mbp', 'inform', entry.slice(80, 120)])
    for (const place of [disk, wire.heard()]) expect(place).not.toContain(text)
  expect(wire.heard(), 'the wire was listened to').toContain('/noise')
  expect((await rowsIn(places.store, 'item')).length, 'the search looked at items').toBeGreaterThan(0)
})

function rowsOf(machine: Laptop, space: (typeof SPACES)[number]): Promise<string[]> {
  return rowsIn(machine.home.store, space)
}

async function rowsIn(folder: string, space: (typeof SPACES)[number]): Promise<string[]> {
  const store = await openLevelStore(folder)
  const rows: string[] = []
  for await (const [, value] of store.range(space)) rows.push(Buffer.from(value).toString('latin1'))
  await store.close()
  return rows
}
