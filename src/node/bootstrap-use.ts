/** The bootstrap servers of this node: its own settings name some, the owner others for the whole team. */
import { BOOTSTRAP_ADDRESSES_COUNT_MAX, type Hex, peerIdText } from '../../protocol/index.ts'
import type { Net } from '../net/net.ts'
import type { BootstrapServer } from './api.ts'
import { ApiError } from './api-error.ts'
import { checkBootstrapAddress } from './bootstrap-address.ts'
import type { Held } from './held.ts'
import type { MailboxFacts } from './mailbox.ts'
import { requireMember } from './membership.ts'
import { appendRoster, requireOwner } from './owner.ts'
import { timeText } from './shown.ts'
import { deviceLabel, isRemoved, rosterOf, rosterUndo } from './workspace.ts'

export interface BootstrapUse {
  /** Tells the net which servers there are now. */
  apply(): void
  /** Uses more servers as long as the node runs. */
  add(addresses: readonly string[]): void
  servers(): BootstrapServer[]
  list(): Promise<{ items: BootstrapServer[] }>
  use(params: { addresses: string[] }): Promise<{ items: BootstrapServer[] }>
  drop(params: { address: string }): Promise<{ items: BootstrapServer[] }>
}

const NAMING = { does: 'names its bootstrap servers', command: 'relay-node bootstrap use' }

/** Throws ApiError where one of them is none. */
export function requireAddresses(addresses: readonly string[]): void {
  for (const address of addresses) {
    const checked = checkBootstrapAddress(address)
    if (!checked.ok)
      throw new ApiError(
        'invalid_params',
        `"${address.slice(0, 300)}" is not the address of a bootstrap server: ${checked.why}.`,
        {
          hint: checked.hint,
        },
      )
  }
}

export function createBootstrapUse(parts: {
  held: Held
  net: Net
  /** As the settings name them. */
  settings: readonly string[]
  /** What became of mailboxes at a server, where they are used. */
  mailboxAt: (server: Hex) => MailboxFacts | undefined
  /** The roster has changed. */
  onChanged: () => void
}): BootstrapUse {
  const { held, net, mailboxAt, onChanged } = parts
  const { workspace } = held
  const own = new Set(parts.settings)

  const named = (): readonly string[] => rosterOf(workspace)?.bootstrap ?? []

  function apply(): void {
    // Whoever was removed calls nobody any more.
    net.setBootstrap(isRemoved(workspace, workspace.key.public) ? [] : [...new Set([...own, ...named()])])
  }

  function servers(): BootstrapServer[] {
    const team = new Set(named())
    return net.bootstrap().map(({ device, addresses, host, connected, relaying, roundTripMs, lastFailure }) => ({
      host,
      peer_id: peerIdText(device),
      addresses,
      named_by: addresses.some((address) => team.has(address)) ? 'team' : 'settings',
      connected,
      relaying,
      ...(roundTripMs === undefined ? {} : { round_trip_ms: Math.round(roundTripMs * 10) / 10 }),
      ...(lastFailure === undefined ? {} : { last_failure: lastFailure }),
      ...mailboxView(mailboxAt(device)),
    }))
  }

  function mailboxView(facts: MailboxFacts | undefined): Pick<BootstrapServer, 'mailbox'> {
    if (!facts) return {}
    const { left, waiting, turnedAway } = facts
    const turned_away = turnedAway.map(({ why, device, at }) => ({
      why,
      device: deviceLabel(workspace, device),
      at: timeText(at),
    }))
    return { mailbox: { left, waiting, turned_away } }
  }

  async function write(change: (before: readonly string[]) => string[]): Promise<{ items: BootstrapServer[] }> {
    requireOwner(held, NAMING)
    await held.turn(async (turn) => {
      const before = requireOwner(held, NAMING).bootstrap
      const addresses = change(before)
      if (addresses.join(' ') === before.join(' ')) return
      turn.undo.push(rosterUndo(workspace))
      await appendRoster(held, turn, { kind: 'set-bootstrap', ctl: { addresses } })
    })
    onChanged()
    return { items: servers() }
  }

  return {
    apply,
    add(addresses) {
      for (const address of addresses) own.add(address)
      apply()
    },
    servers,
    async list() {
      requireMember(held)
      return { items: servers() }
    },
    async use({ addresses }) {
      requireAddresses(addresses)
      return write((before) => {
        const after = [...new Set([...before, ...addresses])]
        if (after.length <= BOOTSTRAP_ADDRESSES_COUNT_MAX) return after
        throw new ApiError(
          'invalid_params',
          `A workspace names at most ${BOOTSTRAP_ADDRESSES_COUNT_MAX} addresses of bootstrap servers; these would be ${after.length}.`,
          { hint: 'Take one out first: relay-node bootstrap drop ADDRESS.' },
        )
      })
    },
    async drop({ address }) {
      return write((before) => {
        if (before.includes(address)) return before.filter((other) => other !== address)
        throw new ApiError('invalid_params', 'The team names no bootstrap server at that address.', {
          hint: own.has(address)
            ? 'It stands in the settings of this laptop: take it out there and start the node anew. relay-node config shows the file.'
            : 'relay-node bootstrap list shows them; copy the whole address.',
          details: { addresses: [...before] },
        })
      })
    },
  }
}
