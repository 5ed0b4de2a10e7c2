import { writeFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule } from 'vitest/node'

/** What a run of tests came to. */
export interface Tally {
  passed: number
  /** One line a failure: what failed and how. */
  failed: string[]
  /** One line a skipped test: its name and why. */
  skipped: string[]
}

/** Where to leave the tally as JSON, for whoever started the run. */
export const TALLY_FILE_VARIABLE = 'RELAY_NODE_TALLY_FILE'

/** Prints the reason of every skipped test behind the default report, and leaves the tally in a file where that is asked for. */
export function tallyReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const tally = tallyOf(modules, unhandledErrors)
      for (const line of tally.skipped) console.log(`skipped: ${line}`)
      const file = process.env[TALLY_FILE_VARIABLE]
      if (file) writeFileSync(file, JSON.stringify(tally))
    },
  }
}

/** A file that cannot be loaded, a failed hook and an error outside of all tests count as one failure each. */
function tallyOf(modules: readonly TestModule[], unhandledErrors: readonly Told[]): Tally {
  const tally: Tally = { passed: 0, failed: [], skipped: [] }
  const fail = (what: string, errors: readonly Told[]) =>
    tally.failed.push(`${what}: ${firstLine(errors[0]?.message ?? 'no reason given')}`)
  for (const error of unhandledErrors) fail('outside of all tests', [error])
  for (const module of modules) {
    const file = module.relativeModuleId
    for (const error of module.errors()) fail(file, [error])
    for (const suite of module.children.allSuites())
      for (const error of suite.errors()) fail(`${file} > ${suite.fullName}`, [error])
    for (const test of module.children.allTests()) {
      const result = test.result()
      const name = `${file} > ${test.fullName}`
      if (result.state === 'passed') tally.passed++
      else if (result.state === 'failed') fail(name, result.errors)
      else {
        const reason = result.state === 'skipped' ? result.note : 'it never ran'
        tally.skipped.push(`${name}: ${reason ?? 'no reason given'}`)
      }
    }
  }
  return tally
}

interface Told {
  message: string
}

/** Without colours: the line is also read where none can be shown. */
function firstLine(message: string): string {
  return stripVTControlCharacters(message).split('\n', 1)[0] ?? ''
}
