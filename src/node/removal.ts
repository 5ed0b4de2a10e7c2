/** The owner's hand on who is in: who is, who is removed, and which laptops act by that already. */
import {
  activeDevices,
  commitWorkspaceKey,
  devicesOf,
  type Hex,
  memberByName,
  type Member,
  peerIdText,
  type Prekey,
  type Roster,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import type { Net } from '../net/net.ts'
import { ApiError } from './api-error.ts'
import type { MemberListing, RemovalResult } from './api.ts'
import type { Held, Turn } from './held.ts'
import { requireMember } from './membership.ts'
import { appendRoster, requireOwner } from './owner.ts'
import type { Peers } from './peers.ts'
import { dropOwedToRemoved } from './settle.ts'
import { timeText } from './shown.ts'
import { deviceLabel, handleOf, knowsRemovals, removalPoint, rosterOf, rosterUndo } from './workspace.ts'

export interface Removal {
  members(): Promise<{ items: MemberListing[] }>
  /** `name`: a member, `frank` or `frank@acme`, or one device, `frank/frank-xps`. */
  remove(params: { name: string }): Promise<RemovalResult>
  /** Laptops that have not said that they know of every removal, `member/device`. */
  unconfirmed(): string[]
}

/** Whom a removal shuts out. */
type Target = { member: Member; devices: Hex[]; device?: Hex }

const REMOVING = { does: 'removes members and laptops', command: 'relay-node member remove' }

export function createRemoval(parts: { held: Held; net: Net; peers: Peers }): Removal {
  const { held, net, peers } = parts
  const { workspace } = held

  const isConfirmed = (device: Hex): boolean =>
    device === workspace.key.public || knowsRemovals(workspace, peers.peerRow(device)?.point)

  function others(roster: Roster): Hex[] {
    return activeDevices(roster).flatMap(({ key }) => (key === workspace.key.public ? [] : [key]))
  }

  function unconfirmed(): string[] {
    const roster = rosterOf(workspace)
    if (!roster || !removalPoint(workspace)) return []
    return others(roster)
      .filter((device) => !isConfirmed(device))
      .map((device) => deviceLabel(workspace, device))
  }

  function listing(roster: Roster, member: Member): MemberListing {
    const connected = new Set(net.peers().flatMap((peer) => (peer.connected ? [peer.device] : [])))
    return {
      handle: handleOf(workspace, member.id),
      role: member.role,
      kind: member.kind,
      me: roster.devices.get(workspace.key.public)?.member === member.id,
      owner: roster.devices.get(roster.owner)?.member === member.id,
      removed: member.removed,
      devices: [...roster.devices.values()]
        .filter((device) => device.member === member.id)
        .map(({ key, removed }) => {
          const seen = peers.peerRow(key)?.lastSeen ?? 0
          return {
            device: deviceLabel(workspace, key),
            peer_id: peerIdText(key),
            removed,
            reachable: !removed && (key === workspace.key.public || connected.has(key)),
            ...(removed ? {} : { confirmed: isConfirmed(key) }),
            ...(seen > 0 ? { last_seen: timeText(seen) } : {}),
          }
        }),
    }
  }

  function requireTarget(roster: Roster, name: string): Target {
    const [who = '', deviceName, ...rest] = name.trim().toLowerCase().split('/')
    const [memberName = '', team] = who.split('@')
    const member = team === undefined || team === roster.name ? memberByName(roster, memberName) : undefined
    if (!member || rest.length > 0) {
      throw new ApiError('recipient_not_found', 'No member of this workspace has that name.', {
        hint: 'relay-node member list shows them.',
      })
    }
    const devices = devicesOf(roster, member.id)
    if (deviceName === undefined) {
      if (member.id === roster.devices.get(roster.owner)?.member) throw ownDevice('The owner')
      return { member, devices: devices.map(({ key }) => key) }
    }
    const device = devices.find((one) => one.name === deviceName)
    if (!device) {
      throw new ApiError('recipient_not_found', `${member.name} has no laptop of that name.`, {
        hint: 'relay-node device list shows them, as NAME/DEVICE.',
      })
    }
    if (device.key === roster.owner) throw ownDevice('The owner’s laptop')
    return { member, devices: [device.key], device: device.key }
  }

  function result(target: Target, wasLast: boolean): RemovalResult {
    const roster = rosterOf(workspace)
    const reachable = new Set(net.peers().flatMap((peer) => (peer.connected ? [peer.device] : [])))
    const rest = roster ? others(roster) : []
    const label = (devices: readonly Hex[]): string[] => devices.map((device) => deviceLabel(workspace, device))
    return {
      handle: handleOf(workspace, target.member.id),
      member_removed: target.device === undefined,
      removed: label(target.devices),
      last_device: wasLast,
      stops_now: label([workspace.key.public, ...rest.filter(isConfirmed)]),
      later: label(rest.filter((device) => !isConfirmed(device) && !reachable.has(device))),
      unconfirmed: unconfirmed(),
      open_invites: [...(roster?.invites.values() ?? [])].filter(
        ({ state, expires }) => state === 'open' && expires > held.system.clock.now(),
      ).length,
    }
  }

  /** Shuts the target out and changes the workspace key, in one batch: both are on disk, or nothing is. */
  async function write(turn: Turn, target: Target): Promise<void> {
    turn.undo.push(rosterUndo(workspace))
    const statement =
      target.device === undefined
        ? ({ kind: 'remove-member', ctl: { member: target.member.id } } as const)
        : ({ kind: 'remove-device', ctl: { device: target.device } } as const)
    await appendRoster(held, turn, statement)
    const roster = rosterOf(workspace)
    if (!roster) throw new Error('an owner has a roster')
    const w = held.system.dice(32)
    const place = { nonce: roster.nonce, epoch: roster.epoch + 1 }
    const wraps = await Promise.all(
      requirePrekeys(roster).map(({ device, id, x25519 }) =>
        wrapWorkspaceKey(w, place, { device, prekey: id, x25519, ekm: held.system.dice(32) }),
      ),
    )
    await appendRoster(held, turn, {
      kind: 'rekey',
      ctl: { epoch: place.epoch, commit: commitWorkspaceKey(w, place), wraps },
    })
    dropOwedToRemoved(held, turn)
  }

  /** The newest prekey of each device that stays. */
  function requirePrekeys(roster: Roster): Prekey[] {
    const staying = activeDevices(roster)
    const lacking = staying.filter(({ key }) => !workspace.prekeys.has(key))
    if (lacking.length > 0) {
      const names = lacking.map(({ key }) => deviceLabel(workspace, key)).join(', ')
      throw new ApiError('state_changed', `The encryption key of ${names} is not here yet. Nobody was removed.`, {
        hint: 'It comes as soon as this node meets that laptop, or a teammate that has met it; run this again then. Or revoke that laptop first: relay-node device revoke NAME/DEVICE.',
        details: { devices: lacking.map(({ key }) => deviceLabel(workspace, key)) },
      })
    }
    return staying.flatMap(({ key }) => workspace.prekeys.get(key) ?? [])
  }

  return {
    unconfirmed,
    async members() {
      requireMember(held)
      const roster = rosterOf(workspace)
      return { items: roster ? [...roster.members.values()].map((member) => listing(roster, member)) : [] }
    },
    async remove({ name }) {
      requireOwner(held, REMOVING)
      const [target, wasLast] = await held.turn(async (turn): Promise<[Target, boolean]> => {
        const roster = requireOwner(held, REMOVING)
        const found = requireTarget(roster, name)
        const isLast = found.device !== undefined && devicesOf(roster, found.member.id).length === 1
        await write(turn, found)
        return [found, isLast]
      })
      peers.workspaceChanged()
      return result(target, wasLast)
    },
  }
}

function ownDevice(who: string): ApiError {
  return new ApiError('forbidden', `${who} cannot be removed.`, {
    hint: 'A workspace needs its owner. Whoever else is to go can be removed; to end it, make a new one.',
  })
}
