/** Who this node is, who its teammates are, and how it is: facts for front ends. */
import { devicesOf, type Hex, peerIdText, PROTOCOL_VERSION, textId } from '../../protocol/index.ts'
import type { Net, PeerStatus } from '../net/net.ts'
import type { NodeStatus, RefusedEntry, Teammate, TeammateDevice, WhoAmI } from './api.ts'
import type { BootstrapUse } from './bootstrap-use.ts'
import { carriersOf } from './carriers.ts'
import type { KeyLack } from './fencing.ts'
import type { Held } from './held.ts'
import { requireMember, trustOf } from './membership.ts'
import { mayLackRoster } from './owner.ts'
import type { Peers } from './peers.ts'
import { readRefused } from './rows.ts'
import { timeText } from './shown.ts'
import { deviceLabel, handleOf, isRosterForked, ownDevice, ownMember, rosterOf } from './workspace.ts'

export interface Team {
  whoami(): WhoAmI
  teammates(): Teammate[]
  status(): Promise<NodeStatus>
}

/** Reads the store's format number; the node needs no other. */
const STORE_FORMAT = 1
/** A clock that differs by more from a teammate's is worth a word. */
const SKEW_NOTED_MS = 60_000
/** Entries of one device whose carriers are looked up for a status. */
const LOOKED_AT_COUNT_MAX = 100

export interface TeamParts {
  readonly held: Held
  readonly net: Net
  readonly peers: Peers
  readonly bootstrap: BootstrapUse
  /** Laptops that have not said that they know of every removal. */
  unconfirmed(): string[]
  /** Threads without a key that every removed device is left out of. */
  keyLacks(): ReadonlyMap<Hex, KeyLack>
  /** Mailboxes at the bootstrap servers are used. */
  readonly mailbox: boolean
  readonly version: string
  readonly startedAt: number
}

/** How a peer is reached. */
export function wayOf(
  peer: PeerStatus | undefined,
): Pick<TeammateDevice, 'path' | 'via' | 'why_not_direct' | 'round_trip_ms'> {
  if (!peer) return {}
  const { connected, path, via, whyNotDirect, roundTripMs } = peer
  return {
    ...(connected && path !== undefined ? { path } : {}),
    ...(connected && via !== undefined ? { via } : {}),
    ...(connected && whyNotDirect !== undefined ? { why_not_direct: whyNotDirect } : {}),
    ...(roundTripMs === undefined ? {} : { round_trip_ms: Math.round(roundTripMs * 10) / 10 }),
  }
}

