/** relay-node device list, revoke: which laptops are in the workspace. */
import type { MemberListing } from '../node/api.ts'
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { withNode } from './node-connection.ts'
import { removeFrom } from './removal.ts'
import { clockTime } from './time-text.ts'

/** relay-node device list */
export const runList: Command<object> = async (context) => {
  const { printer } = context
  const { items } = await withNode(context, (node) => node.call('relay/members', {}))
  const devices = items.flatMap((member) => member.devices)
  printer.result({ items: devices }, () => {
    for (const device of devices) printer.line(deviceText(device))
  })
}

/** relay-node device revoke */
export const runRevoke: Command<object> = async (context, args) => {
  const [name = ''] = args
  if (!name.includes('/')) {
    throw new UsageError(
      `"${name}" names no laptop.`,
      'Write NAME/DEVICE, as relay-node device list shows it; relay-node member remove NAME shuts out a member with all laptops.',
    )
  }
  return removeFrom(context, name, `The laptop ${name} is shut out for good. What it has read stays read.`)
}

/** `frank/frank-xps  reachable` */
function deviceText({ device, removed, reachable, confirmed, last_seen }: MemberListing['devices'][number]): string {
  const seen = last_seen === undefined ? 'never seen' : `last seen ${clockTime(last_seen)}`
  if (removed) return `${device}  removed, ${seen}`
  return `${device}  ${reachable ? 'reachable' : `not reachable, ${seen}`}${confirmed === false ? ', has not confirmed a removal yet' : ''}`
}
