/**
 * What the rules have to say about a history, stated a second time, apart from the rules under
 * test and as plainly as the small worlds allow: sets are bit masks, and nothing is remembered.
 */
import type { Kind, Side, Status } from '../../protocol/index.ts'
import type { Act, Bounds, Cast, Item, Shape } from './explorer-world.ts'

export function hasBit(mask: number, bit: number): boolean {
  return (mask & (1 << bit)) !== 0
}

/** All entries of a history. */
export function allOf(shape: Shape): number {
  return (1 << shape.items.length) - 1
}

/** True if entry `i` is in the past of entry `j`. */
export function isBefore(shape: Shape, i: number, j: number): boolean {
  return hasBit(shape.pasts[j] ?? 0, i)
}

export function isConcurrent(shape: Shape, i: number, j: number): boolean {
  return i !== j && !isBefore(shape, i, j) && !isBefore(shape, j, i)
}

/** The entries of `mask` that are of one kind. */
export function ofKind(shape: Shape, mask: number, kind: Kind): number[] {
  return where(shape, mask, (item) => item.kind === kind)
}

export function ofDevice(shape: Shape, mask: number, device: number): number[] {
  return where(shape, mask, (item) => item.device === device)
}

function where({ items }: Shape, mask: number, test: (item: Item) => boolean): number[] {
  const found: number[] = []
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (item && hasBit(mask, i) && test(item)) found.push(i)
  }
  return found
}

/** True if an entry of the device has entry `i` in its past. */
export function includes(shape: Shape, device: number, i: number): boolean {
  return shape.items.some((item, j) => item.device === device && isBefore(shape, i, j))
}

/** Devices that wrote two entries neither of which knows the other. */
export function isForked(shape: Shape, device: number, mask = allOf(shape)): boolean {
  const own = ofDevice(shape, mask, device)
  return own.some((i) => own.some((j) => isConcurrent(shape, i, j)))
}

/** The side of a device among what `mask` says. */
function sideIn(cast: Cast, shape: Shape, mask: number, device: number): Side | undefined {
  const { listed, side } = cast.devices[device] ?? {}
  if (listed) return side
  const names = side === 'reader' ? ofKind(shape, mask, 'share') : wrapsOf(shape, mask, device)
  return names.length > 0 ? side : undefined
}

/** Wraps that add the device. */
export function wrapsOf(shape: Shape, mask: number, device: number): number[] {
  return ofKind(shape, mask, 'wrap').filter((i) => shape.items[i]?.target === device)
}

const NEVER_CUT: ReadonlySet<Kind> = new Set(['create', 'cancel', 'ack', 'fence'])

/** Rule E5 for one fence. */
export function isCutBy(cast: Cast, shape: Shape, mask: number, { i, fence }: { i: number; fence: number }): boolean {
  const item = shape.items[i]
  if (!item || shape.items[fence]?.target !== item.device || NEVER_CUT.has(item.kind)) return false
  if (isBefore(shape, i, fence)) return false
  const side = cast.devices[shape.items[fence]?.device ?? 0]?.side
  return !shape.items.some(
    (x, j) =>
      hasBit(mask, j) &&
      j !== fence &&
      cast.devices[x.device]?.side === side &&
      !isBefore(shape, fence, j) &&
      isBefore(shape, i, j),
  )
}

export function isCut(cast: Cast, shape: Shape, i: number, mask = allOf(shape)): boolean {
  const fences = ofKind(shape, mask, 'fence')
  return fences.some((fence) => isCutBy(cast, shape, mask, { i, fence }))
}

/** Rule E2, had no fence been written: the accept or wrap was taken back by its own device, or by one that added it. */
export function isTakenBack(cast: Cast, shape: Shape, i: number): boolean {
  const item = shape.items[i]
  if (!item) return false
  if (ofDevice(shape, allOf(shape), item.device).some((q) => isConcurrent(shape, q, i) && knowsCancel(shape, q)))
    return true
  if (cast.devices[item.device]?.listed) return false
  return wrapsOf(shape, shape.pasts[i] ?? 0, item.device).every((wrap) => isTakenBack(cast, shape, wrap))
}

/** Rule E2: taken back, or by an added device that no wrap in effect of its own past adds. */
export function isVoid(cast: Cast, shape: Shape, i: number): boolean {
  const item = shape.items[i]
  if (!item || isTakenBack(cast, shape, i)) return true
  if (cast.devices[item.device]?.listed) return false
  const wraps = wrapsOf(shape, shape.pasts[i] ?? 0, item.device)
  return wraps.every((wrap) => isVoid(cast, shape, wrap) || isCut(cast, shape, wrap))
}

