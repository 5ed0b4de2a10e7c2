/** relay-node ping: how long the way to a teammate's laptops is. */
import type { Command } from './context.ts'
import { EXIT } from './failure.ts'
import { withRunningNode } from './node-connection.ts'
import { wayTexts } from './status.ts'

export const run: Command<object> = async (context, args) => {
  const { printer } = context
  const { items } = await withRunningNode(context, (node) => node.call('relay/ping', { handle: args[0] ?? '' }))
  printer.result({ items }, () => {
    if (items.length === 0) printer.line('No laptop of theirs is known yet.')
    for (const { device, round_trip_ms: roundTrip, failure, ...way } of items) {
      if (roundTrip === undefined) printer.warn(`${device}: no answer${failure === undefined ? '' : ` (${failure})`}`)
      else printer.done([`${device}: ${roundTrip.toFixed(1)} ms`, ...wayTexts(way)].join(', '))
    }
  })
  return items.some(({ round_trip_ms }) => round_trip_ms !== undefined) ? EXIT.done : EXIT.refused
}
