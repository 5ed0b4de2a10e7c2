import * as z from 'zod'
import { shapes, type Teammate } from '../rpc/client.ts'
import { answer, fits } from './answer.ts'
import { encodePlace, parsePlace } from './place.ts'
import { READS, tool } from './tool.ts'

export const listTeammates = tool({
  name: 'list_teammates',
  title: 'List teammates',
  description:
    'Lists the people and services that you can hand work to, with their handle (name@workspace), trust, and whether their laptop can be reached now. ' +
    'Call it to find the exact handle before handoff_to_teammate. A teammate who is not reachable can still be sent work: it is delivered later. ' +
    'trust "unverified" means that nobody compared safety words yet; "changed" means that the key is not the one seen before: tell the human.',
  annotations: READS,
  input: z.strictObject({
    role: shapes.role.optional(),
    cursor: shapes.cursor.describe('next_cursor of the last answer').optional(),
  }),
  async run({ role, cursor }, { call, wrapper, signal }) {
    const place = parsePlace(cursor)
    const page = await call('agents/list', { role, cursor: place.page }, { signal })
    const start = place.after === undefined ? 0 : page.items.findIndex(({ handle }) => handle === place.after) + 1
    const waiting = page.items.slice(start).map(factsOf)
    for (let count = waiting.length; ; count = Math.floor(count / 2)) {
      const items = waiting.slice(0, count)
      const left = waiting.length - count
      const after = items.at(-1)?.handle
      const next =
        left > 0
          ? encodePlace({ ...place, ...(after === undefined ? {} : { after }) })
          : page.next_cursor && encodePlace({ page: page.next_cursor })
      const found = answer(wrapper, {
        items,
        ...(next === undefined
          ? {}
          : { next_cursor: next, left: { items: left, and_more: page.next_cursor !== undefined } }),
      })
      if (fits(found) || count <= 1) return found
    }
  },
})

function factsOf({ handle, kind, role, trust, me, devices, reachable, last_seen, blocked }: Teammate) {
  const shown = devices.map(
    ({ device, peer_id, reachable: here, path, via, round_trip_ms, last_seen: seen, removed }) => ({
      device,
      peer_id,
      reachable: here,
      path,
      via,
      round_trip_ms,
      last_seen: seen,
      removed,
    }),
  )
  return { handle, kind, role, trust, me, reachable, last_seen, blocked, devices: shown }
}
