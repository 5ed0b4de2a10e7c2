import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { laptop } from './laptop.ts'

const NOTE_LOADED = new URL('./note-loaded.ts', import.meta.url).href

test('mcp answers before anything is set up, and ends with its client', async () => {
  await using bob = laptop()
  const child = bob.spawn('mcp')
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }
  child.stdin?.write(`${JSON.stringify(hello)}\n`)
  const [answer] = (await once(child.stdout ?? child, 'data')) as [Buffer]
  expect(JSON.parse(answer.toString())).toMatchObject({ id: 1, result: { serverInfo: { name: 'relay' } } })
  const ended = once(child, 'exit')
  child.stdin?.end()
  expect(await ended).toEqual([0, null])
})

test.each(['mcp', 'paths', 'status', 'inbox', 'init --yes --no-start'])('`%s` loads no libp2p', async (args) => {
  await using bob = laptop()
  mkdirSync(bob.home.home, { recursive: true })
  const list = join(bob.home.home, 'loaded')
  await bob.run(args, { env: { NODE_OPTIONS: `--import ${NOTE_LOADED}`, LOADED_LIST: list } })
  const loaded = readFileSync(list, 'utf8').split('\n')
  expect(loaded.some((url) => url.endsWith('/src/cli/main.ts'))).toBe(true)
  expect(loaded.filter((url) => url.includes('libp2p'))).toEqual([])
})
