import * as z from 'zod'
import {
  ANSWER_LENGTH_CHARS_MAX,
  INBOX_PAGE_COUNT_DEFAULT,
  INBOX_PAGE_COUNT_MAX,
  INBOX_WAIT_S_MAX,
} from '../../protocol/index.ts'
import { type InboxItem, type InboxPage, shapes } from '../rpc/client.ts'
import { answer, type Answer, fits, lengthOf } from './answer.ts'
import type { Wrapper } from './provenance.ts'
import { partyOf, writerOf } from './thread-view.ts'
import { READS, tool, type ToolContext } from './tool.ts'

const input = z.strictObject({
  status: z.array(shapes.status).min(1).describe('Default: pending and accepted').optional(),
  side: shapes.side
    .describe('in: sent to you. out: sent by you. reader: shared with you to read. Default: all')
    .optional(),
  cursor: shapes.cursor.describe('next_cursor of the last answer').optional(),
  limit: z.int().min(1).max(INBOX_PAGE_COUNT_MAX).describe(`Default: ${INBOX_PAGE_COUNT_DEFAULT}`).optional(),
  wait_s: z
    .number()
    .min(0)
    .max(INBOX_WAIT_S_MAX)
    .describe('Wait so many seconds for something unread, if there is nothing')
    .optional(),
})

export const checkInbox = tool({
  name: 'check_inbox',
  title: 'Check the inbox',
  description:
    'Lists handoffs, newest first: intent, sender, status, how many entries are unread, and a short preview. ' +
    'Call it at the start of a session, when the human asks for news, and after you sent something. ' +
    'With wait_s it returns at once if anything is unread, else at the first arrival, else with timed_out true: nothing new came. ' +
    'The inbox is the truth: it survives restarts, and no notice is needed to find a handoff. ' +
    'Next: read one with view_thread. Reading accepts nothing.',
  annotations: READS,
  input,
  run: (params, context) => inboxAnswer(params, context),
})

/** The inbox as a tool and as a resource shows it. */
export async function inboxAnswer(
  params: z.infer<typeof input>,
  context: Pick<ToolContext, 'call' | 'wrapper' | 'signal'>,
): Promise<Answer> {
  const { call, wrapper, signal } = context
  const { status = ['pending', 'accepted'], wait_s, ...rest } = params
  const limit = params.limit ?? INBOX_PAGE_COUNT_DEFAULT
  const waited = await call('tasks/list', { ...rest, status, limit, wait_s }, { signal })
  let page = waited
  for (;;) {
    const found = inboxPage(page, waited.timed_out, wrapper)
    if (fits(found) || page.items.length <= 1) return found
    // Asked again for fewer: the node's cursor for the rest is worth more than one made up here.
    const fewer = Math.floor((page.items.length * ANSWER_LENGTH_CHARS_MAX) / lengthOf(found)) - 1
    page = await call('tasks/list', { ...rest, status, limit: Math.max(1, fewer) }, { signal })
  }
}

function inboxPage(page: InboxPage, timedOut: boolean, wrapper: Wrapper): Answer {
  const unread = page.items.reduce((sum, { unread_count }) => sum + unread_count, 0)
  return answer(wrapper, {
    items: page.items.map((item) => itemOf(item, wrapper)),
    unread_on_this_page: unread,
    timed_out: timedOut,
    ...(page.next_cursor === undefined
      ? {}
      : { next_cursor: page.next_cursor, left: 'There are more: call again with cursor.' }),
  })
}

function itemOf(item: InboxItem, wrapper: Wrapper) {
  const {
    thread_id,
    intent,
    side,
    sender,
    recipient,
    status,
    final,
    unread_count,
    created_at,
    updated_at,
    age_s,
    preview,
  } = item
  return {
    thread_id,
    intent,
    side,
    sender: partyOf(sender),
    recipient,
    status,
    final,
    unread_count,
    created_at,
    updated_at,
    age_s,
    ...(preview === undefined ? {} : { preview: wrapper.show(preview, { from: writerOf(item), thread_id }) }),
  }
}
