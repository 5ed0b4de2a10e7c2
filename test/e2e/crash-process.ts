/** `npm run crash -- --rounds N [--seed N] [--minutes N]`: kills nodes under load, N rounds; its last line counts rounds. */
import { parseArgs } from 'node:util'
import { crash } from './crash.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** No new round begins later than this. */
    minutes: { type: 'string', default: '15' },
  },
})
const [rounds, seed, minutes] = [values.rounds, values.seed, values.minutes].map(Number) as [number, number, number]
const end = Date.now() + minutes * 60_000
console.log(`seed ${seed}`)
/** Longer than a retry, a reconnect and any load takes. */
const PATIENCE_MS = 5 * 60_000
const report = await crash({
  rounds,
  seed,
  isLate: () => Date.now() > end,
  note: (line) => console.log(line),
  patienceMs: PATIENCE_MS,
})
for (const failure of report.failures) console.log(failure)
const { kills, acknowledged, askedAgain, failures } = report
console.log(`${kills} kills, ${acknowledged} writes acknowledged, ${askedAgain} asked for again`)
const failed = failures.length > 0 ? 1 : 0
console.log(`${report.rounds - failed} passed, ${failed} failed`)
process.exit(failed === 0 && report.rounds > 0 ? 0 : 1)
