/** Who this node is, and whom and what a caller's words mean here. Each lookup throws the ApiError that says what to do. */
import {
  type Device,
  devicesOf,
  type Hex,
  type IdSort,
  ID_PREFIXES,
  type Member,
  textId,
} from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { Party, Trust } from './api.ts'
import { type Held, isListed } from './held.ts'
import { createOf, sideOf, type Thread } from './threads.ts'
import {
  boundMember,
  deviceLabel,
  handleOf,
  isRemoved,
  memberOfDevice,
  ownMember,
  resolveHandle,
  rosterOf,
} from './workspace.ts'

/** The member this device speaks for. */
export function requireMember(held: Held): Member {
  const member = ownMember(held.workspace)
  if (member) return member
  const revoked = isRemoved(held.workspace, held.workspace.key.public)
  throw new ApiError(
    'unauthenticated',
    revoked ? 'This device was removed from its workspace.' : 'This node belongs to no workspace yet.',
    {
      hint: revoked
        ? 'Its key never comes back. What it has can be read: relay-node inbox, relay-node show ID. With a new invite of the workspace owner another home can join: RELAY_NODE_HOME.'
        : 'Its human runs relay-node init to make a workspace, or relay-node join with an invite.',
      details: { reason: revoked ? 'removed' : 'alone' },
    },
  )
}

/** Throws as {@link requireMember} where this device was removed, and not where it belongs to no workspace yet. */
export function requireNotRemoved(held: Held): void {
  if (isRemoved(held.workspace, held.workspace.key.public)) requireMember(held)
}

/** Throws as {@link requireMember}; with `afterRemoval` not where this device was removed: what is here can still be read. */
export function requireReading(held: Held, afterRemoval: boolean | undefined): void {
  if (afterRemoval !== true || !boundMember(held.workspace)) requireMember(held)
}

/** A member who may write. */
export function requireWriter(held: Held): Member {
  const member = requireMember(held)
  if (member.role === 'reader') {
    throw new ApiError(
      'forbidden',
      'You are a reader in this workspace: you may read your handoffs and what was shared with you, and write nothing.',
      {
        hint: `Its owner can change that: relay-node member role ${member.name} member. What is open stays as it is until then.`,
        details: { role: member.role },
      },
    )
  }
  return member
}

/** The member that a handle names, for a person at the command line. */
export function requireNamed(held: Held, handle: string): Member {
  const member = resolveHandle(held.workspace, handle)
  if (member) return member
  throw new ApiError('recipient_not_found', 'No member of this workspace has that handle.', {
    hint: 'relay-node status shows them.',
  })
}

/** The teammate that a handle names. `what`: what is meant for another, as in "A handoff goes to another member". */
export function requireTeammate(held: Held, handle: string, what: string): Member {
  const me = requireMember(held)
  const member = resolveHandle(held.workspace, handle)
  if (!member) {
    const known = [...(rosterOf(held.workspace)?.members.values() ?? [])].filter(
      (other) => !other.removed && other.id !== me.id,
    )
    throw new ApiError('recipient_not_found', 'No member of this workspace has that handle.', {
      hint:
        known.length > 0
          ? 'Call list_teammates (relay-node status) for the handles there are.'
          : 'Invite a teammate first: relay-node invite NAME.',
      details: { handles: known.map((other) => handleOf(held.workspace, other.id)) },
    })
  }
  if (member.id === me.id) {
    throw new ApiError('invalid_params', `${what} another member, not to oneself.`, {
      hint: 'Name a teammate; list_teammates shows them.',
    })
  }
  return member
}

/** The teammate that a handle names, who can take a handoff. */
export function requireRecipient(held: Held, handle: string): Member {
  const member = requireTeammate(held, handle, 'A handoff goes to')
  if (member.role === 'reader') {
    throw new ApiError('forbidden', `${handleOf(held.workspace, member.id)} is a reader and cannot take a handoff.`, {
      hint: 'Hand off to a member. To let a reader see a handoff, its human runs: relay-node share ID NAME.',
    })
  }
  return member
}

