/** Rule E7: can any later entry still change the status, and whose word is missing until it cannot? */
import type { Hex } from './canonical.ts'
import {
  devicesOfSide,
  deviceOf,
  effectiveAccepts,
  isCut,
  isCutBy,
  isEffectiveAccept,
  isVoid,
  ofDevice,
  ofKind,
  type Status,
  type View,
} from './effect.ts'
import { hasBit, isBefore, type Node, type NodeOf } from './graph.ts'

export interface Finality {
  readonly final: boolean
  /** Devices whose word is missing. */
  readonly waitingFor: readonly Hex[]
}

const FINAL: Finality = { final: true, waitingFor: [] }

export function finalityOf(view: View, status: Status, leadComplete: Node | undefined): Finality {
  switch (status) {
    case 'pending':
      return { final: false, waitingFor: devicesOfSide(view, 'recipient') }
    case 'accepted':
      return effectiveAccepts(view).some((accept) => isSeenBySender(view, accept)) ? FINAL : waitForSender(view)
    case 'completed':
      return leadComplete ? completedFinality(view, leadComplete) : waitForSender(view)
    case 'cancelled':
      return cancelledFinality(view)
  }
}

function isSeenBySender(view: View, node: Node): boolean {
  return view.graph.nodes.some((x) => x.side === 'sender' && hasBit(view.set, x.index) && isBefore(node, x))
}

/** Any sender device will do; the create's author is the one to name. */
function waitForSender(view: View): Finality {
  const author = ofKind(view, 'create')[0]
  return { final: false, waitingFor: author ? [deviceOf(author)] : [] }
}

function isFenced(view: View, device: Hex): boolean {
  return ofKind(view, 'fence').some((fence) => fence.entry.header.ctl.device === device)
}

function completedFinality(view: View, lead: Node): Finality {
  const effective = ofKind(view, 'complete').filter(
    (complete) => !isCut(view, complete) && effectiveAccepts(view).some((accept) => isBefore(accept, complete)),
  )
  const missing = devicesOfSide(view, 'recipient').filter(
    (device) =>
      device !== deviceOf(lead) &&
      !isFenced(view, device) &&
      !ofDevice(view, device).some((own) => effective.some((complete) => isBefore(complete, own))),
  )
  // Which complete leads depends on what create's author includes first, so another sender device's word settles nothing.
  const author = waitForSender(view).waitingFor
  missing.push(...author.filter((device) => !ofDevice(view, device).some((own) => isBefore(lead, own))))
  return missing.length === 0 ? FINAL : { final: false, waitingFor: missing }
}

function cancelledFinality(view: View): Finality {
  let fewest: Hex[] | undefined
  for (const cancel of ofKind(view, 'cancel')) {
    const missing = missingFor(view, cancel)
    if (!fewest || missing.length < fewest.length) fewest = missing
  }
  return fewest?.length === 0 ? FINAL : { final: false, waitingFor: fewest ?? [] }
}

/** Recipient devices that could still have accepted without knowing of `cancel`. */
function missingFor(view: View, cancel: NodeOf<'cancel'>): Hex[] {
  const fences = settledFences(view, cancel)
  const listed = ofKind(view, 'create')[0]?.entry.header.ctl.recipients ?? []
  const added = ofKind(view, 'wrap').flatMap((wrap) => {
    const { adds } = wrap.entry.header.ctl
    if (adds === null || wrap.side !== 'recipient' || isBefore(cancel, wrap)) return []
    return isVoid(view, wrap) || isCut(view, wrap) ? [] : [adds]
  })
  const missing = new Set(
    [...listed, ...added].filter(
      (device) =>
        !ofDevice(view, device).some((own) => isBefore(cancel, own)) && !fences.some((fence) => fence.entry.header.ctl.device === device),
    ),
  )
  // An accept that only a fence holds back must be held back by a fence that no sender device can undo.
  for (const accept of ofKind(view, 'accept')) {
    const heldByFenceOnly = !isEffectiveAccept(view, accept) && !isVoid(view, accept, true)
    if (heldByFenceOnly && !fences.some((fence) => isCutBy(view, accept, fence))) missing.add(deviceOf(accept))
  }
  return [...missing]
}

/** Sender's fences after `cancel` that every sender device, not itself fenced, has in an entry's past or wrote. */
function settledFences(view: View, cancel: Node): NodeOf<'fence'>[] {
  const senders = devicesOfSide(view, 'sender').filter((device) => !isFenced(view, device))
  return ofKind(view, 'fence').filter(
    (fence) =>
      fence.side === 'sender' &&
      isBefore(cancel, fence) &&
      senders.every((device) => ofDevice(view, device).some((own) => own === fence || isBefore(fence, own))),
  )
}
