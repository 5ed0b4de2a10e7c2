/** Opens the node: joins store, net and rules, and answers front ends. */
import { devicesOf, signingKey } from '../../protocol/index.ts'
import type { Net } from '../net/net.ts'
import { type Store, StoreError } from '../store/store.ts'
import type { System } from '../system.ts'
import type { NodeApi } from './api.ts'
import { ApiError } from './api-error.ts'
import { dropExpired } from './carry.ts'
import { createBootstrapUse, requireAddresses } from './bootstrap-use.ts'
import { createContinuing } from './continuing.ts'
import { exportThread } from './exporting.ts'
import { createHandoffs } from './handoffs.ts'
import { type Held, openHeld } from './held.ts'
import { createRateLimit, dropOldReceipts } from './idempotency.ts'
import { mailboxKey } from './identity.ts'
import { createInvites } from './invites.ts'
import { joinWorkspace } from './joining.ts'
import { createMailboxes } from './mailbox.ts'
import { requireMember, requireNamed, requireNotRemoved } from './membership.ts'
import { createPeers } from './peers.ts'
import type { Published } from './publish.ts'
import { createQuarantine } from './quarantine.ts'
import { DEFAULT_QUOTAS, type Quotas } from './quotas.ts'
import { getThread, listThreads, readArtifact } from './reading.ts'
import { clearLists, hasLists, rebuildLists } from './rebuild.ts'
import { createSearch, isSearch } from './search.ts'
import { countStart, type StartMark } from './recovery.ts'
import { createRemoval } from './removal.ts'
import { createShutOut } from './shut-out.ts'
import { setRole } from './roles.ts'
import { openSessions } from './sessions.ts'
import { createSharing } from './sharing.ts'
import { createTeam, wayOf } from './team.ts'
import { createWriting } from './writing.ts'
import { deviceLabel, rosterOf } from './workspace.ts'

export interface NodeOptions {
  readonly store: Store
  readonly net: Net
  readonly system: System
  /** 32-byte seed of this device's key: the one that the net uses. */
  readonly seed: Uint8Array
  readonly deviceName: string
  readonly version: string
  /** The store was repaired: make all lists anew from the entries, and expect that some are missing. */
  readonly rebuild?: boolean
  /** Kept outside of the store, to notice an old copy of it; left out, none is noticed. */
  readonly startMark?: StartMark
  /** How much of others' is kept; left out, the bounds of the protocol. */
  readonly quotas?: Quotas
  /** Multiaddrs of bootstrap servers beside those that the roster names. */
  readonly bootstrap?: readonly string[]
  /** Use mailboxes at the bootstrap servers: leave there what teammates who are away have not acknowledged, and fetch one's own. */
  readonly mailbox?: boolean
}

export interface Node extends NodeApi {
  /** How much is held in memory of what could grow. */
  memory(): NodeMemory
  /** Ends all conversations, then closes the store. */
  stop(): Promise<void>
}

interface NodeMemory {
  /** Threads of which something is held, those of others included. */
  threads: number
  /** Entries that wait for what they build on. */
  waiting: number
  /** Ids of refused entries. */
  refusedIds: number
  /** Entries that some device has not acknowledged. */
  outbox: number
  /** Bytes of sealed bodies that are kept for others. */
  carried: number
}

const HOUSEKEEPING_MS = 60 * 60 * 1000

