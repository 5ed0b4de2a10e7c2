/** Opening what is sealed: thread keys that are wrapped to this device, and bodies. */
import {
  actionMac,
  bodyKeyOf,
  type BodyKind,
  type BodyOf,
  type Checked,
  commitThreadKey,
  decodeAction,
  type Entry,
  hasBody,
  type Hex,
  isBefore,
  type Node,
  type NodeOf,
  openBody,
  openOlderKey,
  type ProposedAction,
  unwrapThreadKey,
  type Wrapped,
} from '../../protocol/index.ts'
import type { Write } from '../store/store.ts'
import type { Held } from './held.ts'
import { putSecret } from './rows.ts'
import { createOf, type Thread } from './threads.ts'
import { isRemoved, type Workspace } from './workspace.ts'

export type AnyBody = { [K in BodyKind]: { kind: K; body: BodyOf<K> } }[BodyKind]

/**
 * What became of a body here. An unreadable one that is still sealed opens once its key comes; one
 * that opened and is not of its kind's shape will never be better.
 */
export type Opened =
  | { state: 'none' }
  | { state: 'missing' }
  | { state: 'unreadable'; why: string; isSealed: boolean }
  | ({ state: 'ok' } & AnyBody)

/** Opens the thread keys that `node` introduces or shares, if they are wrapped to this device. */
export async function openThreadKeys(held: Held, thread: Thread, node: Node): Promise<Write[]> {
  const { header } = node.entry
  if (header.kind !== 'create' && header.kind !== 'wrap' && header.kind !== 'share') return []
  const nonce = createOf(thread)?.header.ctl.nonce
  const wrap: Wrapped | undefined = header.ctl.wraps.find(([device]) => device === held.workspace.key.public)
  const seed = wrap && held.workspace.prekeySeeds.get(wrap[1])
  if (!nonce || !wrap || !seed) return []
  const opened = await unwrapThreadKey(wrap, { ws: header.ws, nonce, author: header.dev }, seed)
  if (!opened.ok) return []
  const keyId = header.kind === 'share' ? header.ctl.key : node.entry.id
  if (!isCommitted(thread, keyId, opened.value)) return []
  return [[keyId, opened.value] as const, ...olderKeys(thread, keyId, opened.value)].map(([id, key]) =>
    keepKey(thread, id, key),
  )
}

/** The older keys that a key leads to, by way of what the wrap that introduced it carries, and so on. */
function olderKeys(thread: Thread, keyId: Hex, key: Uint8Array): ThreadKey[] {
  const found = new Map([[keyId, key]])
  for (const [newerId, newer] of found)
    for (const [olderId, older] of carriedKeys(thread, newerId, newer))
      if (!found.has(olderId)) found.set(olderId, older)
  return [...found].slice(1)
}

/** A thread key, and the id of the create or wrap that introduced it. */
export type ThreadKey = readonly [id: Hex, key: Uint8Array]

/** The older keys that the wrap which introduced a key carries under it. */
export function carriedKeys(thread: Thread, keyId: Hex, key: Uint8Array): ThreadKey[] {
  const header = thread.graph.byId.get(keyId)?.entry.header
  if (header?.kind !== 'wrap') return []
  return header.ctl.older.flatMap(([olderId, sealed]): ThreadKey[] => {
    const older = openOlderKey(key, sealed, olderId)
    return older.ok && isCommitted(thread, olderId, older.value) ? [[olderId, older.value]] : []
  })
}

export function keepKey(thread: Thread, keyId: Hex, key: Uint8Array): Write {
  thread.keys.set(keyId, key)
  return putSecret(`thread/${thread.id}/${keyId}`, key)
}

/** True if the entry that introduced the key committed to exactly this one. */
function isCommitted(thread: Thread, keyId: Hex, key: Uint8Array): boolean {
  const header = thread.graph.byId.get(keyId)?.entry.header
  const nonce = createOf(thread)?.header.ctl.nonce
  if (!nonce || (header?.kind !== 'create' && header?.kind !== 'wrap')) return false
  return commitThreadKey(key, { nonce, ws: header.ws, device: header.dev, prev: header.prev }) === header.ctl.commit
}

