/** relay-node invite: lets one person in, once. */
import { setTimeout as pause } from 'node:timers/promises'
import type { InviteListing, InviteParams, InviteResult, Scope } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import type { Command, CommandContext } from './context.ts'
import { CommandError, UsageError } from './failure.ts'
import { parseDuration } from './input.ts'
import { withNode } from './node-connection.ts'
import { partyName } from './peer-text.ts'
import { isRole, ROLE_WORDS } from './role.ts'
import { isScope, SCOPES } from './settings.ts'
import type { Printer } from './print.ts'
import { clockTime, duration } from './time-text.ts'

const LOOK_AGAIN_MS = 1000

interface Options {
  expires?: string
  standalone?: boolean
  /** --no-wait */
  wait?: boolean
  role?: string
  service?: boolean
  scope?: string
}

export const run: Command<Options> = async (context, args, options) => {
  const name = args[0]
  if (name === undefined)
    throw new UsageError('Whom do you invite?', 'Write relay-node invite NAME, for instance relay-node invite frank.')
  const as = invitedAs(options)
  const expires = options.expires === undefined ? undefined : parseDuration(options.expires)
  await withNode(context, async (node) => {
    const invite = await node.call('relay/invite', {
      name,
      expires_s: expires,
      standalone: options.standalone,
      ...as,
    })
    context.printer.result(invite, () => undefined)
    if (context.printer.json) return
    await printInvite(context, invite)
    if (context.interactive && options.wait !== false) await waitForJoiner(context, node, invite)
  })
}

/** As what they come in; a service's scope is its role. */
function invitedAs({ role, service, scope }: Options): Pick<InviteParams, 'role' | 'kind'> {
  if (service !== true) {
    if (scope !== undefined)
      throw new UsageError('--scope goes with --service.', 'For a person write --role reader, or nothing.')
    if (role === undefined) return {}
    if (isRole(role)) return { role }
    throw new UsageError(`"${role}" is not a role.`, `The roles are ${ROLE_WORDS}.`)
  }
  if (role !== undefined)
    throw new UsageError('A service has a scope, not a role.', 'Write --scope read or --scope write.')
  if (scope !== undefined && isScope(scope)) return { kind: 'service', role: scope === 'read' ? 'reader' : 'member' }
  throw new UsageError(
    scope === undefined ? 'What may the service do? --scope is missing.' : `"${scope}" is not a scope.`,
    `Write --scope ${SCOPES.join(' or --scope ')}.`,
  )
}

async function printInvite({ printer, interactive }: CommandContext, invite: InviteResult): Promise<void> {
  const left = (Date.parse(invite.expires_at) - Date.now()) / 1000
  printer.line(
    `Invite for ${invite.handle}${asText(invite)}. Works once. Ends ${clockTime(invite.expires_at)} (${duration(left)}).`,
  )
  printer.line(`    ${printer.styled('bold', invite.code)}`)
  if (interactive) {
    const { renderUnicodeCompact } = await import('uqr')
    printer.line()
    // In fixed colours, so that it can be scanned from a light screen too.
    const rows = renderUnicodeCompact(invite.code, { border: 2 }).split('\n')
    for (const row of rows) printer.line(printer.styled(['whiteBright', 'bgBlack'], row))
  }
  if (invite.words !== undefined) printer.line(`By voice: ${invite.words.join(' ')}`)
  const who = invite.handle.split('@')[0]
  printer.line(
    invite.kind === 'service'
      ? `Where the service is to run: relay-node init --service --scope ${scopeOf(invite)} --code-stdin`
      : `Send it by a channel that you both trust. ${who} runs: relay-node join`,
  )
}

async function waitForJoiner({ printer }: CommandContext, node: RpcClient, invite: InviteResult): Promise<void> {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  printer.line('Waiting for them. Ctrl-C is fine, the invite stays open.')
  for (;;) {
    const { items } = await node.call('relay/invites', {})
    const found = items.find((item) => item.invite_id === invite.invite_id)
    if (found?.state === 'used') return printJoiner(printer, node, invite.handle)
    if (found?.state === 'expired' || found?.state === 'withdrawn') {
      throw new CommandError(
        `invite_${found.state}`,
        `The invite ${found.state === 'expired' ? 'has expired' : 'was withdrawn'}; nobody joined with it.`,
        'Make a new one with relay-node invite.',
      )
    }
    try {
      await pause(LOOK_AGAIN_MS, undefined, { signal: stop.signal })
    } catch {
      printer.line(
        `The invite stays open. See it with relay-node invite list; withdraw it with relay-node invite revoke ${invite.invite_id}`,
      )
      return
    }
  }
}

async function printJoiner(printer: Printer, node: RpcClient, handle: string): Promise<void> {
  const { items } = await node.call('agents/list', {})
  const teammate = items.find((item) => item.handle === handle)
  const devices = teammate?.devices.map(({ device }) => device).join(', ') ?? ''
  printer.done(
    `${partyName(teammate ?? { handle, trust: 'unverified' })} has joined${devices === '' ? '' : ` with ${devices}`}.`,
  )
  if (teammate?.role !== 'reader') printer.line(`Next: relay-node send ${handle.split('@')[0]} --summary TEXT`)
}

/** relay-node invite list */
export const runList: Command<object> = async (context) => {
  const { printer } = context
  const { items } = await withNode(context, (node) => node.call('relay/invites', {}))
  printer.result({ items }, () => {
    if (items.length === 0) printer.line('No invites. Make one with relay-node invite NAME.')
    for (const item of items) printer.line(`${item.invite_id}  ${item.handle}${asText(item)}  ${inviteState(item)}`)
  })
}

type InvitedAs = Pick<InviteListing, 'role' | 'kind'>

function scopeOf({ role }: InvitedAs): Scope {
  return role === 'reader' ? 'read' : 'write'
}

/** Nothing of a person who is to be a member, as most are. */
function asText(as: InvitedAs): string {
  if (as.kind === 'service') return `, a service with scope ${scopeOf(as)}`
  return as.role === 'reader' ? ', a reader' : ''
}

function inviteState({ state, expires_at }: InviteListing): string {
  return state === 'open' ? `open until ${clockTime(expires_at)}` : state
}

/** relay-node invite revoke */
export const runRevoke: Command<object> = async (context, args) => {
  const { printer } = context
  const listing = await withNode(context, async (node) => {
    const beginning = args[0] ?? ''
    const { items } = await node.call('relay/invites', {})
    const matches = items.filter(({ invite_id }) => invite_id.startsWith(beginning))
    // An id that fits none is left to the node to refuse.
    if (matches.length > 1)
      throw new UsageError(`${matches.length} invites begin with ${beginning}.`, 'Type more characters.')
    return node.call('relay/invite-revoke', { invite_id: matches[0]?.invite_id ?? beginning })
  })
  printer.result(listing, () =>
    printer.done(`The invite for ${listing.handle} is withdrawn: nobody can join with it any more.`),
  )
}
