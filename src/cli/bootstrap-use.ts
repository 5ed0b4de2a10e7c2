/** relay-node bootstrap use, list, drop: which bootstrap servers the team meets at. */
import type { BootstrapServer } from '../node/api.ts'
import { checkBootstrapAddress } from '../node/bootstrap-address.ts'
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { withNode } from './node-connection.ts'
import type { Printer } from './print.ts'

/** Throws UsageError where one is not the address of a bootstrap server. */
export function requireBootstrapAddresses(addresses: readonly string[]): void {
  for (const address of addresses) {
    const checked = checkBootstrapAddress(address)
    if (!checked.ok)
      throw new UsageError(
        `"${address.slice(0, 300)}" is not the address of a bootstrap server: ${checked.why}.`,
        checked.hint,
      )
  }
}

/** relay-node bootstrap use */
export const runUse: Command<object> = async (context, args) => {
  const { printer } = context
  requireBootstrapAddresses(args)
  const { items } = await withNode(context, (node) => node.call('relay/bootstrap-use', { addresses: [...args] }))
  printer.result({ items }, () => {
    printer.done(
      `The team uses ${args.length === 1 ? 'this bootstrap server' : 'these bootstrap servers'} now; everybody learns of it.`,
    )
    printServers(printer, items)
  })
}

/** relay-node bootstrap list */
export const runList: Command<object> = async (context) => {
  const { printer } = context
  const { items } = await withNode(context, (node) => node.call('relay/bootstrap', {}))
  printer.result({ items }, () => {
    if (items.length === 0)
      printer.line('No bootstrap servers. The owner names one with relay-node bootstrap use ADDRESS.')
    printServers(printer, items)
  })
}

/** relay-node bootstrap drop */
export const runDrop: Command<object> = async (context, args) => {
  const { printer } = context
  const address = args[0] ?? ''
  const { items } = await withNode(context, (node) => node.call('relay/bootstrap-drop', { address }))
  printer.result({ items }, () => {
    printer.done('The team uses that bootstrap server no more.')
    printServers(printer, items)
  })
}

function printServers(printer: Printer, servers: readonly BootstrapServer[]): void {
  for (const server of servers) {
    printer.line(bootstrapText(server))
    for (const address of server.addresses) printer.line(`    ${address}`)
  }
}

/** `relay.example:4001  connected, 12 ms, holds a place for this laptop` */
export function bootstrapText(server: BootstrapServer): string {
  const { host, connected, relaying, round_trip_ms: roundTrip, last_failure: failure, named_by: by } = server
  const facts = [
    connected ? 'connected' : 'not connected',
    roundTrip === undefined ? undefined : `${Math.round(roundTrip)} ms`,
    relaying ? 'teammates reach this laptop through it' : undefined,
    connected ? undefined : failure,
    by === 'settings' ? 'from the settings of this laptop' : undefined,
  ]
  return `${host}  ${facts.filter((fact) => fact !== undefined).join(', ')}`
}
