/** relay-node session create, list, revoke: tokens for agents that may do less than their user. */
import type { SessionListing } from '../node/api.ts'
import type { Command } from './context.ts'
import { UsageError } from './failure.ts'
import { parseDuration } from './input.ts'
import { withNode } from './node-connection.ts'
import { isScope, SCOPES } from './settings.ts'
import { clockTime } from './time-text.ts'

interface Options {
  scope?: string
  name?: string
  expires?: string
}

export const runCreate: Command<Options> = async (context, _args, { scope, name, expires }) => {
  const { printer } = context
  if (scope === undefined || !isScope(scope)) {
    throw new UsageError(
      scope === undefined ? 'What may the session do? --scope is missing.' : `"${scope}" is not a scope.`,
      `Write --scope ${SCOPES.join(' or --scope ')}.`,
    )
  }
  const expires_s = expires === undefined ? undefined : parseDuration(expires)
  const made = await withNode(context, (node) => node.call('relay/session-create', { scope, name, expires_s }))
  printer.result(made, () => {
    printer.done(
      `Session ${made.name}, scope ${made.scope}, until ${clockTime(made.expires_at)}. Its token is shown once:`,
    )
    printer.line(`    ${printer.styled('bold', made.token)}`)
    printer.line('Give it to the agent’s MCP server, in the environment as RELAY_NODE_TOKEN, or in a file:')
    printer.line('    relay-node mcp --token-file FILE')
    printer.line(`End it: relay-node session revoke ${made.name}`)
  })
}

export const runList: Command<object> = async (context) => {
  const { printer } = context
  const { items } = await withNode(context, (node) => node.call('relay/sessions', {}))
  printer.result({ items }, () => {
    if (items.length === 0) printer.line('No sessions. Make one with relay-node session create --scope read.')
    for (const item of items) printer.line(sessionText(item))
  })
}

/** `review  read  active until Tue 1 Dec 14:05, last used Mon 30 Nov 09:12` */
function sessionText({ name, scope, state, expires_at, last_used_at: used }: SessionListing): string {
  const until = state === 'active' ? `active until ${clockTime(expires_at)}` : state
  return `${name}  ${scope}  ${until}, ${used === undefined ? 'never used' : `last used ${clockTime(used)}`}`
}

export const runRevoke: Command<object> = async (context, args) => {
  const { printer } = context
  const revoked = await withNode(context, (node) => node.call('relay/session-revoke', { name: args[0] ?? '' }))
  printer.result(revoked, () => printer.done(`Session ${revoked.name} is revoked: its next call is refused.`))
}
