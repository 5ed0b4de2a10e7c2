/** A member's second laptop: enrolled by the owner without an invite, on disks of nodes that are stopped. */
import {
  admitRosterEntry,
  currentRoster,
  emptyRosterLog,
  memberByName,
  parseRosterEntry,
  PROTOCOL_VERSION,
  type RosterHeader,
  signJoin,
  signRosterEntry,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import { makePrekey } from '../../src/node/identity.ts'
import { putPrekey, putRosterEntry, putSecret } from '../../src/node/rows.ts'
import type { Space, Write } from '../../src/store/store.ts'
import { SILENT_LOG, type System } from '../../src/system.ts'
import { actor, CLOCK_MS, mustAdmit, seedOf } from '../cast.ts'

/** `name`: frank2 is the second laptop of frank, and so on up to the eighth. */
export const SECOND = /^([a-z]+)[2-8]$/

type Rows = (space: Space) => Promise<readonly (readonly [key: string, value: Uint8Array])[]>

/**
 * Enrols a second laptop by the pen of bob, whose disk `owner` reads. `everybody`: what all who are
 * in hold from then on; `own`: what the new laptop begins with.
 */
export async function enrolSecond(options: {
  owner: Rows
  name: string
  system: Pick<System, 'clock' | 'dice'>
}): Promise<{ everybody: Write[]; own: Write[] }> {
  const { owner, name, system } = options
  const log = emptyRosterLog()
  for (const [, envelope] of await owner('roster')) {
    const entry = parseRosterEntry(envelope)
    if (entry.ok) admitRosterEntry(log, entry.value)
  }
  const roster = currentRoster(log)
  const member = roster && memberByName(roster, SECOND.exec(name)?.[1] ?? '')
  const [, w] = (await owner('secret')).find(([key]) => key === `workspace/${roster?.epoch}`) ?? []
  if (!roster || !member || !w) throw new Error(`nobody could enrol ${name}`)
  const { ws } = roster
  const self = actor(name)
  const { prekey, writes } = await makePrekey({
    system: { ...system, log: SILENT_LOG },
    deviceSeed: seedOf('device', name),
    ws,
    counter: 1,
  })
  const proof = signJoin({ ws, invite: null, device: self.device, prekey: prekey.id }, self.key, null)
  const place = { nonce: roster.nonce, epoch: roster.epoch }
  const to = { device: self.device, prekey: prekey.id, x25519: prekey.x25519, ekm: system.dice(32) }
  const header = {
    v: PROTOCOL_VERSION,
    ws,
    n: roster.point[0] + 1,
    prev: roster.point[1],
    kind: 'add-device',
    ctl: {
      member: member.id,
      device: self.device,
      name: `${name}-laptop`,
      prekey: prekey.id,
      invite: null,
      invite_signature: proof.inviteSignature,
      device_signature: proof.deviceSignature,
      wraps: [await wrapWorkspaceKey(w, place, to)],
    },
    ts: CLOCK_MS,
  } as RosterHeader
  const entry = signRosterEntry(header, actor('bob').key)
  mustAdmit(log, entry)
  const everybody = [putRosterEntry(header.n, entry.id, entry.envelope), putPrekey(self.device, prekey.bytes)]
  const copied = await Promise.all(
    (['roster', 'prekey', 'meta'] as const).map(async (space) =>
      (await owner(space)).flatMap(([key, value]): Write[] =>
        space === 'meta' && key !== 'lists' ? [] : [{ type: 'put', space, key, value }],
      ),
    ),
  )
  return { everybody, own: [...copied.flat(), ...everybody, ...writes, putSecret(`workspace/${roster.epoch}`, w)] }
}
