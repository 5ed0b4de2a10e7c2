/** What the protocol promises, as checks of every history and of every step to a larger one. */
import type { Node, Status, ThreadState } from '../../protocol/index.ts'
import {
  anotherCancelCrossed,
  fenceHoldsBackAccept,
  isSettled,
  recipientForkedAcrossCancel,
  senderForked,
} from './explorer-exceptions.ts'
import {
  allOf,
  effectOf,
  hasBit,
  includes,
  isBefore,
  isCut,
  isForked,
  isVoid,
  leadOf,
  ofKind,
  sealedBy,
  wrapsOf,
} from './explorer-oracle.ts'
import type { Cast, Shape } from './explorer-world.ts'

/** Says that a promise holds, or does not, in the history at hand. */
export type Say = (promise: string, holds: boolean) => void

/** What of a state is compared from one history to the next. */
export interface Outcome {
  readonly status: Status
  readonly final: boolean
  /** Position of the complete that leads, or -1. */
  readonly lead: number
}

export function checkHistory(cast: Cast, shape: Shape, state: ThreadState, say: Say): void {
  checkCancel(cast, shape, state, say)
  checkAccepts(cast, shape, state, say)
  checkComplete(cast, shape, state, say)
  checkMarks(cast, shape, state, say)
}

/** The recipient's devices that could have accepted without knowing of `cancel`. */
function couldAccept(cast: Cast, shape: Shape, cancel: number): number[] {
  return cast.devices.flatMap(({ side, listed }, device) => {
    if (side !== 'recipient') return []
    const isAdded = wrapsOf(shape, allOf(shape), device).some((wrap) => !isBefore(shape, cancel, wrap))
    return listed || isAdded ? device : []
  })
}

function checkCancel(cast: Cast, shape: Shape, state: ThreadState, say: Say): void {
  if (state.status !== 'cancelled') return
  const all = allOf(shape)
  for (const cancel of ofKind(shape, all, 'cancel')) {
    const settled = ofKind(shape, all, 'fence').filter((fence) => isSettled(cast, shape, { fence, cancel }))
    const isDone = (device: number) =>
      includes(shape, device, cancel) || settled.some((fence) => shape.items[fence]?.target === device)
    if (!couldAccept(cast, shape, cancel).every(isDone)) continue
    say('an acknowledged cancel is final', state.final || fenceHoldsBackAccept(cast, shape, cancel))
  }
}

function checkAccepts(cast: Cast, shape: Shape, state: ThreadState, say: Say): void {
  const all = allOf(shape)
  for (const i of ofKind(shape, all, 'accept')) {
    const device = shape.items[i]?.device ?? 0
    // An added device's accept stands on the word of those that added it.
    const wraps = cast.devices[device]?.listed ? [] : ofKind(shape, shape.pasts[i] ?? 0, 'wrap')
    const grounds = [i, ...wraps]
    if (grounds.some((one) => isForked(shape, shape.items[one]?.device ?? 0) || isCut(cast, shape, one))) continue
    const { id } = shape.items[i]?.entry ?? { id: '' }
    say(
      'the accept of a device that has not forked has effect, unless a fence came before the sender included it',
      (state.status === 'accepted' || state.status === 'completed') && !state.void.has(id) && !state.cut.has(id),
    )
    const isIncluded = cast.devices.some(({ side }, other) => side === 'sender' && includes(shape, other, i))
    if (state.status === 'accepted' && isIncluded) say('an accept that the sender includes is final', state.final)
  }
}

function checkComplete(cast: Cast, shape: Shape, state: ThreadState, say: Say): void {
  if (state.status !== 'completed') return
  const all = allOf(shape)
  const lead = positionOf(shape, state.lead.complete)
  say('a complete leads what is completed', lead >= 0)
  if (lead < 0 || !includes(shape, 0, lead)) return
  const { completes: effective } = effectOf(cast, shape)
  const knows = (device: number) =>
    effective.some((i) => shape.items[i]?.device === device || includes(shape, device, i))
  const isFenced = (device: number) => ofKind(shape, all, 'fence').some((i) => shape.items[i]?.target === device)
  const others = cast.devices.flatMap(({ side, listed }, device) =>
    side === 'recipient' && (listed || wrapsOf(shape, all, device).length > 0) ? device : [],
  )
  if (others.every((device) => knows(device) || isFenced(device))) say('an acknowledged complete is final', state.final)
}

const CAN_BE_LATE = new Set(['message', 'revise', 'annotate', 'resolve'])

