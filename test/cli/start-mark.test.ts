import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startMark } from '../../src/cli/start-mark.ts'
import { homePaths, HomeError } from '../../src/home.ts'

function emptyHome() {
  const folder = mkdtempSync(join(tmpdir(), 'relay-node-mark-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return homePaths({ RELAY_NODE_HOME: folder })
}

test('the mark lies beside the key, for this user alone, and holds what was written last', () => {
  const home = emptyHome()
  const mark = startMark(home)
  expect(mark.read()).toBeUndefined()
  mark.write(3)
  mark.write(4)
  expect(mark.read()).toBe(4)
  const path = join(home.home, 'starts')
  expect(readFileSync(path, 'utf8')).toBe('4\n')
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o077).toBe(0)
})

test('a damaged mark is none, and one that cannot be written is an error of the home', () => {
  const home = emptyHome()
  writeFileSync(join(home.home, 'starts'), 'four')
  expect(startMark(home).read()).toBeUndefined()
  expect(() => startMark({ ...home, key: join(home.home, 'nowhere', 'peer.key') }).write(1)).toThrow(HomeError)
})
