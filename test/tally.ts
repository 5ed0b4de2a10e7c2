import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** What a run of tests came to. */
export interface Tally {
  passed: number
  failed: number
  /** One line a skipped test: its name and why. */
  skipped: string[]
}

/** Where to leave the tally as JSON, for whoever started the run. */
export const TALLY_FILE_VARIABLE = 'RELAY_NODE_TALLY_FILE'

/** Prints the reason of every skipped test behind the default report, and leaves the tally in a file where that is asked for. */
export function tallyReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const tally = tallyOf(modules, unhandledErrors.length)
      for (const line of tally.skipped) console.log(`skipped: ${line}`)
      const file = process.env[TALLY_FILE_VARIABLE]
      if (file) writeFileSync(file, JSON.stringify(tally))
    },
  }
}

/** A file that cannot be loaded, a failed hook and an error outside of all tests count as one failure each. */
function tallyOf(modules: readonly TestModule[], unhandledErrorsCount: number): Tally {
  const tally: Tally = { passed: 0, failed: unhandledErrorsCount, skipped: [] }
  for (const module of modules) {
    tally.failed += module.errors().length
    for (const suite of module.children.allSuites()) tally.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const result = test.result()
      if (result.state === 'passed') tally.passed++
      else if (result.state === 'failed') tally.failed++
      else {
        const reason = result.state === 'skipped' ? result.note : 'it never ran'
        tally.skipped.push(`${module.relativeModuleId} > ${test.fullName}: ${reason ?? 'no reason given'}`)
      }
    }
  }
  return tally
}
