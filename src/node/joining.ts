/** The joiner's side of an invite: find the inviter, check that it made the invite, bind one's own keys to it. */
import {
  checkOwner,
  encodeJoin,
  type Hex,
  inviteKey,
  type InviteCode,
  type JoinMessage,
  type JoinRefusal,
  type Member,
  ownerProofKey,
  parseCode,
  parseJoin,
  type Prekey,
  PROTOCOL_VERSION,
  rendezvousTag,
  type Roster,
  signJoin,
  toHex,
} from '../../protocol/index.ts'
import { type FrameStream, type Net, NetError } from '../net/net.ts'
import type { JoinParams, JoinResult, Scope } from './api.ts'
import { ApiError } from './api-error.ts'
import type { Held } from './held.ts'
import { makePrekey } from './identity.ts'
import { requireNotRemoved, trustOf } from './membership.ts'
import { ROLE_OF_SCOPE } from './roles.ts'
import { admitPrekey, admitRoster, handleOf, ownMember, rosterOf, rosterUndo } from './workspace.ts'

type JoinOffer = Extract<JoinMessage, { t: 'offer' }>

/** How long the inviter is looked for, and how long it may take to answer. */
const FIND_MS = 30_000

export interface JoinParts {
  readonly held: Held
  readonly net: Net
  /** 32-byte seed of this device. */
  readonly seed: Uint8Array
  readonly deviceName: string
  readonly onChanged: () => void
}

/** Joins a workspace by an invite code. Throws ApiError with details.reason where it cannot. */
export async function joinWorkspace(parts: JoinParts, params: JoinParams, signal?: AbortSignal): Promise<JoinResult> {
  const { held } = parts
  requireNotRemoved(held)
  if (ownMember(held.workspace)) {
    throw new ApiError('invalid_params', 'This node is a member of a workspace already.', {
      hint: 'Set RELAY_NODE_HOME to another folder to join a second one.',
      details: { reason: 'member' },
    })
  }
  const code = parseCode(params.code)
  if (!code.ok) {
    throw new ApiError('invalid_params', `That is not an invite code: ${code.detail ?? code.refusal}.`, {
      hint: 'Copy it once more, whole; nothing was sent.',
      details: { reason: 'code' },
    })
  }
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const controller = new AbortController()
  const cancelTimer = held.system.clock.after(FIND_MS, () => controller.abort())
  const onAbort = () => controller.abort()
  signal?.addEventListener('abort', onAbort, { once: true })
  void over.then(() => {
    cancelTimer()
    signal?.removeEventListener('abort', onAbort)
  })
  try {
    const target = await findInviter(parts, code.value, controller.signal)
    const stream = await parts.net.openJoin(target, controller.signal)
    const onTimeout = () => stream.abort('took too long')
    controller.signal.addEventListener('abort', onTimeout, { once: true })
    try {
      return await converse(parts, { code: code.value, owner: target.device, service: params.service }, stream)
    } finally {
      controller.signal.removeEventListener('abort', onTimeout)
      await stream.close().catch(() => undefined)
    }
  } catch (error) {
    if (error instanceof NetError && error.code === 'NET_REFUSED') throw doorClosed(code.value, held.system.clock.now())
    if (error instanceof NetError) throw unreachable(error)
    throw error
  } finally {
    end()
  }
}

function unreachable(cause: NetError): ApiError {
  return new ApiError('recipient_not_found', `The inviter could not be reached: ${cause.message}.`, {
    hint: 'Is their node running, and are you on the same network? Otherwise ask for a standalone code: relay-node invite NAME --standalone.',
    details: { reason: 'unreachable' },
    cause,
  })
}

/** The inviter's node serves strangers only while an invite is open there, so it cannot say itself what became of this one. */
function doorClosed(code: InviteCode, now: number): ApiError {
  if (code.inviter && code.inviter.expires <= now) return refusedBy('expired')
  return new ApiError(
    'forbidden',
    'The inviter’s laptop answers, and has no invite open: this one was used, was withdrawn, or has ended.',
    {
      hint: 'If you did not use it yourself, tell the inviter at once. Ask for a new one: relay-node invite NAME.',
      details: { reason: 'closed' },
    },
  )
}

async function findInviter(
  { net }: JoinParts,
  code: InviteCode,
  signal: AbortSignal,
): Promise<{ device: Hex; addresses: readonly string[] }> {
  if (code.inviter) return code.inviter
  return net.find(rendezvousTag(code.secret), signal)
}

const REFUSED: Record<JoinRefusal, [message: string, hint: string]> = {
  unknown: ['The inviter does not know this invite.', 'Ask for a new one: relay-node invite NAME.'],
  expired: ['This invite has expired.', 'Ask for a new one: relay-node invite NAME.'],
  used: [
    'This invite was used already; it works once.',
    'If that was not you, tell the inviter at once. Ask for a new one: relay-node invite NAME.',
  ],
  withdrawn: ['This invite was withdrawn.', 'Ask the inviter for a new one: relay-node invite NAME.'],
  busy: ['The inviter can take nobody in right now.', 'Try again in a few minutes: the code stays good until it ends.'],
  proof: ['The inviter refused the proof of this invite.', 'Ask for a new one: relay-node invite NAME.'],
  version: ['The inviter runs a version that does not fit this one.', 'Both update relay-node.'],
}

function refusedBy(reason: JoinRefusal): ApiError {
  const [message, hint] = REFUSED[reason]
  return new ApiError('forbidden', message, { hint, details: { reason } })
}

function distrust(why: string): ApiError {
  return new ApiError('verification_failed', `Whoever answered is not the inviter: ${why}.`, {
    hint: 'Join nothing. Ask the inviter in person for a new invite.',
    details: { reason: 'proof' },
  })
}

