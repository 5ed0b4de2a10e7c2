/** Roles: what a member may do, by the owner's word in the roster. */
import { type Role } from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { RoleParams, RoleResult, Scope } from './api.ts'
import type { Held } from './held.ts'
import { memberView, requireMember, requireNamed } from './membership.ts'
import { appendRoster, requireOwner } from './owner.ts'
import { rosterUndo } from './workspace.ts'

/** What a service's scope is in the roster. */
export const ROLE_OF_SCOPE: Record<Scope, Role> = { read: 'reader', write: 'member' }

const CHANGING = { does: 'changes roles', command: 'relay-node member role' }

/** Gives a member another role. `onChanged` is called once it is on disk. */
export async function setRole(held: Held, params: RoleParams, onChanged: () => void): Promise<RoleResult> {
  const { workspace } = held
  const { role } = params
  return held.turn(async (turn) => {
    requireOwner(held, CHANGING)
    const member = requireNamed(held, params.handle)
    if (member.id === requireMember(held).id) {
      throw new ApiError('invalid_params', 'The owner of a workspace is a member and stays one.', {
        hint: 'Name a teammate; relay-node status shows them.',
      })
    }
    const changed = member.role !== role
    if (changed) {
      turn.undo.push(rosterUndo(workspace))
      await appendRoster(held, turn, { kind: 'set-role', ctl: { member: member.id, role } })
      turn.after.push(onChanged)
    }
    const open = [...held.facts.values()].filter(
      (facts) => facts.open && (facts.sender === member.id || facts.recipient === member.id),
    )
    return { ...memberView(held, member.id), role, changed, open_handoffs: open.length }
  })
}
