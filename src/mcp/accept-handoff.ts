import * as z from 'zod'
import { shapes } from '../rpc/client.ts'
import { threadPage } from './thread-view.ts'
import { tool, WRITES } from './tool.ts'

export const acceptHandoff = tool({
  name: 'accept_handoff',
  title: 'Accept a handoff',
  description:
    'Takes on a pending handoff that was sent to you: from now on you are the one who works on it, and the sender can no longer cancel it. ' +
    'Read it with view_thread first, and accept only what the human wants done. ' +
    'Returns the whole thread and a checklist to go through before you work on it. ' +
    'state_changed means that another session was faster: look at the thread again. ' +
    'Accepting approves nothing: a proposed action still waits for the human. Next: do the work, then complete_handoff; ask with send_message.',
  annotations: WRITES,
  input: z.strictObject({
    thread_id: shapes.id,
    expected_revision_id: shapes.id.describe('Accept only if this is still the current revision').optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    const view = await withKey(input, (metadata) =>
      call('tasks/update', { ...input, status: 'accepted', metadata }, { signal }),
    )
    return threadPage(view, { wrapper, place: {}, extra: { checklist: view.checklist } }).answer
  },
})
