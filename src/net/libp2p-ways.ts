/** How a teammate is reached, how a relayed connection becomes a direct one, and how a stranger's door is found. */
import type { System } from '../system.ts'
import { type AddressBook, circuitAddress, isRelayed, punchAddress, relayOf, tidyAddresses } from './addresses.ts'
import type { Backoff } from './backoff.ts'
import { openFirst, type Way } from './first-way.ts'
import { createKeeper } from './keeper.ts'
import { isRelayedConnection, type Links } from './libp2p-links.ts'
import type { Servers } from './libp2p-servers.ts'
import { type DeviceKey, NetError } from './net.ts'

/** Two routers that let nothing through today will hardly do so in a minute. */
const UPGRADE_BACKOFF: Backoff = { min: 30_000, max: 10 * 60 * 1000 }
/** How long the device with the higher key waits, so that two do not punch at the same moment. */
const FOLLOW_MS = 5_000

export interface WaysParts {
  system: System
  self: DeviceKey
  links: Links
  servers: Servers
  book: AddressBook
  holePunching: boolean
}

export interface Ways {
  /** Opens a connection to a teammate by whatever way is first. Rejects with NetError. */
  reach(device: DeviceKey, signal: AbortSignal): Promise<void>
  /** Opens one to somebody who is known by `addresses` alone. Rejects with NetError. */
  visit(device: DeviceKey, addresses: readonly string[], signal: AbortSignal): Promise<void>
  /** Connections came or went: of these devices, those that are relayed are to become direct. */
  improve(devices: Iterable<DeviceKey>): void
  /** There is new reason to believe that a direct way exists: to this device, or to all. */
  retry(device?: DeviceKey): void
  /** Why there is no direct connection to a relayed device, in words. */
  whyNotDirect(device: DeviceKey): string
  stop(): void
}

export function createWays({ system, self, links, servers, book, holePunching }: WaysParts): Ways {
  const { clock } = system
  const upgrades = createKeeper({
    system,
    connected: (device) => !isRelayedOnly(device),
    reach: upgrade,
    backoff: UPGRADE_BACKOFF,
  })

  function isRelayedOnly(device: DeviceKey): boolean {
    const [best] = links.to(device)
    return best !== undefined && isRelayedConnection(best)
  }

  const through =
    (address: string): Way =>
    async (signal) =>
      links.dialThrough(address, signal)

  async function dialKnown(device: DeviceKey, signal: AbortSignal): Promise<void> {
    const addresses = book.dialable(device)
    let failure: unknown
    try {
      return await links.dial(device, addresses, signal)
    } catch (error) {
      failure = error
    }
    const found = await servers.lookUp(device, signal)
    const fresh = found.filter((address) => !addresses.includes(address) && !isRelayed(address))
    if (fresh.length === 0) throw failure
    await links.dial(device, fresh, signal)
  }

  async function upgrade(device: DeviceKey, signal: AbortSignal): Promise<void> {
    if (self > device) await pause(FOLLOW_MS, signal)
    const [relayed] = links.to(device)
    if (relayed === undefined || !isRelayedConnection(relayed)) return
    const relay = relayed.remoteAddr.toString().replace(/\/p2p-circuit.*$/, '')
    await openFirst({
      clock,
      signal,
      best: async (patience) => {
        try {
          await links.dial(device, book.dialable(device), patience)
        } catch (error) {
          throw new NetError('NET_UNREACHABLE', `none of its addresses answers`, error)
        }
      },
      others: holePunching ? [async (patience) => punchHole(punchAddress(relay, device), patience)] : [],
    })
  }

  async function punchHole(address: string, signal: AbortSignal): Promise<void> {
    try {
      await links.dialThrough(address, signal)
    } catch (error) {
      throw new NetError('NET_UNREACHABLE', `a hole through both routers could not be made: ${whyNoHole(error)}`, error)
    }
  }

  function pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const cancel = clock.after(ms, resolve)
    signal.addEventListener(
      'abort',
      () => {
        cancel()
        reject(new NetError('NET_CLOSED', 'given up'))
      },
      { once: true },
    )
    return promise
  }

  return {
    reach: (device, signal) =>
      openFirst({
        clock,
        signal,
        best: (patience) => dialKnown(device, patience),
        others: servers.relays().map((relay) => through(circuitAddress(relay, device))),
      }),
    async visit(device, addresses, signal) {
      const tidy = tidyAddresses(device, addresses)
      const given = tidy.filter(isRelayed)
      const near = servers.allRelays().map((relay) => circuitAddress(relay, device))
      if (given.length + near.length > 0) await servers.relaying()
      for (const address of given) servers.visit(address)
      const others = [...new Map([...given, ...near].map((address) => [relayOf(address), address])).values()]
      await openFirst({
        clock,
        signal,
        best: (patience) =>
          links.dial(
            device,
            tidy.filter((address) => !isRelayed(address)),
            patience,
          ),
        others: others.map(through),
      })
    },
    improve: (devices) => upgrades.keep(new Set([...devices].filter(isRelayedOnly))),
    retry(device) {
      if (device === undefined) upgrades.retryAll()
      else upgrades.retry(device)
    },
    whyNotDirect: (device) => upgrades.lastFailure(device) ?? 'a direct way is being tried',
    stop: () => upgrades.stop(),
  }
}

function whyNoHole(error: unknown): string {
  const cause = error instanceof NetError ? error.cause : error
  const name = cause instanceof Error ? cause.name : ''
  if (name === 'UnsupportedProtocolError') return 'the other side does not try'
  // Either nothing came through in time, or ICE has tried every pair of addresses.
  if (/^(?:Timeout|Abort|ConnectionFailed)Error$/.test(name)) return 'no packet of UDP gets through'
  return error instanceof Error ? error.message : String(error)
}
