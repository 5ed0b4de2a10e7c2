/** Artifacts of all types and sizes between two real laptops: over MCP and the command line, across a kill, within a bounded memory. */
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ThreadView } from '../../src/node/api.ts'
import { createRpcClient } from '../../src/rpc/client.ts'
import { lockHolder } from '../../src/cli/instance-lock.ts'
import { killNode, type Laptop, until } from '../cli/laptop.ts'
import { fileOf, noise, sha256, sixteen } from '../node/attachments.ts'
import { agentAt, good } from './agent.ts'
import { done, team } from './team.ts'

const MIB = 1024 * 1024

/** The thread as the node of a laptop shows it, once it is as wanted. */
async function threadAt({ home }: Laptop, id: string, isSo: (thread: ThreadView) => boolean): Promise<ThreadView> {
  const node = createRpcClient({ socketPath: home.socket, session: randomUUID() })
  let seen: ThreadView | undefined
  try {
    await until(async () => {
      seen = await node.call('tasks/get', { thread_id: id }).catch(() => undefined)
      return seen !== undefined && isSo(seen)
    })
  } finally {
    node.close()
  }
  if (!seen) throw new Error('until() returned before it was so')
  return seen
}

/** What the command line writes to a file. */
async function written(at: Laptop, thread: string, artifact: string): Promise<Buffer> {
  const file = join(at.home.home, `${artifact}-${randomUUID()}`)
  await done(at, `show ${thread} --artifact ${artifact} --out ${file}`)
  return readFileSync(file)
}

test('sixteen artifacts from an agent’s hand, from nothing to 8 MiB, are read byte for byte by both agents and both people', async () => {
  await using both = await team()
  const { bob, frank } = both
  const all = sixteen()
  await using agent = await agentAt(bob)
  const sent = await good(
    agent.call('handoff_to_teammate', {
      to: 'frank@acme',
      intent: 'inform',
      summary: 'all of them',
      artifacts: all.map(([artifact]) => artifact),
    }),
  )
  const [thread, ids] = [String(sent['thread_id']), sent['artifact_ids'] as string[]]
  const there = await threadAt(frank, thread, ({ artifacts }) => artifacts.length === 16)
  expect(there.artifacts.filter(({ here }) => !here).length).toBeGreaterThan(0)
  for (const at of [bob, frank]) {
    for (const [i, [, bytes]] of all.entries()) {
      const read = await written(at, thread, ids[i] ?? '')
      expect(Buffer.compare(read, bytes), `${i} at ${at === bob ? 'bob' : 'frank'}`).toBe(0)
    }
  }
  // And what an agent reads, page by page, of the largest one that was fetched by now.
  await using reader = await agentAt(frank)
  const [at] = all.flatMap(([artifact], i) => (artifact['name'] === 'just-over-a-chunk' ? [i] : []))
  const pieces: Buffer[] = []
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const answer: Record<string, unknown> = await good(
      reader.call('read_artifact', { thread_id: thread, artifact_id: ids[at ?? 0], offset, max_bytes: 20_000 }),
    )
    const { untrusted } = answer['content'] as { untrusted: { block: string } }
    const json = untrusted.block.split('\n').at(-2) ?? ''
    pieces.push(Buffer.from(JSON.parse(json) as string, answer['encoding'] as 'base64'))
    offset = answer['next_offset'] as number | undefined
    if (offset === undefined) expect(answer).toMatchObject({ here: true, verified: true })
  }
  expect(Buffer.compare(Buffer.concat(pieces), all[at ?? 0]?.[1] ?? Buffer.alloc(0))).toBe(0)
})