/** Accepts and completes that have effect, and rule E1. */
export function effectOf(cast: Cast, shape: Shape): { status: Status; accepts: number[]; completes: number[] } {
  const all = allOf(shape)
  const accepts = ofKind(shape, all, 'accept').filter((i) => !isVoid(cast, shape, i) && !isCut(cast, shape, i))
  const completes = ofKind(shape, all, 'complete').filter(
    (i) => !isCut(cast, shape, i) && accepts.some((accept) => isBefore(shape, accept, i)),
  )
  const isCancelled = ofKind(shape, all, 'cancel').length > 0
  const status = completes[0] ? 'completed' : accepts[0] ? 'accepted' : isCancelled ? 'cancelled' : 'pending'
  return { status, accepts, completes }
}

export function knowsCancel(shape: Shape, i: number): boolean {
  return ofKind(shape, shape.pasts[i] ?? 0, 'cancel').length > 0
}

/** Record heads: create and revise entries that no revise names. */
export function recordHeads(shape: Shape, mask: number): number[] {
  const revisions = [...ofKind(shape, mask, 'create'), ...ofKind(shape, mask, 'revise')]
  const named = new Set(
    revisions.flatMap((i) => {
      const header = shape.items[i]?.entry.header
      return header?.kind === 'revise' ? header.ctl.base : []
    }),
  )
  return revisions.filter((i) => !named.has(shape.items[i]?.entry.id ?? ''))
}

/** True if the roster point with this number removes the device, or one before it did. */
function isRemoved(cast: Cast, device: number, cited: number): boolean {
  const { removedAt } = cast.devices[device] ?? {}
  return removedAt !== undefined && removedAt <= cited
}

/** The devices that a wrap on `mask` has to be for: those that nothing cut, the one it adds, and readers, less the removed. */
export function coverOf(
  cast: Cast,
  shape: Shape,
  mask: number,
  wrap: { adds: number | undefined; cited: number },
): number[] {
  const isNamed = (device: number) => {
    const { listed, side } = cast.devices[device] ?? {}
    const named = side === 'reader' ? ofKind(shape, mask, 'share') : wrapsOf(shape, mask, device)
    return listed || device === wrap.adds || named.some((i) => !isCut(cast, shape, i, mask))
  }
  return cast.devices.flatMap((_, i) => (isNamed(i) && !isRemoved(cast, i, wrap.cited) ? [i] : []))
}

/** The verdict on the proposed action: that of all uncut approvals that no other uncut one knows. */
function isApproved(cast: Cast, shape: Shape, mask: number): boolean {
  const uncut = ofKind(shape, mask, 'approve').filter((i) => !isCut(cast, shape, i, mask))
  const last = uncut.filter((i) => !uncut.some((j) => isBefore(shape, i, j)))
  return last.length > 0 && last.every((i) => cast.acts[shape.items[i]?.act ?? 0]?.verdict === 'approved')
}

/** The entries of the sealed record: those of the complete that leads, or of all cancels. */
export function sealedBy(shape: Shape, status: Status, leadComplete: number): number {
  const seals =
    status === 'completed' ? [leadComplete] : status === 'cancelled' ? ofKind(shape, allOf(shape), 'cancel') : []
  return seals.reduce((sealed, i) => sealed | (1 << i) | (shape.pasts[i] ?? 0), 0)
}

/** Rule E3: the candidate that create's author includes first, then the one of the device listed first, then the lower id. */
export function leadOf(shape: Shape, candidates: readonly number[]): number | undefined {
  const author = ofDevice(shape, allOf(shape), 0)
  const firstSeen = (i: number) =>
    Math.min(...author.flatMap((j) => (isBefore(shape, i, j) ? (shape.items[j]?.entry.header.seq ?? 0) : [])))
  const idOf = (i: number) => shape.items[i]?.entry.id ?? ''
  const rankOf = (i: number) => shape.items[i]?.device ?? 0
  const before = (a: number, b: number) => {
    if (firstSeen(a) !== firstSeen(b)) return firstSeen(a) < firstSeen(b)
    // Devices stand in rank order: create's lists, then the added ones by key.
    return rankOf(a) === rankOf(b) ? idOf(a) < idOf(b) : rankOf(a) < rankOf(b)
  }
  return candidates.find((a) => candidates.every((b) => a === b || before(a, b)))
}

/** Who may write a kind, and in which states. */
const ALLOWED: Record<Kind, { sides: readonly Side[]; while: readonly Status[] }> = {
  create: { sides: [], while: [] },
  accept: { sides: ['recipient'], while: ['pending'] },
  cancel: { sides: ['sender'], while: ['pending'] },
  complete: { sides: ['recipient'], while: ['accepted'] },
  message: { sides: ['sender', 'recipient'], while: ['pending', 'accepted'] },
  revise: { sides: ['sender', 'recipient'], while: ['pending', 'accepted'] },
  annotate: { sides: ['sender', 'recipient'], while: ['pending', 'accepted'] },
  resolve: { sides: ['sender', 'recipient'], while: ['pending', 'accepted'] },
  approve: { sides: ['recipient'], while: ['accepted'] },
  share: { sides: ['sender', 'recipient'], while: ['pending', 'accepted'] },
  wrap: { sides: ['sender', 'recipient'], while: ['pending', 'accepted', 'completed', 'cancelled'] },
  ack: { sides: ['sender', 'recipient', 'reader'], while: ['pending', 'accepted', 'completed', 'cancelled'] },
  fence: { sides: ['sender', 'recipient'], while: ['pending', 'accepted', 'completed', 'cancelled'] },
}

