import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  checksStayOn,
  kebabCase,
  lockedHosts,
  lockGaps,
  loosePins,
  namedExports,
  noDice,
  pure,
  shortEnough,
  standsAlone,
  tellingRoom,
  testsRun,
  topLevelFaults,
  type Rule,
} from './house-rules.ts'
import { exampleFaults, heavyLoads, importFaults, roomOf, ROOMS_THAT_EXIST } from './rooms.ts'
import { fileAt, filesBelow, loadedBy, ROOT, type SourceFile } from './source.ts'

const OURS = filesBelow(['protocol', 'src', 'test', 'examples'], ['.ts', '.js'])
const NODE_FILES = OURS.filter(({ path }) => /^(protocol|src)\//.test(path) && path.endsWith('.ts'))
const BY_PATH = new Map(OURS.map((file) => [file.path, file]))
// The file of the rules has to spell what it forbids.
const TEXTS = [
  ...OURS.filter(({ path }) => path !== 'test/house-rules.ts'),
  ...filesBelow(['protocol', 'src', 'test', 'examples', '.ci'], ['.md', '.json', '.html', '.css', 'run']),
  ...['package.json', 'tsconfig.json', '.npmrc', '.gitignore', '.oxlintrc.json', '.oxfmtrc.json'].map(fileAt),
  ...['README.md'].filter((path) => existsSync(join(ROOT, path))).map(fileAt),
]

const sample = (path: string, text: string): SourceFile => ({ path, text })
const lines = (count: number): string => 'const a = 1\n'.repeat(count)
// In pieces, so that the rules find no fault in their own bad samples.
const word = (...parts: string[]): string => parts.join('')

const RULES: [name: string, rule: Rule, files: SourceFile[], good: SourceFile[], bad: SourceFile[]][] = [
  [
    'is short enough to hold one concept',
    shortEnough,
    OURS,
    [sample('a.ts', lines(400))],
    [sample('a.ts', lines(401))],
  ],
  [
    'has a kebab-case name',
    kebabCase,
    OURS,
    [sample('src/net/a-b2.test.ts', ''), sample('src/.config.json', '')],
    [sample('src/aB.ts', ''), sample('src/a_b/c.ts', ''), sample('src/A.ts', '')],
  ],
  [
    'lies in a room whose name tells what is in it',
    tellingRoom,
    OURS,
    [sample('src/net/frame.ts', '')],
    ['src/utils/a.ts', 'src/helpers.ts', 'src/net/common/a.ts', 'test/shared.ts'].map((path) => sample(path, '')),
  ],
  [
    'exports by name',
    namedExports,
    OURS,
    [sample('a.ts', "export const a = 'export default'\n// export default\nexport default_")],
    [sample('a.ts', 'export default 1'), sample('a.ts', 'export { a as default }')],
  ],
  [
    'switches no check off',
    checksStayOn,
    OURS,
    [sample('a.ts', "// any word\nconst any = 'a: any'\nAbortSignal.any([a])\nconst b = (any: string) => any + 1")],
    ['const a: any = 1', 'f<any>()', 'a as any', 'let a: any[]', 'function f(a: any, b: string) {}']
      .concat(
        word('// ox', 'lint-disable'),
        word('// @ts', '-ignore'),
        word('// @ts', '-expect-error'),
        word('// oxfmt', '-ignore'),
      )
      .map((text) => sample('a.ts', text)),
  ],
  [
    'runs every test',
    testsRun,
    OURS.filter(({ path }) => path.startsWith('test/')),
    [sample('a.test.ts', "test('test.only', ({ skip }) => skip('no root'))\ntest.each([1])('a', () => {})")],
    [
      "test.skip('a')",
      "it.only('a')",
      "describe.todo('a')",
      "test.concurrent.skip('a')",
      "test.skipIf(b)('a')",
      'skip()',
      "xit('a')",
    ].map((text) => sample('a.test.ts', text)),
  ],
  [
    'names no machine, registry, promise or tracker',
    standsAlone,
    TEXTS,
    [sample('a.ts', "'./work/a' // see page 2 of RFC 9180; color #333333, rule S1")],
    [
      word("'/wo", "rk/a'"),
      word("'/ro", "ot/a'"),
      word('https://registry.np', 'mjs.org'),
      word('// TO', 'DO: a'),
      word('see iss', 'ue 12'),
    ]
      .concat(word('fixes #', '12'), word("'../sh", "ared/a.md'"))
      .map((text) => sample('a.ts', text)),
  ],
  [
    'has, as a rule of the protocol, no clock, dice, process or console',
    pure,
    OURS,
    [sample('protocol/a.ts', "// Date.now()\nconst a = 'process'"), sample('src/a.ts', 'Date.now()')],
    [
      'Date.now()',
      'new Date()',
      'Math.random()',
      'process.env',
      'console.log(1)',
      'setTimeout(a, 1)',
      'crypto.randomUUID()',
    ].map((text) => sample('protocol/a.ts', text)),
  ],
  [
    'is handed its random bytes, as a rule of the protocol',
    noDice,
    OURS,
    [sample('src/a.ts', 'randomBytes(1)')],
    [sample('protocol/crypto.ts', "import { randomBytes } from 'node:crypto'")],
  ],
  [
    'imports only what its room may import',
    importFaults,
    NODE_FILES,
    [
      sample('protocol/crypto.ts', "import { hash } from 'node:crypto'\nimport { a } from './a.ts'"),
      sample(
        'src/node/a.ts',
        "import type { Store } from '../store/store.ts'\nimport { x } from '../../protocol/index.ts'\nimport 'node:fs'",
      ),
      sample('src/net/a.ts', "import {\n  a,\n  b,\n} from '@libp2p/interface'\nimport { c } from '../system.ts'"),
      sample('src/cli/start.ts', "const a = await import('../store/level-store.ts')"),
      sample(
        'src/mcp/a.ts',
        "import { call } from '../rpc/client.ts'\nimport { Client } from '@modelcontextprotocol/sdk/client/index.js'",
      ),
    ],
    [
      ['protocol/a.ts', "import { hash } from 'node:crypto'"],
      ['protocol/a.ts', "import { readFile } from 'node:fs'"],
      ['protocol/a.ts', "import type { System } from '../src/system.ts'"],
      ['src/store/a.ts', "import { a } from '../../protocol/entry.ts'"],
      ['src/store/a.ts', "import { a } from '../node/node.ts'"],
      ['src/node/a.ts', "import {\n  openMemoryStore,\n} from '../store/memory-store.ts'"],
      ['src/node/a.ts', "import { createLibp2p } from 'libp2p'"],
      ['src/node/a.ts', "import * as Y from 'yjs'"],
      ['src/net/a.ts', "import { Level } from 'level'"],
      ['src/rpc/a.ts', "export { a } from '../net/net.ts'"],
      ['src/mcp/a.ts', "import '../node/node.ts'"],
      ['src/mcp/a.ts', "import { serve } from '../rpc/server.ts'"],
      ['src/mcp/a.ts', "const a = await import('../net/libp2p-net.ts')"],
      ['src/cli/doctor.ts', "const a = await import('../store/level-store.ts')"],
      ['src/cli/a.ts', "import { Hono } from 'hono'"],
      ['src/other/a.ts', ''],
    ].map(([path = '', text = '']) => sample(path, text)),
  ],
  [
    'imports, as an example, the package by its name',
    exampleFaults,
    OURS.filter(({ path }) => path.startsWith('examples/')),
    [
      sample(
        'examples/a/main.ts',
        "import { a } from 'relay-node'\nimport { b } from './b.ts'\nimport { c } from '../main-job/c.ts'",
      ),
    ],
    [sample('examples/a/main.ts', "import { a } from '../../src/index.ts'")],
  ],
]

describe('every file', () => {
  test.each(RULES)('%s', (_name, rule, files, good, bad) => {
    for (const one of good) expect(rule(one)).toStrictEqual([])
    for (const one of bad) expect(rule(one), one.text || one.path).not.toStrictEqual([])
    expect(files.length).toBeGreaterThan(0)
    expect(files.flatMap(rule)).toStrictEqual([])
  })
})

describe('the house', () => {
  test('has files in every room that exists, so that the other rules saw something', () => {
    const empty = ROOMS_THAT_EXIST.filter((name) => !NODE_FILES.some(({ path }) => roomOf(path)?.name === name))
    expect(empty).toStrictEqual([])
  })

  test('shows seven names at the top', () => {
    const seven = ['README.md', 'examples', 'package.json', 'protocol', 'src', 'test', 'tsconfig.json']
    expect(topLevelFaults([...seven, '.git', 'LICENSE', 'dist'])).toStrictEqual([])
    expect(topLevelFaults([...seven.slice(1), 'scripts'])).toStrictEqual(['+ scripts', '- README.md'])
    expect(topLevelFaults(readdirSync(ROOT))).toStrictEqual([])
  })

  test('pins every dependency exactly', () => {
    expect(loosePins({ dependencies: { a: '1.2.3', b: '1.0.0-rc.1' } })).toStrictEqual([])
    expect(loosePins({ dependencies: { a: '^1.2.3' }, devDependencies: { b: '*', c: '1.2' } })).toHaveLength(3)
    expect(loosePins(manifest())).toStrictEqual([])
  })

  test('has a lockfile that names no host', () => {
    expect(lockedHosts('{ "resolved": "https://example.org/a.tgz" }')).toHaveLength(1)
    const lockfile = fileAt('package-lock.json').text
    expect(lockfile).toContain('"integrity"')
    expect(lockedHosts(lockfile)).toStrictEqual([])
  })

  test('has a lockfile that `npm ci` can install', () => {
    const leaf = {}
    const whole = {
      '': { dependencies: { a: '1' } },
      'node_modules/a': { optionalDependencies: { b: '1' } },
      'node_modules/b': leaf,
    }
    expect(
      lockGaps({ packages: { ...whole, 'node_modules/a/node_modules/c': { dependencies: { a: '1' } } } }),
    ).toStrictEqual([])
    const gap = { '': { dependencies: { a: '1' } }, 'node_modules/a': { optionalDependencies: { b: '1' } } }
    expect(lockGaps({ packages: { ...gap, 'node_modules/c/node_modules/b': leaf } })).toStrictEqual([
      'node_modules/a -> b',
    ])
    expect(lockGaps(JSON.parse(fileAt('package-lock.json').text) as Parameters<typeof lockGaps>[0])).toStrictEqual([])
  })

  test('exports sources that exist', () => {
    const sources = Object.values(manifest().exports).flatMap((one) => (typeof one === 'string' ? [] : [one.source]))
    expect(sources.length).toBeGreaterThan(0)
    expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toStrictEqual([])
  })
})

describe('what an agent starts', () => {
  const graph = (...files: SourceFile[]): Map<string, SourceFile> => new Map(files.map((file) => [file.path, file]))

  test('is followed through static imports, not through types and not through import()', () => {
    const loaded = loadedBy(
      'src/mcp/a.ts',
      graph(
        sample(
          'src/mcp/a.ts',
          "import { b } from './b.ts'\nimport type { Node } from '../node/node.ts'\nawait import('../net/c.ts')",
        ),
        sample('src/mcp/b.ts', "export {\n  d,\n} from '../rpc/d.ts'"),
        sample(
          'src/rpc/d.ts',
          "import { createLibp2p } from 'libp2p'\nimport { e } from '../node/api.ts'\nimport '../node/f.ts'",
        ),
      ),
    )
    expect(heavyLoads('a', loaded)).toStrictEqual(['a loads libp2p', 'a loads src/node/f.ts'])
  })

  test('loads neither the network nor the node nor the store', () => {
    const entries = NODE_FILES.map(({ path }) => path).filter(
      (path) => path.startsWith('src/mcp/') || /^src\/cli\/(main|mcp)\.ts$/.test(path),
    )
    expect(entries).toContain('src/cli/main.ts')
    expect(entries.length).toBeGreaterThan(2)
    expect(entries.flatMap((entry) => heavyLoads(entry, loadedBy(entry, BY_PATH)))).toStrictEqual([])
  })
})

interface Manifest {
  exports: Record<string, string | { source: string }>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

function manifest(): Manifest {
  return JSON.parse(fileAt('package.json').text) as Manifest
}
