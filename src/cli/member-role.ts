/** relay-node member role: what a member may do. The owner's alone. */
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { withNode } from './node-connection.ts'
import { isRole, ROLE_WORDS } from './role.ts'

export const run: Command<object> = async (context, args) => {
  const { printer } = context
  const [handle = '', role = ''] = args
  if (!isRole(role)) throw new UsageError(`"${role}" is not a role.`, `The roles are ${ROLE_WORDS}.`)
  const result = await withNode(context, (node) => node.call('relay/role', { handle, role }))
  printer.result(result, () => {
    const { handle: who, open_handoffs: open } = result
    if (!result.changed) return printer.line(`${who} has the role ${role} already.`)
    printer.done(
      role === 'reader'
        ? `${who} is a reader now: it reads its handoffs and what is shared with it, and writes nothing.`
        : `${who} is a member now: it hands off, accepts and writes.`,
    )
    if (role === 'reader' && open > 0)
      printer.warn(`${open === 1 ? 'A handoff' : `${open} handoffs`} of ${who} cannot go on while it is a reader.`)
  })
}
