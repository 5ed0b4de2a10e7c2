/**
 * The rules once more, in the fewest words that cover what is simulated (no added devices): judged
 * from who wrote what and what lies in whose past, by none of the code that nodes judge with.
 */
import type { Status, Entry, Header, Hex, Roster } from '../../../protocol/index.ts'
import type { Holder, Scene } from '../scene.ts'

type CreateHeader = Extract<Header, { kind: 'create' }>

/** The create that a thread began with. */
export function createHeader(scene: Scene, thread: Hex): CreateHeader | undefined {
  const header = scene.entries.get(thread)?.header
  return header?.kind === 'create' ? header : undefined
}

/** Both sides' devices. */
export function devicesOf(create: CreateHeader): Hex[] {
  return [...create.ctl.senders, ...create.ctl.recipients]
}

/** Devices that take no part in the thread and that a share among `entries` names, whatever became of the share. */
function namedReaders(create: CreateHeader, entries: Iterable<Entry>): Set<Hex> {
  const named = new Set<Hex>()
  for (const { header } of entries)
    if (header.kind === 'share') for (const device of header.ctl.devices) named.add(device)
  for (const device of devicesOf(create)) named.delete(device)
  return named
}

/** The same, by shares that have effect among `entries`, all of one thread. */
export function readersIn(scene: Scene, create: CreateHeader, entries: readonly Entry[]): Set<Hex> {
  const shares = entries.filter(({ header }) => header.kind === 'share')
  if (shares.length === 0) return new Set()
  const within = new Set(entries.map(({ id }) => id))
  return namedReaders(
    create,
    shares.filter((share) => !isCut(scene, share, within)),
  )
}

/** Both sides' devices, and those that the thread was shared with. */
export function devicesWithReaders(create: CreateHeader, entries: Iterable<Entry>): Hex[] {
  return [...devicesOf(create), ...namedReaders(create, entries)]
}

function inPast(scene: Scene, entry: Entry, kind: Header['kind']): Entry[] {
  return [...scene.pastOf(entry.id)].flatMap((id) => {
    const before = scene.entries.get(id)
    return before?.header.kind === kind ? [before] : []
  })
}

/** Why nobody should have stored `entry`, or undefined. */
export function fault(scene: Scene, entry: Entry): string | undefined {
  const { header, thread } = entry
  if (header.kind === 'create') return undefined
  const create = createHeader(scene, thread)
  const past = scene.pastOf(entry.id)
  if (!create || !past.has(thread)) return 'does not build on the create of its thread'
  const isSender = create.ctl.senders.includes(header.dev)
  const isRecipient = create.ctl.recipients.includes(header.dev)
  const known = [...past].flatMap((id) => scene.entries.get(id) ?? [])
  if (!isSender && !isRecipient) {
    if (!namedReaders(create, known).has(header.dev)) return 'its author has no side'
    if (header.kind !== 'ack') return 'a reader only acknowledges'
  }
  const own = known.filter((before) => before.header.dev === header.dev)
  if (own.length !== header.seq) return 'it builds on a fork of its author, or misses a part of its own chain'
  const before = statusOf(scene, known)
  const untouched = before === 'pending'
  const isAccepted = before === 'accepted'
  switch (header.kind) {
    case 'accept':
      return isRecipient && untouched ? undefined : 'only the recipient accepts, and only what is pending'
    case 'cancel':
      return isSender && untouched ? undefined : 'only the sender cancels, and only what is pending'
    case 'complete':
      return isRecipient && isAccepted ? undefined : 'only the recipient completes, and only what is accepted'
    case 'approve':
      return isRecipient && isAccepted && header.ctl.action === create.ctl.action
        ? undefined
        : 'only the recipient approves what was proposed, while it is accepted'
    case 'message':
    case 'revise':
    case 'annotate':
    case 'resolve':
      return untouched || isAccepted ? undefined : 'nothing is said in what has ended'
    case 'fence':
      return sideOf(create, header.ctl.device) === (isSender ? 'recipient' : 'sender')
        ? undefined
        : 'only a laptop of the other side is fenced'
    case 'share':
      if (!untouched && !isAccepted) return 'nothing is shared that has ended'
      return shareFault(scene, create, header, past)
    case 'wrap': {
      const covered = [...devicesOf(create), ...readersIn(scene, create, known)].filter(
        (device) => !isOutAt(scene, header, device),
      )
      return isFor(header.ctl.wraps, covered) ? undefined : 'a new key is for everybody who is in, and for nobody else'
    }
    case 'ack':
      return undefined
  }
}