export function createTeam(parts: TeamParts): Team {
  const { held, net, peers, bootstrap } = parts
  const { workspace } = held

  function whoami(): WhoAmI {
    const roster = rosterOf(workspace)
    const member = ownMember(workspace)
    const device = ownDevice(workspace)
    return {
      ...(member
        ? { handle: handleOf(workspace, member.id), member: member.name, role: member.role, kind: member.kind }
        : {}),
      ...(device && member ? { device: device.name } : {}),
      peer_id: peerIdText(net.device),
      workspaces: roster ? [roster.name] : [],
      owner: roster !== undefined && roster.owner === workspace.key.public,
      node_state: member ? 'ready' : device ? 'removed' : 'alone',
      reachable_peers: net.peers().filter((peer) => peer.connected).length,
    }
  }

  function teammates(): Teammate[] {
    const me = requireMember(held)
    const roster = rosterOf(workspace)
    if (!roster) return []
    const status = new Map(net.peers().map((peer) => [peer.device, peer]))
    return [...roster.members.values()]
      .filter((member) => !member.removed)
      .map((member): Teammate => {
        const devices = devicesOf(roster, member.id).map(({ key, removed }) => {
          const peer = status.get(key)
          const row = peers.peerRow(key)
          return {
            device: deviceLabel(workspace, key),
            peer_id: peerIdText(key),
            reachable: key === workspace.key.public || peer?.connected === true,
            ...wayOf(peer),
            ...(row && row.lastSeen > 0 ? { last_seen: timeText(row.lastSeen) } : {}),
            ...(row && Math.abs(row.skew) > SKEW_NOTED_MS ? { clock_skew_ms: row.skew } : {}),
            ...(peer && !peer.connected && peer.lastFailure !== undefined ? { last_failure: peer.lastFailure } : {}),
            removed,
          }
        })
        const seen = devices
          .flatMap((device) => device.last_seen ?? [])
          .toSorted()
          .at(-1)
        return {
          handle: handleOf(workspace, member.id),
          kind: member.kind,
          role: member.role,
          trust: trustOf(held, member.id),
          me: member.id === me.id,
          devices,
          reachable: devices.some((device) => device.reachable),
          ...(seen === undefined ? {} : { last_seen: seen }),
          blocked: false,
        }
      })
  }

  async function refusedEntries(): Promise<RefusedEntry[]> {
    const entries: RefusedEntry[] = []
    for await (const { from, refusal, at, envelope } of readRefused(held.store))
      entries.push({ from: deviceLabel(workspace, from), refusal, at: timeText(at), size: envelope.length / 2 })
    return entries
  }

  /** Remembered on disk: a second machine may be off by now, and is to be found all the same. */
  function twinWords(): string | undefined {
    const { seen } = held.twin
    if (!seen) return undefined
    const thread = textId('thread', seen.thread)
    return `another machine runs with this key: on ${timeText(seen.at)} an entry came for ${thread} that is signed with it and was never written here`
  }

  /** What each device has yet to acknowledge, and who keeps any of it. */
  async function waiting(): Promise<NodeStatus['waiting']> {
    const rows: NodeStatus['waiting'] = []
    for (const [device, owed] of held.outbox) {
      if (owed.size === 0) continue
      const names = await held.turn(async () => {
        const found = new Set<string>()
        for (const [entry, thread] of [...owed].slice(0, LOOKED_AT_COUNT_MAX))
          for (const { name } of carriersOf(held, await held.threads.load(thread), entry)) found.add(name)
        return found
      })
      rows.push({ device: deviceLabel(workspace, device), entries: owed.size, stored_at: [...names] })
    }
    return rows
  }

  function keyless(): NodeStatus['keyless'] {
    return [...parts.keyLacks()].flatMap(([thread, lack]) => {
      if (held.facts.get(thread)?.open !== true) return []
      const devices = lack.why === 'prekeys' ? lack.devices.map((device) => deviceLabel(workspace, device)) : []
      return [{ thread_id: textId('thread', thread), why: lack.why, devices }]
    })
  }

  return {
    whoami,
    teammates,
    async status() {
      const refused_entries = await refusedEntries()
      const twin = net.twin() ?? twinWords()
      const { failure } = held.disk
      let unread = 0
      let threads = 0
      let recovering = 0
      const forks: NodeStatus['forks'] = []
      for (const [id, facts] of held.facts) {
        for (const device of facts.forked)
          forks.push({ device: deviceLabel(workspace, device), thread_id: textId('thread', id) })
        if (facts.side === null) continue
        threads++
        unread += facts.unread
        if (facts.recovering && facts.open && facts.side !== 'reader') recovering++
      }
      const roster = rosterOf(workspace)
      return {
        ...whoami(),
        pid: process.pid,
        version: parts.version,
        protocol: PROTOCOL_VERSION,
        started_at: timeText(parts.startedAt),
        addresses: net.addresses(),
        store_format: STORE_FORMAT,
        ...(failure ? { store_failure: { code: failure.code, message: failure.message } } : {}),
        teammates: ownMember(workspace) ? teammates() : [],
        threads,
        unread,
        outbox: [...held.outbox.values()].reduce((sum, items) => sum + items.size, 0),
        waiting: await waiting(),
        carried: { entries: held.carried.count, bytes: held.carried.size },
        mailbox: parts.mailbox,
        ...(twin === undefined ? {} : { twin }),
        refused: Object.fromEntries(held.refusals),
        refused_entries,
        forks,
        roster: {
          position: roster?.point[0] ?? 0,
          forked: isRosterForked(workspace),
          ...(roster ? { workspace_id: roster.ws } : {}),
        },
        recovering: { handoffs: recovering, roster: whoami().owner && mayLackRoster(held) },
        unconfirmed: ownMember(workspace) ? parts.unconfirmed() : [],
        keyless: keyless(),
        quarantined: held.quarantined.size,
        bootstrap: bootstrap.servers(),
        clock_ms: held.system.clock.now(),
      }
    },
  }
}