/** There is no laptop of the member to which anything could be sealed now. */
export function noKeys(held: Held, member: Member): ApiError {
  const roster = rosterOf(held.workspace)
  const isEnrolled = roster !== undefined && devicesOf(roster, member.id).length > 0
  return new ApiError(
    'recipient_not_found',
    isEnrolled
      ? `The encryption key of ${member.name}'s laptop is not here yet.`
      : `${member.name} has no laptop in this workspace.`,
    {
      hint: isEnrolled
        ? 'It comes as soon as this node has met a teammate that is online; try again then.'
        : `Invite ${member.name} again.`,
    },
  )
}

/** Says of laptops that what is sealed now opens there for nobody, as long as their keys are not here. */
export function unreadableAt(held: Held, devices: readonly Device[]): string[] {
  return devices.map(
    ({ key }) => `${deviceLabel(held.workspace, key)} cannot read this: its encryption key is not here yet.`,
  )
}

/** Whether two humans have compared the member's keys: nobody's, but one's own. */
export function trustOf(held: Held, member: Hex | undefined): Trust {
  return member !== undefined && member === ownMember(held.workspace)?.id ? 'verified' : 'unverified'
}

export function partyOf(held: Held, device: Hex): Party {
  const member = memberOfDevice(held.workspace, device)
  return {
    handle: member ? handleOf(held.workspace, member.id) : 'unknown',
    device: deviceLabel(held.workspace, device),
    trust: trustOf(held, member?.id),
    ...serviceMark(member),
  }
}

/** Who a member is, as pinned in the roster of this node. */
export function memberView(held: Held, member: Hex): { handle: string; trust: Trust; kind?: 'service' } {
  const found = rosterOf(held.workspace)?.members.get(member)
  return { handle: handleOf(held.workspace, member), trust: trustOf(held, member), ...serviceMark(found) }
}

/** Said of a service, since there is no person behind what it writes. */
function serviceMark(member: Member | undefined): { kind?: 'service' } {
  return member?.kind === 'service' ? { kind: 'service' } : {}
}

const TEXT_ID = /^[a-z2-7]{1,26}$/

/** Ids among `candidates` whose text begins as typed; the prefix may be left out. */
export function matchId(sort: IdSort, typed: string, candidates: Iterable<Hex>): Hex[] {
  const prefix = ID_PREFIXES[sort]
  const text = typed.trim().toLowerCase()
  const rest = text.startsWith(prefix) ? text.slice(prefix.length) : text
  if (!TEXT_ID.test(rest)) return []
  return [...candidates].filter((id) => textId(sort, id).startsWith(prefix + rest))
}

function unknownThread(): ApiError {
  return new ApiError('thread_not_found', 'There is no such thread here, or you take no part in it.', {
    hint: 'Call check_inbox (relay-node inbox) for the threads there are; copy the whole id.',
  })
}

/** Whether this device takes part in a thread: whatever shows anything of one asks this. */
export function mayRead(held: Held, thread: Thread): boolean {
  const facts = held.facts.get(thread.id)
  if (!facts || !isListed(facts)) return false
  return createOf(thread) !== undefined && sideOf(thread, held.workspace.key.public) !== undefined
}

/** The thread that an id, or its unambiguous beginning, names, if this device takes part in it. Unknown and not one's own look alike. */
export async function requireThread(held: Held, typed: string): Promise<Thread> {
  const mine = [...held.facts].flatMap(([id, facts]) => (isListed(facts) ? [id] : []))
  const [id, ...others] = matchId('thread', typed, mine)
  if (others.length > 0)
    throw new ApiError('invalid_params', 'Several threads begin like this.', { hint: 'Give more of the id.' })
  if (id === undefined) throw unknownThread()
  const thread = await held.threads.load(id)
  if (!mayRead(held, thread)) throw unknownThread()
  return thread
}
