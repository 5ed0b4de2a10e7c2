/** What doctor finds about bootstrap servers, mailboxes, clocks, and a second machine with this key. */
import type { BootstrapServer, NodeStatus, TeammateDevice } from '../node/api.ts'
import type { Finding } from './doctor.ts'
import { duration } from './time-text.ts'

const ANOTHER_KEY = /another key answers/

/** One finding a server, and one for each that took nothing into a mailbox. */
export function bootstrapFindings(servers: readonly BootstrapServer[]): Finding[] {
  const othersWork = servers.some(({ connected }) => connected)
  return servers.flatMap((server) => [
    { check: 'bootstrap server', ...serverFinding(server, othersWork) },
    ...mailboxFindings(server),
  ])
}

function serverFinding(server: BootstrapServer, othersWork: boolean): Omit<Finding, 'check'> {
  const { host, connected, relaying, last_failure: failure, named_by: by } = server
  const evidence = failure === undefined ? host : `${host}: ${failure}`
  if (connected && (relaying || failure === undefined)) return { state: 'ok', evidence: `${host} is connected` }
  if (connected) {
    return {
      state: 'note',
      evidence,
      cause: 'It gives this laptop no place, so teammates cannot reach it through that server.',
      next: 'Ask whoever runs the server; relay-node bootstrap list shows the others.',
    }
  }
  const name = (change: string) =>
    by === 'team'
      ? `the owner runs ${change}`
      : 'correct it under "bootstrap" in the settings; relay-node config shows the file'
  if (failure !== undefined && ANOTHER_KEY.test(failure)) {
    return {
      state: 'failed',
      evidence,
      cause: 'The server was set up anew with another key, or something else answers in its place. It is not used.',
      next: `Ask whoever runs it for the address that it prints now; then ${name('relay-node bootstrap drop OLD, and bootstrap use NEW')}.`,
    }
  }
  return {
    state: othersWork ? 'note' : 'failed',
    evidence: failure === undefined ? `${host} is not connected` : evidence,
    cause: othersWork
      ? 'The server is down, or there is no way to it from here. Another one is connected, so nothing is lost.'
      : 'The server is down, or there is no way to it from here. Teammates in other networks are out of reach until it is back.',
    next: `Ask whoever runs it whether it is up. If it is gone for good, ${name('relay-node bootstrap drop ADDRESS')}.`,
  }
}

function mailboxFindings({ host, mailbox }: BootstrapServer): Finding[] {
  return (mailbox?.turned_away ?? []).map(({ why, device, at }) => ({
    check: 'mailbox',
    state: 'note',
    evidence: `${host} took nothing more for ${device} at ${at}: ${why}`,
    ...{
      mailbox_full: {
        cause: `The mailbox of ${device} there is full: that laptop has not been online for long, or somebody fills it.`,
        next: 'Nothing is lost: what is waiting stays here and goes out when you are both there. The mailbox empties as soon as that laptop is online.',
      },
      server_full: {
        cause: 'The server has no room left.',
        next: 'Nothing is lost. Ask whoever runs it for more disk (relay-node bootstrap --disk), or name a second server: relay-node bootstrap use ADDRESS.',
      },
      writer_quota: {
        cause: 'This laptop has left there as much as the server allows for one.',
        next: 'Nothing is lost. It is room again when teammates fetch theirs; a second server helps: relay-node bootstrap use ADDRESS.',
      },
      too_large: {
        cause: 'The server takes smaller items than the protocol asks for.',
        next: 'Nothing is lost. Ask whoever runs it to update relay-node.',
      },
      not_offered: {
        cause: 'The server keeps no mailboxes.',
        next: 'Set mailbox = false in the settings (relay-node config shows the file), or use another server.',
      },
    }[why],
  }))
}

/** Another machine that runs with this key, or did. */
export function twinFinding({ twin }: NodeStatus): Omit<Finding, 'check'> {
  if (twin === undefined) return { state: 'ok', evidence: 'no other machine runs with the key of this laptop' }
  return {
    state: 'failed',
    evidence: twin,
    cause:
      'The home of this laptop was copied to another machine, or an old copy of it was put back unnoticed. Two machines with one key contradict each other.',
    next: 'Stop the node on one of the two for good, and give that machine a home of its own: relay-node init there, then an invite of its own.',
  }
}

/** Teammates' clocks that differ; undefined where none does by more than a minute. */
export function clocksFinding(status: NodeStatus | undefined, evidence: string): Omit<Finding, 'check'> | undefined {
  const apart = (status?.teammates ?? [])
    .flatMap(({ devices }) => devices)
    .flatMap((device) => (device.clock_skew_ms === undefined ? [] : [{ ...device, skew: device.clock_skew_ms }]))
  if (apart.length === 0) return undefined
  const isOurs = apart.length > 1 && new Set(apart.map(({ skew }) => Math.sign(skew))).size === 1
  return {
    state: 'failed',
    evidence: `${evidence}; ${apart.map(skewText).join(', ')}`,
    cause: `${isOurs ? 'The clock of this laptop is wrong' : 'One of the two clocks is wrong'}. Times that are shown may mislead, and invites may seem to have ended; no rule depends on clocks.`,
    next: isOurs ? 'Set the clock of this laptop to network time.' : 'Set both clocks to network time.',
  }
}

function skewText({ device, skew }: TeammateDevice & { skew: number }): string {
  return `${device} is ${duration(Math.abs(skew) / 1000)} ${skew > 0 ? 'ahead' : 'behind'}`
}
