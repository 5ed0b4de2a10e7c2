/** relay-node status: what runs, who can be reached, what waits. */
import type { NodeStatus, Teammate } from '../node/api.ts'
import { NodeNotRunning } from '../rpc/client.ts'
import type { Command, CommandContext } from './context.ts'
import { readKey } from './device-key.ts'
import { EXIT, type ExitCode } from './failure.ts'
import { addressText } from './listen-address.ts'
import { lockHolder } from './instance-lock.ts'
import { readStatus } from './node-connection.ts'
import { partyName } from './peer-text.ts'
import type { Printer } from './print.ts'
import { clockTime } from './time-text.ts'

export const run: Command<object> = async (context) => {
  const { printer } = context
  try {
    const status = await readStatus(context)
    printer.result({ running: true, ...status }, () => printStatus(printer, status))
    return EXIT.done
  } catch (error) {
    if (!(error instanceof NodeNotRunning)) throw error
    return printAbsence(context)
  }
}

function printAbsence({ home, printer }: CommandContext): ExitCode {
  const starting = lockHolder(home)
  const state = readKey(home) === undefined ? 'not set up' : starting === undefined ? 'stopped' : 'starting'
  const next = {
    'not set up': `Nothing is set up in ${home.home}. Run relay-node init to make a workspace, or relay-node join if you were invited.`,
    stopped: 'The node is not running. Start it with relay-node start --detach.',
    starting: `The node (pid ${starting}) is starting or stopping. Look again in a moment.`,
  }[state]
  printer.result({ running: false, state, home: home.home }, () => printer.line(next))
  return EXIT.notRunning
}

function printStatus(printer: Printer, status: NodeStatus): void {
  const row = (label: string, text: string) => printer.line(`${label.padEnd(10)} ${text}`)
  printer.done(`Node running (pid ${status.pid}, version ${status.version}) since ${clockTime(status.started_at)}.`)
  if (status.handle === undefined)
    printer.line('In no workspace yet: relay-node join with an invite code, or relay-node init.')
  else
    row(
      'You',
      `${status.handle}${status.owner ? ', owner' : ''}${status.role === 'reader' ? ', reader' : ''}${status.device === undefined ? '' : `, device ${status.device}`}`,
    )
  row(
    'Addresses',
    status.addresses.length === 0
      ? 'none: no network right now'
      : [...new Set(status.addresses.map(addressText))].join(', '),
  )
  row('Handoffs', `${status.threads}, ${status.unread} unread`)
  row(
    'To deliver',
    status.outbox === 0 ? 'nothing' : `${status.outbox} not acknowledged yet; sent when the other side is there`,
  )
  if (status.roster.forked) printer.warn('The roster is forked: no change of members counts. Run relay-node doctor.')
  const teammates = status.teammates.filter((teammate) => !teammate.me)
  for (const [index, teammate] of teammates.entries()) row(index === 0 ? 'Teammates' : '', teammateText(teammate))
  if (teammates.length === 0 && status.handle !== undefined) printer.line('No teammates yet: relay-node invite NAME')
}

/** `frank@acme (unverified)  reachable, same network, 3 ms` */
export function teammateText(teammate: Teammate): string {
  const device = teammate.devices.find(({ reachable }) => reachable)
  const facts = teammate.reachable
    ? [
        'reachable',
        device?.path,
        device?.round_trip_ms === undefined ? undefined : `${Math.round(device.round_trip_ms)} ms`,
      ]
    : ['not reachable', teammate.last_seen === undefined ? 'never seen' : `last seen ${clockTime(teammate.last_seen)}`]
  if (teammate.blocked) facts.push('blocked')
  return `${partyName(teammate)}  ${facts.filter((fact) => fact !== undefined).join(', ')}`
}