/** Hangs up on an invite that is for something else: the owner has written nothing by then. */
function requireFit({ role, kind }: JoinOffer, service: Scope | undefined): void {
  const scope = role === 'reader' ? 'read' : 'write'
  if (kind === 'person' && service !== undefined) {
    throw new ApiError('forbidden', 'This invite is for a person, and this is to be a service.', {
      hint: `Ask for one that is: relay-node invite NAME --service --scope ${service}. A person joins with relay-node join. This invite stays good.`,
      details: { reason: 'kind' },
    })
  }
  if (kind === 'service' && service === undefined) {
    throw new ApiError('forbidden', 'This invite is for a service, and this is a person’s laptop.', {
      hint: `Where the service runs: relay-node init --service --scope ${scope} --code-stdin. This invite stays good.`,
      details: { reason: 'kind' },
    })
  }
  if (service !== undefined && role !== ROLE_OF_SCOPE[service]) {
    throw new ApiError('forbidden', `This invite is for a service with the scope ${scope}, not ${service}.`, {
      hint: `Run relay-node init --service --scope ${scope} --code-stdin, or ask for another invite: relay-node invite NAME --service --scope ${service}. This invite stays good.`,
      details: { reason: 'scope' },
    })
  }
}

async function expect<T extends JoinMessage['t']>(stream: FrameStream, t: T): Promise<Extract<JoinMessage, { t: T }>> {
  const frame = await stream.receive()
  if (!frame) throw new NetError('NET_CLOSED', 'they hung up')
  const message = parseJoin(frame)
  if (message.ok && message.value.t === 'refused') throw refusedBy(message.value.reason)
  if (!message.ok || message.value.t !== t) throw distrust('it does not speak the join protocol')
  return message.value as Extract<JoinMessage, { t: T }>
}

interface Inviter {
  readonly code: InviteCode
  readonly owner: Hex
  readonly service: Scope | undefined
}

async function converse(parts: JoinParts, inviter: Inviter, stream: FrameStream): Promise<JoinResult> {
  const { code, owner } = inviter
  const { held, deviceName } = parts
  const { workspace, system } = held
  const say = (message: JoinMessage) => stream.send(encodeJoin(message))
  const device = workspace.key.public
  const nonce = toHex(system.dice(32))
  const key = inviteKey(code.secret)
  await say({ t: 'ask', v: PROTOCOL_VERSION, key: key.public, device, nonce })
  const offer = await expect(stream, 'offer')
  const stated = { ws: offer.ws, invite: offer.invite, owner, device, nonce }
  if (offer.owner !== owner || !checkOwner(ownerProofKey(code.secret), stated, offer.proof))
    throw distrust('it cannot prove that it made the invite')
  const known = rosterOf(workspace)?.ws
  if (known !== undefined && known !== offer.ws) throw distrust('it answers for another workspace than this home holds')
  requireFit(offer, inviter.service)
  const prekey = await prekeyFor(parts, offer.ws)
  const proof = signJoin({ ws: offer.ws, invite: offer.invite, device, prekey: prekey.id }, workspace.key, key)
  await say({
    t: 'claim',
    device_name: deviceName,
    prekey: prekey.bytes,
    invite_signature: proof.inviteSignature ?? '',
    device_signature: proof.deviceSignature,
  })
  const roster: Uint8Array[] = []
  const prekeys: Uint8Array[] = [prekey.bytes]
  for (let last = false; !last;) {
    const welcome = await expect(stream, 'welcome')
    roster.push(...welcome.roster)
    prekeys.push(...welcome.prekeys)
    last = welcome.last
  }
  const { joined, me } = await takeRoster(held, { offer, roster, prekeys })
  parts.onChanged()
  const host = joined.devices.get(owner)?.member
  return {
    handle: handleOf(workspace, me.id),
    workspace: joined.name,
    role: me.role,
    kind: me.kind,
    inviter: handleOf(workspace, host ?? ''),
    trust: trustOf(held, host),
  }
}

/** The prekey that is shown to the inviter: the same one when the join is tried again. */
async function prekeyFor({ held, seed }: JoinParts, ws: Hex): Promise<Prekey> {
  const { workspace, system, store } = held
  const known = workspace.prekeys.get(workspace.key.public)
  if (known?.ws === ws && workspace.prekeySeeds.has(known.id)) return known
  const made = await makePrekey({ system, deviceSeed: seed, ws, counter: 1 })
  // On disk before it is shown: what is wrapped to it from now on must stay readable.
  await store.batch(made.writes)
  workspace.prekeySeeds.set(made.prekey.id, made.seed)
  workspace.prekeys.set(made.prekey.device, made.prekey)
  return made.prekey
}

async function takeRoster(
  held: Held,
  welcome: { offer: JoinOffer; roster: Uint8Array[]; prekeys: Uint8Array[] },
): Promise<{ joined: Roster; me: Member }> {
  const { workspace } = held
  const { ws, kind } = welcome.offer
  return held.turn(async (turn) => {
    turn.undo.push(rosterUndo(workspace))
    const admitted = await admitRoster(workspace, welcome.roster, ws)
    turn.writes.push(...admitted.writes)
    for (const record of welcome.prekeys) {
      const prekey = admitPrekey(workspace, record)
      if (prekey.ok) turn.writes.push(...prekey.value)
    }
    const [joined, me] = [rosterOf(workspace), ownMember(workspace)]
    if (admitted.refused[0] || !joined || me?.kind !== kind)
      throw distrust('the roster that it sent does not hold together')
    return { joined, me }
  })
}
