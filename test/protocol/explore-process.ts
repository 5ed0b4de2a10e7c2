/**
 * The explorer as a command: `npm run explore -- --entries N [--world NAME]` searches every history
 * of up to N entries after create. `--replay TEXT` walks one history of a world again.
 */
import { parseArgs } from 'node:util'
import { explore } from './explorer.ts'
import { replay } from './explorer-replay.ts'
import { WORLDS } from './explorer-worlds.ts'
import { boundChanges, loadRules } from './mutant.ts'

const { values } = parseArgs({
  options: { entries: { type: 'string' }, world: { type: 'string' }, replay: { type: 'string' } },
})
const worlds = WORLDS.filter(({ name }) => values.world === undefined || name === values.world)
if (worlds.length === 0) throw new Error(`no such world; there are ${WORLDS.map(({ name }) => name).join(', ')}`)
const entries = values.entries === undefined ? undefined : Number(values.entries)
if (entries !== undefined && !(Number.isInteger(entries) && entries > 0))
  throw new Error('--entries is a number from 1')

const PROGRESS_EVERY_MS = 10_000

/** The rules as they are; where a world plays with lowered bounds, with those. */
const rulesOf = ({ bounds }: (typeof WORLDS)[number]) => loadRules(bounds ? boundChanges(bounds) : [])
const inSeconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`

if (values.replay !== undefined) {
  const [world] = worlds
  if (!world || worlds.length > 1) throw new Error('--replay needs a --world')
  const { lines, violations } = replay(rulesOf(world), world, values.replay)
  for (const line of lines) console.log(line)
  for (const { promise } of violations) console.log(`broken: ${promise}`)
  process.exitCode = violations.length > 0 ? 1 : 0
} else search()

function search(): void {
  let [histories, violations] = [0, 0]
  for (const world of worlds) {
    const begun = performance.now()
    let told = begun
    const found = explore(rulesOf(world), world, {
      ...(entries === undefined ? {} : { entriesMax: entries }),
      onProgress(count) {
        if (performance.now() - told < PROGRESS_EVERY_MS) return
        told = performance.now()
        console.log(`${world.name}: ${count} histories so far, ${inSeconds(begun)}`)
      },
    })
    const { bySize, judged, stored, statuses } = found
    const size = bySize.length - 1
    const counts = [...statuses].map(([status, count]) => `${count} ${status}`).join(' · ')
    console.log(
      `${world.name}, up to ${size} entries: ${found.histories} histories in ${inSeconds(begun)} (${bySize.join(' + ')}; ${counts}); ${stored} of ${judged} entries stored`,
    )
    for (const { promise, entries: lines, replay: text } of found.violations)
      console.log([`broken: ${promise}`, ...lines, `--world ${world.name} --replay '${text}'`].join('\n  '))
    histories += found.histories
    violations += found.violations.length
  }
  process.exitCode = violations > 0 ? 1 : 0
  console.log(`explored: ${histories} histories in ${worlds.length} worlds, ${violations} violations`)
}
