/** The owner's pen: who may change the roster, and how its next entry is written. */
import { PROTOCOL_VERSION, type Hex, type Roster, type RosterHeader, signRosterEntry } from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { Held, Turn } from './held.ts'
import { requireMember } from './membership.ts'
import { admitRoster, handleOf, isRosterForked, rosterOf, teamDevices } from './workspace.ts'

/** The roster, where this device owns it. `what`: what only the owner does, as in "Only the owner of the workspace invites". */
export function requireOwner(held: Held, what: { does: string; command: string }): Roster {
  const { workspace } = held
  requireMember(held)
  const roster = rosterOf(workspace)
  if (!roster || roster.owner !== workspace.key.public) {
    const owner = roster && roster.devices.get(roster.owner)
    throw new ApiError('forbidden', `Only the owner of the workspace ${what.does}.`, {
      hint: owner
        ? `Ask ${handleOf(workspace, owner.member)} to run ${what.command}.`
        : 'Make a workspace first: relay-node init.',
    })
  }
  if (isRosterForked(workspace))
    throw new ApiError('verification_failed', 'The roster has forked: it cannot change until that is settled.', {
      hint: 'Run relay-node doctor.',
    })
  if (mayLackRoster(held))
    throw new ApiError(
      'state_changed',
      'The store of this laptop was repaired or put back from an old copy: a part of the roster may be missing here.',
      {
        hint: 'The workspace can be changed again as soon as the laptop of a teammate was reachable once. relay-node status shows who is.',
      },
    )
  return roster
}

/** Whoever signs on from an old roster forks it, and a forked one stops everybody. */
export function mayLackRoster({ recovery, workspace }: Held): boolean {
  return recovery.met?.size === 0 && teamDevices(workspace).length > 0
}

/**
 * Signs the next roster entry and takes it in like any other. The caller is the owner, and undoes
 * the roster if the turn fails.
 */
export async function appendRoster(
  held: Held,
  turn: Turn,
  statement: Pick<RosterHeader, 'kind' | 'ctl'>,
): Promise<Hex> {
  const { workspace, system } = held
  const roster = rosterOf(workspace)
  if (!roster) throw new Error('an owner has a roster')
  const header = {
    v: PROTOCOL_VERSION,
    ws: roster.ws,
    n: roster.point[0] + 1,
    prev: roster.point[1],
    ts: system.clock.now(),
    ...statement,
  } as RosterHeader
  const entry = signRosterEntry(header, workspace.key)
  const admitted = await admitRoster(workspace, [entry.envelope])
  const refused = admitted.refused[0]
  if (refused)
    throw new ApiError('invalid_params', `The roster does not allow this: ${refused.detail ?? refused.refusal}.`)
  turn.writes.push(...admitted.writes)
  return entry.id
}
