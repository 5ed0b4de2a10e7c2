/** What the example tells the reader: chapters, who did what on which laptop, and one line an assertion. */
import { isDeepStrictEqual } from 'node:util'

const colours = process.stdout.isTTY
const style = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)
const bold = (text: string) => style(1, text)
const dim = (text: string) => style(2, text)

export interface Transcript {
  chapter(title: string): void
  /** `who` did something; gives back what it did, and prints how long it took. */
  act<T>(who: string, what: string, run: () => Promise<T>): Promise<T>
  note(text: string): void
  /** One assertion: `seen` has to equal `expected`. */
  equal(claim: string, seen: unknown, expected: unknown): void
  /** One assertion. `evidence` is shown where it does not hold. */
  holds(claim: string, truth: boolean, evidence?: unknown): void
  /** Prints the closing line; the process's exit code. */
  close(): number
}

export function createTranscript(): Transcript {
  const startedAt = performance.now()
  let passed = 0
  let failed = 0

  function assertion(claim: string, truth: boolean, evidence: () => string): void {
    if (truth) {
      passed++
      console.log(`    ${style(32, '✓')} ${claim}`)
      return
    }
    failed++
    console.log(`    ${style(31, '✗')} ${claim}`)
    console.log(style(31, `      ${evidence()}`))
  }

  return {
    chapter(title) {
      console.log(`\n${bold(title)}`)
    },
    async act(who, what, run) {
      const from = performance.now()
      const result = await run()
      console.log(`  ${bold(who.padEnd(14))} ${what}  ${dim(duration(performance.now() - from))}`)
      return result
    },
    note(text) {
      console.log(dim(`  ${' '.repeat(14)} ${text}`))
    },
    equal(claim, seen, expected) {
      assertion(
        claim,
        isDeepStrictEqual(seen, expected),
        () => `expected ${JSON.stringify(expected)}, saw ${JSON.stringify(seen)}`,
      )
    },
    holds(claim, truth, evidence) {
      assertion(claim, truth, () => `saw ${JSON.stringify(evidence)}`)
    },
    close() {
      console.log(`\nThe whole job took ${duration(performance.now() - startedAt)}.`)
      console.log(`${passed} passed, ${failed} failed`)
      return failed === 0 && passed > 0 ? 0 : 1
    },
  }
}

function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
