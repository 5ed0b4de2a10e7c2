/** `npm run sim -- --seeds A..B`: runs whole nodes in virtual time, one story a seed. `--removals`: people are removed. `--trace` prints all that happened. */
import { parseArgs } from 'node:util'
import { tell } from './story.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1..200' },
    trace: { type: 'boolean', default: false },
    removals: { type: 'boolean', default: false },
  },
})
const [, from, to] = /^(\d+)(?:\.\.(\d+))?$/.exec(values.seeds) ?? []
if (from === undefined) throw new Error('--seeds is a number, or two with .. between them')

const failed: number[] = []
const [first, last] = [Number(from), Number(to ?? from)]
const begun = performance.now()
for (let seed = first; seed <= last; seed++) {
  const { violation, traceHash, trace, summary } = await tell(seed, { removals: values.removals })
  if (values.trace) console.log(trace.join('\n'))
  if (violation) failed.push(seed)
  if (violation)
    console.log(
      `seed ${seed} ${violation.checker}: ${violation.what}\n  replay: npm run sim -- --seeds ${seed} --trace${values.removals ? ' --removals' : ''}`,
    )
  if (violation || first === last) console.log(`  ${traceHash.slice(0, 16)} ${summary}`)
}
const seconds = ((performance.now() - begun) / 1000).toFixed(1)
const words = failed.length === 0 ? 'none failed' : `failed: ${failed.join(' ')}`
console.log(`${last - first + 1} seeds in ${seconds} s, ${words}`)
process.exitCode = failed.length > 0 ? 1 : 0
