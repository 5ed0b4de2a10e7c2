import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { tallyReporter } from './tally.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Cheapest first: a broken house rule or protocol rule is told before a process or a socket is opened. */
const PROJECTS = [
  'tidy',
  'protocol',
  'store',
  'net',
  'bootstrap',
  'record',
  'export',
  'node',
  'rpc',
  'mcp',
  'cli',
  'web',
  'sim',
  'e2e',
  'nat',
] as const

/** A timeout catches what hangs. It never measures speed: a slow or busy machine must not fail a test. */
const TEST_TIMEOUT_MS = 120_000
const E2E_TIMEOUT_MS = 600_000

/** Where the tests of a project are, if not in a folder of its name. */
const PLACES: Partial<Record<(typeof PROJECTS)[number], { include: string[]; exclude?: string[] }>> = {
  tidy: { include: ['test/*.test.ts'] },
  e2e: { include: ['test/e2e/**/*.test.ts'], exclude: ['test/e2e/nat*.test.ts'] },
  nat: { include: ['test/e2e/nat*.test.ts'] },
}

function project(name: (typeof PROJECTS)[number], groupOrder: number) {
  const timeout = name === 'e2e' || name === 'nat' ? E2E_TIMEOUT_MS : TEST_TIMEOUT_MS
  return {
    extends: true as const,
    test: {
      name,
      ...(PLACES[name] ?? { include: [`test/${name}/**/*.test.ts`] }),
      sequence: { groupOrder },
      testTimeout: timeout,
      hookTimeout: timeout,
      teardownTimeout: timeout,
    },
  }
}

export default defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^relay-node$/, replacement: `${root}src/index.ts` },
      { find: /^relay-node\/protocol$/, replacement: `${root}protocol/index.ts` },
    ],
  },
  test: {
    maxWorkers: 2,
    reporters: ['default', tallyReporter()],
    execArgv: ['--conditions=source'],
    projects: PROJECTS.map(project),
  },
})