/** Forks, cuts, leads and late entries are those that the oracle finds; who is waited for is named until it is final. */
function checkMarks(cast: Cast, shape: Shape, state: ThreadState, say: Say): void {
  const all = allOf(shape)
  const forked = cast.devices.flatMap(({ key }, device) => (isForked(shape, device) ? key : []))
  say('every fork is noticed, and nothing else is called one', sameSet(state.forked, forked))
  const isFenced = ofKind(shape, all, 'fence').length > 0
  const cut = isFenced ? shape.items.flatMap(({ entry }, i) => (isCut(cast, shape, i) ? entry.id : [])) : []
  say('a fence cuts what its side had not built on, and nothing else', sameSet(state.cut, cut))
  say('somebody is waited for until it is final, and then nobody', state.final === (state.waitingFor.length === 0))
  say('pending is never final', state.status !== 'pending' || !state.final)
  const canBeVoid = [...ofKind(shape, all, 'accept'), ...ofKind(shape, all, 'wrap')].filter(
    (i) => shape.items[i]?.kind === 'accept' || shape.items[i]?.target !== undefined,
  )
  const voided = canBeVoid.flatMap((i) => (isVoid(cast, shape, i) ? (shape.items[i]?.entry.id ?? '') : []))
  say(
    'a receipt that crossed an accept takes it back, with what its device added, and nothing else',
    sameSet(state.void, voided),
  )
  const { status, accepts, completes } = effectOf(cast, shape)
  say('the status is that of the furthest entry in effect', state.status === status)
  const leads = { accept: positionOf(shape, state.lead.accept), complete: positionOf(shape, state.lead.complete) }
  say(
    'what the author of create includes first leads, then rank, then the lower id',
    leads.accept === (leadOf(shape, accepts) ?? -1) && leads.complete === (leadOf(shape, completes) ?? -1),
  )
  say('two completes that have effect conflict', state.conflicting === completes.length > 1)
  const sealed = sealedBy(shape, state.status, leads.complete)
  const late = shape.items.flatMap(({ entry, kind }, i) =>
    sealed !== 0 && CAN_BE_LATE.has(kind) && !hasBit(sealed, i) ? entry.id : [],
  )
  say('what a seal leaves out is late, and nothing else', sameSet(state.late, late))
}

function sameSet(set: ReadonlySet<string>, list: readonly string[]): boolean {
  return set.size === list.length && list.every((one) => set.has(one))
}

export function positionOf(shape: Shape, id: string | null): number {
  return id === null ? -1 : shape.items.findIndex(({ entry }) => entry.id === id)
}

/** What was true of `before` and still has to be of `after`, which has one entry more. */
export function checkStep(cast: Cast, after: Shape, was: Outcome, is: Outcome, say: Say): void {
  const added = after.items.length - 1
  if (cast.devices[after.items[added]?.device ?? 0]?.side === 'reader')
    say('readers never count', was.status === is.status && was.final === is.final && was.lead === is.lead)
  if (!was.final) return
  switch (was.status) {
    case 'pending':
      break
    case 'cancelled': {
      const isSame = is.status === 'cancelled' && is.final
      say('a final cancel stays, whatever recipients do', isSame || senderForked(cast, after))
      if (!isSame) break
      const whole = (1 << added) - 1
      const before = { items: after.items.slice(0, added), pasts: after.pasts.slice(0, added) }
      const sealed = sealedBy(before, 'cancelled', -1)
      const grown = sealedBy(after, 'cancelled', -1) & ~sealed
      const lost = sealed & ~sealedBy(after, 'cancelled', -1)
      say(
        'the record of a final cancel stays',
        lost === 0 && ((grown & whole) === 0 || anotherCancelCrossed(after, grown, added)),
      )
      break
    }
    case 'accepted':
      say(
        'a final accept stays',
        is.status === 'completed' || (is.status === 'accepted' && is.final) || recipientForkedAcrossCancel(cast, after),
      )
      break
    case 'completed':
      say(
        'a final complete stays, and so does the one that leads and its record',
        (is.status === 'completed' && is.final && is.lead === was.lead) ||
          senderForked(cast, after) ||
          recipientForkedAcrossCancel(cast, after),
      )
      break
  }
}

/** Every node stands where its past puts it: after all of it, and with a number above all in it. */
export function checkPlace(cast: Cast, shape: Shape, node: Node, say: Say): void {
  const last = shape.items.length - 1
  const item = shape.items[last]
  if (!item) return
  const isNumbered = item.kind === 'create' || item.kind === 'message' || item.kind === 'complete'
  say(
    'numbers grow along the past, odd for the sender and even for the recipient, and never change',
    node.number === (isNumbered ? item.numberMax : undefined) && node.numberMax === item.numberMax,
  )
  const side = cast.devices[item.device]?.side
  say('who has a side has that of its member', node.side === side)
  const knows = shape.items.slice(0, last).some(({ kind }, i) => kind === 'cancel' && isBefore(shape, i, last))
  say('who knows of a cancel is known to', node.afterCancel === knows)
}

/** Rule E6: by depth, then by rank, then by id. */
export function checkOrder(shape: Shape, order: readonly Node[], say: Say): void {
  const depths: number[] = []
  for (const past of shape.pasts)
    depths.push(depths.reduce((most, depth, i) => (hasBit(past, i) ? Math.max(most, depth) : most), 0) + 1)
  const sorted = shape.items
    .map(({ device, entry: { id } }, i) => ({ device, id, depth: depths[i] ?? 0 }))
    .toSorted((a, b) => a.depth - b.depth || a.device - b.device || (a.id < b.id ? -1 : 1))
  say(
    'the one order goes by depth, then rank, then id',
    order.length === sorted.length && sorted.every(({ id }, i) => order[i]?.entry.id === id),
  )
}
