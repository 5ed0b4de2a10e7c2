/** Sharing: a participant lets a third member read a thread, from its beginning on. */
import { devicesOf, type Hex, type Member } from '../../protocol/index.ts'
import type { Caller, ShareParams, ShareResult } from './api.ts'
import { ApiError } from './api-error.ts'
import { requireOpen, requireSide } from './checks.ts'
import type { Held } from './held.ts'
import { once } from './idempotency.ts'
import { noKeys, requireTeammate, requireWriter, unreadableAt } from './membership.ts'
import { type Gift, giftsFor, shareOf } from './reader-keys.ts'
import { devicesOfReader, sharesOf } from './readers.ts'
import { createOf, type Thread } from './threads.ts'
import { commonView } from './view.ts'
import { deviceLabel, handleOf, memberOfDevice, reachableKeys, rosterOf } from './workspace.ts'
import type { Writing } from './writing.ts'

export interface Sharing {
  share(params: ShareParams, caller: Caller): Promise<ShareResult>
}

export function createSharing({ held, rate, publishIn, threadToWrite }: Writing): Sharing {
  const { workspace } = held
  return {
    share(params, caller) {
      return once(held, { method: 'share', params, caller }, async (turn) => {
        requireWriter(held)
        const member = requireTeammate(held, params.reader, 'A handoff is shared with')
        const before = held.arrival()
        const thread = await threadToWrite(turn, params.thread_id)
        requireNoParticipant(held, thread, member)
        requireOpen(held, thread)
        requireSide(held, thread, ['sender', 'recipient'], 'share')
        const given = givenSince(thread, member, before)
        const gifts = giftsNow(held, thread, member)
        if (given.length + gifts.length === 0) throw canRead(held, member)
        rate.check(caller.session)
        for (const gift of gifts) publishIn(turn, thread, await shareOf(held, thread, gift))
        const devices = new Set([...given, ...gifts.flatMap((gift) => gift.devices)])
        return {
          ...commonView(held, thread),
          reader: handleOf(workspace, member.id),
          devices: [...devices].map((device) => deviceLabel(workspace, device)),
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

/** Laptops of the member that were given a key since, because it was due before anything else is written. */
function givenSince(thread: Thread, { id }: Member, arrival: number): Hex[] {
  const isNew = (entry: Hex) => (thread.arrivals.get(entry)?.number ?? 0) > arrival
  const shares = sharesOf(thread).filter(({ entry }) => entry.header.ctl.reader === id && isNew(entry.id))
  return shares.flatMap(({ entry }) => entry.header.ctl.devices)
}

/** What the member's laptops need to read the thread. */
function giftsNow(held: Held, thread: Thread, member: Member): Gift[] {
  if (thread.keys.size === 0) {
    throw new ApiError('verification_failed', 'The key of this thread is not on this device.', {
      hint: 'Ask the other side to share it, or to send the handoff anew.',
    })
  }
  const reachable = reachableKeys(held.workspace, member.id).map(({ device }) => device)
  if (reachable.length === 0) throw noKeys(held, member)
  return giftsFor(held, thread, { reader: member.id, devices: reachable })
}

function canRead({ workspace }: Held, { id, name }: Member): ApiError {
  const devices = reachableKeys(workspace, id).map(({ device }) => deviceLabel(workspace, device))
  return new ApiError('state_changed', `${name} can read this handoff already.`, {
    hint: 'There is nothing left to do.',
    details: { devices },
  })
}

/** The member's laptops that still cannot read it. */
function warningsFor(held: Held, thread: Thread, { id }: Member): string[] {
  const roster = rosterOf(held.workspace)
  const named = devicesOfReader(thread, id)
  const unnamed = (roster ? devicesOf(roster, id) : []).filter(({ key }) => !named.has(key))
  return unreadableAt(held, unnamed)
}
