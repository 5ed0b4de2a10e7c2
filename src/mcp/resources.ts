/** What a host can open or subscribe to. Everything here can be had by a tool as well. */
import type { Clock } from '../system.ts'
import { ApiError, type NodeEvent, NodeNotRunning, type RpcClient } from '../rpc/client.ts'
import type { Answer } from './answer.ts'
import { inboxAnswer } from './check-inbox.ts'
import type { ToolContext } from './tool.ts'
import { threadAnswer } from './view-thread.ts'

const INBOX = 'relay://inbox'
const THREAD = 'relay://thread/'
const RECONNECT_MS = 2000

export const RESOURCES = [
  {
    uri: INBOX,
    name: 'inbox',
    title: 'Relay inbox',
    description: 'Pending and accepted handoffs, as check_inbox lists them.',
    mimeType: 'text/plain',
  },
]
export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${THREAD}{id}`,
    name: 'thread',
    title: 'A relay thread',
    description: 'One handoff with its entries, as view_thread shows it. Opening it marks nothing as read.',
    mimeType: 'text/plain',
  },
]

/** @throws ApiError */
export function readResource(uri: string, context: Pick<ToolContext, 'call' | 'wrapper' | 'signal'>): Promise<Answer> {
  const thread = threadOf(uri)
  return thread === undefined ? inboxAnswer({}, context) : threadAnswer(thread, context)
}

/** @returns undefined for the inbox */
function threadOf(uri: string): string | undefined {
  if (uri === INBOX) return undefined
  const id = uri.startsWith(THREAD) ? uri.slice(THREAD.length) : ''
  if (id !== '') return id
  throw new ApiError('invalid_params', 'there is no such resource', { hint: `Use ${INBOX} or ${THREAD}{id}.` })
}

export interface Subscriptions {
  /** @throws ApiError for an unknown address */
  add(uri: string): void
  remove(uri: string): void
}

export interface SubscriptionOptions {
  client: RpcClient
  clock: Clock
  /** Ends the watching. */
  signal: AbortSignal
  /** Tells the host that a resource changed. */
  notify: (uri: string) => void
}

export function createSubscriptions({ client, clock, signal, notify }: SubscriptionOptions): Subscriptions {
  const wanted = new Set<string>()
  let watching = false

  function tell(event: NodeEvent): void {
    const changed = event.thread_id === undefined ? [INBOX] : [INBOX, `${THREAD}${event.thread_id}`]
    for (const uri of changed) if (wanted.has(uri)) notify(uri)
  }

  /** Follows the node's events. It starts no node: a notice is no reason to undo what a person stopped. */
  async function watch(): Promise<void> {
    let missed = false
    const opened = () => {
      if (missed) wanted.forEach(notify)
    }
    while (!signal.aborted) {
      try {
        for await (const event of client.events(signal, opened)) tell(event)
      } catch (error) {
        if (error instanceof ApiError) {
          // Whoever may listen no longer is told so by the next call.
          watching = false
          return
        }
        if (!(error instanceof NodeNotRunning)) throw error
        missed = true
        await new Promise<void>((resolve) => clock.after(RECONNECT_MS, resolve))
      }
    }
  }

  return {
    add(uri) {
      threadOf(uri)
      wanted.add(uri)
      if (watching) return
      watching = true
      void watch()
    },
    remove: (uri) => void wanted.delete(uri),
  }
}