/** Starts a node on what the store holds. Throws StoreError or NetError where it cannot. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const { store, net, system, seed, deviceName, version, startMark, quotas = DEFAULT_QUOTAS } = options
  if (startMark && (await countStart(store, startMark)))
    system.log.warn('an old copy of the store was put back: threads are written once a peer that knows them was met')
  const rebuild = options.rebuild === true || !(await hasLists(store))
  if (rebuild) await clearLists(store)
  const key = signingKey(seed)
  let held = await openHeld({ store, system, key, quotas })
  if (rebuild) {
    await rebuildLists(held, options.rebuild === true)
    held = await openHeld({ store, system, key, quotas })
  }
  const bootstrap = createBootstrapUse({
    held,
    net,
    settings: options.bootstrap ?? [],
    mailboxAt: (server) => mailboxes?.facts(server),
    onChanged: () => peers.workspaceChanged(),
  })
  const peers = createPeers({
    held,
    net,
    onMet: () => invites.refresh(),
    onTeam() {
      bootstrap.apply()
      mailboxes?.look()
      shutOut.look()
    },
    onThreads: (threads) => shutOut.look(threads),
    onAway({ thread, node }, devices) {
      if (node.entry.header.kind === 'ack') mailboxes?.acknowledged(thread.id, devices)
      else mailboxes?.look()
    },
    onGone: () => mailboxes?.look(),
    onServer: (server, connected) => connected && mailboxes?.serverConnected(server),
  })
  const mailboxes = options.mailbox === true ? createMailboxes({ held, net, peers, key: mailboxKey(seed) }) : undefined
  const announce = (said: Published): void => peers.announce(said)
  const shutOut = createShutOut({ held, isConnected: (device) => peers.isConnected(device), announce })
  const removal = createRemoval({ held, net, peers })
  const quarantine = createQuarantine({ held, announce, onAdmitted: (thread) => peers.threadAdmitted(thread) })
  const invites = createInvites({ held, net, peers })
  const writing = createWriting({
    held,
    rate: createRateLimit(() => system.clock.now()),
    announce,
  })
  const handoffs = createHandoffs(writing)
  const continuing = createContinuing(writing)
  const search = createSearch(held)
  const sharing = createSharing(writing)
  const sessions = await openSessions(held)
  const team = createTeam({
    held,
    net,
    peers,
    bootstrap,
    unconfirmed: () => removal.unconfirmed(),
    keyLacks: () => shutOut.lacks(),
    mailbox: options.mailbox === true,
    version,
    startedAt: system.clock.now(),
  })
  // Known before it starts, so that it starts once.
  bootstrap.apply()
  await peers.start((stream) => invites.onJoin(stream))
  await invites.start()
  mailboxes?.start()
  await search.start()
  const cancelHousekeeping = system.clock.every(HOUSEKEEPING_MS, () => {
    dropOldReceipts(held).catch((error: unknown) => system.log.warn('old receipts stay', { error: String(error) }))
    dropExpired(held).catch((error: unknown) => system.log.warn('old carried bodies stay', { error: String(error) }))
  })

  const api: NodeApi = {
    whoami: async () => {
      requireNotRemoved(held)
      return team.whoami()
    },
    status: async () => team.status(),
    listTeammates: async ({ role }) => ({
      items: team.teammates().filter((teammate) => role === undefined || teammate.role === role),
    }),
    sendHandoff: (params, caller) => handoffs.sendHandoff(params, caller),
    sendMessage: (params, caller) => handoffs.sendMessage(params, caller),
    getThread: (params) => getThread(held, params),
    listThreads: (params, signal) => (isSearch(params) ? search.list(params) : listThreads(held, params, signal)),
    accept: (params, caller) => handoffs.accept(params, caller),
    complete: (params, caller) => handoffs.complete(params, caller),
    cancel: (params, caller) => handoffs.cancel(params, caller),
    continueHandoff: (params, caller) => continuing.continueHandoff(params, caller),
    annotate: (params, caller) => continuing.annotate(params, caller),
    resolve: (params, caller) => continuing.resolve(params, caller),
    readArtifact: (params, signal) => readArtifact(held, peers.fetching, params, signal),
    exportThread: (params) => exportThread(held, params),
    approve: (params, caller) => handoffs.decide('approved', params, caller),
    reject: (params, caller) => handoffs.decide('rejected', params, caller),
    share: (params, caller) => sharing.share(params, caller),
    invite: (params) => invites.invite(params),
    listInvites: () => invites.list(),
    revokeInvite: (params) => invites.revoke(params),
    members: () => removal.members(),
    remove: (params) => removal.remove(params),
    listQuarantine: () => quarantine.list(),
    admitQuarantined: (params) => quarantine.admit(params),
    setRole: (params) => setRole(held, params, () => peers.workspaceChanged()),
    createSession: (params) => sessions.create(params),
    listSessions: async () => sessions.list(),
    revokeSession: (params) => sessions.revoke(params),
    authenticate: (token) => sessions.authenticate(token),
    listBootstrap: () => bootstrap.list(),
    useBootstrap: (params) => bootstrap.use(params),
    dropBootstrap: (params) => bootstrap.drop(params),
    join: async (params, signal) => {
      requireAddresses(params.bootstrap ?? [])
      bootstrap.add(params.bootstrap ?? [])
      return joinWorkspace({ held, net, seed, deviceName, onChanged: () => peers.workspaceChanged() }, params, signal)
    },
    ping: (params, signal) => pingMember(held, net, params.handle, signal),
    onEvent: (listener) => held.onEvent(listener),
  }
  return {
    ...guarded(api),
    memory: () => ({
      threads: held.facts.size,
      waiting: peers.waiting(),
      refusedIds: held.refusedIds.size,
      outbox: [...held.outbox.values()].reduce((sum, items) => sum + items.size, 0),
      carried: held.carried.size,
    }),
    async stop() {
      cancelHousekeeping()
      shutOut.stop()
      await invites.stop()
      mailboxes?.stop()
      await peers.stop()
      await search.stop()
      // Whatever is being written ends before the store closes.
      await held.turn(async () => undefined).catch(() => undefined)
      if (startMark) {
        await countStart(store, startMark).catch((error: unknown) =>
          system.log.warn('this stop was not counted', { error: String(error) }),
        )
      }
      await store.close()
    },
  }
}

async function pingMember(
  held: Held,
  net: Net,
  handle: string,
  signal: AbortSignal | undefined,
): ReturnType<NodeApi['ping']> {
  requireMember(held)
  const member = requireNamed(held, handle)
  const roster = rosterOf(held.workspace)
  const others = (roster ? devicesOf(roster, member.id) : []).filter(({ key }) => key !== held.workspace.key.public)
  const items = await Promise.all(
    others.map(async ({ key }) => {
      const device = deviceLabel(held.workspace, key)
      try {
        const roundTrip = await net.ping(key, signal ?? new AbortController().signal)
        const way = wayOf(net.peers().find((peer) => peer.device === key))
        return { device, ...way, round_trip_ms: Math.round(roundTrip * 10) / 10 }
      } catch (error) {
        return { device, failure: error instanceof Error ? error.message : String(error) }
      }
    }),
  )
  return { items }
}

/** A disk that fails is the caller's to know; what was acknowledged before is safe. */
function guarded(api: NodeApi): NodeApi {
  const wrap =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      try {
        return await method(...args)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        throw new ApiError('internal', `Nothing was saved: ${error.message}`, {
          hint: 'Run relay-node doctor. What was saved before is safe.',
          details: { store: error.code },
          cause: error,
        })
      }
    }
  return {
    whoami: wrap(api.whoami),
    status: wrap(api.status),
    listTeammates: wrap(api.listTeammates),
    sendHandoff: wrap(api.sendHandoff),
    sendMessage: wrap(api.sendMessage),
    getThread: wrap(api.getThread),
    listThreads: wrap(api.listThreads),
    accept: wrap(api.accept),
    complete: wrap(api.complete),
    cancel: wrap(api.cancel),
    continueHandoff: wrap(api.continueHandoff),
    annotate: wrap(api.annotate),
    resolve: wrap(api.resolve),
    readArtifact: wrap(api.readArtifact),
    exportThread: wrap(api.exportThread),
    approve: wrap(api.approve),
    reject: wrap(api.reject),
    share: wrap(api.share),
    invite: wrap(api.invite),
    listInvites: wrap(api.listInvites),
    revokeInvite: wrap(api.revokeInvite),
    members: wrap(api.members),
    remove: wrap(api.remove),
    listQuarantine: wrap(api.listQuarantine),
    admitQuarantined: wrap(api.admitQuarantined),
    setRole: wrap(api.setRole),
    createSession: wrap(api.createSession),
    listSessions: wrap(api.listSessions),
    revokeSession: wrap(api.revokeSession),
    authenticate: api.authenticate,
    listBootstrap: wrap(api.listBootstrap),
    useBootstrap: wrap(api.useBootstrap),
    dropBootstrap: wrap(api.dropBootstrap),
    join: wrap(api.join),
    ping: wrap(api.ping),
    onEvent: api.onEvent,
  }
}