export function isOfSide(cast: Cast, device: number, kind: Kind): boolean {
  const side = cast.devices[device]?.side
  return side !== undefined && ALLOWED[kind].sides.includes(side)
}

export interface Attempt {
  readonly device: number
  readonly act: Act
  /** Number of the roster point that it cites. */
  readonly cited: number
}

/** May `device` say `act` on all of `shape`, whose status is `status`? Rules S5 to S10. */
export function mayStore(cast: Cast, shape: Shape, status: Status, attempt: Attempt): boolean {
  const { device, act } = attempt
  const all = allOf(shape)
  const side = sideIn(cast, shape, all, device)
  const allowed = ALLOWED[act.kind]
  if (!side || !allowed.sides.includes(side) || !allowed.while.includes(status)) return false
  if (isRemoved(cast, device, attempt.cited)) return false
  if (isForked(shape, device)) return false
  const own = ofDevice(shape, all, device)
  const bounds = cast.world.bounds
  if (bounds && !isWithin(bounds, cast, shape, { own, attempt, status })) return false
  switch (act.kind) {
    case 'complete':
      return !cast.world.proposes || act.outcome !== 'done' || isApproved(cast, shape, all)
    case 'approve':
      return cast.world.proposes === true
    case 'resolve':
      return ofKind(shape, all, 'annotate').length > 0
    case 'ack':
      return hasNews(shape, own, all) || act.lacks !== lackedLast(cast, shape, own)
    case 'wrap':
      return (
        act.target === undefined ||
        (cast.devices[act.target]?.side === side && sideIn(cast, shape, all, act.target) === undefined)
      )
    case 'fence': {
      const target = act.target ?? -1
      const targetSide = sideIn(cast, shape, all, target)
      const isRepeated = own.some((i) => shape.items[i]?.kind === 'fence' && shape.items[i]?.target === target)
      return targetSide !== undefined && targetSide !== side && isRemoved(cast, target, attempt.cited) && !isRepeated
    }
    default:
      return true
  }
}

const TURNS: ReadonlySet<Kind> = new Set(['message', 'revise', 'annotate', 'resolve', 'approve', 'share'])

/** Rule S10, but for what an ack needs. */
function isWithin(
  bounds: Bounds,
  cast: Cast,
  shape: Shape,
  said: { own: readonly number[]; attempt: Attempt; status: Status },
): boolean {
  const { own, attempt, status } = said
  const { kind } = attempt.act
  const kindOf = (i: number) => shape.items[i]?.kind ?? 'create'
  if (kind === 'wrap') return own.filter((i) => kindOf(i) === 'wrap').length < bounds.wraps
  if (kind === 'ack') {
    const isChange = (i: number) =>
      kindOf(i) === 'ack' &&
      !hasNews(
        shape,
        own.filter((j) => isBefore(shape, j, i)),
        shape.pasts[i] ?? 0,
      )
    return hasNews(shape, own, allOf(shape)) || own.filter(isChange).length < bounds.lackChanges
  }
  if (!TURNS.has(kind)) return true
  const turns = own.filter((i) => TURNS.has(kindOf(i)))
  if (turns.length >= bounds.turns) return false
  // In the world that plays with bounds a past is pending until it holds an accept.
  const pending = turns.filter((i) => ofKind(shape, shape.pasts[i] ?? 0, 'accept').length === 0)
  return cast.devices[attempt.device]?.side !== 'sender' || status !== 'pending' || pending.length < bounds.pendingTurns
}

/** True if `mask` holds an entry by another device that is no ack and that the last of `own` did not know. */
function hasNews(shape: Shape, own: readonly number[], mask: number): boolean {
  const last = own.find((i) => own.every((j) => i === j || isBefore(shape, j, i)))
  const device = last === undefined ? undefined : shape.items[last]?.device
  return shape.items.some(
    (item, i) =>
      hasBit(mask, i) &&
      item.device !== device &&
      item.kind !== 'ack' &&
      (last === undefined || !isBefore(shape, i, last)),
  )
}

function lackedLast(cast: Cast, shape: Shape, own: readonly number[]): boolean {
  const acks = own.filter((i) => shape.items[i]?.kind === 'ack')
  const last = acks.find((i) => acks.every((j) => i === j || isBefore(shape, j, i)))
  return last !== undefined && (cast.acts[shape.items[last]?.act ?? 0]?.lacks ?? false)
}