test('files of any bytes are sent from the command line, and after a kill in the middle the rest of them comes', async () => {
  await using both = await team()
  const { bob, frank } = both
  const files = ['one.bin', 'two.bin', 'three.bin'].map((name) => ({ name, bytes: noise(name, 8 * MIB) }))
  for (const { name, bytes } of files) writeFileSync(join(bob.home.home, name), bytes)
  const named = files.map(({ name }) => `--file ${join(bob.home.home, name)}`).join(' ')
  const sent = await done(bob, `send frank --summary "three files" ${named}`)
  const [thread, ids] = [String(sent['thread_id']), sent['artifact_ids'] as string[]]
  await threadAt(frank, thread, ({ artifacts }) => artifacts.length === 3)
  const bytesHere = ({ artifacts }: ThreadView): number =>
    artifacts.reduce((sum, { here, size, here_bytes: part = 0 }) => sum + (here ? size : part), 0)
  await done(frank, `accept ${thread}`)
  await threadAt(frank, thread, (seen) => bytesHere(seen) >= 2 * MIB)
  await killNode(frank.home)
  // Nothing more comes before the sender is there again.
  await done(bob, 'stop')
  await done(frank, 'start --detach')
  const kept = bytesHere(await threadAt(frank, thread, () => true))
  expect(kept).toBeGreaterThanOrEqual(2 * MIB)
  const away = await frank.run(`show ${thread} --artifact ${ids[2]} --out ${join(frank.home.home, 'not-yet')}`)
  if (kept < 24 * MIB) expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing is lost') })
  await done(bob, 'start --detach')
  await threadAt(frank, thread, (seen) => seen.artifacts.every(({ here }) => here))
  await done(bob, 'stop')
  for (const [i, { bytes }] of files.entries())
    expect(Buffer.compare(await written(frank, thread, ids[i] ?? ''), bytes)).toBe(0)
})

/** Bytes of memory that the node of a laptop holds, and the most that it ever held. */
function memoryOf({ home }: Laptop): { now: number; most: number } {
  const status = readFileSync(`/proc/${lockHolder(home)}/status`, 'utf8')
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024
  return { now: of('VmRSS'), most: of('VmHWM') }
}

test('32 MiB in one call arrive while messages pass, and neither node holds them many times in memory', async ({
  skip,
}) => {
  if (process.platform !== 'linux') skip('the memory of a process is read from /proc')
  await using both = await team()
  const { bob, frank } = both
  await done(bob, 'send frank --summary "so that everything is loaded"')
  const before = [memoryOf(bob), memoryOf(frank)]
  const parts = [1, 2, 3, 4].map((i) => noise(`part ${i}`, 8 * MIB))
  const node = createRpcClient({ socketPath: bob.home.socket, session: randomUUID() })
  const began = performance.now()
  const sent = await node.call('message/send', {
    recipient: 'frank@acme',
    intent: 'inform',
    message: { parts: [{ type: 'text', text: 'a full thread' }] },
    artifacts: parts.map((bytes, i) => fileOf(`${i}`, bytes)),
    metadata: { client_idempotency_key: randomUUID() },
  })
  const took = performance.now() - began
  await threadAt(frank, sent.thread_id, ({ artifacts }) => artifacts.length === 4)
  await done(frank, `accept ${sent.thread_id}`)
  const fetching = performance.now()
  await node.call('message/send', {
    thread_id: sent.thread_id,
    message: { parts: [{ type: 'text', text: 'beside it' }] },
  })
  node.close()
  await threadAt(frank, sent.thread_id, ({ entries }) => entries.some(({ kind }) => kind === 'message'))
  const passed = performance.now() - fetching
  const seen = await threadAt(frank, sent.thread_id, ({ artifacts }) => artifacts.every(({ here }) => here))
  const fetched = performance.now() - fetching
  expect(seen.artifacts.map((one) => one.sha256)).toEqual(parts.map(sha256))
  const after = [memoryOf(bob), memoryOf(frank)]
  const grown = after.map(({ most }, i) => (most - (before[i]?.now ?? 0)) / MIB)
  console.log(
    `sent in ${took.toFixed(0)} ms, fetched in ${fetched.toFixed(0)} ms, a message passed in ${passed.toFixed(0)} ms; ` +
      `memory grew at most by ${grown.map((mib) => `${mib.toFixed(0)} MiB`).join(' and ')}`,
  )
  // A call of 43 MiB as JSON, its text, its bytes, the sealed chunks and their way to the disk, and what a collector has not
  // looked at yet; what is fetched goes through a few chunks at a time.
  expect(grown[0]).toBeLessThan(14 * 32)
  expect(grown[1]).toBeLessThan(8 * 32)
})
