/** Artifacts: what was sent is read back byte for byte, in pages, by whoever takes part. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ArtifactInput } from '../../src/node/api.ts'
import { readAll } from './attachments.ts'
import { arrives, handOff, pair, plain, says, SESSION, symbolOf, trio, viewOnce } from './world.ts'

const ALL: readonly ArtifactInput[] = [
  { type: 'file_diff', path: 'src/a.py', diff: '@@ -1 +1 @@\n-a\n+ä\n', base_commit: 'abc' },
  { type: 'file_ref', path: 'src/b.py', git_sha: 'def', lines: '1-3' },
  { type: 'test_command', command: 'pytest', cwd: 'tests' },
  { type: 'api_contract', schema_url: 'https://a.example/openapi.json' },
  { type: 'api_contract', inline: '{"openapi":"3.1.0"}' },
  { type: 'link', url: 'https://a.example', title: 'A' },
  { type: 'file', name: 'a.txt', media_type: 'text/plain', text: 'hello' },
  { type: 'file', name: 'b.bin', media_type: 'application/octet-stream', base64: 'AP+A' },
]

test('every type arrives with its labels, size and hash, and its content is read back', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id, artifact_ids } = await handOff(bob, 'frank', 'all of them', { artifacts: [...ALL] })
  expect(new Set(artifact_ids).size).toBe(ALL.length)
  await arrives(world, frank, thread_id)
  const seen = await viewOnce(world, frank, thread_id, ({ artifacts }) => artifacts.length === ALL.length)
  expect(seen.artifacts.map(({ artifact_id }) => artifact_id)).toEqual(artifact_ids)
  expect(seen.artifacts.map(({ content }) => plain(content))).toEqual([
    { path: 'src/a.py', base_commit: 'abc' },
    { path: 'src/b.py', git_sha: 'def', lines: '1-3' },
    { command: 'pytest', cwd: 'tests' },
    { schema_url: 'https://a.example/openapi.json' },
    {},
    { url: 'https://a.example', title: 'A' },
    { name: 'a.txt', media_type: 'text/plain' },
    { name: 'b.bin', media_type: 'application/octet-stream' },
  ])
  const contents = [
    '@@ -1 +1 @@\n-a\n+ä\n',
    'src/b.py',
    'pytest',
    'https://a.example/openapi.json',
    '{"openapi":"3.1.0"}',
    'https://a.example',
    'hello',
  ]
  for (const [i, artifact_id] of artifact_ids.entries()) {
    const { bytes } = await readAll(frank, { thread_id, artifact_id })
    const expected = i < contents.length ? Buffer.from(contents[i] ?? '') : Buffer.from('AP+A', 'base64')
    expect(bytes.equals(expected)).toBe(true)
    const sha256 = createHash('sha256').update(expected).digest('hex')
    expect(seen.artifacts[i]).toMatchObject({ size: expected.length, sha256 })
  }
})

test('a diff of 100 KiB with letters of any width is read in pages that never cut one', async () => {
  const world = await pair()
  const { bob, frank } = world
  const diff = Array.from({ length: 20_000 }, (_, i) => ['a', 'ä', '€', '𝄞', '\n'][i % 5]).join('')
  const sent = await handOff(bob, 'frank', 'a large one', { artifacts: [{ type: 'file_diff', path: 'a', diff }] })
  const ids = { thread_id: sent.thread_id, artifact_id: sent.artifact_ids[0] ?? '' }
  await arrives(world, frank, ids.thread_id)
  await viewOnce(world, frank, ids.thread_id, ({ artifacts }) => artifacts.length === 1)
  for (const max of [undefined, 1000, 32 * 1024, 10 * 1024 * 1024]) {
    const { bytes, slice } = await readAll(frank, ids, max)
    expect(bytes.toString()).toBe(diff)
    expect(slice).toMatchObject({ encoding: 'utf8', size: bytes.length, from: { handle: 'bob@acme' } })
  }
})

test('a page is as small as one likes, and still goes on', async () => {
  const { bob } = await pair()
  const { thread_id, artifact_ids } = await handOff(bob, 'frank', 'x', {
    artifacts: [{ type: 'file', name: 'a', media_type: 'text/plain', text: '𝄞ä𝄞' }],
  })
  for (const max of [1, 2, 3, 4]) {
    const { bytes } = await readAll(bob, { thread_id, artifact_id: artifact_ids[0] ?? '' }, max)
    expect(bytes.toString()).toBe('𝄞ä𝄞')
  }
})

test('beyond the end there is nothing, and an empty artifact has no pages to turn', async () => {
  const { bob } = await pair()
  const { thread_id, artifact_ids } = await handOff(bob, 'frank', 'x', {
    artifacts: [
      { type: 'file', name: 'a', media_type: 'text/plain', text: 'abc' },
      { type: 'file', name: 'empty', media_type: 'text/plain', text: '' },
    ],
  })
  const [artifact_id = '', empty = ''] = artifact_ids
  expect(await bob.node.readArtifact({ thread_id, artifact_id, offset: 99 })).toMatchObject({
    offset: 3,
    size: 3,
    truncated: false,
  })
  expect(await bob.node.readArtifact({ thread_id, artifact_id: empty })).toMatchObject({
    size: 0,
    truncated: false,
    content: { own: '' },
  })
})

test('artifacts of messages and results are in the index too, each with the entry that carries it', async () => {
  const world = await pair()
  const { bob, frank } = world
  const { thread_id } = await handOff(bob, 'frank', 'one')
  await arrives(world, frank, thread_id)
  await frank.node.accept({ thread_id }, SESSION)
  const link = (url: string) => ({ artifacts: [{ type: 'link' as const, url }] })
  const said = await frank.node.sendMessage({ thread_id, message: says('see'), ...link('https://m.example') }, SESSION)
  await frank.node.complete({ thread_id, result_summary: 'r', ...link('https://r.example') }, SESSION)
  const seen = await viewOnce(world, bob, thread_id, ({ artifacts }) => artifacts.length === 2)
  expect(seen.artifacts[0]).toMatchObject({
    artifact_id: said.artifact_ids[0],
    content: { untrusted: { url: 'https://m.example' } },
  })
  expect(seen.artifacts.map(({ entry_id }) => entry_id)).toEqual(
    seen.entries.filter(({ kind }) => kind === 'message' || kind === 'complete').map(({ entry_id }) => entry_id),
  )
})

test('who takes no part reads no artifact, and learns nothing by trying', async () => {
  const world = await trio()
  const { bob, carol } = world
  const sent = await handOff(bob, 'frank', 'x', { artifacts: [{ type: 'link', url: 'https://a.example' }] })
  await world.until('the header is there', async () => (await carol.disk.rows('entry')).length > 0)
  const call = carol.node.readArtifact({ thread_id: sent.thread_id, artifact_id: sent.artifact_ids[0] ?? '' })
  expect(await symbolOf(call)).toBe('thread_not_found')
})
