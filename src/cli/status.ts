/** relay-node status: what runs, who can be reached, what waits. */
import type { NodeStatus, Teammate, TeammateDevice } from '../node/api.ts'
import { NodeNotRunning } from '../rpc/client.ts'
import { bootstrapText } from './bootstrap-use.ts'
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
  if (status.node_state === 'removed')
    printer.warn('This device was removed from its workspace. It connects to nobody; what came before can be read.')
  else if (status.handle === undefined)
    printer.line('In no workspace yet: relay-node join with an invite code, or relay-node init.')
  else
    row(
      'You',
      `${status.handle}${status.owner ? ', owner' : ''}${status.role === 'reader' ? ', reader' : ''}${status.kind === 'service' ? ', service' : ''}${status.device === undefined ? '' : `, device ${status.device}`}`,
    )
  row(
    'Addresses',
    status.addresses.length === 0
      ? 'none: no network right now'
      : [...new Set(status.addresses.map(addressText))].join(', '),
  )
  row('Handoffs', `${status.threads}, ${status.unread} unread`)
  if (status.waiting.length === 0) row('To deliver', 'nothing')
  for (const [index, one] of status.waiting.entries()) row(index === 0 ? 'To deliver' : '', waitingText(one))
  if (status.carried.entries > 0)
    row(
      'Carrying',
      `${status.carried.entries} sealed entries for others, ${Math.ceil(status.carried.bytes / 1024)} KiB`,
    )
  for (const [index, server] of status.bootstrap.entries()) row(index === 0 ? 'Bootstrap' : '', bootstrapText(server))
  if (status.bootstrap.length > 0)
    row('Mailbox', status.mailbox ? 'used: sealed handoffs wait at the bootstrap servers for who is away' : 'not used')
  if (status.quarantined > 0)
    row('Apart', `${status.quarantined} from laptops that had been removed: relay-node quarantine list`)
  if (status.unconfirmed.length > 0) printer.warn(`Has not confirmed a removal yet: ${status.unconfirmed.join(', ')}.`)
  const recovering = recoveringText(status)
  if (recovering !== undefined) printer.warn(recovering)
  for (const one of status.keyless) printer.warn(keylessText(one))
  if (status.twin !== undefined) printer.warn(`Careful: ${status.twin}. Run relay-node doctor.`)
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
        ...wayTexts(device ?? {}),
        device?.round_trip_ms === undefined ? undefined : `${Math.round(device.round_trip_ms)} ms`,
      ]
    : ['not reachable', teammate.last_seen === undefined ? 'never seen' : `last seen ${clockTime(teammate.last_seen)}`]
  if (teammate.role === 'reader') facts.unshift('reader')
  if (teammate.blocked) facts.push('blocked')
  return `${partyName(teammate)}  ${facts.filter((fact) => fact !== undefined).join(', ')}`
}

/** How a laptop is reached: `hole-punched`, or `relayed via relay.example:4001` and why not directly. */
export function wayTexts({
  path,
  via,
  why_not_direct: why,
}: Pick<TeammateDevice, 'path' | 'via' | 'why_not_direct'>): string[] {
  if (path === undefined) return []
  return [via === undefined ? path : `${path} via ${via}`, ...(why === undefined ? [] : [`not directly: ${why}`])]
}

/** What waits for a laptop that still has what was lost here; undefined where nothing does. */
export function recoveringText({ recovering: { handoffs, roster } }: NodeStatus): string | undefined {
  const parts = [
    ...(handoffs > 0 ? [`${handoffs} open ${handoffs === 1 ? 'handoff' : 'handoffs'}`] : []),
    ...(roster ? ['the list of members'] : []),
  ]
  if (parts.length === 0) return undefined
  return `The store was repaired or put back from an old copy, and a part may be missing: ${parts.join(' and ')} can be changed again once a laptop that has it was met.`
}

/** Why a handoff has no key that a removed laptop does not have. */
export function keylessText({ thread_id: id, why, devices }: NodeStatus['keyless'][number]): string {
  const cause = {
    prekeys: `the encryption key of ${devices.join(', ')} is not here yet`,
    wraps: 'this laptop has changed its key as often as it may: another laptop of either side can, or hand off anew',
    devices: 'more laptops take part than one key can be given to: hand off anew',
  }[why]
  return `Nothing can be written in ${id} under a key that the removed laptop does not have: ${cause}.`
}

/** `frank/frank-xps: 3 not acknowledged yet, stored at carol/carols-mbp` */
function waitingText({ device, entries, stored_at: names }: NodeStatus['waiting'][number]): string {
  const where = names.length === 0 ? 'sent when it is there' : `stored at ${names.join(', ')}`
  return `${device}: ${entries} not acknowledged yet, ${where}`
}
