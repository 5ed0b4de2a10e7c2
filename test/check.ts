/**
 * The whole gate: `npm run check`. Runs every step, cheapest first, shows what it prints, and ends
 * with what failed and one line, `N passed, N failed, N skipped`. Exit code 1 unless all that ran passed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { TALLY_FILE_VARIABLE, type Tally } from './tally.ts'

const root = join(import.meta.dirname, '..')
const scratch = mkdtempSync(join(tmpdir(), 'relay-node-check-'))

interface Step {
  name: string
  run(): Promise<Tally>
}

const steps: Step[] = [
  { name: 'types', run: () => tool('types') },
  { name: 'lint', run: () => tool('lint') },
  { name: 'format', run: () => tool('format:check') },
  { name: 'knip', run: () => tool('knip') },
  { name: 'tests', run: () => tests('test') },
  {
    name: 'vectors in Python',
    run: () =>
      hasPython()
        ? story('vectors:other')
        : Promise.resolve({ ...noTally(), skipped: ['vectors:other: no Python 3.9 or later here'] }),
  },
  { name: 'demo', run: () => story('demo') },
  ...exampleNames().map((name) => ({ name: `example ${name}`, run: () => story('example', name) })),
  { name: 'e2e', run: () => tests('e2e') },
  { name: 'e2e behind routers', run: () => tests('e2e:nat') },
]

const total = noTally()
const table: string[] = []
for (const step of steps) {
  console.log(`\n=== ${step.name}`)
  const begun = performance.now()
  const tally = await step.run()
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  table.push(
    `${tally.failed.length > 0 ? 'FAILED' : 'ok    '}  ${step.name.padEnd(24)} ${seconds.padStart(7)} s  ${inWords(tally)}`,
  )
  total.passed += tally.passed
  total.failed.push(...tally.failed.map((line) => `${step.name}: ${line}`))
  total.skipped.push(...tally.skipped)
}
rmSync(scratch, { recursive: true })

console.log(`\n${table.join('\n')}`)
for (const line of total.skipped) console.log(`skipped: ${line}`)
// A gate that saw nothing has not passed.
if (total.passed === 0) total.failed.push('nothing passed')
for (const line of total.failed) console.log(`FAILED: ${line}`)
process.exitCode = total.failed.length > 0 ? 1 : 0
console.log(inWords(total))

function inWords({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`
}

/** One check with one outcome. */
async function tool(script: string): Promise<Tally> {
  const { code } = await npmRun([script])
  return code === 0 ? { ...noTally(), passed: 1 } : { ...noTally(), failed: [exited(code)] }
}

/** A run of tests counts each test. */
async function tests(script: string): Promise<Tally> {
  const file = join(scratch, `${script}.json`)
  const { code } = await npmRun([script], { [TALLY_FILE_VARIABLE]: file })
  const tally = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Tally) : noTally()
  return consistent(tally, code)
}

/** The demo and the examples count their own assertions and say so in their last line. */
async function story(script: string, ...given: string[]): Promise<Tally> {
  const { code, output } = await npmRun([script, ...given])
  const [passed = 0, failed = 0] = /(\d+) passed, (\d+) failed\s*$/.exec(output)?.slice(1).map(Number) ?? []
  const claims = [...stripVTControlCharacters(output).matchAll(/✗ (.*)/g)].map(([, claim = '']) => claim)
  const lines = Array.from({ length: failed }, (_, at) => claims[at] ?? 'it says above what')
  return consistent({ ...noTally(), passed, failed: lines }, code)
}

function hasPython(): boolean {
  return spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0
}

function noTally(): Tally {
  return { passed: 0, failed: [], skipped: [] }
}

/** A step that ran nothing, or ended badly whatever it counted, has failed. */
function consistent(tally: Tally, code: number): Tally {
  if (tally.failed.length > 0) return tally
  if (code !== 0) return { ...tally, failed: [exited(code)] }
  return tally.passed + tally.skipped.length === 0 ? { ...tally, failed: ['nothing ran'] } : tally
}

function exited(code: number): string {
  return `ended with exit code ${code}`
}

interface Outcome {
  code: number
  output: string
}

/** Runs a script of package.json, shows its output as it comes and returns it. */
async function npmRun(given: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const npm = process.env['npm_execpath']
  const [command, first] = npm ? [process.execPath, [npm]] : ['npm', []]
  const child = spawn(command, [...first, 'run', '--silent', ...given], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    process.stdout.write(text)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** The runnable examples, but for the demo, which is a step of its own. */
function exampleNames(): string[] {
  const names = readdirSync(join(root, 'examples'))
  return names.filter((one) => one !== 'main-job' && existsSync(join(root, 'examples', one, 'main.ts')))
}
