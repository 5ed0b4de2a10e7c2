/** What the commands that shut somebody out have in common: the question, the wait, and what is said then. */
import type { MemberListing, RemovalResult } from '../node/api.ts'
import type { RpcClient } from '../rpc/client.ts'
import { requireYes } from './confirm.ts'
import type { CommandContext } from './context.ts'
import { withNode } from './node-connection.ts'
import type { Printer } from './print.ts'

/** How long teammates that are connected may take to say that they know. */
const WAIT_MS = 5000

/** Removes `name` after a person said yes to it, and says what became of it. */
export async function removeFrom(context: CommandContext, name: string, reach: string): Promise<void> {
  const { printer } = context
  await requireYes(context, {
    reach,
    question: `Shut ${name} out?`,
    refused: { code: 'not_removed', message: 'Nobody was removed.' },
  })
  const result = await withNode(context, async (node) => {
    const removed = await node.call('relay/remove', { name })
    const waiting = removed.unconfirmed.filter((device) => !removed.later.includes(device))
    if (waiting.length === 0) return removed
    printer.progress(`Waiting until ${waiting.join(', ')} know of it. Ctrl-C is fine, it is done.`)
    return waitForOthers(node, removed)
  })
  printer.result(result, () => printRemoval(printer, result))
}

/** The result, once every teammate that is connected has said that it knows, or time is over. */
async function waitForOthers(node: RpcClient, removed: RemovalResult): Promise<RemovalResult> {
  const stop = new AbortController()
  const onInterrupt = (): void => stop.abort()
  process.once('SIGINT', onInterrupt)
  const timer = setTimeout(onInterrupt, WAIT_MS)
  let now = removed
  const look = async (): Promise<void> => {
    now = asOfNow(removed, (await node.call('relay/members', {})).items)
    if (now.unconfirmed.every((device) => now.later.includes(device))) stop.abort()
  }
  try {
    for await (const event of node.events(stop.signal, () => void look().catch(onInterrupt)))
      if (event.type === 'status') await look()
  } catch {
    // The removal is done, whatever becomes of the wait for others.
  } finally {
    clearTimeout(timer)
    process.off('SIGINT', onInterrupt)
  }
  return now
}

function asOfNow(removed: RemovalResult, members: readonly MemberListing[]): RemovalResult {
  const devices = members.flatMap((member) => member.devices).filter((device) => !device.removed)
  const unconfirmed = devices.filter(({ confirmed }) => confirmed === false)
  return {
    ...removed,
    stops_now: devices.filter(({ confirmed }) => confirmed === true).map(({ device }) => device),
    later: unconfirmed.filter(({ reachable }) => !reachable).map(({ device }) => device),
    unconfirmed: unconfirmed.map(({ device }) => device),
  }
}

function printRemoval(printer: Printer, result: RemovalResult): void {
  const { handle, removed, stops_now: now, later, unconfirmed } = result
  const names = removed.length === 0 ? 'no laptop' : removed.join(', ')
  printer.done(result.member_removed ? `${handle} is removed, with ${names}.` : `${names} is removed.`)
  if (result.last_device)
    printer.line(`It was the last laptop of ${handle}, who is still a member and can be handed nothing.`)
  const row = (label: string, devices: readonly string[], what: string): void =>
    printer.line(`${label.padEnd(18)} ${devices.length === 0 ? 'nobody' : `${devices.join(', ')}: ${what}`}`)
  row('Stops now', now, 'no connection, no new keys, nothing sent to it')
  row('Later', later, 'away; the same when they next meet a laptop that knows')
  row('Has not confirmed', unconfirmed, 'may serve it until then; relay-node member list shows when they know')
  printer.line('What it has read stays read, and what it has on its disk stays there: this takes nothing back.')
  printer.line('In open handoffs the other side fences it off, and everybody writes under a key that it does not have.')
  if (result.open_invites > 0)
    printer.warn(
      `${result.open_invites} ${result.open_invites === 1 ? 'invite is' : 'invites are'} still open: relay-node invite list.`,
    )
}
