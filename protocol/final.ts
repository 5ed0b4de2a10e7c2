/** Rule E7: can any later entry still change the status, and whose word is missing until it cannot? */
import type { Hex } from './canonical.ts'
import {
  devicesOfSide,
  deviceOf,
  effectiveAccepts,
  effectiveCompletes,
  isCut,
  isVoid,
  ofDevice,
  ofKind,
  type Status,
  type View,
  withFences,
} from './effect.ts'
import { compareOrder, compareRank, hasBit, isBefore, type Node, type NodeOf } from './graph.ts'

export interface Finality {
  readonly final: boolean
  /** Devices whose word is missing, by rank. */
  readonly waitingFor: readonly Hex[]
}

const FINAL: Finality = { final: true, waitingFor: [] }

export function finalityOf(view: View, status: Status, leadComplete: Node | undefined): Finality {
  const { final, waitingFor } = judge(view, status, leadComplete)
  return { final, waitingFor: waitingFor.toSorted((a, b) => compareRank(view.graph, a, b)) }
}

function judge(view: View, status: Status, leadComplete: Node | undefined): Finality {
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
  return view.fences.some((fence) => fence.entry.header.ctl.device === device)
}

function completedFinality(view: View, lead: Node): Finality {
  const missing = waitedForAfterComplete(view, lead)
  // Which complete leads depends on what create's author includes first, so no other sender device's word settles it.
  const author = waitForSender(view).waitingFor
  missing.push(...author.filter((device) => !ofDevice(view, device).some((own) => isBefore(lead, own))))
  return missing.length === 0 ? FINAL : { final: false, waitingFor: missing }
}

/** Recipient devices, not fenced, that could still complete without knowing of a complete. */
function waitedForAfterComplete(view: View, lead: Node): Hex[] {
  const unfenced = withFences(view, [])
  // What a later fence cuts was known all the same: else a fence could make open again what was final.
  const effective = effectiveCompletes(unfenced)
  const isAfterComplete = (node: Node) => effective.some((complete) => complete === node || isBefore(complete, node))
  const listed = ofKind(view, 'create')[0]?.entry.header.ctl.recipients ?? []
  const devices = new Set(listed.filter((device) => !isFenced(view, device)))
  const wraps = ofKind(view, 'wrap').filter((wrap) => wrap.side === 'recipient' && !isVoid(unfenced, wrap))
  // Two wraps may add one device, and what it wrote may arrive between them: so until no more are found.
  for (let known = -1; known < devices.size;) {
    known = devices.size
    for (const wrap of wraps) {
      const { adds } = wrap.entry.header.ctl
      if (adds === null || isFenced(view, adds)) continue
      // Whoever knew of a complete, or hid that it did, adds nobody who could undo anything.
      const author = deviceOf(wrap)
      const isTooLate = ofDevice(view, author).some((own) => isAfterComplete(own) && !isBefore(wrap, own))
      if (isBefore(wrap, lead) || (devices.has(author) && !isTooLate)) devices.add(adds)
    }
  }
  return [...devices].filter((device) => !ofDevice(view, device).some(isAfterComplete))
}

function cancelledFinality(view: View): Finality {
  let fewest: Hex[] | undefined
  // Of cancels that lack equally many, the first in the one order: not the one that arrived first.
  for (const cancel of ofKind(view, 'cancel').toSorted((a, b) => compareOrder(view.graph, a, b))) {
    const missing = missingFor(view, cancel)
    if (!fewest || missing.length < fewest.length) fewest = missing
  }
  return fewest?.length === 0 ? FINAL : { final: false, waitingFor: fewest ?? [] }
}

/**
 * Recipient devices that could still have accepted without knowing of `cancel`. A fence counts only
 * once no sender device can undo it: what another fence holds back might still get effect.
 */
function missingFor(view: View, cancel: NodeOf<'cancel'>): Hex[] {
  const settled = withFences(view, settledFences(view, cancel))
  const listed = ofKind(view, 'create')[0]?.entry.header.ctl.recipients ?? []
  const added = ofKind(view, 'wrap').flatMap((wrap) => {
    const { adds } = wrap.entry.header.ctl
    if (adds === null || wrap.side !== 'recipient' || isBefore(cancel, wrap)) return []
    return isVoid(settled, wrap) || isCut(settled, wrap) ? [] : [adds]
  })
  const missing = [...listed, ...added].filter(
    (device) => !ofDevice(view, device).some((own) => isBefore(cancel, own)) && !isFenced(settled, device),
  )
  return [...new Set([...missing, ...effectiveAccepts(settled).map(deviceOf)])]
}

/**
 * Sender's fences after `cancel` that every sender device has in an entry's past or wrote. Devices
 * that are themselves fenced or were added by a wrap without effect count too: what they include
 * still undoes a fence that they do not know. One that was added by whoever knew the fence knows it.
 */
function settledFences(view: View, cancel: Node): NodeOf<'fence'>[] {
  const listed = ofKind(view, 'create')[0]?.entry.header.ctl.senders ?? []
  const wraps = ofKind(view, 'wrap').filter((wrap) => wrap.side === 'sender')
  return view.fences.filter((fence) => {
    if (fence.side !== 'sender' || !isBefore(cancel, fence)) return false
    const added = wraps.flatMap((wrap) => (isBefore(fence, wrap) ? [] : (wrap.entry.header.ctl.adds ?? [])))
    return [...listed, ...added].every((device) =>
      ofDevice(view, device).some((own) => own === fence || isBefore(fence, own)),
    )
  })
}