function shareFault(
  scene: Scene,
  create: CreateHeader,
  header: Extract<Header, { kind: 'share' }>,
  past: ReadonlySet<Hex>,
): string | undefined {
  const { key, devices, wraps } = header.ctl
  const kind = scene.entries.get(key)?.header.kind
  if (!past.has(key) || (kind !== 'create' && kind !== 'wrap')) return 'it shares what is no key'
  if (!isFor(wraps, devices)) return 'it names others than it gives the key to'
  if (devices.some((device) => devicesOf(create).includes(device))) return 'only a third member is made a reader'
  return devices.some((device) => isOutAt(scene, header, device)) ? 'who was removed is made no reader' : undefined
}

/** Whether keys are wrapped to exactly these devices. */
function isFor(wraps: readonly (readonly [device: Hex, ...rest: unknown[]])[], devices: readonly Hex[]): boolean {
  const to = wraps.map(([device]) => device)
  return to.toSorted().join() === [...new Set(devices)].toSorted().join()
}

/** Whether the device is out by the roster that an entry relies on. */
function isOutAt(scene: Scene, { ros }: Header, device: Hex): boolean {
  const roster = scene.holders.reduce<Roster | undefined>(
    (found, { log }) => found ?? log.rosters.get(ros[1]),
    undefined,
  )
  return roster?.devices.get(device)?.removed === true
}

export function sideOf(create: CreateHeader, device: Hex): 'sender' | 'recipient' | undefined {
  if (create.ctl.senders.includes(device)) return 'sender'
  return create.ctl.recipients.includes(device) ? 'recipient' : undefined
}

/** A fence names its author, does not know it, and nobody of the fencing side built on it without knowing the fence. */
export function isCut(scene: Scene, entry: Entry, within: ReadonlySet<Hex>): boolean {
  const create = createHeader(scene, entry.thread)
  const others = [...within].flatMap((id) => scene.entries.get(id) ?? [])
  return others.some((fence) => {
    if (!create || fence.header.kind !== 'fence' || fence.header.ctl.device !== entry.header.dev) return false
    if (scene.pastOf(fence.id).has(entry.id)) return false
    const side = sideOf(create, fence.header.dev)
    return !others.some(
      ({ id, header }) =>
        id !== fence.id &&
        sideOf(create, header.dev) === side &&
        scene.pastOf(id).has(entry.id) &&
        !scene.pastOf(id).has(fence.id),
    )
  })
}

/** An accept is void if its device also signed something, beside it, that knows of a cancel. */
function isVoid(scene: Scene, accept: Entry, within: ReadonlySet<Hex>): boolean {
  return [...within].some((id) => {
    const other = scene.entries.get(id)
    return (
      other !== undefined &&
      other.header.dev === accept.header.dev &&
      id !== accept.id &&
      !scene.pastOf(id).has(accept.id) &&
      !scene.pastOf(accept.id).has(id) &&
      inPast(scene, other, 'cancel').length > 0
    )
  })
}

/** What a set of entries of one thread amounts to. */
export function statusOf(scene: Scene, entries: readonly Entry[]): Status {
  const ids = new Set(entries.map(({ id }) => id))
  const accepts = entries.filter(
    (entry) => entry.header.kind === 'accept' && !isVoid(scene, entry, ids) && !isCut(scene, entry, ids),
  )
  const effective = new Set(accepts.map(({ id }) => id))
  const isComplete = (entry: Entry): boolean =>
    entry.header.kind === 'complete' &&
    !isCut(scene, entry, ids) &&
    [...scene.pastOf(entry.id)].some((id) => effective.has(id))
  if (entries.some(isComplete)) return 'completed'
  if (effective.size > 0) return 'accepted'
  return entries.some(({ header }) => header.kind === 'cancel') ? 'cancelled' : 'pending'
}

/** Devices that signed two entries with one number, among `entries` of one thread. */
export function forkedIn(entries: Iterable<Entry>): Set<Hex> {
  const seen = new Map<string, Hex>()
  const forked = new Set<Hex>()
  for (const { id, header } of entries) {
    const place = `${header.dev} ${header.seq}`
    const twin = seen.get(place)
    if (twin !== undefined && twin !== id) forked.add(header.dev)
    seen.set(place, id)
  }
  return forked
}

export function entriesOfThread(scene: Scene, thread: Hex): Entry[] {
  return [...scene.entries.values()].filter((entry) => entry.thread === thread)
}

/** Whether own words are said now: what an old disk had lost comes back as it was. */
export function isNew(scene: Scene, holder: Holder, id: Hex): boolean {
  return !scene.holders.some((other) => other !== holder && other.ever.has(id))
}
