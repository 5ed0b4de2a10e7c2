/** A member's second laptop: enrolled by the owner without an invite, on disks of nodes that are stopped. */
import {
  currentRoster,
  memberByName,
  signJoin,
  signRosterEntry,
  PROTOCOL_VERSION,
  wrapWorkspaceKey,
  type RosterHeader,
} from '../../protocol/index.ts'
import { makePrekey } from '../../src/node/identity.ts'
import { putPrekey, putRosterEntry, putSecret } from '../../src/node/rows.ts'
import type { System } from '../../src/system.ts'
import { actor, CLOCK_MS, mustAdmit, seedOf } from '../cast.ts'
import type { Disk } from './disk.ts'
import { workspaceOn } from './impostor.ts'

/** `name`: frank2 is the second laptop of frank. */
export const SECOND = /^([a-z]+)2$/

/** Writes the new laptop into the roster on the owner's disk, and all that it needs to begin with on its own. */
export async function enrolSecond(parts: { owner: Disk; laptop: Disk; name: string; system: System }): Promise<void> {
  const { owner, laptop, name, system } = parts
  const { log, ws } = await workspaceOn(owner)
  const roster = currentRoster(log)
  const member = roster && memberByName(roster, SECOND.exec(name)?.[1] ?? '')
  const [, w] = (await owner.rows('secret')).find(([key]) => key === `workspace/${roster?.epoch}`) ?? []
  if (!roster || !member || !w) throw new Error(`nobody could enrol ${name}`)
  const self = actor(name)
  const { prekey, writes } = await makePrekey({ system, deviceSeed: seedOf('device', name), ws, counter: 1 })
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
  const added = putRosterEntry(header.n, entry.id, entry.envelope)
  await owner.write([added, putPrekey(self.device, prekey.bytes)])
  const roster2 = (await owner.rows('roster')).map(([key, value]) => ({
    type: 'put' as const,
    space: 'roster' as const,
    key,
    value,
  }))
  const lists = (await owner.rows('meta')).filter(([key]) => key === 'lists')
  await laptop.write([
    ...roster2,
    ...lists.map(([key, value]) => ({ type: 'put' as const, space: 'meta' as const, key, value })),
    ...(await owner.rows('prekey')).map(([device, record]) => putPrekey(device, record)),
    ...writes,
    putSecret(`workspace/${roster.epoch}`, w),
  ])
}
