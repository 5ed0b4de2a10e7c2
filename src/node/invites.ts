/** The owner's side of invites: making, listing and withdrawing them, and taking in who joins by one. */
import {
  checkJoinProof,
  encodeCanonical,
  encodeCode,
  encodeJoin,
  type Hex,
  type Invite,
  INVITE_TTL_MS,
  inviteKey,
  type JoinMessage,
  type JoinRefusal,
  memberByName,
  NAME,
  openPrekey,
  ownerProofKey,
  parseJoin,
  phraseWords,
  type Prekey,
  PROTOCOL_VERSION,
  proveOwner,
  rendezvousTag,
  type Roster,
  SECRET_BYTES,
  textId,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import type { FrameStream, Net } from '../net/net.ts'
import type { InviteListing, InviteParams, InviteResult } from './api.ts'
import { ApiError } from './api-error.ts'
import type { Held } from './held.ts'
import { matchId, requireMember } from './membership.ts'
import { appendRoster, mayLackRoster, requireOwner } from './owner.ts'
import type { Peers } from './peers.ts'
import { decodeRow, putSecret } from './rows.ts'
import { timeText } from './shown.ts'
import { admitPrekey, currentKey, isRemoved, rosterOf, rosterSuffix, rosterUndo } from './workspace.ts'

export interface Invites {
  /** Opens the door for the invites that are open, and closes it when they end. */
  start(): Promise<void>
  /** Looks anew at whom the door is open for. */
  refresh(): void
  stop(): Promise<void>
  invite(params: InviteParams): Promise<InviteResult>
  list(): Promise<{ items: InviteListing[] }>
  revoke(params: { invite_id: string }): Promise<InviteListing>
  /** One conversation of /relay/join/1. */
  onJoin(stream: FrameStream): Promise<void>
}

const BATCH_SIZE_BYTES = 256 * 1024
const STANDALONE_ADDRESSES_COUNT = 2
const INVITING = { does: 'invites', command: 'relay-node invite' }

export function createInvites(parts: { held: Held; net: Net; peers: Peers }): Invites {
  const { held, net, peers } = parts
  const { workspace, system, store } = held
  /** Invites that can be found on the same network, by id. */
  const advertised = new Map<Hex, () => Promise<void>>()
  let cancelTimer = () => {}
  let door: Promise<void> = Promise.resolve()
  let stopped = false

  function stateOf(invite: Invite): InviteListing['state'] {
    if (invite.state !== 'open') return invite.state
    return invite.expires <= system.clock.now() ? 'expired' : 'open'
  }

  function listing(roster: Roster, invite: Invite): InviteListing {
    return {
      invite_id: textId('invite', invite.id),
      handle: `${invite.name}@${roster.name}`,
      role: invite.role,
      kind: invite.kind,
      expires_at: timeText(invite.expires),
      state: stateOf(invite),
    }
  }

  /**
   * Whoever joined by this invite has not been heard of yet: the roster with it in may never have
   * reached it, so it may come again.
   */
  function isOwed(invite: Invite): boolean {
    if (invite.state !== 'used' || invite.expires <= system.clock.now()) return false
    const joined = [...workspace.log.entries.values()].flatMap(({ header }) =>
      header.kind === 'add-device' && header.ctl.invite === invite.id ? [header.ctl.device] : [],
    )
    return joined.some((device) => !isRemoved(workspace, device) && peers.peerRow(device)?.met !== true)
  }

  /** One after the other, so that none advertises what another is about to. */
  function openDoor(): Promise<void> {
    door = door.then(arrangeDoor, arrangeDoor)
    return door
  }
  /** The join protocol is open while an invite is; each can be found on the same network by a name made from its secret. */
  async function arrangeDoor(): Promise<void> {
    cancelTimer()
    if (stopped) return
    const roster = rosterOf(workspace)
    const isOwner = roster?.owner === workspace.key.public
    const open = isOwner
      ? [...roster.invites.values()].filter((invite) => stateOf(invite) === 'open' || isOwed(invite))
      : []
    net.setJoinOpen(open.length > 0)
    for (const [id, stopAdvertising] of advertised) {
      if (open.some((invite) => invite.id === id)) continue
      advertised.delete(id)
      await stopAdvertising()
    }
    for (const invite of open) {
      const secret = advertised.has(invite.id) ? undefined : await readSecret(invite.id)
      if (secret) advertised.set(invite.id, await net.advertise(secret.tag))
    }
    const soonest = Math.min(...open.map((invite) => invite.expires))
    // Timers reach about 24 days; an invite that lasts longer is looked at again then.
    if (open.length > 0)
      cancelTimer = system.clock.after(
        Math.min(2 ** 31 - 1, Math.max(0, soonest - system.clock.now()) + 1),
        refreshDoor,
      )
  }
  function refreshDoor(): void {
    openDoor().catch((error: unknown) =>
      system.log.warn('invites could not be made findable', { error: String(error) }),
    )
  }

  async function readSecret(invite: Hex): Promise<{ proofKey: Uint8Array; tag: string } | undefined> {
    const row = await store.get('secret', `invite/${invite}`)
    if (!row) return undefined
    const [proofKey, tag] = decodeRow(row) as [Uint8Array, string]
    return { proofKey, tag }
  }

  async function onJoin(stream: FrameStream): Promise<void> {
    const say = (message: JoinMessage) => stream.send(encodeJoin(message))
    const refuse = (reason: JoinRefusal) => say({ t: 'refused', reason })
    const ask = await receive(stream, 'ask')
    if (!ask) return
    if (ask.v !== PROTOCOL_VERSION) return refuse('version')
    if (ask.device !== stream.device) return refuse('proof')
    const roster = rosterOf(workspace)
    const invite = [...(roster?.invites.values() ?? [])].find((candidate) => candidate.key === ask.key)
    const secret = invite && (await readSecret(invite.id))
    if (!roster || !invite || !secret) return refuse('unknown')
    // A key that was removed never comes back.
    if (isRemoved(workspace, ask.device)) return refuse('proof')
    if (mayLackRoster(held)) return refuse('busy')
    const state = stateOf(invite)
    // Whoever was taken in and lost the answer may ask again.
    const isBack = state === 'used' && roster.devices.get(ask.device)?.removed === false
    if (state !== 'open' && !isBack) return refuse(state)
    const owner = workspace.key.public
    const proof = proveOwner(secret.proofKey, {
      ws: roster.ws,
      invite: invite.id,
      owner,
      device: ask.device,
      nonce: ask.nonce,
    })
    const { role, kind } = invite
    await say({ t: 'offer', ws: roster.ws, invite: invite.id, role, kind, owner, proof })
    const claim = await receive(stream, 'claim')
    if (!claim) return
    const prekey = openPrekey(claim.prekey)
    if (!prekey.ok || prekey.value.ws !== roster.ws || prekey.value.device !== ask.device) return refuse('proof')
    const refused = isBack ? undefined : await takeJoiner(invite, claim, prekey.value)
    if (refused) return refuse(refused)
    await sayWelcome(say)
  }

  /** Adds the member and its first device, in one batch. */
  async function takeJoiner(
    invite: Invite,
    claim: Extract<JoinMessage, { t: 'claim' }>,
    prekey: Prekey,
  ): Promise<JoinRefusal | undefined> {
    const refused = await held.turn(async (turn): Promise<JoinRefusal | undefined> => {
      const now = rosterOf(workspace)?.invites.get(invite.id)
      const state = now && stateOf(now)
      if (state !== 'open') return state ?? 'unknown'
      const stated = { ws: prekey.ws, invite: invite.id, device: prekey.device, prekey: prekey.id }
      const proof = { inviteSignature: claim.invite_signature, deviceSignature: claim.device_signature }
      if (!checkJoinProof(stated, invite.key, proof)) return 'proof'
      const roster = requireOwner(held, INVITING)
      // An invite is for a newcomer: of two for one name the second must not add a laptop to whoever came by the first.
      if (memberByName(roster, invite.name)) return 'used'
      const current = currentKey(workspace)
      if (!current) throw new Error('the owner holds the workspace key')
      turn.undo.push(rosterUndo(workspace))
      const place = { nonce: roster.nonce, epoch: current.epoch }
      const wrap = await wrapWorkspaceKey(current.key, place, {
        device: prekey.device,
        prekey: prekey.id,
        x25519: prekey.x25519,
        ekm: system.dice(32),
      })
      const { name, role, kind } = invite
      const member = await appendRoster(held, turn, {
        kind: 'add-member',
        ctl: { name, role, kind, invite: invite.id },
      })
      await appendRoster(held, turn, {
        kind: 'add-device',
        ctl: {
          member,
          device: prekey.device,
          name: claim.device_name,
          prekey: prekey.id,
          invite: invite.id,
          invite_signature: claim.invite_signature,
          device_signature: claim.device_signature,
          wraps: [wrap],
        },
      })
      const admitted = admitPrekey(workspace, prekey.bytes)
      if (admitted.ok) turn.writes.push(...admitted.value)
      return undefined
    })
    if (refused === undefined) {
      peers.workspaceChanged()
      refreshDoor()
    }
    return refused
  }

  async function sayWelcome(say: (message: JoinMessage) => Promise<void>): Promise<void> {
    const prekeys = [...workspace.prekeys.values()].map((prekey) => prekey.bytes)
    let part: Uint8Array[] = []
    let size = prekeys.reduce((sum, record) => sum + record.length, 0)
    let first = true
    const flush = async (last: boolean) => {
      await say({ t: 'welcome', roster: part, prekeys: first ? prekeys : [], last })
      part = []
      size = 0
      first = false
    }
    for (const { envelope } of rosterSuffix(workspace, [0, ''])) {
      if (part.length > 0 && size + envelope.length > BATCH_SIZE_BYTES) await flush(false)
      part.push(envelope)
      size += envelope.length
    }
    await flush(true)
  }

  return {
    start: openDoor,
    refresh: refreshDoor,
    async stop() {
      stopped = true
      await openDoor().catch(() => undefined)
      await Promise.all([...advertised.values()].map((stopAdvertising) => stopAdvertising()))
      advertised.clear()
    },
    async invite(params) {
      const roster = requireOwner(held, INVITING)
      const name = params.name.trim().toLowerCase()
      if (!NAME.test(name))
        throw new ApiError('invalid_params', `"${params.name}" is not a name.`, {
          hint: 'Take a-z, 0-9 and -, at most 32 characters.',
        })
      if (memberByName(roster, name))
        throw new ApiError('invalid_params', `${name}@${roster.name} is a member already.`, {
          hint: 'Take another name.',
        })
      const { role = 'member', kind = 'person' } = params
      const addresses = net.addresses()
      if (params.standalone && addresses.length === 0) {
        throw new ApiError('invalid_params', 'This laptop has no network address to put into a standalone code.', {
          hint: 'Connect to a network, or make a short code: relay-node invite NAME.',
        })
      }
      const secret = system.dice(SECRET_BYTES)
      const expires = system.clock.now() + (params.expires_s === undefined ? INVITE_TTL_MS : params.expires_s * 1000)
      const id = await held.turn(async (turn) => {
        turn.undo.push(rosterUndo(workspace))
        const made = await appendRoster(held, turn, {
          kind: 'invite',
          ctl: { key: inviteKey(secret).public, name, role, kind, expires },
        })
        turn.writes.push(putSecret(`invite/${made}`, encodeCanonical([ownerProofKey(secret), rendezvousTag(secret)])))
        return made
      })
      peers.workspaceChanged()
      await openDoor()
      const inviter = {
        device: workspace.key.public,
        addresses: forCode(addresses).map(withoutPeerId),
        expires,
      }
      return {
        invite_id: textId('invite', id),
        code: encodeCode(params.standalone ? { secret, inviter } : { secret }),
        ...(params.standalone ? {} : { words: phraseWords(secret) }),
        handle: `${name}@${roster.name}`,
        role,
        kind,
        expires_at: timeText(expires),
      }
    },
    async list() {
      requireMember(held)
      const roster = rosterOf(workspace)
      return { items: roster ? [...roster.invites.values()].map((invite) => listing(roster, invite)) : [] }
    },
    async revoke(params) {
      const roster = requireOwner(held, INVITING)
      const [id, ...others] = matchId('invite', params.invite_id, roster.invites.keys())
      const invite = id === undefined || others.length > 0 ? undefined : roster.invites.get(id)
      if (!invite)
        throw new ApiError('invalid_params', 'There is no such invite.', { hint: 'relay-node invite list shows them.' })
      if (invite.state === 'open') {
        await held.turn(async (turn) => {
          turn.undo.push(rosterUndo(workspace))
          await appendRoster(held, turn, { kind: 'revoke-invite', ctl: { invite: invite.id } })
        })
        peers.workspaceChanged()
        await openDoor()
      }
      return listing(roster, rosterOf(workspace)?.invites.get(invite.id) ?? invite)
    },
    onJoin,
  }
}

/** A few addresses of this network, and one way through a bootstrap server. */
function forCode(addresses: readonly string[]): string[] {
  const isRelayed = (address: string): boolean => address.includes('/p2p-circuit')
  return [
    ...addresses.filter((address) => !isRelayed(address)).slice(0, STANDALONE_ADDRESSES_COUNT),
    ...addresses.filter(isRelayed).slice(0, 1),
  ]
}

/** The device key in the code says it already. */
function withoutPeerId(address: string): string {
  return address.replace(/\/p2p\/[^/]+$/, '')
}

/** The next message, if it is the one that has to come now. */
async function receive<T extends JoinMessage['t']>(
  stream: FrameStream,
  t: T,
): Promise<Extract<JoinMessage, { t: T }> | undefined> {
  const frame = await stream.receive()
  const message = frame && parseJoin(frame)
  return message?.ok && message.value.t === t ? (message.value as Extract<JoinMessage, { t: T }>) : undefined
}