/**
 * The key that a writer uses now: of those that no later wrap here replaced, and that no removed
 * device was given, the one with the lowest id that this device holds. A removed device can still
 * make a key that the rules allow, with an id as low as it likes: its own past is before its removal.
 */
export function writingKey(workspace: Workspace, thread: Thread): { id: Hex; key: Uint8Array } | undefined {
  const { create, wrap } = thread.graph.byKind
  const introduced = [...create, ...wrap].filter((node) => thread.keys.has(node.entry.id))
  const maximal = introduced.filter((node) => !introduced.some((other) => other !== node && isBefore(node, other)))
  const safe = maximal.filter((node) => !holdersOf(thread, node).some((device) => isRemoved(workspace, device)))
  const id = safe.map((node) => node.entry.id).toSorted()[0]
  const key = id === undefined ? undefined : thread.keys.get(id)
  return id === undefined || key === undefined ? undefined : { id, key }
}

/** Who was given the key that `node` introduces. */
function holdersOf(thread: Thread, node: NodeOf<'create'> | NodeOf<'wrap'>): Hex[] {
  const { id, header } = node.entry
  const shares = thread.graph.byKind.share.filter(({ entry }) => entry.header.ctl.key === id)
  const wraps = [...header.ctl.wraps, ...shares.flatMap(({ entry }) => entry.header.ctl.wraps)]
  return [header.dev, ...wraps.map(([device]) => device)]
}

/** The key that sealed the body of `entry`, if this device holds it. */
function threadKeyOf(thread: Thread, entry: Entry): Uint8Array | undefined {
  const { body, kind } = entry.header
  if (!body) return undefined
  return thread.keys.get(kind === 'create' ? entry.id : (body.key ?? ''))
}

/** The sealed body of an entry, where it is here, and the key that opens it and nothing else. */
export async function sealedContent(
  held: Held,
  thread: Thread,
  entry: Entry,
): Promise<{ sealed: Uint8Array | undefined; key: Uint8Array | undefined }> {
  const sealed = await sealedBody(held, thread, entry)
  const key = threadKeyOf(thread, entry)
  return { sealed, key: sealed && key && bodyKeyOf(entry, key) }
}

/** Reads and opens the body of an entry. */
export async function openContent(held: Held, thread: Thread, entry: Entry): Promise<Opened> {
  const { kind } = entry.header
  if (!hasBody(kind)) return { state: 'none' }
  const sealed = await sealedBody(held, thread, entry)
  return sealed ? openSealed(thread, entry, sealed) : { state: 'missing' }
}

async function sealedBody(held: Held, thread: Thread, entry: Entry): Promise<Uint8Array | undefined> {
  if (!thread.bodies.has(entry.id)) return undefined
  return held.freshBodies.get(entry.id) ?? (await held.store.get('body', entry.id))
}

/** Opens a sealed body that is at hand. */
export function openSealed(thread: Thread, entry: Entry, sealed: Uint8Array): Opened {
  const { kind } = entry.header
  if (!hasBody(kind)) return { state: 'none' }
  const key = threadKeyOf(thread, entry)
  if (!key) return { state: 'unreadable', why: 'its key is not here', isSealed: true }
  const body: Checked<BodyOf<BodyKind>> = openBody(entry, kind, sealed, key)
  return body.ok
    ? ({ state: 'ok', kind, body: body.value } as Opened)
    : { state: 'unreadable', why: body.refusal, isSealed: body.refusal === 'seal_broken' }
}

/** The proposed action of a create's body, if it is the one that the header binds. */
export function boundAction(
  thread: Thread,
  body: BodyOf<'create'>,
): { action: ProposedAction; digest: Hex } | undefined {
  const create = createOf(thread)
  const key = create && thread.keys.get(create.id)
  if (!create || !key || !body.proposed_action || create.header.ctl.action === null) return undefined
  if (actionMac(key, create.header.ctl.nonce, body.proposed_action) !== create.header.ctl.action) return undefined
  const action = decodeAction(body.proposed_action)
  return action.ok ? { action: action.value, digest: create.header.ctl.action } : undefined
}
