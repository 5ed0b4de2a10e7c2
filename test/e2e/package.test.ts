import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'relay-package-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('what is published installs and runs without the sources', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ filename: string; files: { path: string }[] }]
  expect(packed.files.map(({ path }) => path).filter((path) => path.startsWith('test/'))).toEqual([])
  execFileSync('npm', ['init', '--yes'], { cwd: folder, stdio: 'ignore' })
  execFileSync('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, packed.filename)], {
    cwd: folder,
    stdio: 'ignore',
  })
  const relayNode = (...args: string[]) =>
    execFileSync(process.execPath, [join(folder, 'node_modules/relay-node/src/cli/relay-node.js'), ...args], {
      encoding: 'utf8',
      env: { ...process.env, RELAY_NODE_HOME: join(folder, 'home'), NODE_OPTIONS: '' },
    })
  expect(relayNode('--version').trim()).toMatch(/^\d+\.\d+\.\d+$/)
  relayNode('init', '--yes', '--name', 'bob', '--team', 'acme', '--listen', '127.0.0.1:0', '--no-lan')
  expect(JSON.parse(relayNode('status', '--json'))).toMatchObject({ handle: 'bob@acme' })
  relayNode('stop')
  expect(
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        "const { signingKey } = await import('relay-node/protocol'); console.log(signingKey(new Uint8Array(32)).public.length)",
      ],
      { cwd: folder, encoding: 'utf8' },
    ).trim(),
  ).toBe('64')
})
