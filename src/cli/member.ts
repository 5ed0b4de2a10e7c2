/** relay-node member list, remove: who is in the workspace. */
import type { MemberListing } from '../node/api.ts'
import type { Command } from './context.ts'
import { withNode } from './node-connection.ts'
import { removeFrom } from './removal.ts'

/** relay-node member list */
export const runList: Command<object> = async (context) => {
  const { printer } = context
  const { items } = await withNode(context, (node) => node.call('relay/members', {}))
  printer.result({ items }, () => {
    for (const item of items) printer.line(memberText(item))
    const waiting = unconfirmedOf(items)
    if (waiting.length > 0) printer.warn(`Has not confirmed a removal yet: ${waiting.join(', ')}.`)
  })
}

/** relay-node member remove */
export const runRemove: Command<object> = (context, args) => {
  const [name = ''] = args
  return removeFrom(
    context,
    name,
    `${name} and all laptops of ${name} are shut out for good. What they have read stays read.`,
  )
}

function unconfirmedOf(members: readonly MemberListing[]): string[] {
  return members
    .flatMap(({ devices }) => devices)
    .flatMap(({ device, confirmed }) => (confirmed === false ? [device] : []))
}

/** `frank@acme  member, 2 laptops` */
function memberText({ handle, role, kind, me, owner, removed, devices }: MemberListing): string {
  const count = devices.filter((device) => !device.removed).length
  const facts = [
    removed ? 'removed' : role,
    kind === 'service' ? kind : undefined,
    owner ? 'owner' : undefined,
    me ? 'you' : undefined,
    removed ? undefined : `${count} ${count === 1 ? 'laptop' : 'laptops'}`,
  ]
  return `${handle}  ${facts.filter((fact) => fact !== undefined).join(', ')}`
}
