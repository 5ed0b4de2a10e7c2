/** Who may read a thread without taking part in it: the members that its shares name. */
import { type Hex, inOrder, isOfKind, type NodeOf } from '../../protocol/index.ts'
import type { ReaderView } from './api.ts'
import type { Held } from './held.ts'
import { memberView } from './membership.ts'
import { timeText } from './shown.ts'
import { receivedAt, type Thread } from './threads.ts'
import { stateOf } from './tracker.ts'
import { boundMember, deviceLabel, handleOf, isRemoved, memberOfDevice } from './workspace.ts'

/** The shares that count, in the one order. A laptop that was removed since can read nothing more. */
export function sharesOf(thread: Thread): NodeOf<'share'>[] {
  if (thread.graph.byKind.share.length === 0) return []
  const { cut } = stateOf(thread.tracker, thread.graph)
  return inOrder(thread.graph).filter((node) => isOfKind(node, 'share') && !cut.has(node.entry.id)) as NodeOf<'share'>[]
}

/** Devices of a member that the thread was shared with. */
export function devicesOfReader(thread: Thread, reader: Hex): Set<Hex> {
  const ctls = sharesOf(thread).map(({ entry }) => entry.header.ctl)
  return new Set(ctls.flatMap((ctl) => (ctl.reader === reader ? ctl.devices : [])))
}

export function readersOf(held: Held, thread: Thread): ReaderView[] {
  const first = new Map<Hex, NodeOf<'share'>>()
  for (const share of sharesOf(thread)) {
    const { reader, devices } = share.entry.header.ctl
    const isIn = devices.some((device) => !isRemoved(held.workspace, device))
    if (isIn && !first.has(reader)) first.set(reader, share)
  }
  return [...first].map(([reader, { entry }]) => {
    const sharer = memberOfDevice(held.workspace, entry.header.dev)
    return {
      ...memberView(held, reader),
      me: reader === boundMember(held.workspace)?.id,
      devices: [...devicesOfReader(thread, reader)].flatMap((device) =>
        isRemoved(held.workspace, device) ? [] : [deviceLabel(held.workspace, device)],
      ),
      shared_by: handleOf(held.workspace, sharer?.id ?? ''),
      shared_at: timeText(receivedAt(thread, entry.id)),
    }
  })
}
