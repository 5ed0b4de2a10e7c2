import { readFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LOG_FILES_COUNT_MAX, logFiles, rotatingFile } from '../../src/cli/log-file.ts'

test('a log is turned over before it grows beyond its size, and only the newest files are kept', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'relay-'))
  const path = join(folder.path, 'x.log')
  const file = rotatingFile(path, 100)
  const lines = Array.from({ length: 40 }, (_, number) => `line ${String(number).padStart(3, '0')} ${'x'.repeat(20)}\n`)
  for (const line of lines) file.write(line)
  const files = logFiles(path)
  expect(files).toHaveLength(LOG_FILES_COUNT_MAX)
  const kept = files.toReversed().map((name) => readFileSync(name, 'utf8'))
  for (const text of kept) expect(text.length).toBeLessThanOrEqual(100)
  expect(lines.join('').endsWith(kept.join(''))).toBe(true)
})

test('a log that is opened again goes on where it was', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'relay-'))
  const path = join(folder.path, 'x.log')
  rotatingFile(path, 10).write('12345678\n')
  rotatingFile(path, 10).write('abc\n')
  expect(logFiles(path).map((name) => readFileSync(name, 'utf8'))).toEqual(['abc\n', '12345678\n'])
})
