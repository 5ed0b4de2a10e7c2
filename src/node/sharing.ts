/** Sharing: a participant lets a third member read a thread, from its beginning on. */
import {
  devicesOf,
  type Hex,
  inOrder,
  isOfKind,
  type Member,
  type Prekey,
  wrapThreadKey,
} from '../../protocol/index.ts'
import type { Caller, ShareParams, ShareResult } from './api.ts'
import { ApiError } from './api-error.ts'
import { requireOpen, requireSide } from './checks.ts'
import { olderKeys } from './contents.ts'
import type { Held } from './held.ts'
import { once } from './idempotency.ts'
import { noKeys, requireTeammate, requireWriter, unreadableAt } from './membership.ts'
import type { Statement } from './publish.ts'
import { devicesOfReader } from './readers.ts'
import { createOf, type Thread } from './threads.ts'
import { commonView } from './view.ts'
import { deviceLabel, handleOf, memberOfDevice, reachableKeys, rosterOf } from './workspace.ts'
import type { Writing } from './writing.ts'

export interface Sharing {
  share(params: ShareParams, caller: Caller): Promise<ShareResult>
}

interface Reader {
  readonly member: Member
  /** Its devices that cannot read the thread yet, with the keys to wrap to. */
  readonly devices: readonly { device: Hex; prekey: Prekey }[]
}

export function createSharing({ held, rate, publishIn, threadToWrite }: Writing): Sharing {
  const { workspace } = held
  return {
    share(params, caller) {
      return once(held, { method: 'share', params, caller }, async (turn) => {
        requireWriter(held)
        const member = requireTeammate(held, params.reader, 'A handoff is shared with')
        const thread = await threadToWrite(turn, params.thread_id)
        requireNoParticipant(held, thread, member)
        requireOpen(held, thread)
        requireSide(held, thread, ['sender', 'recipient'], 'share')
        const reader = { member, devices: requireNewDevices(held, thread, member) }
        const keys = requireKeys(thread)
        rate.check(caller.session)
        for (const key of keys) publishIn(turn, thread, await shareOf(held, thread, reader, key))
        return {
          ...commonView(held, thread),
          reader: handleOf(workspace, member.id),
          devices: reader.devices.map(({ device }) => deviceLabel(workspace, device)),
          warnings: warningsFor(held, thread, member),
        }
      })
    },
  }
}

function requireNoParticipant(held: Held, thread: Thread, { id, name }: Member): void {
  const header = createOf(thread)?.header
  if (!header || (id !== header.ctl.to && id !== memberOfDevice(held.workspace, header.dev)?.id)) return
  throw new ApiError('invalid_params', `${name} takes part in this handoff already.`, {
    hint: 'Share it with a third member.',
  })
}

/** Devices of the member that can be given the keys and were not given them before. */
function requireNewDevices(held: Held, thread: Thread, member: Member): Reader['devices'] {
  const reachable = reachableKeys(held.workspace, member.id)
  if (reachable.length === 0) throw noKeys(held, member)
  const known = devicesOfReader(thread, member.id)
  const devices = reachable.filter(({ device }) => !known.has(device))
  if (devices.length > 0) return devices
  throw new ApiError('state_changed', `${member.name} can read this handoff already.`, {
    hint: 'There is nothing left to do.',
    details: { devices: reachable.map(({ device }) => deviceLabel(held.workspace, device)) },
  })
}

type ThreadKey = readonly [id: Hex, key: Uint8Array]

/**
 * The keys by which a reader opens all that this device opens: the newest one, and further ones only
 * as far as no newer one leads to them, as where both sides made a new key at once.
 */
function requireKeys(thread: Thread): ThreadKey[] {
  const given: ThreadKey[] = []
  const reached = new Set<Hex>()
  for (const node of inOrder(thread.graph).toReversed()) {
    const { id } = node.entry
    const key = isOfKind(node, 'create') || isOfKind(node, 'wrap') ? thread.keys.get(id) : undefined
    if (!key || reached.has(id)) continue
    given.push([id, key])
    for (const [olderId] of olderKeys(thread, id, key)) reached.add(olderId)
  }
  if (given.length > 0) return given
  throw new ApiError('verification_failed', 'The key of this thread is not on this device.', {
    hint: 'Ask the other side to share it, or to send the handoff anew.',
  })
}

async function shareOf(held: Held, thread: Thread, reader: Reader, [key, secret]: ThreadKey): Promise<Statement> {
  const { workspace, system } = held
  const header = createOf(thread)?.header
  if (!header) throw new Error('a thread that is shared has a create')
  const place = { ws: header.ws, nonce: header.ctl.nonce, author: workspace.key.public }
  const wraps = await Promise.all(
    reader.devices.map(({ device, prekey }) =>
      wrapThreadKey(secret, place, { device, prekey: prekey.id, x25519: prekey.x25519, ekm: system.dice(32) }),
    ),
  )
  const devices = reader.devices.map(({ device }) => device)
  return { kind: 'share', ctl: { reader: reader.member.id, devices, key, wraps } }
}

/** The member's laptops that still cannot read it. */
function warningsFor(held: Held, thread: Thread, { id }: Member): string[] {
  const roster = rosterOf(held.workspace)
  const named = devicesOfReader(thread, id)
  const unnamed = (roster ? devicesOf(roster, id) : []).filter(({ key }) => !named.has(key))
  return unreadableAt(held, unnamed)
}
